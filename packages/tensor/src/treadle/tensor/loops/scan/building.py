"""How `scan` and the functions like it build a loop from a function of one step."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from treadle.config import dataclass, text_of
from treadle.graph import (
    Constant,
    GraphTypeError,
    GraphValueError,
    MissingInputError,
    SharedVariable,
    Variable,
    ancestors,
    as_flag,
    check_name,
    composed,
    new_serial,
    reading_order,
    toposort,
)
from treadle.tensor.arguments.values import as_integer
from treadle.tensor.elementwise.arithmetic import add, mod, sub
from treadle.tensor.errors import TensorTypeError
from treadle.tensor.indexing.indexing import set_subtensor
from treadle.tensor.loops.loops import Scan
from treadle.tensor.loops.parts import LoopParts
from treadle.tensor.loops.plain import close, number_dtype
from treadle.tensor.loops.scan.arguments import (
    SequenceTaps,
    StateTaps,
    number_of_steps,
    read_constants,
    read_sequences,
    read_states,
)
from treadle.tensor.loops.scan.results import StepResults, Updates, as_output, read_results
from treadle.tensor.loops.states import is_generator
from treadle.tensor.shapes.shape import LENGTH
from treadle.tensor.types.conversion import constant
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

# States that reach further back than this are kept in a ring of rows, others as that many carries.
MOST_CARRIES = 16
# How often the function of a step is called again for the dtype of a number that a state starts with.
MOST_TRIES = 3


class _State:
    """The carries of one state, and what a step takes of them.

    `start` is the initial value, of the dtype that the state has. The carries are added to `parts` once the step's
    output is known. `at` is the number of the step for a state whose values are kept in a ring; None for others.
    """

    def __init__(self, state: StateTaps, start: Variable, at: TensorVariable | None) -> None:
        self.taps, self.depth, self.at = state.taps, state.depth, at
        name = start.name
        value: Any = start
        self.carries: list[Variable] = []
        self.starts: list[Variable] = []
        if at is not None:
            self.starts.append(value[: self.depth])
            self.carries.append(self.starts[0].type.make_variable(name))
            return
        for back in range(1, self.depth + 1):
            own = start if self.depth == 1 else value[self.depth - back]
            self.starts.append(own)
            self.carries.append(own.type.make_variable(f"{name}[t-{back}]" if name else None))

    def taken(self) -> list[Variable]:
        """Return the values that a step takes, one for each tap."""
        if self.at is None:
            return [self.carries[-tap - 1] for tap in self.taps]
        ring: Any = self.carries[0]
        return [ring[mod(add(self.at, tap), self.depth)] for tap in self.taps]

    def add_to(self, parts: LoopParts, new: Variable) -> int:
        """Add the carries to a loop, whose steps make a new value; return the number of the first."""
        after: list[Any] = [new, *self.carries[:-1]]
        if self.at is not None:
            ring: Any = self.carries[0]
            after = [set_subtensor(ring[mod(self.at, self.depth)], new)]
        numbers = [parts.add_carry(*one) for one in zip(self.starts, self.carries, after, strict=True)]
        return numbers[0]


class _Loop:
    """A loop, being built from a function of one step.

    `states` says what the outputs of a step are, None if that follows from what it returns; `constants` are the same in
    all steps.
    """

    def __init__(
        self, subject: str, states: list[StateTaps] | None, parts: LoopParts, constants: list[Variable]
    ) -> None:
        self.subject = subject
        self.states = states
        self.parts = parts
        self.constants = constants
        self.starts: dict[int, Variable] = {}
        for i, state in enumerate(states or ()):
            if state.initial is not None:
                self.starts[i] = state.initial
        # Numbers that start states, which take on the dtype that steps make.
        self.numbers = {i: s.number for i, s in enumerate(states or ()) if s.number is not None}
        self.tries = dict.fromkeys(self.numbers, 0)

    def carried(self, fn: Callable[..., object]) -> tuple[StepResults, list[Variable], dict[int, int]]:
        """Call the function of a step, and add the carries of its states.

        Returned are what it returned, its outputs as variables, and the number of the carry of each state; at -1 that
        of the number of the step, where states are kept in rings.
        """
        beside = [*self.parts.sequences, *self.constants, *(x for i, x in self.starts.items() if i not in self.numbers)]
        for i, number in self.numbers.items():
            self.starts[i] = constant(number, dtype=number_dtype(number, beside))
        while True:
            states = self._new_states()
            returned = self._called(fn, states)
            if returned is None:
                msg = f"{self.subject}: the function of a step returned None. Return what it computes."
                raise GraphValueError(msg)
            results = read_results(returned)
            if self.states is None:
                self.states = [StateTaps(None, None, (), f"output {i}") for i in range(len(results.outputs))]
            self._check_count(results)
            outputs = [as_output(str(i), x, self.starts.get(i)) for i, x in enumerate(results.outputs)]
            if not self._adapt(outputs, beside):
                break
        numbers = {i: own.add_to(self.parts, outputs[i]) for i, own in states.items()}
        if any(own.at is not None for own in states.values()):
            numbers[-1] = self.parts.add_carry(constant(0, dtype=LENGTH), self._at, add(self._at, 1))
        return results, outputs, numbers

    def _new_states(self) -> dict[int, _State]:
        self._at: Any = TensorType(LENGTH, ()).make_variable("step")
        return {
            i: _State(state, self.starts[i], self._at if state.depth > MOST_CARRIES else None)
            for i, state in enumerate(self.states or ())
            if i in self.starts
        }

    def _called(self, fn: Callable[..., object], carried: Mapping[int, _State]) -> object:
        states = [value for own in carried.values() for value in own.taken()]
        arguments = [*self.parts.rows_in, *states, *self.constants]
        try:
            inspect.signature(fn).bind(*arguments)
        except TypeError as error:
            msg = (
                f"{self.subject}: the function of a step is called with {len(arguments)} arguments, "
                f"{len(self.parts.rows_in)} rows of sequences, {len(states)} states and {len(self.constants)} "
                f"non_sequences in this order, which it does not take ({error}). Give it a parameter for each."
            )
            raise TensorTypeError(msg) from error
        except ValueError:
            # The signature of some functions written in C is not known.
            pass
        return fn(*arguments)

    def _check_count(self, results: StepResults) -> None:
        states, outputs = self.states or (), results.outputs
        if len(states) != len(outputs):
            msg = (
                f"{self.subject}: outputs_info has {len(states)} entries, and a step returned {len(outputs)} outputs. "
                "Give one for each output, None for those that are not states."
            )
            raise GraphValueError(msg)

    def _adapt(self, outputs: Sequence[Variable], beside: list[Variable]) -> bool:
        """Fit numbers that states start with to the dtypes that steps make; say whether one has changed."""
        changed = False
        for i, start in self.starts.items():
            state = (self.states or ())[i]
            old, new = start.type, outputs[i].type
            if not isinstance(old, TensorType):
                continue
            ndim = old.ndim - (state.depth > 1)
            now = new if isinstance(new, TensorType) else None
            if now is not None and now.ndim == ndim and now.dtype == old.dtype:
                continue
            if now is not None and now.ndim == ndim and i in self.numbers and self.tries[i] < MOST_TRIES:
                number, dtype = self.numbers[i], now.dtype
                if old.numpy_dtype.kind in "biu" and now.numpy_dtype.kind == "f":
                    # This float has its width from the integer's dtype only, which means nothing here.
                    dtype = number_dtype(float(number), beside)  # type: ignore[arg-type]  # a real number
                self.starts[i] = constant(number, dtype=dtype)
                self.tries[i] += 1
                changed = True
                continue
            msg = f"{self.subject}: {state.label} starts with {start} of type {old}, and a step makes "
            msg += f"{text_of(outputs[i])} of type {new}. "
            if now is None or now.ndim != ndim:
                msg += "Start with a value of the rank that steps make, for instance zeros of its shape."
            else:
                msg += f"Cast one of them: steps with .astype({old.dtype!r}), or the start with .astype({now.dtype!r})."
            raise TensorTypeError(msg)
        return changed


def _opened(
    sequences: Sequence[SequenceTaps], n_steps: TensorLike | None, backwards: bool, truncate_gradient: object,
    name: str | None, recomputes: bool,
) -> LoopParts:  # fmt: skip
    """Return a loop that has its sequences only."""
    least = as_integer("scan: truncate_gradient", truncate_gradient, -1)
    parts = LoopParts(number_of_steps(n_steps, sequences), truncate_gradient=least, recomputes=recomputes, name=name)
    for x in sequences:
        for tap in x.taps:
            rows = x.cut(tap, backwards)
            at = f"{x.variable.name}[t{tap:+}]" if tap else f"{x.variable.name}[t]"
            row = TensorType(rows.dtype, rows.type.shape[1:]).make_variable(at if x.variable.name else None)
            parts.add_sequence(rows, row)
    return parts


def _shared_of(parts: LoopParts) -> list[SharedVariable]:
    """Return the shared variables that a step depends on."""
    variables = reading_order(parts.outputs, parts.inputs)
    return [var for var in dict.fromkeys(variables) if isinstance(var, SharedVariable)]


def _settled(parts: LoopParts, updates: Collection[SharedVariable], before: int) -> list[Variable]:
    """Return what a step uses that was computed before its function was called, and would change from step to step.

    That is what depends on shared variables that the loop updates, such as draws from a stream: a variable made outside
    of the loop has one value, inside and outside.
    """
    depends: set[Variable] = set()
    settled: dict[Variable, None] = {}
    for node in toposort(parts.outputs, parts.inputs):
        changing = [
            var
            for var in node.inputs
            if var in depends
            or (isinstance(var, SharedVariable) and (var in updates or var.default_update is not None))
        ]
        if changing:
            depends.update(node.outputs)
        if node.serial > before:
            settled.update((var, None) for var in changing if var.owner is not None and var.owner.serial < before)
    for var in parts.outputs:
        if var in depends and var.owner is not None and var.owner.serial < before:
            settled[var] = None
    return list(settled)


def _fix_given(parts: LoopParts, candidates: Sequence[Variable]) -> None:
    """Make what the loop is given the same in all steps, where the function of a step uses it."""
    used = set(ancestors(parts.outputs, parts.inputs))
    for var in dict.fromkeys(candidates):
        if var in used and not isinstance(var, SharedVariable | Constant):
            parts.add_given(var, var.type.make_variable(var.name))
    parts.replace(dict(zip(parts.givens, parts.constants, strict=True)))


def _carry_default(parts: LoopParts, numbers: dict[SharedVariable, int]) -> None:
    """Carry the shared variables that are updated by default too, and put the carries into the steps."""
    while True:
        more = [v for v in _shared_of(parts) if v.default_update is not None and v not in numbers]
        if not more:
            break
        for var in more:
            new = _after_inner_loop(parts, var) or var.type.filter_variable(var.default_update)
            numbers[var] = parts.add_carry(var, var.type.make_variable(var.name), new)
    parts.replace({var: parts.carries[number] for var, number in numbers.items()})


def _after_inner_loop(parts: LoopParts, var: SharedVariable) -> Variable | None:
    """Return the value of a shared variable after a loop inside of the step that carries it, if there is one."""
    last = None
    for node in toposort(parts.outputs, parts.inputs):
        if isinstance(node.op, Scan):
            starts = node.op.sorted(node.inputs[1:]).carries
            if var in starts:
                last = node.outputs[starts.index(var)]
    return last


@dataclass(frozen=True, slots=True)
class BuiltLoop:
    """A loop that a function of one step was made into.

    `outputs` are those of all steps, stacked; of states that are not tensors, the last value. `carried` has the last
    value of each output that is a state, which there is without steps too; None for the others. `updates` has, for each
    shared variable that the steps update, its value after the loop: `explicit` are those that the function updates,
    `bound` those whose default update depends on values of a step, so that it means nothing outside of the loop.
    """

    subject: str
    outputs: list[Any]
    carried: list[Any]
    updates: dict[SharedVariable, Variable]
    explicit: frozenset[SharedVariable]
    bound: frozenset[SharedVariable]

    def last(self) -> list[Any]:
        """Return the last value of each output; of a stacked result it is the last row, which must exist."""
        return [rows[-1] if value is None else value for rows, value in zip(self.outputs, self.carried, strict=True)]

    def result(self, outputs: list[Any], return_updates: object, return_list: bool = False) -> Any:
        """Return what a function like `scan` returns: outputs, and updates where they are asked for.

        Updates become the default ones, where a program would not get them otherwise.
        """
        returned = as_flag(f"{self.subject}: return_updates", return_updates)
        by_default = {v for v in self.updates if v not in self.explicit}
        lost = [v for v in self.updates if v not in by_default or not (v in self.bound or is_generator(v.type))]
        if lost and not returned:
            msg = (
                f"{self.subject}: the steps update {', '.join(map(str, lost))}, and the updates are not returned. "
                "Leave out return_updates=False, and pass the updates that are returned beside the outputs to the "
                "function."
            )
            raise GraphValueError(msg)
        for var, last in self.updates.items():
            if var in by_default and (var in self.bound or not returned):
                var.default_update = last
        bare: Any = outputs if return_list or len(outputs) > 1 else (outputs[0] if outputs else None)
        return (bare, Updates(self.updates)) if returned else bare


@composed
def build_loop(
    subject: str, fn: Callable[..., object], sequences: object, outputs_info: object, non_sequences: object, *,
    n_steps: TensorLike | None = None, truncate_gradient: object = -1, go_backwards: object = False,
    name: str | None = None, strict: object = False, recomputes: bool = False,
) -> BuiltLoop:  # fmt: skip
    """Return the loop of a function of one step, from the arguments of `scan`; `subject` names the function called."""
    given_fn: object = fn
    check_name(subject, name)
    if name:
        subject = f"{subject} {name!r}"
    if not callable(given_fn):
        msg = f"{subject}: fn must be a function of one step, got {text_of(fn)}. Pass a function."
        raise GraphTypeError(msg)
    backwards = as_flag(f"{subject}: go_backwards", go_backwards)
    with_taps = read_sequences(sequences)
    parts = _opened(with_taps, n_steps, backwards, truncate_gradient, name, recomputes)
    loop = _Loop(subject, read_states(outputs_info) or None, parts, read_constants(non_sequences))
    before = new_serial()
    results, outputs, carries = loop.carried(fn)
    declared: list[Variable] = [x.variable for x in with_taps]
    declared += [*(s.initial for s in loop.states or () if s.initial is not None), *loop.constants]
    parts.until = results.condition
    stacked = [i for i, x in enumerate(outputs) if isinstance(x.type, TensorType)]
    parts.rows_out = [outputs[i] for i in stacked]
    updates = results.updates.items()
    shared = {var: parts.add_carry(var, var.type.make_variable(var.name), value) for var, value in updates}
    _fix_given(parts, [*declared, *_settled(parts, results.updates, before)])
    if as_flag(f"{subject}: strict", strict):
        # Generators that a step draws from need not be given.
        undeclared = [var for var in _shared_of(parts) if var not in declared and not is_generator(var.type)]
        if undeclared:
            msg = (
                f"{subject}: the function of a step uses the shared variable {undeclared[0]}, which it is not given. "
                "Add it to non_sequences, or leave out strict=True."
            )
            raise MissingInputError(msg)
    own = {*parts.rows_in, *parts.carries}
    _carry_default(parts, shared)
    bound = [v for v in shared if v.default_update is not None and not own.isdisjoint(ancestors([v.default_update]))]
    close(parts)
    parts.widen()
    built = parts.apply()
    last: list[Any] = [built.carries[carries[i]] if i in carries else None for i in range(len(outputs))]
    rows = dict(zip(stacked, built.stacked, strict=True))
    for i, state in enumerate(loop.states or ()):
        if last[i] is not None and state.depth > MOST_CARRIES:
            # What is carried is the ring; before the first step its last row is the newest.
            last[i] = last[i][mod(sub(built.carries[carries[-1]], 1), state.depth)]
    return BuiltLoop(
        subject,
        [rows.get(i, last[i]) for i in range(len(outputs))],
        last,
        {var: built.carries[at] for var, at in shared.items()},
        frozenset(results.updates),
        frozenset(bound),
    )
