"""Functions of each element of named tensors, by their names in `treadle.tensor`; and products and softmax.

Every elementwise function that `treadle.tensor` has at its first use is here too: ``exp``, ``log``, ``add`` ... They
broadcast by the names of dimensions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import treadle.tensor as plain
from treadle.graph import static_op
from treadle.named.conversion import as_xtensor
from treadle.named.errors import DimsError
from treadle.named.ops.elementwise import XElemwise, elementwise
from treadle.named.ops.functions import Dim, along, of_elements, reduced
from treadle.named.ops.named_op import Lowered, XOp
from treadle.named.types.casts import aligned
from treadle.named.types.named_type import Input, as_dims, joined_lengths

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike

    from treadle.named.variables import XTensorVariable


def _made(name: str, op: plain.Elemwise) -> Callable[..., XTensorVariable]:
    named: Callable[..., XTensorVariable] = XElemwise(op.scalar_op)

    def function(*operands: object) -> XTensorVariable:
        return named(*operands)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return `treadle.tensor.{name}` of each element; operands broadcast by names of dimensions."
    function.__module__ = __name__
    return function


# Functions that are not one scalar op, by name.
_OTHERS = (
    "angle", "chi2sf", "factorial", "gammal", "gammau", "isclose", "nan_to_num", "xlogx",
)  # fmt: skip


def _made_of_several(name: str) -> Callable[..., XTensorVariable]:
    def function(*operands: object, **parameters: object) -> XTensorVariable:
        return of_elements(name, *operands, **parameters)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return `treadle.tensor.{name}` of each element; operands broadcast by names of dimensions."
    function.__module__ = __name__
    return function


def cast(x: object, dtype: DTypeLike) -> XTensorVariable:
    """Return a tensor in another dtype.

    Raises
    ------
    DtypeError
        If it is complex and the dtype is not.
    """
    x = as_xtensor(x)
    target = plain.TensorType(dtype).dtype
    if x.type.dtype == target:
        return x
    node: Input = plain.cast(plain.TensorType(x.type.dtype, ()).make_variable(), target).owner
    result: XTensorVariable = XElemwise(node.op.scalar_op)(x)
    return result


def where(cond: object, x: object, y: object) -> XTensorVariable:
    """Return numbers of `x` where a condition holds, of `y` elsewhere."""
    result: XTensorVariable = elementwise(plain.switch, cond, x, y)
    return result


switch = where


def clip(x: object, min: object = None, max: object = None) -> XTensorVariable:
    """Return a tensor with its numbers held between bounds, of which either may be None."""
    result: XTensorVariable = as_xtensor(x)
    if min is not None:
        result = elementwise(plain.maximum, result, min)
    return result if max is None else elementwise(plain.minimum, result, max)


def round(x: object, decimals: int = 0) -> XTensorVariable:
    """Return numbers rounded to so many digits, halves to the even neighbour (as numpy.round)."""
    result: XTensorVariable = of_elements("round", as_xtensor(x), decimals=decimals)
    return result


def divmod(x: object, y: object) -> tuple[XTensorVariable, XTensorVariable]:
    """Return the quotient rounded down and the remainder."""
    return elementwise(plain.floor_div, x, y), elementwise(plain.mod, x, y)


def softmax(x: object, dim: Dim = None) -> XTensorVariable:
    """Return the softmax along dimensions, along all by default."""
    result: XTensorVariable = along("softmax", x, dim)
    return result


def log_softmax(x: object, dim: Dim = None) -> XTensorVariable:
    """Return the logarithm of the softmax along dimensions, along all by default."""
    result: XTensorVariable = along("log_softmax", x, dim)
    return result


def logsumexp(x: object, dim: Dim = None) -> XTensorVariable:
    """Return log(sum(exp(x))) over dimensions, over all by default, without overflow."""
    result: XTensorVariable = reduced("logsumexp", x, dim)
    return result


@static_op
class Dot(XOp):
    """The product of two tensors, summed over dimensions that one or both have.

    Parameters
    ----------
    dims
        The dimensions.
    """

    dims: tuple[str, ...]

    def lower(self, *inputs: Input) -> Sequence[Lowered]:
        """Return the product as a sum over labelled axes."""
        x, y = inputs
        whole = tuple(joined_lengths("dot", [x.type, y.type]))
        kept = tuple(d for d in whole if d not in self.dims)
        labels = {d: i for i, d in enumerate(whole)}
        subscripts = [[labels[d] for d in of.type.dims] for of in (x, y)]
        operands = [aligned(of, of.type.dims) for of in (x, y)]
        dtype = plain.mul(*(plain.TensorType(t.type.dtype, ()).make_variable() for t in operands)).type.dtype
        if dtype == "bool":
            dtype = "int64"
        operands = [plain.cast(t, dtype) for t in operands]
        product = plain.einsum(operands[0], subscripts[0], operands[1], subscripts[1], [labels[d] for d in kept])
        return [Lowered(product, kept)]


def dot(x: object, y: object, dim: Dim = None) -> XTensorVariable:
    """Return the product of two tensors, summed over dimensions.

    Parameters
    ----------
    x, y
        The tensors.
    dim
        The dimensions: those that both have by default; all for an ellipsis.

    Raises
    ------
    DimsError
        If neither has one of the dimensions, or their lengths differ.

    Examples
    --------
    >>> from treadle.named import dot, xtensor
    >>> x, y = xtensor("x", dims=("a", "b")), xtensor("y", dims=("b", "c"))
    >>> dot(x, y).dims, dot(x, y, dim=("a", "b")).dims, dot(x, y, dim=...).dims
    (('a', 'c'), ('c',), ())
    """
    x, y = as_xtensor(x), as_xtensor(y)
    whole = dict.fromkeys((*x.type.dims, *y.type.dims))
    if dim is None:
        dims = tuple(d for d in x.type.dims if d in y.type.dims)
    elif dim is Ellipsis:
        dims = tuple(whole)
    else:
        dims = as_dims("dot", dim)
    absent = [d for d in dims if d not in whole]
    if absent:
        msg = f"dot: neither of the tensors, of {x.type.dims} and {y.type.dims}, has {tuple(absent)}. Name others."
        raise DimsError(msg)
    result: XTensorVariable = Dot(tuple(d for d in whole if d in dims))(x, y)
    return result


_OWN = ["Dot", "cast", "clip", "divmod", "dot", "log_softmax", "logsumexp", "round", "softmax", "switch", "where"]


def __getattr__(name: str) -> Any:
    """Return an elementwise function of treadle.tensor for named tensors, or the list of all names."""
    if name == "__all__":
        found = [n for n in dir(plain) if not n.startswith("_") and isinstance(getattr(plain, n), plain.Elemwise)]
        value: object = sorted({*found, *_OTHERS, *_OWN})
    elif name in _OTHERS:
        value = _made_of_several(name)
    else:
        op = None if name.startswith("_") else getattr(plain, name, None)
        if not isinstance(op, plain.Elemwise):
            msg = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(msg)
        value = _made(name, op)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the names of all functions."""
    return list(__getattr__("__all__"))
