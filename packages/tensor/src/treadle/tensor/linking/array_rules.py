"""Rules written once for libraries of arrays that follow the array API standard: JAX, PyTorch and any other."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from treadle.graph import DeepCopyOp, ViewOp
from treadle.tensor.arrangement.diagonals import ExtractDiag
from treadle.tensor.control.assertion import CheckAndRaise
from treadle.tensor.errors import ShapeError
from treadle.tensor.indexing.nonzero import CheckMask
from treadle.tensor.joins.joining import Join
from treadle.tensor.reductions.accumulation import LinearRecurrence
from treadle.tensor.reductions.reduction import ArgReduction
from treadle.tensor.shapes.broadcasting import Alloc, SumTo
from treadle.tensor.shapes.dimshuffle import DimShuffle
from treadle.tensor.shapes.shape_specification import SpecifyShape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from treadle.graph import LoweringTable, Op
    from treadle.tensor.variables.variable import TensorNode

    # An array of a library, which the standard gives no class; and what rules make of a node.
    Array = Any
    Lowered = Any

__all__ = ["ArrayRules", "enter_array_rules"]


class ArrayRules:
    """Rules of one library's backend. A subclass says what differs, and overrides the rules that it has better.

    A rule is called as ``rule(op, node)``, and returns a function of the node's inputs. Lengths, the inputs that decide
    shapes, come as `lengths` takes them.

    Parameters
    ----------
    xp
        Functions by the standard's names: permute_dims, squeeze and expand_dims, of which the last two take a tuple of
        axes, reshape, broadcast_to, concat, stack, any, logical_not, argmax and argmin.

    Examples
    --------
    >>> class OfNumPy(ArrayRules):
    ...     def lengths(self, values):
    ...         return tuple(int(n) for n in values)
    >>> swapped = tt.dmatrix("x").T
    >>> OfNumPy(np).dimshuffle(swapped.owner.op, swapped.owner)(np.ones((2, 3))).shape
    (3, 2)
    """

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    # What differs

    def converter(self, source: str, target: str) -> Callable[[Array], Array]:
        """Return the function that converts arrays of one dtype to another one as NumPy does."""
        raise NotImplementedError

    def lengths(self, values: Sequence[Any]) -> Sequence[int]:
        """Return lengths as integers."""
        raise NotImplementedError

    def total(self, x: Array, axes: tuple[int, ...], dtype: str) -> Array:
        """Return the sum over axes in the array's dtype; of truth values it is "or"."""
        raise NotImplementedError

    def checked(self, run: Callable[..., tuple[Any, Any]]) -> Lowered:
        """Return what a rule returns for a function that finds out whether its input values are valid.

        It returns an array of one bool that is true if they are not, or None, and the result.
        """
        raise NotImplementedError

    def copied(self, x: Array) -> Array:
        """Return a copy; by default the array itself, which suits a library whose arrays are never overwritten."""
        return x

    def comparable(self, dtype: str) -> Callable[[Array], Array]:
        """Return the function that makes arrays of a dtype some that are ordered alike and that the library orders."""
        return lambda x: x

    # Rules

    def dimshuffle(self, op: DimShuffle, node: TensorNode) -> Lowered:
        """Lower to a squeeze, a permutation and new dimensions."""
        xp, dropped = self.xp, op.dropped
        kept = [d for d in range(op.ndim) if d not in dropped]
        order = tuple(kept.index(d) for d in op.order if isinstance(d, int))
        new = tuple(at for at, d in enumerate(op.order) if not isinstance(d, int))
        permutes = order != tuple(range(len(kept)))

        def run(x: Array) -> Array:
            for d in dropped:
                if x.shape[d] != 1:
                    msg = f"dimension {d} must have length 1 to be dropped, got shape {tuple(x.shape)}"
                    raise ShapeError(msg)
            x = xp.squeeze(x, dropped) if dropped else x
            x = xp.permute_dims(x, order) if permutes else x
            return xp.expand_dims(x, new) if new else x

        return run

    def alloc(self, op: Alloc, node: TensorNode) -> Lowered:
        """Lower to a broadcast; programs copy results that share memory."""
        return lambda x, *lengths: self.xp.broadcast_to(x, self.lengths(lengths))

    def sum_to(self, op: SumTo, node: TensorNode) -> Lowered:
        """Lower to a sum over the dimensions that were broadcast; to nothing where the shapes agree."""
        dtype = node.outputs[0].type.dtype

        def run(x: Array, *values: Any) -> Array:
            shape = self.lengths(values)
            extra = x.ndim - len(shape)
            axes = list(range(extra))
            for d, m in enumerate(shape):
                if x.shape[d + extra] != m:
                    if m != 1:
                        msg = f"shape {tuple(x.shape)} cannot be summed to {tuple(shape)}"
                        raise ShapeError(msg)
                    axes.append(d + extra)
            return self.xp.reshape(self.total(x, tuple(axes), dtype), shape) if axes else x

        return run

    def specify_shape(self, op: SpecifyShape, node: TensorNode) -> Lowered:
        """Check the lengths, and return the tensor itself."""

        def run(x: Array, *values: Any) -> Array:
            for d, n in zip(op.axes, self.lengths(values), strict=True):
                if x.shape[d] != n:
                    raise op.error(x.shape, values, d)
            return x

        return run

    def join(self, op: Join, node: TensorNode) -> Lowered:
        """Lower to a concatenation in the result's dtype."""
        dtype = node.outputs[0].type.dtype
        if all(x.type.dtype == dtype for x in node.inputs):
            return lambda *xs: self.xp.concat(xs, op.axis)
        conversions = [self.converter(x.type.dtype, dtype) for x in node.inputs]
        return lambda *xs: self.xp.concat([c(x) for x, c in zip(xs, conversions, strict=True)], op.axis)

    def extract_diag(self, op: ExtractDiag, node: TensorNode) -> Lowered:
        """Lower to the library's diagonal, which the standard has in an extension only."""
        return lambda x: self.xp.diagonal(x, op.offset, op.axis1, op.axis2)

    def deep_copy(self, op: DeepCopyOp, node: TensorNode) -> Lowered:
        """Lower to a copy."""
        return self.copied

    def view(self, op: ViewOp, node: TensorNode) -> Lowered:
        """Lower to the array itself."""
        return lambda x: x

    def check_and_raise(self, op: CheckAndRaise, node: TensorNode) -> Lowered:
        """Lower to the value, and a flag that is set where a condition is false."""
        are_truths = [v.type.dtype == "bool" for v in node.inputs[1:]]

        def run(value: Array, *conditions: Array) -> tuple[Any, Array]:
            pairs = zip(conditions, are_truths, strict=True)
            return self._any([self.xp.logical_not(x) if truth else x == 0 for x, truth in pairs]), value

        return self.checked(run)

    def check_mask(self, op: CheckMask, node: TensorNode) -> Lowered:
        """Lower to the mask, flagged where its lengths are not as wanted."""
        batch = node.inputs[0].type.ndim - (len(node.inputs) - 1)

        def run(mask: Array, *lengths: Array) -> tuple[Any, Array]:
            return self._any([m != n for n, m in zip(mask.shape[batch:], lengths, strict=True)]), mask

        return self.checked(run)

    def _any(self, flags: Sequence[Array]) -> Array | None:
        return self.xp.any(self.xp.stack(flags)) if flags else None

    def arg_reduction(self, op: ArgReduction, node: TensorNode) -> Lowered:
        """Lower to argmax or argmin over the axes, brought to the end and joined into one."""
        kind = node.inputs[0].type
        comparable = self.comparable(kind.dtype)
        kept = [d for d in range(kind.ndim) if d not in op.axes]
        search, convert = getattr(self.xp, op.kind), self.converter("intp", "int64")

        def along(x: Array) -> Array:
            (axis,) = op.axes
            if x.shape[axis] == 0:
                msg = "there is no element to find"
                raise ValueError(msg)
            return convert(search(comparable(x), axis))

        def run(x: Array) -> Array:
            moved = self.xp.permute_dims(comparable(x), (*kept, *op.axes))
            count = math.prod(moved.shape[len(kept) :])
            if count == 0:
                msg = "there is no element to find"
                raise ValueError(msg)
            return convert(search(self.xp.reshape(moved, (*moved.shape[: len(kept)], count)), -1))

        return along if len(op.axes) == 1 else run

    def linear_recurrence(self, op: LinearRecurrence, node: TensorNode) -> Lowered:
        """Lower to doublings: after each, every element counts twice as many of those before it."""
        dtype, axis = node.outputs[0].type.dtype, op.axis
        wide = "float32" if dtype == "float16" else dtype
        first, last = self.converter(dtype, wide), self.converter(wide, dtype)

        def part(x: Array, start: int, stop: int) -> Array:
            return x[(*(slice(None) for _ in range(axis)), slice(start, stop), ...)]

        def run(decay: Array, x: Array) -> Array:
            h, decays = first(x), first(decay)
            step, n = 1, x.shape[axis]
            while step < n:
                h = self.xp.concat([part(h, 0, step), part(h, step, n) + decays * part(h, 0, n - step)], axis)
                # Element t is the product of the decays between t and t + step.
                if 2 * step < n:
                    decays = part(decays, 0, n - 2 * step) * part(decays, step, n - step)
                step *= 2
            return last(h)

        return run


# The method that is the rule of each type of ops, which nothing changes.
_RULES: Mapping[type[Op], str] = MappingProxyType(
    {
        DimShuffle: "dimshuffle",
        Alloc: "alloc",
        SumTo: "sum_to",
        SpecifyShape: "specify_shape",
        Join: "join",
        ExtractDiag: "extract_diag",
        DeepCopyOp: "deep_copy",
        ViewOp: "view",
        CheckAndRaise: "check_and_raise",
        CheckMask: "check_mask",
        ArgReduction: "arg_reduction",
        LinearRecurrence: "linear_recurrence",
    }
)


def enter_array_rules(table: LoweringTable, rules: Callable[[], ArrayRules], *without: type[Op]) -> None:
    """Register the shared rules in a backend's table.

    Parameters
    ----------
    table
        The table.
    rules
        Returns the library's rules; it is called when a node is lowered.
    without
        Ops that the backend has rules of its own for.
    """
    for op_type, name in _RULES.items():
        if op_type not in without:
            table.register(op_type)(_late(rules, name))


def _late(rules: Callable[[], ArrayRules], name: str) -> Callable[[Op, TensorNode], Lowered]:
    def rule(op: Op, node: TensorNode) -> Lowered:
        return getattr(rules(), name)(op, node)

    rule.__qualname__, rule.__doc__ = f"ArrayRules.{name}", getattr(ArrayRules, name).__doc__
    return rule
