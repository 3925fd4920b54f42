"""Checking one node on one call's values: its maps, its types, its memory, and its other implementations."""

from __future__ import annotations

import warnings
from dataclasses import field
from typing import TYPE_CHECKING

from treadle.compile.debugmode.comparison import is_close, is_same
from treadle.compile.debugmode.demand import MISSING
from treadle.compile.debugmode.errors import (
    BadDestroyMap,
    BadThunkOutput,
    BadViewMap,
    DebugModeError,
    DebugModeWarning,
    InvalidValueError,
    StrideMismatchError,
    described,
)
from treadle.config import dataclass
from treadle.graph import LoweringError, NodeError, raise_node_error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.compile.debugmode.implementations import Implementations
    from treadle.graph import Apply, Cell, Compute, Value, Variable

# The kinds of memory that the option check_preallocated_output names; "ALL" stands for all of them.
KINDS = ("initial", "previous", "c_contiguous", "f_contiguous", "strided", "wrong_size")


@dataclass(frozen=True, slots=True)
class Checks:
    """What is checked of each node."""

    finite: bool = True  # whether results must be finite
    preallocated: tuple[str, ...] = ()  # kinds of memory, given beforehand for outputs, that nodes are tried with
    dims: int = 4  # of how many innermost dimensions all combinations of strides are tried
    strides: int = 0  # what to do where strides differ: nothing (0), warn (1), raise (2)
    warn_not_reused: bool = True  # of an op that says that it works in place and does not


@dataclass(slots=True)
class NodeChecker:
    """Computes nodes and checks them while it does."""

    implementations: Implementations
    checks: Checks
    used_inside: Callable[[Variable], bool]  # whether a node of the graph uses a variable
    is_constant: Callable[[Variable], bool]  # whether a variable only shows constants, which need not be finite
    _earlier: dict[Variable, Value] = field(default_factory=dict)
    _warned: set[Apply] = field(default_factory=set)

    def run(self, node: Apply, inputs: list[Value]) -> Sequence[Value]:
        """Return the outputs of a node for values of its inputs, `MISSING` for those of a branch not taken."""
        others = self.implementations.others(node)
        # Only a program of a backend takes the place of Python; what Python itself runs is checked as such.
        substitute = None if self.implementations.python else next((o for o in others if "backend" in o[0]), None)
        if substitute is None or any(x is MISSING for x in inputs):
            name, results = "perform", self._through_perform(node, inputs)
        else:
            name, results = substitute[0], self._compute(node, inputs, *substitute)
            others = [other for other in others if other is not substitute and "vm" not in other[0]]
            self._check_types(node, inputs, name, results)
        self._check_finite(node, inputs, name, results)
        if name == "perform":
            self._try_memory(node, inputs, results)
        for other in others if not any(x is MISSING for x in inputs) else ():
            self._compare(node, inputs, name, results, *other)
        return results

    def compare(self, node: Apply, inputs: list[Value]) -> None:
        """Compare the implementations of a node, whether or not its results are finite."""
        results = self._through_perform(node, inputs)
        for other in self.implementations.others(node):
            self._compare(node, inputs, "perform", results, *other)

    # Running

    def copies(self, node: Apply, inputs: Sequence[Value]) -> list[Value]:
        """Return copies that a node may do anything with; None for what was not computed."""
        return [None if v is MISSING else x.type.copy_value(v) for x, v in zip(node.inputs, inputs, strict=True)]

    def perform(self, node: Apply, values: Sequence[Value], cells: Sequence[Cell]) -> None:
        """Run `perform`; an error names the node and the user's line."""
        try:
            self.implementations.reference(node)(values, cells)
        except (DebugModeError, NodeError) as error:
            error.add_note(f"It happened inside {described(node)}.")
            raise
        except Exception as error:  # noqa: BLE001 - it is raised again
            raise_node_error(node, error, values)

    def _through_perform(self, node: Apply, inputs: Sequence[Value]) -> list[Value]:
        values = self.copies(node, inputs)
        arguments = list(values)
        cells: list[Cell] = [[None] for _ in node.outputs]
        self.perform(node, values, cells)
        results = [cell[0] for cell in cells]
        self._check_types(node, inputs, "perform", results)
        self._check_destroyed(node, inputs, arguments, "perform")
        self._check_views(node, arguments, results, "perform")
        self._check_reuse(node, arguments, results)
        # Views of what is overwritten later would change with it.
        return [out.type.copy_value(value) for out, value in zip(node.outputs, results, strict=True)]

    def _compute(self, node: Apply, inputs: Sequence[Value], name: str, compute: Compute) -> list[Value]:
        """Run another implementation, and check that it leaves its inputs alone and its results are its own."""
        values = self.copies(node, inputs)
        results = list(compute(*values))
        self._check_destroyed(node, inputs, values, name)
        self._check_views(node, values, results, name)
        return results

    # Checking what perform did

    def _check_destroyed(self, node: Apply, inputs: Sequence[Value], after: Sequence[Value], name: str) -> None:
        declared = {i for places in node.op.destroy_map.values() for i in places}
        for i, (x, before, now) in enumerate(zip(node.inputs, inputs, after, strict=True)):
            if before is not MISSING and i not in declared and not is_same(x.type, before, now):
                raise BadDestroyMap(node, i, before, now, name)

    def _check_views(self, node: Apply, values: Sequence[Value], results: Sequence[Value], name: str) -> None:
        views, destroyed = node.op.view_map, node.op.destroy_map
        owned: list[int] = []
        for o, (out, result) in enumerate(zip(node.outputs, results, strict=True)):
            shared = [i for i, x in enumerate(values) if x is not None and out.type.may_share_memory(result, x)]
            declared = {*views.get(o, ()), *destroyed.get(o, ())}
            undeclared = [i for i in shared if i not in declared]
            if undeclared:
                raise BadViewMap(node, o, result, in_alias_idx=undeclared, perform=name)
            # As documented: outputs of one node may share memory as long as no other node works with them.
            if not shared and self.used_inside(out):
                same = [k for k in owned if out.type.may_share_memory(result, results[k])]
                if same:
                    raise BadViewMap(node, o, result, out_alias_idx=same, perform=name)
                owned.append(o)

    def _check_reuse(self, node: Apply, values: Sequence[Value], results: Sequence[Value]) -> None:
        """Warn of an op that says it works in place or returns a view, where it could, and does not."""
        if not self.checks.warn_not_reused or node in self._warned:
            return
        claims = [("overwrites", *item) for item in node.op.destroy_map.items()]
        claims += [("is a view of", *item) for item in node.op.view_map.items()]
        for verb, o, places in claims:
            out, result = node.outputs[o], results[o]
            is_reusable = _same_form if verb == "overwrites" else _can_be_viewed
            fits = [i for i in places if i not in node.op.working_inputs and is_reusable(values[i], result)]
            if fits and not any(out.type.may_share_memory(result, values[i]) for i in places):
                self._warned.add(node)
                msg = (
                    f"{described(node)}: the op says that output {o} {verb} input {fits[0]}, but perform did not reuse "
                    "its memory. Use an op that does not say so, or option DebugMode__warn_input_not_reused."
                )
                warnings.warn(msg, DebugModeWarning, stacklevel=2)

    @staticmethod
    def _check_types(node: Apply, inputs: Sequence[Value], name: str, results: Sequence[Value]) -> None:
        for out, value in zip(node.outputs, results, strict=True):
            try:
                out.type.accept(value, strict=True)
            except (TypeError, ValueError) as error:
                hint = f"{name} made a value that is none of its type ({error})"
                raise InvalidValueError(out, value, hint=hint, inputs_val=_computed(inputs)) from error

    def _check_finite(self, node: Apply, inputs: Sequence[Value], name: str, results: Sequence[Value]) -> None:
        if self.checks.finite:
            for out, value in zip(node.outputs, results, strict=True):
                if self.is_constant(out):
                    continue
                check_finite(out, value, f"{name} made a value that is not finite", inputs=_computed(inputs))

    # Memory given beforehand

    def _try_memory(self, node: Apply, inputs: Sequence[Value], results: Sequence[Value]) -> None:
        """Run `perform` again with every kind of memory that is asked for."""
        for kind in self.checks.preallocated:
            for buffers in self._buffers(kind, node, results):
                cells = [[buffer] for buffer in buffers]
                values = self.copies(node, inputs)
                name = f"perform with outputs given beforehand ({kind})"
                try:
                    self.perform(node, values, cells)
                except NodeError as error:
                    raise self._failure(node, inputs, "perform", results, name, error) from error
                self._check_destroyed(node, inputs, values, name)
                repeated = [cell[0] for cell in cells]
                self._check_same(node, inputs, "perform", results, name, repeated)
        if "initial" in self.checks.preallocated:
            copied = (out.type.copy_value(value) for out, value in zip(node.outputs, results, strict=True))
            self._earlier.update(zip(node.outputs, copied, strict=True))

    def _buffers(self, kind: str, node: Apply, results: Sequence[Value]) -> list[Cell]:
        """Return buffers for the outputs, in all the ways of one kind."""
        pairs = list(zip(node.outputs, results, strict=True))
        if kind == "previous":
            return [[out.type.copy_value(value) for out, value in pairs]]
        if kind == "initial":
            # The outputs of the call before, perhaps of another shape.
            if any(out not in self._earlier for out in node.outputs):
                return []
            return [[out.type.copy_value(self._earlier[out]) for out in node.outputs]]
        ways = [list(out.type.preallocations(kind, value, self.checks.dims)) for out, value in pairs]
        count = max(map(len, ways))
        # Of outputs with fewer ways, the last one is used again: a further buffer would not be another case.
        return [[way[min(k, len(way) - 1)] if way else None for way in ways] for k in range(count)]

    # Other implementations

    def _compare(
        self, node: Apply, inputs: Sequence[Value], first: str, results: Sequence[Value], name: str, compute: Compute
    ) -> None:
        try:
            other_results = self._compute(node, inputs, name, compute)
        except LoweringError:
            self.implementations.drop(node, name)
            return
        except DebugModeError:
            raise
        except Exception as error:
            raise self._failure(node, inputs, first, results, name, error) from error
        self._check_same(node, inputs, first, results, name, other_results)

    @staticmethod
    def _failure(
        node: Apply, inputs: Sequence[Value], first: str, results: Sequence[Value], name: str, error: Exception
    ) -> BadThunkOutput:
        """Return the error about an implementation that fails where another one does not."""
        text = f"{name} fails where {first} does not: {str(error).rstrip('.')}"
        return BadThunkOutput(node.outputs[0], first, results[0], name, MISSING, _computed(inputs), text)

    def _check_same(
        self,
        node: Apply,
        inputs: Sequence[Value],
        first: str,
        results: Sequence[Value],
        name: str,
        other_results: Sequence[Value],
    ) -> None:
        values = _computed(inputs)
        for out, value, other in zip(node.outputs, results, other_results, strict=True):
            valid = out.type.is_valid_value(other, strict=True)
            if valid and is_close(out.type, value, other, scale_of(node, inputs)):
                self._check_strides(out, first, value, name, other)
                continue
            hint = "" if valid else f"the latter is none of type {out.type}"
            raise BadThunkOutput(out, first, value, name, other, values, hint)

    def _check_strides(self, out: Variable, first: str, value: Value, name: str, other: Value) -> None:
        level = self.checks.strides
        a, b = getattr(value, "strides", None), getattr(other, "strides", None)
        if not level or "given beforehand" in name or a == b:
            return
        error = StrideMismatchError(out, first, value, name, other, hint=f"the strides are {a} and {b}")
        if level > 1:
            raise error
        warnings.warn(str(error), DebugModeWarning, stacklevel=2)


def scale_of(node: Apply, inputs: Sequence[Value]) -> float:
    """Return the size of the largest number among a node's inputs."""
    sizes = (x.type.magnitude(v) for x, v in zip(node.inputs, inputs, strict=True) if v is not MISSING)
    return max(sizes, default=0.0)


def check_finite(
    var: Variable, value: Value, hint: str, client: Apply | None = None, inputs: Sequence[Value] = ()
) -> None:
    """Refuse a value that is not finite."""
    nan, infinite = var.type.non_finite(value)
    if nan or infinite:
        what = " and ".join(name for name, there in (("NaN", nan), ("infinity", infinite)) if there)
        raise InvalidValueError(var, value, client, f"{hint} ({what})", inputs)


def _computed(inputs: Sequence[Value]) -> list[Value]:
    return [value for value in inputs if value is not MISSING]


def _can_be_viewed(value: Value, result: Value) -> bool:
    """Whether an op could return a view of an array: the result has as many elements, of the same dtype, in one piece.

    Of an array with gaps, or of one element, an op may have to make a copy.
    """
    flags = getattr(value, "flags", None)
    return (
        flags is not None
        and bool(flags.c_contiguous)
        and getattr(result, "size", 0) == value.size > 1
        and getattr(result, "dtype", None) == value.dtype
    )


def _same_form(a: Value, b: Value) -> bool:
    """Whether two values have the same dtype and shape, so that one may take the other's memory."""
    return all(getattr(a, name, None) == getattr(b, name, None) for name in ("dtype", "shape"))
