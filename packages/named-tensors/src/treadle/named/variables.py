"""Named tensors as variables: their operators, and methods by the names that xarray's DataArray has them under."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import treadle.tensor as plain
from treadle.config import text_of
from treadle.graph import Constant, SharedVariable, Variable
from treadle.named import joining, math, reduction, shape
from treadle.named.errors import DimsError, NamedTypeError, NotNamedError
from treadle.named.indexing import Index, index, index_assignment, index_increment
from treadle.named.ops.elementwise import elementwise
from treadle.named.types.casts import tensor_from_xtensor
from treadle.named.types.named_type import Input, XTensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import EllipsisType

    from numpy.typing import DTypeLike

    from treadle.named.ops.functions import Dim
    from treadle.named.shape import Missing
    from treadle.tensor import TensorVariable


def _operator(name: str, *, reflected: bool = False) -> Callable[[object, object], XTensorVariable]:
    def operator(self: object, other: object) -> XTensorVariable:
        op = getattr(plain, name)
        return elementwise(op, other, self) if reflected else elementwise(op, self, other)

    operator.__doc__ = f"Return `treadle.named.math.{name}` of the two."
    return operator


class NamedOperators:
    """Python's operators on named tensors."""

    __slots__ = ()
    # NumPy's arrays, which have no names, leave operators to named tensors.
    __array_ufunc__ = None

    __add__, __radd__ = _operator("add"), _operator("add", reflected=True)
    __sub__, __rsub__ = _operator("sub"), _operator("sub", reflected=True)
    __mul__, __rmul__ = _operator("mul"), _operator("mul", reflected=True)
    __truediv__, __rtruediv__ = _operator("true_div"), _operator("true_div", reflected=True)
    __floordiv__, __rfloordiv__ = _operator("floor_div"), _operator("floor_div", reflected=True)
    __mod__, __rmod__ = _operator("mod"), _operator("mod", reflected=True)
    __pow__, __rpow__ = _operator("power"), _operator("power", reflected=True)
    __and__, __rand__ = _operator("and_"), _operator("and_", reflected=True)
    __or__, __ror__ = _operator("or_"), _operator("or_", reflected=True)
    __xor__, __rxor__ = _operator("xor"), _operator("xor", reflected=True)
    __lt__, __le__ = _operator("lt"), _operator("le")
    __gt__, __ge__ = _operator("gt"), _operator("ge")

    def __neg__(self) -> XTensorVariable:
        return elementwise(plain.neg, self)

    def __pos__(self) -> XTensorVariable:
        return elementwise(plain.identity, self)

    def __abs__(self) -> XTensorVariable:
        return elementwise(plain.abs, self)

    def __invert__(self) -> XTensorVariable:
        return elementwise(plain.invert, self)

    def __ceil__(self) -> XTensorVariable:
        return elementwise(plain.ceil, self)

    def __floor__(self) -> XTensorVariable:
        return elementwise(plain.floor, self)

    def __trunc__(self) -> XTensorVariable:
        return elementwise(plain.trunc, self)

    def __divmod__(self, other: object) -> tuple[XTensorVariable, XTensorVariable]:
        return math.divmod(self, other)

    def __rdivmod__(self, other: object) -> tuple[XTensorVariable, XTensorVariable]:
        return math.divmod(other, self)

    def __matmul__(self, other: object) -> XTensorVariable:
        return math.dot(self, other)

    def __rmatmul__(self, other: object) -> XTensorVariable:
        return math.dot(other, self)

    def _without_value(self, kind: type) -> NamedTypeError:
        name = kind.__name__
        return NamedTypeError(f"{name}: {self} has no value yet. Use astype({name}), or eval() for the value.")

    def __bool__(self) -> bool:
        raise self._without_value(bool)

    def __int__(self) -> int:
        raise self._without_value(int)

    def __index__(self) -> int:
        raise self._without_value(int)

    def __float__(self) -> float:
        raise self._without_value(float)

    def __complex__(self) -> complex:
        raise self._without_value(complex)


class Reductions:
    """Reductions as methods: each takes a dimension, several, or all for None."""

    __slots__ = ()

    def sum(self, dim: Dim = None) -> XTensorVariable:
        """Return the sum over dimensions."""
        return reduction.sum(self, dim)

    def prod(self, dim: Dim = None) -> XTensorVariable:
        """Return the product over dimensions."""
        return reduction.prod(self, dim)

    def mean(self, dim: Dim = None) -> XTensorVariable:
        """Return the mean over dimensions."""
        return reduction.mean(self, dim)

    def var(self, dim: Dim = None, ddof: int = 0) -> XTensorVariable:
        """Return the variance over dimensions."""
        return reduction.var(self, dim, ddof=ddof)

    def std(self, dim: Dim = None, ddof: int = 0) -> XTensorVariable:
        """Return the standard deviation over dimensions."""
        return reduction.std(self, dim, ddof=ddof)

    def median(self, dim: Dim = None) -> XTensorVariable:
        """Return the median over dimensions."""
        return reduction.median(self, dim)

    def max(self, dim: Dim = None) -> XTensorVariable:
        """Return the largest number over dimensions."""
        return reduction.max(self, dim)

    def min(self, dim: Dim = None) -> XTensorVariable:
        """Return the smallest number over dimensions."""
        return reduction.min(self, dim)

    def argmax(self, dim: str | None = None) -> XTensorVariable:
        """Return the position of the largest number along a dimension."""
        return reduction.argmax(self, dim)

    def argmin(self, dim: str | None = None) -> XTensorVariable:
        """Return the position of the smallest number along a dimension."""
        return reduction.argmin(self, dim)

    def all(self, dim: Dim = None) -> XTensorVariable:
        """Return whether all numbers over dimensions are true."""
        return reduction.all(self, dim)

    def any(self, dim: Dim = None) -> XTensorVariable:
        """Return whether one of the numbers over dimensions is true."""
        return reduction.any(self, dim)

    def cumsum(self, dim: Dim = None) -> XTensorVariable:
        """Return partial sums along dimensions."""
        return reduction.cumsum(self, dim)

    def cumprod(self, dim: Dim = None) -> XTensorVariable:
        """Return partial products along dimensions."""
        return reduction.cumprod(self, dim)

    def diff(self, dim: str, n: int = 1) -> XTensorVariable:
        """Return the n-th differences of neighbours along a dimension."""
        result: Input = self
        for _ in range(n):
            result = result.isel({dim: slice(1, None)}) - result.isel({dim: slice(None, -1)})
        return result  # type: ignore[no-any-return]  # see above


class XTensorVariable(NamedOperators, Reductions, Variable[XTensorType]):
    """A tensor whose dimensions have names."""

    __hash__ = Variable.__hash__
    type: XTensorType

    # What it is

    @property
    def values(self) -> TensorVariable:
        """The tensor without names."""
        result: TensorVariable = tensor_from_xtensor(self)
        return result

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the dimensions."""
        return self.type.dims

    @property
    def shape(self) -> tuple[TensorVariable, ...]:
        """The length of each dimension."""
        lengths = tensor_from_xtensor(self).shape
        return tuple(lengths[i] for i in range(self.type.ndim))

    @property
    def sizes(self) -> dict[str, TensorVariable]:
        """The length of each dimension, by its name."""
        return dict(zip(self.dims, self.shape, strict=True))

    @property
    def size(self) -> TensorVariable:
        """The number of elements."""
        result: TensorVariable = tensor_from_xtensor(self).size
        return result

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.type.ndim

    @property
    def dtype(self) -> str:
        """Name of the dtype."""
        return self.type.dtype

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """False for each dimension."""
        return self.type.broadcastable

    @property
    def as_numpy(self) -> XTensorVariable:
        """The tensor itself."""
        return self

    @property
    def coords(self) -> NoReturn:
        """Labels of places along dimensions, which tensors do not have.

        Raises
        ------
        NotNamedError
            Always.
        """
        _refuse("coords", "Index by position, with isel")

    @property
    def loc(self) -> NoReturn:
        """An index by labels, which tensors do not have (errors as for `coords`)."""
        _refuse("loc", "Index by position, with isel")

    def sel(self, *_: object, **__: object) -> NoReturn:
        """Refuse an index by labels, which tensors do not have (errors as for `coords`)."""
        _refuse("sel", "Index by position, with isel")

    def item(self) -> NoReturn:
        """Refuse to give the value (errors as for `coords`)."""
        _refuse("item", "Use eval() for the value")

    # Names and dtypes

    def rename(self, /, new_name_or_name_dict: str | Mapping[str, str] | None = None, **names: str) -> XTensorVariable:
        """Return the tensor with a name of its own, or with other names for dimensions."""
        if isinstance(new_name_or_name_dict, str):
            result = shape.rename(self, None, **names)
            result.name = new_name_or_name_dict
            return result
        return shape.rename(self, new_name_or_name_dict, **names)

    def copy(self, name: str | None = None) -> XTensorVariable:
        """Return the same tensor as a variable of its own."""
        result: XTensorVariable = elementwise(plain.identity, self)
        result.name = name
        return result

    def astype(self, dtype: DTypeLike) -> XTensorVariable:
        """Return the tensor in another dtype."""
        return math.cast(self, dtype)

    # Parts

    def __getitem__(self, key: Input) -> XTensorVariable:
        """Return a part, by position in order of the dimensions, or by a mapping from their names."""
        if isinstance(key, dict):
            return self.isel(key)
        # A pair of a name and an array is one index.
        result: XTensorVariable = index(self, *(key if isinstance(key, tuple) else (key,)))
        return result

    def __setitem__(self, key: object, value: object) -> NoReturn:
        """Refuse assignment.

        Raises
        ------
        NamedTypeError
            Always.
        """
        msg = f"assignment: {self} is an expression and cannot be changed. Use x[...].set(value) or x[...].inc(value)."
        raise NamedTypeError(msg)

    def __iter__(self) -> NoReturn:
        """Refuse iteration, which would need the length.

        Raises
        ------
        NamedTypeError
            Always.
        """
        msg = f"iteration: parts of {self} are taken by position. Use x.isel({{dim: i}}) for each i."
        raise NamedTypeError(msg)

    def isel(
        self,
        /,
        indexers: Mapping[str, object] | None = None,
        drop: bool = False,
        missing_dims: Missing = "raise",
        **indexers_kwargs: object,
    ) -> XTensorVariable:
        """Return a part, by indices for some of the dimensions.

        Parameters
        ----------
        indexers, indexers_kwargs
            Indices by name of the dimension, as a mapping or by name.
        drop
            Has no effect.
        missing_dims
            What to do about a dimension that there is not: ``raise``, ``warn`` or ``ignore``.

        Raises
        ------
        DimsError
            If there is no such dimension.
        NamedIndexError, NamedTypeError
            If an index does not fit.
        """
        given = shape.only_one("isel", indexers, indexers_kwargs)
        kept = [d for d in shape.without_missing("isel", list(given), self.dims, missing_dims) if isinstance(d, str)]
        indices: list[object] = [slice(None)] * self.ndim
        for d in kept:
            if given[d] is Ellipsis:
                msg = f"isel: an ellipsis stands for no place along {d!r}. Leave the dimension out for all of it."
                raise NamedTypeError(msg)
            indices[self.dims.index(d)] = given[d]
        result: XTensorVariable = index(self, *indices)
        return result

    def set(self, value: object) -> XTensorVariable:
        """Return the tensor that this is a part of, with the part replaced.

        Parameters
        ----------
        value
            A number, or a tensor of some of the part's dimensions.

        Raises
        ------
        NamedTypeError
            If this is no part: the result of an index.
        DimsError
            If the value has further dimensions.

        Examples
        --------
        >>> from treadle.named import as_xtensor
        >>> x = as_xtensor([[1, 2], [3, 4]], dims=("a", "b"))
        >>> x.isel(b=0).set(0).eval().tolist()
        [[0, 2], [0, 4]]
        """
        x, *indices = self._indexed("set")
        result: XTensorVariable = index_assignment(x, value, *indices)
        return result

    def inc(self, value: object) -> XTensorVariable:
        """Return the tensor that this is a part of, with the part increased (as `set`)."""
        x, *indices = self._indexed("inc")
        result: XTensorVariable = index_increment(x, value, *indices)
        return result

    def _indexed(self, what: str) -> Sequence[Variable]:
        if self.owner is None or not isinstance(self.owner.op, Index):
            msg = f"{what}: {self} is no part of a tensor. Call it on the result of x[...] or x.isel(...)."
            raise NamedTypeError(msg)
        return self.owner.inputs

    def _places(
        self, indexers: object, by_name: Mapping[str, Input], default: int | None, what: str
    ) -> Mapping[str, Input]:
        if by_name or hasattr(indexers, "items"):
            return shape.only_one(what, indexers, by_name)
        count = default if indexers is None else indexers
        if count is None:
            msg = f"{what}: a number is needed, or one for each dimension, got {text_of(indexers)}."
            raise NamedTypeError(msg)
        return dict.fromkeys(self.dims, count)

    def head(self, /, indexers: Mapping[str, object] | int | None = None, **by_name: object) -> XTensorVariable:
        """Return the first places along dimensions: 5 of each by default."""
        places = self._places(indexers, by_name, 5, "head")
        return self.isel({d: slice(None, n) for d, n in places.items()})

    def tail(self, /, indexers: Mapping[str, object] | int | None = None, **by_name: object) -> XTensorVariable:
        """Return the last places along dimensions: 5 of each by default."""
        sizes = self.sizes
        places = self._places(indexers, by_name, 5, "tail")
        starts = {d: plain.maximum(sizes[d] - n, 0) if d in sizes else 0 for d, n in places.items()}
        return self.isel({d: slice(start, None) for d, start in starts.items()})

    def thin(self, /, indexers: Mapping[str, object] | int | None = None, **by_name: object) -> XTensorVariable:
        """Return every n-th place along dimensions."""
        places = self._places(indexers, by_name, None, "thin")
        return self.isel({d: slice(None, None, n) for d, n in places.items()})

    # Elements

    def where(self, cond: object, other: object = None, drop: bool = False) -> XTensorVariable:
        """Return the tensor where a condition holds, and `other`, NaN by default, elsewhere; `drop` has no effect."""
        return math.where(cond, self, float("nan") if other is None else other).transpose(*self.dims, ...)

    def fillna(self, value: object) -> XTensorVariable:
        """Return the tensor with a value in place of NaN."""
        return math.where(elementwise(plain.isnan, self), value, self).transpose(*self.dims, ...)

    def isnull(self) -> XTensorVariable:
        """Return where there is a NaN."""
        return elementwise(plain.isnan, self)

    def notnull(self) -> XTensorVariable:
        """Return where there is no NaN."""
        return elementwise(plain.logical_not, self.isnull())

    def clip(self, min: object = None, max: object = None) -> XTensorVariable:
        """Return the tensor with its numbers held between bounds."""
        return math.clip(self, min, max)

    def round(self, decimals: int = 0) -> XTensorVariable:
        """Return numbers rounded to so many digits."""
        return math.round(self, decimals)

    def conj(self) -> XTensorVariable:
        """Return the complex conjugates."""
        return elementwise(plain.conj, self)

    @property
    def real(self) -> XTensorVariable:
        """The real parts."""
        return elementwise(plain.real, self)

    @property
    def imag(self) -> XTensorVariable:
        """The imaginary parts."""
        return elementwise(plain.imag, self)

    def dot(self, other: object, dim: Dim = None) -> XTensorVariable:
        """Return the product with another tensor, summed over dimensions: those of both by default."""
        return math.dot(self, other, dim)

    # Dimensions

    def transpose(self, *dim: str | EllipsisType, missing_dims: Missing = "raise") -> XTensorVariable:
        """Return the tensor with its dimensions in another order; in the opposite one if none is named."""
        return shape.transpose(self, *dim, missing_dims=missing_dims)

    @property
    def T(self) -> XTensorVariable:  # noqa: N802 - the documented name
        """The tensor with its dimensions in the opposite order."""
        return shape.transpose(self)

    def stack(self, /, dim: Mapping[str, Sequence[str]] | None = None, **dims: Sequence[str]) -> XTensorVariable:
        """Return the tensor with dimensions joined to new ones, which come last."""
        return shape.stack(self, dim, **dims)

    def unstack(
        self, /, dim: Mapping[str, Mapping[str, object]] | None = None, **dims: Mapping[str, object]
    ) -> XTensorVariable:
        """Return the tensor with dimensions split into others, whose lengths are given by name."""
        return shape.unstack(self, dim, **dims)

    def expand_dims(
        self,
        /,
        dim: object = None,
        create_index_for_new_dim: bool | None = None,
        axis: int | Sequence[int] | None = None,
        **dim_kwargs: object,
    ) -> XTensorVariable:
        """Return the tensor with further dimensions; `create_index_for_new_dim` has no effect."""
        return shape.expand_dims(self, dim, axis, **dim_kwargs)

    def squeeze(
        self, dim: str | Sequence[str] | None = None, drop: bool | None = None, axis: int | Sequence[int] | None = None
    ) -> XTensorVariable:
        """Return the tensor without dimensions of length 1, by name or position; `drop` has no effect.

        Raises
        ------
        DimsError
            If both are given, or a dimension is known to be longer.
        """
        if axis is not None:
            if dim is not None:
                msg = f"squeeze: dimensions are given both by name and by position, got {dim} and {axis}. Give one."
                raise DimsError(msg)
            dim = tuple(self.dims[i] for i in ([axis] if isinstance(axis, int) else axis))
        return shape.squeeze(self, dim)

    def broadcast_like(self, other: object, exclude: str | Sequence[str] | None = None) -> XTensorVariable:
        """Return the tensor with the dimensions of another, those of the other first."""
        return joining.broadcast(other, self, exclude=exclude)[1]

    def zeros_like(self) -> XTensorVariable:
        """Return zeros of the same dimensions and lengths."""
        return joining.zeros_like(self)


def _refuse(what: str, advice: str) -> NoReturn:
    msg = f"{what}: tensors with named dimensions have no labels along them, and no values before they run. {advice}."
    raise NotNamedError(msg)


class XTensorConstant(XTensorVariable, Constant[XTensorType]):
    """A named tensor whose value is known when the graph is built, and with it every length."""

    __hash__ = Variable.__hash__

    def __init__(self, type: XTensorType, data: object, name: str | None = None) -> None:
        super().__init__(type, data, name)
        if None in self.type.shape:
            self.type = self.type.narrowed(self.data)


class XTensorSharedVariable(XTensorVariable, SharedVariable[XTensorType]):
    """A named tensor whose value is kept from call to call, and that functions can update."""

    __hash__ = Variable.__hash__


__all__ = ["XTensorConstant", "XTensorSharedVariable", "XTensorVariable"]
