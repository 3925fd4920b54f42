"""The array API of `treadle.tensor.array_api` with arrays that have values, for the standard's own suite.

An array holds a value. Each function and operator is applied to variables of the arrays' types, and the symbolic result
is computed at once on the Python VM. ``TREADLE_ARRAY_API_LENGTHS=unknown`` makes types that know no length.
"""

from __future__ import annotations

import functools
import operator
import os
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

import treadle.tensor
from treadle.graph import FunctionGraph, Variable
from treadle.link.vm import PythonLinker
from treadle.tensor import TensorType
from treadle.tensor import array_api as symbolic

tt: Any = treadle.tensor
_KNOWN = os.environ.get("TREADLE_ARRAY_API_LENGTHS", "known") == "known"


class Call:
    """One call of a function: a variable for each array among its arguments."""

    def __init__(self) -> None:
        self.variables: list[Variable] = []
        self.values: list[np.ndarray] = []

    def symbol(self, argument: Any) -> Any:
        """Return an argument with variables in place of arrays."""
        if isinstance(argument, Array):
            value = argument.value
            kind = TensorType(value.dtype, value.shape if _KNOWN else (None,) * value.ndim)
            self.variables.append(kind.make_variable())
            self.values.append(value)
            return self.variables[-1]
        if isinstance(argument, list | tuple):
            return type(argument)([self.symbol(item) for item in argument])
        if isinstance(argument, slice):
            return slice(*map(self.symbol, (argument.start, argument.stop, argument.step)))
        return argument

    def compute(self, result: Any) -> Any:
        """Return a result with arrays in place of variables, computed on the Python VM."""
        flat: list[Variable] = []
        _collect(result, flat)
        if not flat:
            return result
        program = PythonLinker().link(FunctionGraph(self.variables, flat))
        return _put(result, iter(program(*self.values)))


def _collect(result: Any, flat: list[Variable]) -> None:
    if isinstance(result, Variable):
        flat.append(result)
    elif isinstance(result, list | tuple):
        for item in result:
            _collect(item, flat)


def _put(result: Any, values: Any) -> Any:
    if isinstance(result, Variable):
        value = np.asarray(next(values))
        assert result.type.is_valid_value(value), f"{result} of type {result.type} became {value!r}"
        return Array(value)
    if isinstance(result, list | tuple):
        items = [_put(item, values) for item in result]
        named = isinstance(result, tuple) and hasattr(result, "_fields")
        return type(result)(*items) if named else type(result)(items)
    return result


def evaluated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of arrays that computes what a function of variables gives."""

    @functools.wraps(function)
    def compute(*args: Any, **kwargs: Any) -> Any:
        call = Call()
        symbols = [call.symbol(a) for a in args]
        options = {key: call.symbol(a) for key, a in kwargs.items()}
        return call.compute(function(*symbols, **options))

    return compute


class Array:
    """An array of a value, with the operators of symbolic tensors."""

    def __init__(self, value: np.ndarray) -> None:
        self.value = value

    __hash__ = None  # type: ignore[assignment]  # == compares elements

    def __repr__(self) -> str:
        return f"Array({self.value!r})"

    @property
    def dtype(self) -> np.dtype:
        """The dtype; of a symbolic tensor, its name."""
        return symbolic.result_type(tt.constant(self.value))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, known as there is a value."""
        return self.value.shape

    @property
    def ndim(self) -> int:
        """The rank."""
        return tt.constant(self.value).ndim  # type: ignore[no-any-return]  # a number

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.value.size

    @property
    def device(self) -> str:
        """The device."""
        return tt.constant(self.value).device  # type: ignore[no-any-return]  # a name

    @property
    def T(self) -> Array:  # noqa: N802 - the standard's name
        """A matrix transposed."""
        return evaluated(lambda x: x.T)(self)  # type: ignore[no-any-return]  # an array

    @property
    def mT(self) -> Array:  # noqa: N802 - the standard's name
        """A stack of matrices transposed."""
        return evaluated(lambda x: x.mT)(self)  # type: ignore[no-any-return]  # an array

    def to_device(self, device: str, /, *, stream: object = None) -> Array:
        """Return the array on a device."""
        return evaluated(lambda x: x.to_device(device, stream=stream))(self)  # type: ignore[no-any-return]  # an array

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        tt.constant(self.value).__array_namespace__(api_version)
        return __import__(__name__, fromlist=["Array"])

    def __bool__(self, /) -> bool:
        return bool(tt.constant(self.value))

    def __int__(self, /) -> int:
        return int(tt.constant(self.value))

    def __float__(self, /) -> float:
        return float(tt.constant(self.value))

    def __complex__(self, /) -> complex:
        return complex(tt.constant(self.value))

    def __index__(self, /) -> int:
        return operator.index(tt.constant(self.value))

    def __getitem__(self, key: Any, /) -> Any:
        return evaluated(operator.getitem)(self, key)

    def __setitem__(self, key: Any, value: Any, /) -> None:
        new = evaluated(lambda x, k, v: x[k].set(v))(self, key, value)
        self.value = new.value

    def __dlpack__(
        self,
        /,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        options = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        return tt.constant(self.value).__dlpack__(**options)

    def __dlpack_device__(self, /) -> tuple[Any, int]:
        return tt.constant(self.value).__dlpack_device__()  # type: ignore[no-any-return]  # two numbers


_Method = Callable[..., Any]
_OF_ONE = ("abs", "invert", "neg", "pos")
_COMPARED = ("ge", "gt", "le", "lt")
_OF_TWO = (
    "add", "and", "floordiv", "lshift", "matmul", "mod", "mul", "or", "pow", "rshift", "sub", "truediv", "xor",
)  # fmt: skip


def _of_one(apply: _Method) -> _Method:
    def method(self: Array, /) -> Any:
        return evaluated(apply)(self)

    return method


def _of_two(apply: _Method, *, reflected: bool = False) -> _Method:
    def method(self: Array, other: Any, /) -> Any:
        if not isinstance(other, Array | bool | int | float | complex):
            return NotImplemented
        return evaluated(apply)(other, self) if reflected else evaluated(apply)(self, other)

    return method


def _give_operators() -> None:
    methods = {name: _of_one(getattr(operator, f"__{name}__")) for name in _OF_ONE}
    methods |= {name: _of_two(getattr(operator, f"__{name}__")) for name in (*_COMPARED, *_OF_TWO)}
    methods |= {f"r{name}": _of_two(getattr(operator, f"__{name}__"), reflected=True) for name in _OF_TWO}
    methods |= {"eq": _of_two(lambda x, y: tt.as_tensor(x).eq(y)), "ne": _of_two(lambda x, y: tt.as_tensor(x).neq(y))}
    for name, method in methods.items():
        method.__name__ = f"__{name}__"
        setattr(Array, method.__name__, method)


_give_operators()


def _module(source: Any) -> dict[str, Any]:
    names = [name for name in dir(source) if not name.startswith("_")]
    members = {name: getattr(source, name) for name in names}
    return {
        name: evaluated(value) if callable(value) else value
        for name, value in members.items()
        if not isinstance(value, ModuleType)
    }


_MEMBERS = _module(symbolic)
linalg = SimpleNamespace(**_module(symbolic.linalg))
fft = SimpleNamespace(**_module(symbolic.fft))
__array_api_version__ = symbolic.__array_api_version__
__array_namespace_info__ = symbolic.__array_namespace_info__
__version__ = "treadle"


# Not as global names, which would hide Python's.
def __getattr__(name: str) -> Any:
    try:
        return _MEMBERS[name]
    except KeyError as error:
        raise AttributeError(name) from error


def __dir__() -> list[str]:
    return [*_MEMBERS, "linalg", "fft", "__array_api_version__", "__array_namespace_info__"]
