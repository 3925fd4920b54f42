"""The words of kernels: types of parameters, functions and statuses, as plain Python understands them.

A kernel is a Python function, and runs as one, with the meaning that these words have here: that is the reference to
which compiled kernels are compared.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from treadle.kernels.errors import KernelError
from treadle.kernels.kinds import EIGHTS, NUMBERS, real_dtype, value_kind
from treadle.kernels.routines import call_routine

if TYPE_CHECKING:
    import numpy as np


E = TypeVar("E")
_LARGEST_INT = 2**63 - 1


def _numpy() -> Any:
    """Return NumPy, which only kernels that run in Python need."""
    return importlib.import_module("numpy")


class Status(IntEnum):
    """What a kernel returns that may fail: `OK`, or why it failed, which becomes the error that names the node."""

    OK = 0
    SHAPE = 1
    INDEX = 2
    VALUE = 3
    MEMORY = 4
    ASSERTION = 5
    MATRIX = 6
    TOO_LONG = 8
    PARAMETER = 9


OK, SHAPE, INDEX, VALUE, MEMORY, ASSERTION, MATRIX, TOO_LONG, PARAMETER = Status


class Number:
    """The bound of type parameters: ``T = TypeVar("T", bound=Number)`` stands for the dtype of an argument."""

    if TYPE_CHECKING:

        def _operation(self, other: object, /) -> Any: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _operation
        __lt__ = __le__ = __gt__ = __ge__ = __and__ = __or__ = _operation

        def __neg__(self) -> Any: ...
        def __abs__(self) -> Any: ...


# Elements of one dtype. In Python they are numbers of these types.
class int8(int):  # noqa: N801 - as NumPy names them
    """Elements of 8 bits."""


class int16(int):  # noqa: N801
    """Elements of 16 bits."""


class int32(int):  # noqa: N801
    """Elements of 32 bits."""


class int64(int):  # noqa: N801
    """Elements of 64 bits; values of all integers but `uint64`."""


class uint8(int):  # noqa: N801
    """Elements of 8 bits without a sign."""


class uint16(int):  # noqa: N801
    """Elements of 16 bits without a sign."""


class uint32(int):  # noqa: N801
    """Elements of 32 bits without a sign."""


class uint64(int):  # noqa: N801
    """Elements and values of 64 bits without a sign; as a function, the conversion of an int."""

    def __new__(cls, value: Any) -> Any:
        """Return a value of NumPy's."""
        return as_value("uint64", value)


class float32(float):  # noqa: N801
    """Elements and values of single precision; as a function, the conversion of a real number."""

    def __new__(cls, value: Any) -> Any:
        """Return a value of NumPy's."""
        return as_value("float32", value)


class float64(float):  # noqa: N801
    """Elements and values of double precision."""


class complex64(complex):  # noqa: N801
    """Elements and values of two numbers of single precision."""


class complex128(complex):  # noqa: N801
    """Elements and values of two numbers of double precision."""


ELEMENTS: dict[Any, str] = {kind: kind.__name__ for kind in (int8, int16, int32, int64, uint8, uint16, uint32, uint64)}
ELEMENTS |= {kind: kind.__name__ for kind in (float32, float64, complex64, complex128, bool)}


class Pointer(Generic[E]):
    """Elements that lie one behind the other; what a kernel writes by one pointer it does not read by another.

    ``p[i]`` is an element, ``p + i`` a pointer to it. The number of elements is not known to a kernel.
    """

    def __init__(self, elements: np.ndarray, start: int = 0) -> None:
        self.elements = elements
        self.start = start

    def _at(self, index: int) -> int:
        at = self.start + int(index)
        if not 0 <= at < len(self.elements):
            msg = f"kernel: element {at} of {len(self.elements)} is out of bounds. Check the kernel's indices."
            raise KernelError(msg)
        return at

    def __getitem__(self, index: int) -> Any:
        """Return the value of an element."""
        return as_value(value_kind(self.elements.dtype.name), self.elements[self._at(index)])

    @property
    def dtype(self) -> str:
        """The dtype of the elements, which are rows of a matrix where they are eights."""
        name: str = self.elements.dtype.name
        return EIGHTS[name] if self.elements.ndim == 2 else name

    def __setitem__(self, index: int, value: object) -> None:
        """Set an element, or as many as a vector has."""
        values = _numpy().asarray(value).astype(self.elements.dtype)
        at = self._at(index)
        if values.ndim and self.elements.ndim == 1:
            self.elements[at : self._at(int(index) + len(values) - 1) + 1] = values
        else:
            self.elements[at] = values

    def __add__(self, count: int) -> Pointer[E]:
        """Return a pointer to a later element."""
        return Pointer(self.elements, self.start + int(count))


class Array(Generic[E]):
    """An array of any strides: ``x[i, j]``, ``x.shape[0]``, ``x.strides[0]`` in elements, ``x.pointer``."""

    ndim = 0

    def __init__(self, elements: np.ndarray) -> None:
        self.elements = elements
        self.shape = tuple(map(_numpy().int64, elements.shape))
        self.strides = tuple(_numpy().int64(s // elements.itemsize) for s in elements.strides)

    def __len__(self) -> int:
        """Return the first length."""
        return len(self.elements)

    def __getitem__(self, index: Any) -> Any:
        """Return the value of an element."""
        return as_value(value_kind(self.elements.dtype.name), self.elements[self._at(index)])

    def __setitem__(self, index: Any, value: object) -> None:
        """Set an element."""
        self.elements[self._at(index)] = _numpy().asarray(value).astype(self.elements.dtype)

    def _at(self, index: Any) -> tuple[int, ...]:
        indices = tuple(int(i) for i in (index if isinstance(index, tuple) else (index,)))
        if any(not 0 <= i < n for i, n in zip(indices, self.elements.shape, strict=True)):
            msg = f"kernel: index {indices} is out of bounds of {self.elements.shape}. Check the kernel's indices."
            raise KernelError(msg)
        return indices

    @property
    def pointer(self) -> Pointer[E]:
        """A pointer to the first element, of an array whose elements lie one behind the other."""
        return Pointer(self.elements.reshape(-1))


class Vector(Array[E]):
    """An array of rank 1."""

    ndim = 1


class Matrix(Array[E]):
    """An array of rank 2."""

    ndim = 2


class Array3(Array[E]):
    """An array of rank 3."""

    ndim = 3


class Array4(Array[E]):
    """An array of rank 4."""

    ndim = 4


class Array5(Array[E]):
    """An array of rank 5."""

    ndim = 5


ARRAYS = {kind: kind.ndim for kind in (Vector, Matrix, Array3, Array4, Array5)}


def as_value(kind: str, value: Any) -> Any:
    """Return a value as Python holds one of a kind; integers wrap around. A status stays one, also in a variable."""
    if kind == "int64" and isinstance(value, Status):
        return value
    np = _numpy()
    if kind in NUMBERS:
        return np.broadcast_to(value, 8).astype(NUMBERS[kind])
    if kind in {"int64", "uint64"} and isinstance(value, int):
        return np.array(value % 2**64, "uint64").astype(kind)[()]
    return np.asarray(value).astype(kind)[()]


# Functions that decide what is compiled: their values are known when a kernel is specialised.


def is_complex(kind: Any) -> bool:
    """Whether a type parameter stands for complex numbers."""
    return "complex" in str(kind)


def is_floating(kind: Any) -> bool:
    """Whether a type parameter stands for real numbers of floating point."""
    return "float" in str(kind)


def itemsize(kind: Any) -> int:
    """Return the size of an element in bytes."""
    return int(_numpy().dtype(str(kind)).itemsize)


def epsilon(kind: Any) -> float:
    """Return the distance from 1 to the next larger number of a type's precision."""
    return 2.0**-23 if real_dtype(str(kind)).removesuffix("x8") in {"float16", "float32"} else 2.0**-52


# Functions of values


def convert(kind: Any, value: Any) -> Any:
    """Return a number as a value of a type parameter's kind, or of a dtype: ``convert(T, 0)``."""
    return as_value(value_kind(_dtype(kind)), value)


def element(kind: Any, value: Any) -> Any:
    """Return a number as an element of a type holds it: rounded to float16, wrapped to the size of an integer."""
    dtype = _dtype(kind)
    return as_value(value_kind(dtype), _numpy().asarray(value).astype(dtype))


def real_of(kind: Any) -> Any:
    """Return the type of real numbers of a type parameter's precision, for `convert` and `local`."""
    return real_dtype(_dtype(kind))


def local(kind: Any, count: int) -> Pointer[Any]:
    """Return room for a known number of elements, which lasts until the kernel returns."""
    dtype = _dtype(kind)
    return Pointer(_numpy().zeros((count, 8), NUMBERS[dtype]) if dtype in NUMBERS else _numpy().zeros(count, dtype))


def _dtype(kind: Any) -> str:
    return ELEMENTS.get(kind, "") or str(kind)


def address(pointer: Pointer[Any]) -> Any:
    """Return the address of a pointer's element as an int, for structures that compiled functions read."""
    elements = pointer.elements
    return as_value("int64", elements.ctypes.data + pointer.start * elements.itemsize)


def independent(steps: range, at_once: int = 0) -> range:
    """Say of a loop that no step reads what another writes: C runs several steps at once.

    `at_once` says how many are best, where the processor's widest vectors pay: 8 of double precision.
    Sums, minima and maxima of ints may go through all steps: ``n += 1``, ``low = min(low, x[i])``.
    """
    del at_once
    return steps


def unrolled(steps: range) -> Iterator[int]:
    """Say of a loop whose bounds are known that its steps are written one after the other: its number is static."""
    return map(int, steps)


def shared(steps: range) -> range:
    """Say of a loop that each step may have a thread of its own, where threads are shared: one that `team` counts.

    No step reads what another writes. Its body sets variables of its own, and takes the extremes of ints.
    """
    return steps


def team(work: int) -> int:  # noqa: ARG001 - of use to compiled kernels
    """Return among how many threads so many operations are to be shared: 1 where there are none, as in Python."""
    return 1


# Vectors: as many elements as the machine computes with at once.

_LANES = 4


def lanes(kind: object) -> int:  # noqa: ARG001 - of use to compiled kernels
    """Return how many elements a vector has: what a machine's vectors hold, and 4 in Python."""
    return _LANES


def vector(pointer: Pointer[E]) -> np.ndarray:
    """Return a vector of the elements from a pointer on; ``p[i] = v`` writes one."""
    last = pointer._at(_LANES - 1)
    return pointer.elements[last + 1 - _LANES : last + 1].copy()


def vectors(kind: object, count: int) -> list[np.ndarray]:
    """Return a known number of vectors of zeros, for registers: ``a[k]`` with a known k."""
    return [filled(kind, 0) for _ in range(count)]


def filled(kind: object, value: object) -> np.ndarray:
    """Return a vector of one number."""
    result: np.ndarray = _numpy().full(_LANES, value).astype(_dtype(kind))
    return result


def fused(a: Any, b: Any, c: Any) -> Any:
    """Return ``a * b + c`` of numbers or vectors, rounded once where the machine has an instruction for it."""
    return a * b + c


def first(v: np.ndarray, count: int) -> np.ndarray:
    """Return a vector with zeros behind its first elements, at least one and no more than it has."""
    result: np.ndarray = _numpy().where(_numpy().arange(_LANES) < count, v, 0).astype(v.dtype)
    return result


def total(v: np.ndarray) -> Any:
    """Return the sum of a vector's elements, from the first on."""
    result = v[0]
    for x in v[1:]:
        result = result + x
    return as_value(value_kind(v.dtype.name), result)


def largest(pointer: Pointer[E], count: int) -> Any:
    """Return the largest of numbers one behind the other, at least one; NaN if one is NaN."""
    return as_value(value_kind(pointer.dtype), pointer.elements[pointer.start : pointer._at(count - 1) + 1].max())


def smallest(pointer: Pointer[E], count: int) -> Any:
    """Return the smallest of numbers one behind the other, at least one; NaN if one is NaN."""
    return as_value(value_kind(pointer.dtype), pointer.elements[pointer.start : pointer._at(count - 1) + 1].min())


# Eights: numbers of eight matrices, one of each, that are computed with at once.


def eights(pointer: Pointer[E]) -> Pointer[Any]:
    """Return a pointer to eights in the memory of numbers: the first that lies at a multiple of 64 bytes."""
    numbers = pointer.elements[pointer.start :]
    return Pointer(numbers[: len(numbers) // 8 * 8].reshape(-1, 8))


def eight(pointer: Pointer[E]) -> np.ndarray:
    """Return the eight numbers one behind the other from a pointer on, wherever that is, as one value."""
    last = pointer._at(7)
    return pointer.elements[last - 7 : last + 1].copy()


def numbers(pointer: Pointer[E]) -> Pointer[Any]:
    """Return a pointer to the numbers of eights."""
    return Pointer(pointer.elements.reshape(-1), 8 * pointer.start)


def select(test: Any, first: Any, second: Any) -> Any:
    """Return one of two values, which are both computed: no processor has to foresee which. Of eights, by a mask."""
    if getattr(test, "ndim", 0):
        return _numpy().where(test, first, second)
    return first if test else second


def which(mask: np.ndarray) -> int:
    """Return a mask as an int: a bit for each of the eight that it holds for, from the lowest on."""
    return sum(1 << lane for lane, holds in enumerate(mask) if holds)


def weave(x: Pointer[Any], at: Pointer[int64], to: Pointer[Any]) -> None:
    """Write four eights: the elements 0, 1, 2 and 3 behind each of eight places."""
    for element in range(4):
        to[element] = _numpy().array([x[at[lane] + element] for lane in range(8)])


def unweave(x: Pointer[Any], to: Pointer[Any], at: Pointer[int64]) -> None:
    """Write the numbers of four eights behind eight places."""
    for lane in range(8):
        for element in range(4):
            to[at[lane] + element] = x[element][lane]


def bits(x: Any) -> Any:
    """Return the bits of a number of single or double precision as an int."""
    single = _numpy().asarray(x).dtype == "float32"
    return as_value("int64", x.view("int32") if single else _numpy().float64(x).view("int64"))


def from_bits(n: Any) -> Any:
    """Return the number of double precision that has the bits of an int, or of a uint64."""
    return as_value("int64", int(n)).view("float64")


def quotient(a: int, b: int) -> int:
    """Return the quotient of integers rounded toward 0, as processors compute it; `b` is not 0.

    Nor is it -1 where `a` is the least int: what would be 2 to the power of 63 stops the process in compiled code.
    """
    q = abs(int(a)) // abs(int(b))
    if b == -1 and q > _LARGEST_INT:
        msg = f"kernel: {int(a)} has no quotient by -1 among the integers of 64 bits. Check the kernel's divisors."
        raise KernelError(msg)
    return q if (a < 0) == (b < 0) else -q


def remainder(a: int, b: int) -> int:
    """Return what `quotient` leaves, with the sign of `a`; `b` is not 0."""
    return int(a) - quotient(a, b) * int(b)


def real(z: Any) -> Any:
    """Return the real part; of a real number, the number."""
    return z.real


def imag(z: Any) -> Any:
    """Return the imaginary part of a complex number."""
    return z.imag


def conj(z: Any) -> Any:
    """Return the complex conjugate; of a real number, the number."""
    return z.conjugate()


def compose(re: Any, im: Any) -> Any:
    """Return the complex number of two parts of one precision."""
    return _numpy().dtype({"float32": "complex64"}.get(re.dtype.name, "complex128")).type(complex(re, im))


def isnan(x: Any) -> bool:
    """Whether a number is NaN."""
    return bool(x != x)


def lgamma(x: Any) -> Any:
    """Return the logarithm of the absolute value of the gamma function, by the C library."""
    return _numpy().asarray(x).dtype.type(math.lgamma(x))


def fmod(x: Any, y: Any) -> Any:
    """Return what a division rounded toward 0 leaves, with the sign of `x`."""
    return _numpy().fmod(x, y)


def copysign(x: Any, sign: Any) -> Any:
    """Return a number with the sign of another."""
    return _numpy().copysign(x, sign)


def _function(name: str) -> Any:
    def function(x: Any) -> Any:
        return getattr(_numpy(), name)(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return NumPy's ``{name}`` of a real number."
    return function


sqrt, floor, ceil, trunc, rint = map(_function, ("sqrt", "floor", "ceil", "trunc", "rint"))
exp, expm1, log, log1p, log2 = map(_function, ("exp", "expm1", "log", "log1p", "log2"))
sin, cos, tan, tanh, atan = map(_function, ("sin", "cos", "tan", "tanh", "arctan"))


def power(x: Any, y: Any) -> Any:
    """Return a real number to a real power, or a complex one to a complex power."""
    return _numpy().power(x, y)


def hypot(x: Any, y: Any) -> Any:
    """Return the length of a vector of two numbers."""
    return _numpy().hypot(x, y)


def atan2(y: Any, x: Any) -> Any:
    """Return the angle of a point."""
    return _numpy().arctan2(y, x)


def steps(*bounds: int) -> Iterator[Any]:
    """Return a range whose numbers are int64 values."""
    return map(_numpy().int64, range(*map(int, bounds)))


class _Library:
    """Routines of a library of Fortran's, by their names without the letter of the type."""

    def __init__(self, name: str, caller: Callable[[str, str, Sequence[Any]], int]) -> None:
        self.name = name
        self.caller = caller

    def __getattr__(self, routine: str) -> Any:
        """Return a routine."""
        if routine.startswith("_"):
            raise AttributeError(routine)

        def call(*arguments: Any) -> int:
            values = [a.elements[a.start :] if isinstance(a, Pointer) else a for a in arguments]
            return self.caller(self.name, routine, values)

        return call


class _Special:
    """SciPy's compiled functions of real numbers, by their names in ``scipy.special.cython_special``."""

    def __getattr__(self, name: str) -> Any:
        """Return a function."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(importlib.import_module("scipy.special"), name)


special = _Special()
lapack = _Library("lapack", call_routine)
blas = _Library("blas", call_routine)
# NumPy's own functions: ``numpy.sort("f", x, n)``.
numpy = _Library("numpy", call_routine)
