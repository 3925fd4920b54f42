"""The function that jax.jit traces: the graph's nodes, run one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from treadle.config import dataclass, span
from treadle.graph import Apply, Constant, Variable, perform_early
from treadle.link.jax.errors import BranchShapeError
from treadle.link.jax.mapped_axes import is_mapped, varying, varying_axes
from treadle.link.jax.open_lengths import as_traced, computed, is_open
from treadle.link.jax.programs.keeping import Writes, writes_of
from treadle.link.jax.table import Array, Assumed, Checked, Flag, Function, Limit
from treadle.tensor import tensors

# The nodes whose shapes compiled code takes for granted, the inputs that decide them, and how many numbers of each.
Assumptions = list[tuple[Apply, Sequence[Variable], int]]
# Outputs, whether values were invalid (None if that cannot be), and two rows: the numbers that were assumed, and
# what they are (None if nothing was assumed). Where the rows differ, the outputs are not valid.
Outcome = tuple[tuple[jax.Array, ...], Flag, Flag]
# A branch: whether its values are invalid, whether what it assumed does not hold, and its results.
BranchFunction = Callable[[], tuple[jax.Array, ...]]


V = TypeVar("V", np.ndarray, "jax.Array")
# So many numbers are fetched from a device in no more time than a flag.
_MOST_FETCHED = 32


@dataclass(frozen=True, slots=True)
class Step:
    """One node, and the function that it is lowered to, None where it has no lowering."""

    function: Function | None
    node: Apply
    # Positions of the inputs that the function takes as NumPy arrays, and whether it takes them as `Assumed` too.
    static: frozenset[int]
    takes_assumed: bool = False
    # Whether the node is computed with NumPy while the graph is traced, because its value decides a shape.
    on_host: bool = False
    # Like the function, but returns its first argument where a flag, given before all others, is set.
    keeping: Function | None = None


@dataclass(frozen=True, slots=True)
class Arm:
    """One branch of a choice: what runs in it, and which variables it results in."""

    steps: tuple[Step | Choice, ...]
    results: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice of which only the branch taken is computed: the first where the condition is true."""

    node: Apply
    arms: tuple[Arm, Arm]


@dataclass(frozen=True, slots=True)
class StagedGraph:
    """A graph ready to be traced; `known` are the variables whose values are NumPy arrays then."""

    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    constants: tuple[Constant, ...]
    steps: tuple[Step | Choice, ...]
    known: frozenset[Variable]

    @property
    def by_value(self) -> tuple[int, ...]:
        """Positions of the inputs whose values decide shapes."""
        return tuple(i for i, v in enumerate(self.inputs) if v in self.known)

    @property
    def arguments(self) -> tuple[Constant, ...]:
        """The constants that are arguments of the compiled code, so that it is not computed from them beforehand.

        Single numbers are part of the code: each argument takes most of a microsecond of every call.
        """
        return tuple(c for c in self.constants if c not in self.known and not _is_number(c))

    def traceable(
        self,
        values: Mapping[Variable, np.ndarray],
        assumptions: Assumptions,
        replaced: Sequence[tuple[int, int]] = (),
        notes: Notes | None = None,
    ) -> Callable[..., Outcome]:
        """Return the function to compile, of all inputs and the `arguments`.

        The code is compiled for `values`, those of the inputs taken by value. `assumptions` is filled with the
        nodes whose shapes they decide, as the code assumes, and how many numbers of each. Where outputs will be put in
        the place of inputs, `replaced` has the positions of both. `notes` are made of what callers of the code must
        know; without them it checks everything itself.
        """
        writes = writes_of(self.inputs, self.outputs, self.steps, replaced) if replaced else None
        fixed: dict[Variable, Array] = {c: c.data for c in self.constants if c in self.known}
        fixed.update(values)
        numbers = [c for c in self.constants if c not in self.known and _is_number(c)]
        free = [*self.inputs, *self.arguments]

        def run(*args: jax.Array) -> Outcome:
            known: dict[Variable, Array] = dict(zip(free, args, strict=True))
            trace = Trace(known | fixed | {c: jnp.asarray(c.data) for c in numbers})
            # Open lengths are what they are when exported code runs.
            trace.actual.update(
                (v, x) for v, x in zip(free, args, strict=True) if v in values and not is_open(values[v])
            )
            if notes is not None:
                # Nobody may hold what is replaced, as who has read it does.
                gone = {at for at, _ in replaced}
                trace.places.update(
                    (id(x), at)
                    for at, x in enumerate(args[: len(self.inputs)])
                    if at not in gone and (notes.reads_all or x.size <= _MOST_FETCHED)
                )
            with span("code generation"):
                if writes is None:
                    trace.run(self.steps)
                else:
                    all_kept = trace.run_keeping(writes)
                    if notes is not None:
                        notes.kept = writes.outputs if all_kept else ()
            if notes is not None:
                notes.bounds = tuple(dict.fromkeys(trace.bounds))
            assumptions[:] = [(a.node, a.deciding, a.assumed.size) for a in trace.assumptions]
            outputs = tuple(_own(trace.present(v), args) for v in self.outputs)
            return outputs, trace.failed(), trace.in_rows()

        return run


@dataclass(slots=True)
class Notes:
    """What tracing finds out for those who call the compiled code.

    `kept` are the positions of replaced outputs that are what the inputs were where a check fails. `bounds` are checks
    that are left to the caller: the position of an input, the smallest valid integer, and the smallest above these.

    `reads_all` is whether the caller can read large arrays where they are.
    """

    kept: tuple[int, ...] = ()
    bounds: tuple[tuple[int, int, int], ...] = ()
    reads_all: bool = False


def _is_number(constant: Constant) -> bool:
    return isinstance(constant.data, np.ndarray) and constant.data.size == 1


@dataclass(frozen=True, slots=True)
class Assumption:
    """A number that compiled code assumes, because it decides a node's shape; and what it is in the call at hand.

    `deciding` are the inputs of the node that do.
    """

    node: Apply
    deciding: Sequence[Variable]
    assumed: np.ndarray
    actual: Array


def _actual_bits(assumption: Assumption) -> jax.Array:
    """Return what is, as numbers to compare with what is assumed: others, for a vector of another length."""
    assumed, actual = _bits(assumption.assumed).ravel(), _bits(jnp.asarray(assumption.actual)).ravel()
    return actual if actual.shape == assumed.shape else jnp.asarray(~assumed)


def _bits(value: V) -> V:
    """Return numbers as int64, floats by their bits."""
    return value.astype("int64") if value.dtype.kind in "biu" else value.astype("float64").view("int64")


class Trace:
    """The values of one trace."""

    def __init__(self, values: dict[Variable, Array], actual: dict[Variable, Array] | None = None) -> None:
        # Values of variables; NumPy arrays for those that decide shapes.
        self.values = values
        # What those that decide shapes are in the call at hand, where this may be something else in another
        # call.
        self.actual = {} if actual is None else actual
        # Flags of invalid values.
        self.failures: list[jax.Array] = []
        # What is taken for granted about the numbers in `actual`.
        self.assumptions: list[Assumption] = []
        # Arguments that the caller can look at, by identity, and what it has to look for.
        self.places: dict[int, int] = {}
        self.bounds: list[tuple[int, int, int]] = []

    def present(self, var: Variable) -> Array:
        """Return a variable's value in the call at hand."""
        return self.actual[var] if var in self.actual else self.values[var]

    def failed(self) -> Flag:
        """Return whether values were invalid; None if that cannot be."""
        return reduce(jnp.logical_or, self.failures) if self.failures else None

    def in_rows(self) -> Flag:
        """Return what is assumed and what is, as two rows of integers; None if nothing is."""
        if not self.assumptions:
            return None
        assumed = np.concatenate([_bits(a.assumed).ravel() for a in self.assumptions])
        actual = jnp.concatenate([_actual_bits(a) for a in self.assumptions])
        return jnp.stack([jnp.asarray(assumed), actual])

    def differs(self) -> Flag:
        """Return whether what is assumed does not hold; None if nothing is."""
        rows = self.in_rows()
        return None if rows is None else (rows[0] != rows[1]).any()

    def assume(self, node: Apply, var: Variable) -> None:
        """Take a value that decides a shape for granted."""
        self.assumptions.append(Assumption(node, (var,), np.asarray(self.values[var]), self.actual[var]))

    def run(self, steps: Sequence[Step | Choice]) -> None:
        """Trace steps."""
        for step in steps:
            if isinstance(step, Choice):
                self._choose(step)
            elif step.on_host:
                self._known(step)
            else:
                self.values.update(zip(step.node.outputs, self._traced(step), strict=True))

    def run_keeping(self, writes: Writes) -> bool:
        """Trace steps, writing nothing where a check fails; return whether all checks are made before the writes."""
        self.run((*writes.before, *writes.writes))
        failed = self.failed()
        if failed is not None:
            # Once more: what was written without looking at the flag is used nowhere, and not compiled.
            for step in writes.writes:
                assert step.keeping is not None
                arguments = [self._argument(step, at, v) for at, v in enumerate(step.node.inputs)]
                result = step.keeping(failed, *arguments)
                value = result.value if isinstance(result, Checked) else result
                self.values[step.node.outputs[0]] = cast("Array", value)
        checks = len(self.failures)
        self.run(writes.after)
        return len(self.failures) == checks

    def _known(self, step: Step) -> None:
        """Compute a node that decides a shape: with NumPy, and for the call at hand."""
        node = step.node
        known = [np.asarray(self.values[v]) for v in node.inputs]
        if any(map(is_open, known)):
            self.values.update(zip(node.outputs, computed(node, known), strict=True))
            return
        cells: list[list[Any]] = [[None] for _ in node.outputs]
        perform_early(node, known, cells)
        self.values.update(zip(node.outputs, (cell[0] for cell in cells), strict=True))
        varying = [v for v in node.inputs if v in self.actual]
        if step.function is not None and varying:
            self.actual.update(zip(node.outputs, self._traced(step), strict=True))
            return
        for var in varying:
            self.assume(node, var)

    def _traced(self, step: Step) -> Sequence[Array]:
        """Return the outputs of a lowered node."""
        assert step.function is not None
        result = step.function(*[self._argument(step, at, v) for at, v in enumerate(step.node.inputs)])
        if isinstance(result, Checked):
            if result.failed is not None:
                self.failures.append(result.failed)
            for limit in result.limits:
                self._limit(limit)
            deciding = [v for at, v in enumerate(step.node.inputs) if at in step.static]
            self.assumptions += (Assumption(step.node, deciding, np.asarray(a), b) for a, b in result.assumptions)
            result = result.value
        return result if isinstance(result, tuple) else (result,)

    def _limit(self, limit: Limit) -> None:
        """Leave a check of integers to the caller where they are an argument that it can look at; else make it here."""
        at = self.places.get(id(limit.value))
        if at is not None:
            self.bounds.append((at, limit.least, limit.end))
            return
        least = 0 if limit.value.dtype.kind == "u" else limit.least
        integers = lax.convert_element_type(limit.value, "int64")
        self.failures.append(jnp.any((integers < least) | (integers >= limit.end)))

    def _argument(self, step: Step, at: int, var: Variable) -> Array | Assumed:
        if at not in step.static:
            return as_traced(self.present(var))
        if var in self.actual:
            if step.takes_assumed:
                return Assumed(np.asarray(self.values[var]), jnp.asarray(self.actual[var]))
            self.assume(step.node, var)
        return self.values[var]

    def _choose(self, step: Choice) -> None:
        """Trace both branches as functions of ``lax.cond``; one alone where the condition is known already."""
        first = step.node.inputs[0]
        condition = self.values[first]
        if isinstance(condition, np.ndarray | np.generic | bool):
            if first in self.actual:
                self.assume(step.node, first)
            arm = step.arms[0 if condition else 1]
            self.run(arm.steps)
            self.values.update(zip(step.node.outputs, (self.present(v) for v in arm.results), strict=True))
            return
        kinds = [v.type for v in tensors(step.node.outputs)]
        inside: list[Trace] = []
        values, actual, axes = self.values, self.actual, frozenset[str]()
        if is_mapped():
            # JAX has one type for both branches, and cannot map a branch over a batch that marks what it takes.
            taken = {v: self.present(v) for v in _captured(step.arms) if v in self.values}
            arrays = {v: x for v, x in taken.items() if isinstance(x, jax.Array)}
            axes = varying_axes(jnp.asarray(condition)).union(*map(varying_axes, arrays.values()))
            marked = {v: varying(x, axes) for v, x in arrays.items()}
            values = values | {v: x for v, x in marked.items() if v not in actual}
            actual = actual | {v: x for v, x in marked.items() if v in actual}

        def traced(arm: Arm) -> BranchFunction:
            def run() -> tuple[jax.Array, ...]:
                # No other branch knows the variables that are made here.
                inner = Trace(values, actual)
                try:
                    inner.run(arm.steps)
                except BranchShapeError:
                    raise
                except Exception as error:
                    raise _refused(step, arm, error) from error
                inside.append(inner)
                flags = (jnp.asarray(False) if flag is None else flag for flag in (inner.failed(), inner.differs()))
                results = (
                    as_traced(inner.present(v)).astype(t.numpy_dtype) for v, t in zip(arm.results, kinds, strict=True)
                )
                return tuple(varying(x, axes) for x in (*flags, *results))

            return run

        first_is_taken = jnp.asarray(condition) != 0
        failed, differs, *results = _cond(step.node, first_is_taken, traced(step.arms[0]), traced(step.arms[1]))
        if any(inner.failures for inner in inside):
            self.failures.append(failed)
        if any(inner.assumptions for inner in inside):
            self.assumptions.append(Assumption(step.node, (), np.asarray(False), differs))
        self.values.update(zip(step.node.outputs, results, strict=True))


def _captured(arms: Iterable[Arm]) -> set[Variable]:
    """Return the variables that branches take or result in, those inside of inner branches too."""
    captured: set[Variable] = set()
    for arm in arms:
        captured.update(arm.results)
        for step in arm.steps:
            captured.update(step.node.inputs)
            if isinstance(step, Choice):
                captured |= _captured(step.arms)
    return captured


def _refused(choice: Choice, arm: Arm, error: Exception) -> BranchShapeError:
    """Return the error of a branch that cannot be traced, as that of lengths which do not fit."""
    name, value = ("first", "true") if arm is choice.arms[0] else ("second", "false")
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return BranchShapeError(
        f"ifelse: JAX cannot trace the {name} branch, for where the condition is {value} ({reason})"
        f"{choice.node.where()}. JAX traces both branches, whichever is taken. Give the branch lengths and positions "
        "that fit in every call, or pick another mode."
    )


def _cond(node: Apply, condition: jax.Array, first: BranchFunction, second: BranchFunction) -> tuple[jax.Array, ...]:
    shapes: list[list[tuple[int, ...]]] = []

    def noted(arm: BranchFunction) -> BranchFunction:
        def run() -> tuple[jax.Array, ...]:
            values = arm()
            shapes.append([x.shape for x in values])
            return values

        return run

    try:
        results: tuple[jax.Array, ...] = lax.cond(condition, noted(first), noted(second))
    except TypeError as error:
        if len(shapes) != 2 or shapes[0] == shapes[1]:
            raise
        msg = (
            f"{node.op}: the branches have the shapes {shapes[0][2:]} and {shapes[1][2:]}, and XLA needs one"
            f"{node.where()}. Give both branches the same shapes, or pick another mode."
        )
        raise BranchShapeError(msg) from error
    return results


def _own(value: Array, args: Sequence[jax.Array]) -> jax.Array:
    """Return an output as an array of its own: JAX would hand an argument through, memory and all."""
    array = as_traced(value)
    return jnp.array(array, copy=True) if any(array is x for x in args) else array
