"""Reductions over named dimensions, and cumulative functions along them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import treadle.tensor as plain
from treadle.graph import static_op
from treadle.named.conversion import as_xtensor
from treadle.named.errors import NamedTypeError
from treadle.named.ops.elementwise import elementwise
from treadle.named.ops.functions import Dim, chosen_dims, one_dim, reduced
from treadle.named.ops.named_op import Lowered, XOp
from treadle.named.types.casts import tensor_of
from treadle.named.types.named_type import Input
from treadle.tensor import ScalarOp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.named.variables import XTensorVariable

# Names of the plain functions by those of the scalar ops that they reduce with.
_REDUCTIONS = {"add": "sum", "mul": "prod", "maximum": "max", "minimum": "min", "and": "all", "or": "any"}
_ACCUMULATIONS = {"add": "cumsum", "mul": "cumprod"}


@static_op
class XReduce(XOp):
    """A reduction over dimensions, whose order does not matter.

    Parameters
    ----------
    binary_op
        The scalar function that joins two numbers: of addition, multiplication, the larger, the smaller, both, either.
    dims
        The dimensions.
    """

    binary_op: ScalarOp
    dims: tuple[str, ...]

    def __init__(self, binary_op: ScalarOp, dims: Sequence[str]) -> None:
        _named_in(_REDUCTIONS, "XReduce", binary_op)
        object.__setattr__(self, "binary_op", binary_op)
        object.__setattr__(self, "dims", tuple(sorted(dims)))

    def lower(self, *inputs: Input) -> Sequence[Lowered]:
        """Return the reduction over the axes of these dimensions."""
        (x,) = inputs
        own = x.type.dims
        axes = [own.index(d) for d in chosen_dims(str(self), x, self.dims)]
        function = getattr(plain, _REDUCTIONS[self.binary_op.name])
        return [Lowered(function(tensor_of(x), axis=axes), tuple(d for d in own if d not in self.dims))]

    def __str__(self) -> str:
        return f"XReduce{{{self.binary_op.name}, {', '.join(self.dims)}}}"

    __repr__ = __str__


@static_op
class XCumReduce(XOp):
    """Partial sums or products along dimensions, one after the other.

    Parameters
    ----------
    binary_op
        The scalar function of addition, or of multiplication.
    dims
        The dimensions.
    """

    binary_op: ScalarOp
    dims: tuple[str, ...]

    def __init__(self, binary_op: ScalarOp, dims: Sequence[str]) -> None:
        _named_in(_ACCUMULATIONS, "XCumReduce", binary_op)
        object.__setattr__(self, "binary_op", binary_op)
        object.__setattr__(self, "dims", tuple(sorted(dims)))

    def lower(self, *inputs: Input) -> Sequence[Lowered]:
        """Return the partial results along each axis in turn."""
        (x,) = inputs
        own, tensor = x.type.dims, tensor_of(x)
        function = getattr(plain, _ACCUMULATIONS[self.binary_op.name])
        for dim in chosen_dims(str(self), x, self.dims):
            tensor = function(tensor, axis=own.index(dim))
        return [Lowered(tensor, own)]

    def __str__(self) -> str:
        return f"XCumReduce{{{self.binary_op.name}, {', '.join(self.dims)}}}"

    __repr__ = __str__


def _named_in(table: dict[str, str], what: str, binary_op: ScalarOp) -> None:
    if getattr(binary_op, "name", None) not in table:
        msg = f"{what}: binary_op must be one of the scalar ops {', '.join(table)}, got {binary_op}."
        raise NamedTypeError(msg)


def _reduce(op: Input, x: object, dim: Dim) -> Input:
    x = as_xtensor(x)
    return XReduce(op.scalar_op, chosen_dims(_REDUCTIONS[op.scalar_op.name], x, dim))(x)


def sum(x: object, dim: Dim = None) -> XTensorVariable:
    """Return the sum over dimensions, all of them by default.

    Raises
    ------
    DimsError
        If the tensor does not have one of them.
    """
    result: XTensorVariable = _reduce(plain.add, x, dim)
    return result


def prod(x: object, dim: Dim = None) -> XTensorVariable:
    """Return the product over dimensions (as `sum`)."""
    result: XTensorVariable = _reduce(plain.mul, x, dim)
    return result


def max(x: object, dim: Dim = None) -> XTensorVariable:
    """Return the largest number over dimensions (as `sum`)."""
    result: XTensorVariable = _reduce(plain.maximum, x, dim)
    return result


def min(x: object, dim: Dim = None) -> XTensorVariable:
    """Return the smallest number over dimensions (as `sum`)."""
    result: XTensorVariable = _reduce(plain.minimum, x, dim)
    return result


def _truth(x: object) -> XTensorVariable:
    x = as_xtensor(x)
    return x if x.type.dtype == "bool" else elementwise(plain.neq, x, 0)


def all(x: object, dim: Dim = None) -> XTensorVariable:
    """Return whether all numbers over dimensions are true (as `sum`)."""
    result: XTensorVariable = _reduce(plain.and_, _truth(x), dim)
    return result


def any(x: object, dim: Dim = None) -> XTensorVariable:
    """Return whether one of the numbers over dimensions is true (as `sum`)."""
    result: XTensorVariable = _reduce(plain.or_, _truth(x), dim)
    return result


def mean(x: object, dim: Dim = None) -> XTensorVariable:
    """Return the mean over dimensions (as `sum`)."""
    result: XTensorVariable = reduced("mean", x, dim)
    return result


def var(x: object, dim: Dim = None, *, ddof: int = 0) -> XTensorVariable:
    """Return the variance over dimensions, divided by their number less `ddof` (as `sum`)."""
    result: XTensorVariable = reduced("var", x, dim, ddof=ddof)
    return result


def std(x: object, dim: Dim = None, *, ddof: int = 0) -> XTensorVariable:
    """Return the standard deviation over dimensions (as `var`)."""
    result: XTensorVariable = reduced("std", x, dim, ddof=ddof)
    return result


def median(x: object, dim: Dim = None) -> XTensorVariable:
    """Return the median over dimensions (as `sum`)."""
    result: XTensorVariable = reduced("median", x, dim)
    return result


def argmax(x: object, dim: str | None = None) -> XTensorVariable:
    """Return the position of the largest number along a dimension, or in the whole tensor taken flat."""
    x = as_xtensor(x)
    result: XTensorVariable = reduced("argmax", x, dim if dim is None else one_dim("argmax", x, dim))
    return result


def argmin(x: object, dim: str | None = None) -> XTensorVariable:
    """Return the position of the smallest number (as `argmax`)."""
    x = as_xtensor(x)
    result: XTensorVariable = reduced("argmin", x, dim if dim is None else one_dim("argmin", x, dim))
    return result


def cumsum(x: object, dim: Dim = None) -> XTensorVariable:
    """Return partial sums along dimensions, one after the other; along all by default."""
    x = as_xtensor(x)
    result: XTensorVariable = XCumReduce(plain.add.scalar_op, chosen_dims("cumsum", x, dim))(x)  # type: ignore[arg-type]
    return result


def cumprod(x: object, dim: Dim = None) -> XTensorVariable:
    """Return partial products along dimensions (as `cumsum`)."""
    x = as_xtensor(x)
    result: XTensorVariable = XCumReduce(plain.mul.scalar_op, chosen_dims("cumprod", x, dim))(x)  # type: ignore[arg-type]
    return result


__all__ = [
    "XCumReduce", "XReduce", "all", "any", "argmax", "argmin", "cumprod", "cumsum", "max", "mean", "median", "min",
    "prod", "std", "sum", "var",
]  # fmt: skip
