"""XFunction: public functions of plain tensors, applied to named ones along dimensions that are named."""

from __future__ import annotations

from types import EllipsisType
from typing import TYPE_CHECKING, Literal

import treadle.tensor as plain
from treadle.config import text_of
from treadle.graph import static_op
from treadle.named.conversion import as_xtensor
from treadle.named.errors import DimsError, NamedTypeError
from treadle.named.ops.named_op import Lowered, XOp
from treadle.named.types.casts import aligned, tensor_of
from treadle.named.types.named_type import Input, as_dims, joined_lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.named.variables import XTensorVariable

Dim = str | tuple[str, ...] | list[str] | EllipsisType | None


def chosen_dims(what: str, x: Input, dim: Dim) -> tuple[str, ...]:
    """Return dimensions of a tensor as a tuple; all of them for None or an ellipsis.

    Raises
    ------
    DimsError
        If it does not have one of them.
    """
    own: tuple[str, ...] = x.type.dims
    if dim is None or dim is Ellipsis:
        return own
    dims = as_dims(what, dim)
    absent = [d for d in dims if d not in own]
    if absent:
        msg = f"{what}: {x} has the dimensions {own}, but {tuple(absent)} are asked for. Name some that it has."
        raise DimsError(msg)
    return dims


def one_dim(what: str, x: Input, dim: object) -> str:
    """Return the name of one dimension of a tensor, checked."""
    if not isinstance(dim, str):
        msg = f"{what}: the name of one dimension is needed, got {text_of(dim)}. Pass a string."
        raise NamedTypeError(msg)
    return chosen_dims(what, x, dim)[0]


@static_op
class XFunction(XOp):
    """A public function of `treadle.tensor` for named tensors.

    Parameters
    ----------
    name
        Its name.
    kind
        Whether it is a function of each element, along dimensions that stay, or one that takes dimensions away.
    dims
        The dimensions.
    parameters
        Further arguments that it takes by name, as pairs.
    """

    name: str
    kind: Literal["elements", "along", "reduction"]
    dims: tuple[str, ...] = ()
    parameters: tuple[tuple[str, object], ...] = ()

    def lower(self, *inputs: Input) -> Sequence[Lowered]:
        """Return the function of the plain tensors."""
        function = getattr(plain, self.name)
        arguments = dict(self.parameters)
        if self.kind == "elements":
            dims = tuple(joined_lengths(self.name, [x.type for x in inputs]))
            return [Lowered(function(*(aligned(x, dims) for x in inputs), **arguments), dims)]
        (x,) = inputs
        own = x.type.dims
        axes = tuple(own.index(d) for d in chosen_dims(self.name, x, self.dims))
        axis = axes[0] if len(axes) == 1 else None if len(axes) == len(own) else axes
        if not axes:
            # Reduced over no dimension, and functions along none, of each number alone.
            tensor = function(tensor_of(x)[None], axis=0, **arguments)
            return [Lowered(tensor if self.kind == "reduction" else tensor[0], own)]
        kept = own if self.kind == "along" else tuple(d for d in own if d not in self.dims)
        return [Lowered(function(tensor_of(x), axis=axis, **arguments), kept)]

    def __str__(self) -> str:
        along = f"{{{', '.join(self.dims)}}}" if self.dims else ""
        return f"X{self.name}{along}"

    __repr__ = __str__


def of_elements(name: str, *operands: object, **parameters: object) -> XTensorVariable:
    """Return a function of each element that is no single scalar op."""
    result: XTensorVariable = XFunction(name, "elements", (), tuple(parameters.items()))(*operands)
    return result


def reduced(name: str, x: object, dim: Dim, **parameters: object) -> XTensorVariable:
    """Return a function of numbers along dimensions, which it takes away."""
    x = as_xtensor(x)
    result: XTensorVariable = XFunction(
        name, "reduction", tuple(sorted(chosen_dims(name, x, dim))), tuple(parameters.items())
    )(x)
    return result


def along(name: str, x: object, dim: Dim, **parameters: object) -> XTensorVariable:
    """Return a function of numbers along dimensions, which stay."""
    x = as_xtensor(x)
    result: XTensorVariable = XFunction(
        name, "along", tuple(sorted(chosen_dims(name, x, dim))), tuple(parameters.items())
    )(x)
    return result


__all__ = ["XFunction"]
