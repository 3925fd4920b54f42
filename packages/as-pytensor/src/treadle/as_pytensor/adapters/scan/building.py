"""scan: loops by PyTensor's conventions. States are read from what the loop filled: ``filled[1:]``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import field
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.as_pytensor.adapters.scan.buffers import expand_empty
from treadle.as_pytensor.adapters.scan.layout import ScanInfo
from treadle.as_pytensor.adapters.scan.op import Scan
from treadle.as_pytensor.adapters.scan.variables import safe_new
from treadle.config import dataclass, text_of
from treadle.graph import (
    Constant,
    GraphTypeError,
    GraphValueError,
    MissingInputError,
    SharedVariable,
    Variable,
    graph_inputs,
    graph_replace,
    new_serial,
)
from treadle.tensor import as_tensor_variable, cast, constant, minimum, shape_padleft
from treadle.tensor.arguments.values import known_integer
from treadle.tensor.errors import ArgumentError
from treadle.tensor.loops.scan.results import StepResults, as_output, read_results
from treadle.tensor.loops.states import is_generator
from treadle.tensor.shapes.shape import LENGTH, lengths
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# How often the function of a step is called again for the dtype of a number that a state starts with.
_MOST_TRIES = 3
_PLAIN = [-1]


@dataclass
class _Rows:
    """A sequence at one tap: the rows for all steps, the variable of a row."""

    rows: Any
    row: Variable

    def first(self) -> Any:
        """Return the row of the first step; only where there is one."""
        return self.rows[0]


@dataclass
class _State:
    """An output of the function of a step.

    Attributes
    ----------
    kind
        ``nit_sot``: a result only. ``sit_sot``: a state of which a step takes the last value. ``mit_sot``: one with
        other taps. ``untraced``: one that is no tensor, of which the last value is kept.
    initial
        What it starts with; None for a result.
    taps
        How many steps back the values lie that a step takes.
    taken
        The variables of these values.
    number
        The Python number that it starts with, whose dtype follows what steps make; None if it is none.
    """

    kind: str
    initial: Any = None
    taps: list[int] = field(default_factory=list)
    taken: list[Any] = field(default_factory=list)
    number: Any = None

    @property
    def depth(self) -> int:
        """How many values it starts with."""
        return -min(self.taps)

    def firsts(self) -> list[Any]:
        """Return the values that the first step takes."""
        if self.kind == "mit_sot":
            return [self.initial[tap + self.depth] for tap in self.taps]
        return [] if self.kind == "nit_sot" else [self.initial]


def scan(
    fn: Callable[..., object],
    sequences: object = None,
    outputs_info: object = None,
    non_sequences: object = None,
    n_steps: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: object = None,
    name: str | None = None,
    profile: object = False,
    allow_gc: bool | None = None,
    strict: bool = False,
    return_list: bool = False,
    return_updates: bool = True,
) -> Any:
    """Call a function for each step of a loop, with rows of sequences and with states of earlier steps.

    As `treadle.tensor.scan`, by PyTensor's conventions: the loop is an op `Scan` whose inputs and outputs are laid out
    as PyTensor has them, what is returned of a state is a part of its output, ``taps=[-1]`` alone means a state that
    starts with one value (a range or tuple of the same does not: it starts with a window), and a loop that is known to
    have one step is none.

    Parameters
    ----------
    fn, sequences, outputs_info, non_sequences, n_steps, truncate_gradient, go_backwards, name, return_list
        As for `treadle.tensor.scan`.
    mode
        Deprecated; see `Scan`.
    profile, allow_gc
        Kept with the loop, and without effect.
    strict
        Whether shared variables that a step uses must be among `non_sequences`.
    return_updates
        Whether to return the updates of shared variables besides the outputs, which is deprecated.

    Returns
    -------
    The outputs, one or a list; and if `return_updates`, besides them a dictionary of the values that shared variables
    have after the loop.

    Raises
    ------
    ArgumentError
        If taps or initial values are wrong, or the number of steps is not known.
    GraphTypeError
        If a state changes its dtype or rank in a step.
    GraphValueError
        If `fn` returns another number of outputs than `outputs_info` says; or steps update shared variables, and
        updates are not returned.
    MissingInputError
        If `strict`, and a step uses a shared variable that it is not given.
    """
    if mode is not None:
        warnings.warn(
            "scan: mode is deprecated. The loop is compiled in the mode of the function that it becomes part of; only "
            "rules that the mode includes by name are heeded.",
            FutureWarning,
            stacklevel=2,
        )
    loop = _Builder(
        fn, _listed(sequences), _listed(outputs_info), [_variable(x) for x in _listed(non_sequences)], n_steps,
        bool(go_backwards), bool(strict),
    )  # fmt: skip
    if loop.has_one_step:
        outputs, updates = loop.single_step()
    else:
        outputs, updates = loop.node(truncate_gradient, name, mode=mode, profile=profile, allow_gc=bool(allow_gc))
    returned: Any = outputs
    if not return_list and len(outputs) < 2:
        returned = outputs[0] if outputs else None
    if return_updates:
        warnings.warn(
            "scan: returning updates beside the outputs is deprecated. Pass return_updates=False, and states in "
            "outputs_info.",
            DeprecationWarning,
            stacklevel=2,
        )
        return returned, updates
    if updates:
        msg = (
            f"scan: return_updates=False, and steps update {', '.join(map(str, updates))}. Carry the values as states, "
            "in outputs_info."
        )
        raise GraphValueError(msg)
    return returned


def _listed(argument: object) -> list[Any]:
    if argument is None:
        return []
    return list(argument) if isinstance(argument, list | tuple) else [argument]


def _variable(value: object) -> Any:
    return value if isinstance(value, Variable) else as_tensor_variable(value)  # type: ignore[arg-type]  # refuses others


class _Builder:
    """A loop, being built from a function of one step."""

    def __init__(
        self, fn: Callable[..., object], sequences: list[Any], states: list[Any], constants: list[Any], n_steps: Any,
        backwards: bool, strict: bool,
    ) -> None:  # fmt: skip
        self.fn, self.strict, self.backwards = fn, strict, backwards
        given: object = fn
        if not callable(given):
            msg = f"scan: fn must be a function of one step, got {text_of(fn)}. Pass a function."
            raise GraphTypeError(msg)
        self.constants = constants
        self.n_steps = n_steps
        self.has_one_step = n_steps is not None and known_integer(n_steps) == 1
        self.sequences = [rows for i, item in enumerate(sequences) for rows in _sequence(i, item, backwards)]
        self.steps = self._steps()
        self.says_states = bool(states)
        self.states = [_state(i, item) for i, item in enumerate(states)]

    def _steps(self) -> Any:
        if self.n_steps is None:
            if not self.sequences:
                msg = "scan: the number of steps is not known. Pass n_steps or a sequence."
                raise ArgumentError(msg)
            return reduce(minimum, [lengths(x.rows)[0] for x in self.sequences])
        steps = as_tensor_variable(self.n_steps)
        if steps.ndim or steps.type.numpy_dtype.kind not in "iu":
            msg = f"scan: n_steps must be an integer scalar, got {text_of(self.n_steps)} of type {steps.type}. Cast it."
            raise ArgumentError(msg)
        return cast(steps, LENGTH)

    # Calling the function of a step

    def _called(self, rows: Iterable[Any], states: Iterable[Any]) -> tuple[StepResults, list[Any]]:
        returned = self.fn(*rows, *states, *self.constants)
        if returned is None:
            msg = "scan: the function of a step returned None. Return what it computes."
            raise GraphValueError(msg)
        results = read_results(returned)
        if not self.says_states:
            self.states = [_State("nit_sot") for _ in results.outputs]
        if len(self.states) != len(results.outputs):
            msg = (
                f"scan: outputs_info has {len(self.states)} entries, and a step returned {len(results.outputs)} "
                "outputs. Give one for each output, None for those that are not states."
            )
            raise GraphValueError(msg)
        outputs = [
            as_output(str(i), x, state.initial)
            for i, (x, state) in enumerate(zip(results.outputs, self.states, strict=True))
        ]
        return results, outputs

    def single_step(self) -> tuple[list[Any], dict[SharedVariable, Variable]]:
        """Return the outputs of one step, stacked, without a loop; and the updates that it returned."""
        firsts = [value for state in self.states for value in state.firsts()]
        results, outputs = self._called([x.first() for x in self.sequences], firsts)
        stacked = [shape_padleft(x) if isinstance(x.type, TensorType) else x for x in outputs]
        return stacked, results.updates

    def _stepped(self) -> tuple[StepResults, list[Any]]:
        """Return what the function returned; numbers that states start with get the dtypes that steps make."""
        for _ in range(_MOST_TRIES):
            taken = [value for state in self.states for value in state.taken]
            results, outputs = self._called([x.row for x in self.sequences], taken)
            changed = False
            for state, out in zip(self.states, outputs, strict=True):
                kind = out.type
                if state.number is not None and kind.ndim == 0 and kind.dtype != state.initial.type.dtype:
                    state.initial = constant(state.number, dtype=kind.dtype)
                    state.taken = [kind.make_variable()]
                    changed = True
            if not changed:
                break
        return results, outputs

    # The loop

    def node(self, truncate_gradient: int, name: str | None, **options: Any) -> tuple[list[Any], dict[Any, Variable]]:
        """Return the outputs of the loop, and the values of shared variables after it."""
        before = new_serial()
        results, outputs = self._stepped()
        updates = dict(results.updates)
        condition = [] if results.condition is None else [results.condition]
        inner = [*outputs, *updates.values(), *condition]
        # What is given in non_sequences is not looked behind.
        named = [x for x in dict.fromkeys(self.constants) if not isinstance(x, SharedVariable | Constant)]
        copies: dict[Variable, Variable] = {x: safe_new(x, "_copy") for x in named}
        inner = graph_replace(inner, copies, strict=False)
        shared, further = self._roots(inner, copies)
        updates |= self._own_updates(shared, updates, before, further, copies, inner)
        copies |= {x: safe_new(x, "_copy") for x in further}
        copies |= {x: safe_new(x, "_copy") for x in shared}
        if self.strict:
            unknown = [x for x in shared if x not in updates and x not in self.constants]
            if unknown:
                msg = f"scan: strict, and a step uses the shared variable {unknown[0]}. Add it to non_sequences."
                raise MissingInputError(msg)
        everything = [*outputs, *updates.values(), *condition]
        everything = graph_replace(everything, copies, strict=False)
        new = dict(zip(updates, everything[len(outputs) :], strict=False))
        carried = [
            _State("sit_sot" if isinstance(x.type, TensorType) else "untraced", x, _PLAIN, [copies[x]]) for x in updates
        ]
        rest = [x for x in shared if x not in updates]
        groups = _grouped(
            [*zip(self.states, everything[: len(outputs)], strict=True), *zip(carried, new.values(), strict=True)]
        )
        fixed = [*rest, *named, *further]
        info = ScanInfo(
            n_seqs=len(self.sequences),
            mit_mot_in_slices=(),
            mit_mot_out_slices=(),
            mit_sot_in_slices=tuple(tuple(state.taps) for state, _ in groups["mit_sot"]),
            sit_sot_in_slices=((-1,),) * len(groups["sit_sot"]),
            n_nit_sot=len(groups["nit_sot"]),
            n_untraced_sit_sot=len(groups["untraced"]),
            n_non_seqs=len(fixed),
            as_while=bool(condition),
        )
        in_order = [pair for kind in ("mit_sot", "sit_sot", "nit_sot", "untraced") for pair in groups[kind]]
        inner_inputs: list[Variable] = [x.row for x in self.sequences]
        inner_inputs += [
            x for kind in ("mit_sot", "sit_sot", "untraced") for state, _ in groups[kind] for x in state.taken
        ]
        op = Scan(
            [*inner_inputs, *(copies[x] for x in fixed)],
            [*(new_value for _, new_value in in_order), *everything[len(outputs) + len(updates) :]],
            info, truncate_gradient=truncate_gradient, name=name, strict=self.strict, **options,
        )  # fmt: skip
        node = op.make_node(
            self.steps, *(x.rows[: self.steps] for x in self.sequences),
            *(expand_empty(state.initial[: state.depth], self.steps) for state, _ in groups["mit_sot"]),
            *(expand_empty(shape_padleft(state.initial), self.steps) for state, _ in groups["sit_sot"]),
            *(state.initial for state, _ in groups["untraced"]), *[self.steps] * info.n_nit_sot, *fixed,
        )  # fmt: skip
        by_state: dict[int, Any] = {id(state): out for (state, _), out in zip(in_order, node.outputs, strict=True)}
        for var in updates:
            if var.default_update is not None and var not in results.updates:
                var.default_update = None
        return (
            [_without_first(state, by_state[id(state)]) for state in self.states],
            {
                var: by_state[id(state)] if state.kind == "untraced" else by_state[id(state)][-1]
                for var, state in zip(updates, carried, strict=True)
            },
        )

    def _roots(self, outputs: Sequence[Variable], copies: Mapping[Variable, Variable]) -> tuple[list[Any], list[Any]]:
        """Return the shared variables, and the other variables from outside, that a step uses."""
        own = {x.row for x in self.sequences} | {x for state in self.states for x in state.taken} | set(copies.values())
        shared: dict[Any, None] = {}
        others: dict[Any, None] = {}
        for x in graph_inputs(outputs, list(own)):
            if x not in own and not isinstance(x, Constant):
                (shared if isinstance(x, SharedVariable) else others)[x] = None
        return list(shared), list(others)

    def _own_updates(
        self, shared: list[Any], explicit: Mapping[Any, Variable], before: int, further: list[Any],
        copies: Mapping[Variable, Variable], inner: Sequence[Variable],
    ) -> dict[Any, Variable]:  # fmt: skip
        """Return the default updates of shared variables that came into being in the step; `shared` may grow."""
        found: dict[Any, Variable] = {}
        pending = list(shared)
        while pending:
            var = pending.pop(0)
            new = var.default_update
            if var in explicit or new is None or new.owner is None or new.owner.serial < before:
                continue
            found[var] = new
            more, others = self._roots(graph_replace([*inner, new], dict(copies), strict=False), copies)
            pending += [x for x in more if x not in shared]
            shared += [x for x in more if x not in shared]
            further += [x for x in others if x not in further]
        return found


def _grouped(pairs: Iterable[tuple[_State, Variable]]) -> dict[str, list[tuple[_State, Variable]]]:
    groups: dict[str, list[tuple[_State, Variable]]] = {
        kind: [] for kind in ("mit_sot", "sit_sot", "nit_sot", "untraced")
    }
    for state, new in pairs:
        groups[state.kind].append((state, new))
    return groups


def _without_first(state: _State, out: Any) -> Any:
    """Return the part of an output of the loop that steps made."""
    return out[state.depth :] if state.kind in {"sit_sot", "mit_sot"} else out


def _sequence(at: int, item: Any, backwards: bool) -> list[_Rows]:
    """Return a sequence at each of its taps."""
    taps: Any = None
    if isinstance(item, Mapping):
        taps = item.get("taps")
        item = item.get("input")
    if item is None:
        msg = f"scan: sequences[{at}] must be a tensor, got None. Pass it as it is, or as dict(input=..., taps=...)."
        raise ArgumentError(msg)
    x: Any = as_tensor_variable(item)
    if x.ndim == 0:
        msg = f"scan: sequences[{at}]: a sequence needs a first dimension, got a scalar. Pass it in non_sequences."
        raise ArgumentError(msg)
    taps = [0] if taps is None else _taps(taps)
    oldest, newest = min(*taps, 0), max(*taps, 0)
    found = []
    for tap in taps:
        start, stop = tap - oldest, tap - newest
        rows = x[start : stop or None]
        # No row is taken here: there may be none.
        row = TensorType(x.type.dtype, x.type.shape[1:]).make_variable()
        if x.name is not None:
            row.name = f"{x.name}[t{tap:+}]" if tap else f"{x.name}[t]"
            rows.name = f"{x.name}[{start}:{stop or ''}]"
        found.append(_Rows(rows[::-1] if backwards else rows, row))
    return found


def _taps(given: Any) -> list[int]:
    return [int(tap) for tap in (given if isinstance(given, list | tuple | range | np.ndarray) else [given])]


def _state(at: int, item: Any) -> _State:
    """Return what an entry of `outputs_info` says."""
    taps: Any = None
    if isinstance(item, Mapping):
        unknown = set(item) - {"initial", "taps", "inplace"}
        if unknown:
            msg = (
                f"scan: outputs_info[{at}]: the keys are initial and taps, got {sorted(map(str, unknown))}. Leave out."
            )
            raise ArgumentError(msg)
        taps, item = item.get("taps"), item.get("initial")
        if item is None and taps is not None:
            msg = f"scan: outputs_info[{at}]: taps {text_of(taps)} need values to start with. Pass initial."
            raise ArgumentError(msg)
    if item is None:
        return _State("nit_sot")
    plain = taps is None or (isinstance(taps, list) and taps == _PLAIN)
    number = item if type(item) in {bool, int, float, complex} else None
    initial = _variable(item)
    label = f"{initial.name}[t-{{}}]" if initial.name is not None else None
    if plain:
        row = initial.type.make_variable(label and label.format(1))
        is_tensor = isinstance(initial.type, TensorType)
        if not is_tensor and not is_generator(initial.type):
            warnings.warn(
                f"scan: outputs_info[{at}], of type {initial.type}, is no tensor: only its last value is returned.",
                UserWarning,
                stacklevel=5,
            )
        return _State("sit_sot" if is_tensor else "untraced", initial, _PLAIN, [row], number if is_tensor else None)
    back = _taps(taps)
    if not back or len(set(back)) < len(back) or max(back) >= 0:
        msg = (
            f"scan: outputs_info[{at}]: taps must be different negative integers, got {back}. Number the values back "
            "from the step: -1 is the last one."
        )
        raise ArgumentError(msg)
    state = _State("mit_sot", initial, back)
    state.taken = [initial[tap + state.depth].type.make_variable(label and label.format(-tap)) for tap in back]
    return state
