"""The operators and NumPy-like methods of tensor variables; rewrite patterns use the operators too."""

from __future__ import annotations

from functools import wraps as _wraps
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, SupportsIndex

from treadle.graph import Constant as _Constant
from treadle.tensor.arguments.axes import several_axes as _several_axes
from treadle.tensor.elementwise import arithmetic as _arithmetic
from treadle.tensor.elementwise import cast as _cast
from treadle.tensor.elementwise import comparison as _comparison
from treadle.tensor.elementwise import complex_numbers as _complex_numbers
from treadle.tensor.elementwise import division as _division
from treadle.tensor.elementwise import exponential as _exponential
from treadle.tensor.elementwise import logic as _logic
from treadle.tensor.elementwise import rounding as _rounding
from treadle.tensor.indexing import indexing as _indexing
from treadle.tensor.reductions import moments as _moments
from treadle.tensor.reductions import reduction as _reduction
from treadle.tensor.shapes.broadcasting import ones_like, zeros_like

# The package's attributes of these modules' names are the functions, so the names are taken from inside.
from treadle.tensor.shapes.dimshuffle import dimshuffle as _dimshuffle
from treadle.tensor.shapes.dimshuffle import matrix_transpose as _matrix_transpose
from treadle.tensor.shapes.dimshuffle import squeeze as _squeeze
from treadle.tensor.shapes.dimshuffle import swapaxes as _swapaxes
from treadle.tensor.shapes.dimshuffle import transpose as _transpose
from treadle.tensor.shapes.shape import flatten as _flatten
from treadle.tensor.shapes.shape import reshape as _reshape
from treadle.tensor.shapes.shape import shape as _shape
from treadle.tensor.types import conversion as _conversion
from treadle.tensor.types import other_arrays as _other_arrays
from treadle.tensor.upward import upward as _upward

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import DTypeLike

    from treadle.tensor.numpy_protocol.functions import Ufunc
    from treadle.tensor.variables.variable import AxisLike, Index, TensorLike, TensorVariable


def function_named(name: str) -> Callable[..., TensorVariable]:
    """Return the public function of a name."""
    function: Callable[..., TensorVariable] = _upward.function(name)
    return function


def _leaving(operator: Callable[[Any, Any], Any], reflected: str) -> Callable[[Any, Any], Any]:
    """Return an operator that leaves an operand which it cannot take to that operand's reflected operator."""

    @_wraps(operator)
    def operator_or_other(self: Any, other: Any) -> Any:
        try:
            return operator(self, other)
        except TypeError:
            if _has_own(other, reflected) and not _is_taken(other):
                return NotImplemented
            raise

    return operator_or_other


def _has_own(other: object, method: str) -> bool:
    """Whether a class that is neither treadle's nor a builtin defines an operator."""
    owner = next((kind for kind in type(other).__mro__ if method in vars(kind)), object)
    return owner.__module__ != "builtins" and not issubclass(owner, Operators)


def _is_taken(other: Any) -> bool:
    """Whether a value can be made a tensor: then the error is not about its kind."""
    if _other_arrays.is_registered(other):
        return True
    try:
        _conversion.as_tensor_variable(other)
    except TypeError:
        return False
    return True


class Operators:
    """Python's operators, elementwise, with NumPy's meaning.

    An operator that cannot take the other operand leaves it to that operand's class, if it has the operator.

    ``==`` and ``!=`` compare identity, so that variables can be keys; `eq` and `neq` compare elements.
    """

    __slots__ = ()
    # NumPy arrays leave `array + pattern` to the pattern.
    __array_ufunc__: ClassVar[Callable[..., object] | None] = None

    def __add__(self, other: TensorLike) -> TensorVariable:
        return _arithmetic.add(self, other)

    def __radd__(self, other: TensorLike) -> TensorVariable:
        return _arithmetic.add(other, self)

    def __sub__(self, other: TensorLike) -> TensorVariable:
        return _arithmetic.sub(self, other)

    def __rsub__(self, other: TensorLike) -> TensorVariable:
        return _arithmetic.sub(other, self)

    def __mul__(self, other: TensorLike) -> TensorVariable:
        return _arithmetic.mul(self, other)

    def __rmul__(self, other: TensorLike) -> TensorVariable:
        return _arithmetic.mul(other, self)

    def __truediv__(self, other: TensorLike) -> TensorVariable:
        """Divide; integers too give floats, unless the option int_division says otherwise."""
        return _division.quotient(self, other)

    def __rtruediv__(self, other: TensorLike) -> TensorVariable:
        """Divide; integers too give floats, unless the option int_division says otherwise."""
        return _division.quotient(other, self)

    def __floordiv__(self, other: TensorLike) -> TensorVariable:
        return _arithmetic.floor_div(self, other)

    def __rfloordiv__(self, other: TensorLike) -> TensorVariable:
        return _arithmetic.floor_div(other, self)

    def __mod__(self, other: TensorLike) -> TensorVariable:
        """Return the remainder, with the divisor's sign."""
        return _arithmetic.mod(self, other)

    def __rmod__(self, other: TensorLike) -> TensorVariable:
        """Return the remainder, with the divisor's sign."""
        return _arithmetic.mod(other, self)

    def __divmod__(self, other: TensorLike) -> tuple[TensorVariable, TensorVariable]:
        return _arithmetic.divmod_(self, other)

    def __rdivmod__(self, other: TensorLike) -> tuple[TensorVariable, TensorVariable]:
        return _arithmetic.divmod_(other, self)

    def __pow__(self, other: TensorLike) -> TensorVariable:
        return _exponential.power(self, other)

    def __rpow__(self, other: TensorLike) -> TensorVariable:
        return _exponential.power(other, self)

    def __neg__(self) -> TensorVariable:
        return _arithmetic.neg(self)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> TensorVariable:
        return _arithmetic.abs_(self)

    def __and__(self, other: TensorLike) -> TensorVariable:
        return _logic.bitwise_and(self, other)

    def __rand__(self, other: TensorLike) -> TensorVariable:
        return _logic.bitwise_and(other, self)

    def __or__(self, other: TensorLike) -> TensorVariable:
        return _logic.bitwise_or(self, other)

    def __ror__(self, other: TensorLike) -> TensorVariable:
        return _logic.bitwise_or(other, self)

    def __xor__(self, other: TensorLike) -> TensorVariable:
        return _logic.bitwise_xor(self, other)

    def __rxor__(self, other: TensorLike) -> TensorVariable:
        return _logic.bitwise_xor(other, self)

    def __invert__(self) -> TensorVariable:
        return _logic.invert(self)

    def __lshift__(self, other: TensorLike) -> TensorVariable:
        return _logic.left_shift(self, other)

    def __rlshift__(self, other: TensorLike) -> TensorVariable:
        return _logic.left_shift(other, self)

    def __rshift__(self, other: TensorLike) -> TensorVariable:
        return _logic.right_shift(self, other)

    def __rrshift__(self, other: TensorLike) -> TensorVariable:
        return _logic.right_shift(other, self)

    def __lt__(self, other: TensorLike) -> TensorVariable:
        return _comparison.lt(self, other)

    def __le__(self, other: TensorLike) -> TensorVariable:
        return _comparison.le(self, other)

    def __gt__(self, other: TensorLike) -> TensorVariable:
        return _comparison.gt(self, other)

    def __ge__(self, other: TensorLike) -> TensorVariable:
        return _comparison.ge(self, other)

    def eq(self, other: TensorLike) -> TensorVariable:
        """Compare elements for equality."""
        return _comparison.eq(self, other)

    def neq(self, other: TensorLike) -> TensorVariable:
        """Compare elements for difference."""
        return _comparison.neq(self, other)

    def __matmul__(self, other: TensorLike) -> TensorVariable:
        return function_named("matmul")(self, other)

    def __rmatmul__(self, other: TensorLike) -> TensorVariable:
        return function_named("matmul")(other, self)

    def __ceil__(self) -> TensorVariable:
        return _rounding.ceil(self)

    def __floor__(self) -> TensorVariable:
        return _rounding.floor(self)

    def __trunc__(self) -> TensorVariable:
        return _rounding.trunc(self)


_BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "and", "or", "xor",
    "lshift", "rshift",
)  # fmt: skip
_REFLECTED = {name: f"r{name}" for name in _BINARY} | {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
# Here, and not by decorators: type checkers see the methods as they are written.
for _name, _reflected in _REFLECTED.items():
    setattr(Operators, f"__{_name}__", _leaving(getattr(Operators, f"__{_name}__"), f"__{_reflected}__"))


def _is_complex(x: Any) -> bool:
    return bool(x.type.numpy_dtype.kind == "c")


class Methods(Operators):
    """NumPy-like methods."""

    __slots__ = ()
    # Series and data frames leave `series * x` to x: their own priorities are a few thousand.
    __pandas_priority__: ClassVar[int] = 10_000

    def __array_ufunc__(self, ufunc: Ufunc, method: str, *inputs: TensorLike, **kwargs: object) -> object:
        """Apply treadle's counterpart of a ufunc."""
        return _upward.array_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(
        self, func: Callable[..., object], types: Iterable[type], args: Sequence[object], kwargs: Mapping[str, object]
    ) -> object:
        """Apply treadle's counterpart of a function of NumPy's."""
        return _upward.array_function(func, types, args, kwargs)

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., object],
        types: Iterable[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        """Apply treadle's counterpart of an operator or elementwise function of PyTorch's."""
        return _upward.torch_function(func, args, kwargs or {})

    def __getitem__(self, args: Index) -> TensorVariable:
        """Index as NumPy does."""
        part = _indexing.subtensor(self, args)
        if isinstance(part, _Constant) and not isinstance(self, _Constant):
            # Such as a known length: the number alone does not say which tensor it belongs to.
            part = part.type.make_constant(part.data, part.name)
            part.written_with = (self,)  # type: ignore[assignment]  # a variable
        return part

    def set(self, y: TensorLike) -> TensorVariable:
        """Return the tensor this part was taken from, with the part replaced: ``x[2:4].set(y)``."""
        return _indexing.set_subtensor(self, y)

    def inc(self, y: TensorLike) -> TensorVariable:
        """Return the tensor this part was taken from, with values added to the part: ``x[i].inc(y)``."""
        return _indexing.inc_subtensor(self, y)

    def take(self, indices: TensorLike, axis: int | None = None, mode: str = "raise") -> TensorVariable:
        """Pick elements along an axis."""
        return function_named("take")(self, indices, axis, mode)

    def dimshuffle(self, *order: int | str | Sequence[int | str]) -> TensorVariable:
        """Rearrange dimensions, ``"x"`` for a new one."""
        return _dimshuffle(self, *order)

    def transpose(self, *axes: AxisLike) -> TensorVariable:
        """Permute dimensions; reverse them if no axes are given."""
        if len(axes) == 1 and (axes[0] is None or _several_axes(axes[0]) is not None):
            return _transpose(self, axes[0])
        return _transpose(self, axes or None)

    @property
    def T(self) -> TensorVariable:  # noqa: N802 - NumPy's name
        """The tensor with its dimensions reversed."""
        return _transpose(self)

    @property
    def mT(self) -> TensorVariable:  # noqa: N802 - NumPy's name
        """The tensor with its last two dimensions exchanged."""
        return _matrix_transpose(self)

    def swapaxes(self, axis1: int, axis2: int) -> TensorVariable:
        """Exchange two dimensions."""
        return _swapaxes(self, axis1, axis2)

    def squeeze(self, axis: AxisLike = None) -> TensorVariable:
        """Drop dimensions of length 1."""
        return _squeeze(self, axis)

    @property
    def shape(self) -> TensorVariable:
        """The shape, as a vector of int64."""
        return _shape(self)

    @property
    def size(self) -> TensorVariable:
        """The number of elements, as an int64 scalar."""
        return _reduction.prod(_shape(self), dtype="int64")

    def reshape(self, *shape: TensorLike, ndim: int | None = None, order: Literal["C", "F"] = "C") -> TensorVariable:
        """Give the tensor another shape, as one sequence or as several lengths."""
        lengths = shape[0] if len(shape) == 1 else shape
        return _reshape(self, lengths, ndim=ndim, order=order)

    def flatten(self, ndim: SupportsIndex = 1) -> TensorVariable:
        """Join all dimensions from the `ndim`-th on into one."""
        return _flatten(self, ndim)

    def ravel(self, order: Literal["C", "F"] = "C") -> TensorVariable:
        """Join all dimensions into one."""
        return _flatten(self) if isinstance(order, str) and order == "C" else function_named("ravel")(self, order)

    def astype(self, dtype: DTypeLike) -> TensorVariable:
        """Convert to another dtype."""
        return _cast.cast(self, dtype)

    @property
    def real(self) -> TensorVariable:
        """The real part; a tensor of real numbers itself."""
        return _complex_numbers.real(self) if _is_complex(self) else self  # type: ignore[return-value]  # a variable

    @property
    def imag(self) -> TensorVariable:
        """The imaginary part; zeros for real numbers."""
        return _complex_numbers.imag(self)

    def conj(self) -> TensorVariable:
        """Return the complex conjugate; of a tensor of real numbers, itself."""
        if not _is_complex(self):
            return self  # type: ignore[return-value]  # a variable
        node: Any = getattr(self, "owner", None)
        return node.inputs[0] if node is not None and node.op == _complex_numbers.conj else _complex_numbers.conj(self)

    conjugate = conj

    def copy(self, name: str | None = None) -> TensorVariable:
        """Return a copy."""
        return _cast.identity(self, name=name)

    def fill(self, value: TensorLike) -> TensorVariable:
        """Return a tensor of this shape filled with a value."""
        return _cast.second(self, value)

    def zeros_like(self, dtype: DTypeLike | None = None) -> TensorVariable:
        """Return zeros of this shape."""
        return zeros_like(self, dtype)

    def ones_like(self, dtype: DTypeLike | None = None) -> TensorVariable:
        """Return ones of this shape."""
        return ones_like(self, dtype)

    def dot(self, other: TensorLike) -> TensorVariable:
        """Multiply as numpy.dot."""
        return function_named("dot")(self, other)

    def sum(
        self,
        axis: AxisLike = None,
        dtype: DTypeLike | None = None,
        keepdims: bool = False,
        acc_dtype: DTypeLike | None = None,
        *,
        initial: TensorLike | None = None,
        where: TensorLike | None = None,
    ) -> TensorVariable:
        """Sum over axes."""
        return _reduction.sum_(self, axis, dtype, keepdims, acc_dtype, initial=initial, where=where)

    def prod(
        self,
        axis: AxisLike = None,
        dtype: DTypeLike | None = None,
        keepdims: bool = False,
        acc_dtype: DTypeLike | None = None,
        *,
        initial: TensorLike | None = None,
        where: TensorLike | None = None,
    ) -> TensorVariable:
        """Multiply over axes."""
        return _reduction.prod(self, axis, dtype, keepdims, acc_dtype, initial=initial, where=where)

    def mean(
        self,
        axis: AxisLike = None,
        dtype: DTypeLike | None = None,
        keepdims: bool = False,
        acc_dtype: DTypeLike | None = None,
        *,
        where: TensorLike | None = None,
    ) -> TensorVariable:
        """Return the mean over axes."""
        return _moments.mean(self, axis, dtype, keepdims, acc_dtype, where=where)

    def var(
        self,
        axis: AxisLike = None,
        ddof: int = 0,
        keepdims: bool = False,
        corrected: bool = False,
        *,
        dtype: DTypeLike | None = None,
        where: TensorLike | None = None,
        mean: TensorLike | None = None,
        correction: int | None = None,
    ) -> TensorVariable:
        """Return the variance over axes."""
        return _moments.var(
            self, axis, ddof, keepdims, corrected, dtype=dtype, where=where, mean=mean, correction=correction
        )

    def std(
        self,
        axis: AxisLike = None,
        ddof: int = 0,
        keepdims: bool = False,
        corrected: bool = False,
        *,
        dtype: DTypeLike | None = None,
        where: TensorLike | None = None,
        mean: TensorLike | None = None,
        correction: int | None = None,
    ) -> TensorVariable:
        """Return the standard deviation over axes."""
        return _moments.std(
            self, axis, ddof, keepdims, corrected, dtype=dtype, where=where, mean=mean, correction=correction
        )

    def max(
        self,
        axis: AxisLike = None,
        keepdims: bool = False,
        *,
        initial: TensorLike | None = None,
        where: TensorLike | None = None,
    ) -> TensorVariable:
        """Return the largest element along axes."""
        return _reduction.max_(self, axis, keepdims, initial=initial, where=where)

    def min(
        self,
        axis: AxisLike = None,
        keepdims: bool = False,
        *,
        initial: TensorLike | None = None,
        where: TensorLike | None = None,
    ) -> TensorVariable:
        """Return the smallest element along axes."""
        return _reduction.min_(self, axis, keepdims, initial=initial, where=where)

    def argmax(self, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
        """Return the position of the largest element along axes."""
        return _reduction.argmax(self, axis, keepdims)

    def argmin(self, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
        """Return the position of the smallest element along axes."""
        return _reduction.argmin(self, axis, keepdims)

    def all(self, axis: AxisLike = None, keepdims: bool = False, *, where: TensorLike | None = None) -> TensorVariable:
        """Whether all elements along axes are true."""
        return _reduction.all_(self, axis, keepdims, where=where)

    def any(self, axis: AxisLike = None, keepdims: bool = False, *, where: TensorLike | None = None) -> TensorVariable:
        """Whether any element along axes is true."""
        return _reduction.any_(self, axis, keepdims, where=where)

    def ptp(self, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
        """Return the range of values along an axis."""
        return _moments.ptp(self, axis, keepdims)

    def clip(
        self,
        a_min: TensorLike | None = None,
        a_max: TensorLike | None = None,
        *,
        min: TensorLike | None = None,
        max: TensorLike | None = None,
    ) -> TensorVariable:
        """Limit the values to an interval; `min` and `max` are other names of the bounds."""
        return _arithmetic.clip(self, a_min, a_max, min=min, max=max)

    def round(self, decimals: SupportsIndex | str | None = 0, mode: str | None = None) -> TensorVariable:
        """Round to a number of decimals."""
        return _rounding.round_(self, decimals, mode)
