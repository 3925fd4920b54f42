"""Compiled forms of one graph by what they assume about the values that decide shapes."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import dataclass, new_lock
from treadle.graph import Apply, Variable, explicit_graph_inputs
from treadle.link.jax.errors import RecompilationWarning
from treadle.link.jax.table import Array
from treadle.tensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    IncSubtensor,
    Span,
    Subtensor,
    Symbolic,
    constant_difference,
    symbolic_count,
)

if TYPE_CHECKING:
    from treadle.link.jax.programs.tracing import Assumptions, Outcome

# For so many combinations of values it is remembered which form they fit.
_MOST_REMEMBERED = 10_000
Values = tuple[bytes, ...]


@dataclass(slots=True, eq=False)
class Variant:
    """A compiled form."""

    # Takes the inputs; returns outputs, a flag of invalid values, and what it assumed and what is, in two rows.
    form: Callable[..., Outcome]
    # The values that it was compiled for.
    made_for: Values
    # The nodes whose shapes its assumptions are about, each with what decides them and the number of columns;
    # empty where the form came out of the compile cache.
    assumptions: Assumptions
    # What it assumed in the latest call that was looked at.
    assumed: bytes = b""
    # How often its assumptions held.
    uses: int = 0

    def fits(self, key: Values, rows: np.ndarray) -> bool:
        """Whether a result is right: the form was made for these values, or its assumptions held."""
        return self.made_for == key or not (rows[0] != rows[1]).any()


class Variants:
    """Compiled forms, each for some values of the inputs that decide shapes; the latest used are kept.

    A form is compiled for the values of one call. It computes in each call what it assumed about them, such as the
    length of a slice, and says so with its outputs; where its assumptions hold, the outputs are right for other
    values too. So values not met before are tried on the form that is used most, and only then compiled for.
    """

    __slots__ = ("_by_values", "_fitting", "_limit", "_lock", "_make", "_usual", "_warned")

    def __init__(self, make: Callable[[Sequence[np.ndarray]], Variant], limit: int) -> None:
        # Returns the compiled form for values.
        self._make = make
        # How many to keep.
        self._limit = limit
        self._by_values: OrderedDict[Values, Variant] = OrderedDict()
        # Which form other values fit.
        self._fitting: OrderedDict[Values, Variant] = OrderedDict()
        self._usual: Variant | None = None
        self._warned: set[Apply] = set()
        self._lock = new_lock()

    def __len__(self) -> int:
        return len(self._by_values)

    def __call__(self, values: Sequence[np.ndarray], inputs: Sequence[Array]) -> Outcome:
        """Return what a form that fits returns for inputs of which some, `values`, decide shapes."""
        key = tuple(x.tobytes() for x in values)
        with self._lock:
            first = self._by_values.get(key) or self._fitting.get(key) or self._usual
        if first is None:
            return self._compiled_for(key, values, inputs)
        result, rows = _called(first, inputs)
        if rows is None or first.fits(key, rows):
            self._note(key, first)
            return result
        with self._lock:
            alike = [v for v in self._by_values.values() if v.assumed == rows[1].tobytes() and v is not first]
        for other in alike[:1]:
            result, other_rows = _called(other, inputs)
            if other_rows is None or other.fits(key, other_rows):
                self._note(key, other)
                return result
        result = self._compiled_for(key, values, inputs)
        self._warn(first.assumptions or self._by_values[key].assumptions, rows)
        return result

    def _compiled_for(self, key: Values, values: Sequence[np.ndarray], inputs: Sequence[Array]) -> Outcome:
        """Return what the form made for the values returns."""
        with self._lock:
            variant = self._by_values.get(key)
            if variant is None:
                variant = self._by_values[key] = self._make([np.array(x) for x in values])
                self._drop_oldest()
        result, rows = _called(variant, inputs)
        if rows is not None:
            variant.assumed = rows[0].tobytes()
        self._note(key, variant)
        return result

    def _drop_oldest(self) -> None:
        if len(self._by_values) <= self._limit:
            return
        _, gone = self._by_values.popitem(last=False)
        self._usual = None if self._usual is gone else self._usual
        for key in [k for k, v in self._fitting.items() if v is gone]:
            del self._fitting[key]

    def _note(self, key: Values, variant: Variant) -> None:
        """Note that a form served values."""
        with self._lock:
            variant.uses += 1
            if variant.made_for not in self._by_values:
                return
            self._by_values.move_to_end(variant.made_for)
            if self._usual is None or variant.uses > self._usual.uses:
                self._usual = variant
            if variant.made_for != key:
                self._fitting[key] = variant
                if len(self._fitting) > _MOST_REMEMBERED:
                    self._fitting.popitem(last=False)

    def _warn(self, assumptions: Assumptions, rows: np.ndarray) -> None:
        """Name the value that forced a form to be compiled, once; not where a slice reached the end of a tensor."""
        differ = rows[0] != rows[1]
        at, changed = 0, []
        for node, deciding, size in assumptions:
            if differ[at : at + size].any():
                changed.append((node, deciding))
            at += size
        if not changed or changed[0][0] in self._warned or any(is_of_fixed_length(node) for node, _ in changed):
            return
        self._warned.add(changed[0][0])
        warnings.warn(recompilation_text(*changed[0]), RecompilationWarning, stacklevel=2)


def _called(variant: Variant, inputs: Sequence[Array]) -> tuple[Outcome, np.ndarray | None]:
    """Return what a form returns, and the rows of its assumptions as a NumPy array."""
    result = variant.form(*inputs)
    return result, None if result[2] is None else np.asarray(result[2])


def is_of_fixed_length(node: Apply) -> bool:
    """Whether a node is an index whose slices have lengths that do not depend on values, but for the tensor's end."""
    op = node.op
    if not isinstance(op, Subtensor | AdvancedSubtensor | IncSubtensor | AdvancedIncSubtensor):
        return False
    first = 1 if isinstance(op, Subtensor | AdvancedSubtensor) else 2
    remaining = iter(node.inputs[first:])
    for entry in op.entries:
        parts = [next(remaining) for _ in range(symbolic_count([entry]))]
        if not isinstance(entry, Span) or not parts:
            continue
        if not isinstance(entry.start, Symbolic) or not isinstance(entry.stop, Symbolic) or len(parts) > 2:
            return False
        if constant_difference(parts[1], parts[0]) is None:
            return False
    return True


def recompilation_text(node: Apply, deciding: Sequence[Variable]) -> str:
    """Return what is said about a node whose shape changes with a value of its inputs."""
    numbers = [v for v in explicit_graph_inputs(deciding) if getattr(v.type, "ndim", 2) < 2]
    named = dict.fromkeys(map(str, numbers))
    of = ", ".join(named) or "an input"
    return (
        f"jax: a shape in {node.op} depends on the value of {of}{node.where()}; XLA compiles anew for each such value. "
        "Give it a length that does not change (x[i * n : (i + 1) * n] has one), or pick another mode."
    )
