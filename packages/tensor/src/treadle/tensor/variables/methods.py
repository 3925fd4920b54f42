"""Further methods of tensor variables, as of NumPy's arrays: each calls the function of its name, imported then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from treadle.config import config, text_of
from treadle.graph import Constant, SharedVariable, as_flag
from treadle.tensor.errors import ArgumentError, TensorTypeError
from treadle.tensor.types.other_arrays import asking_library
from treadle.tensor.variables.operators import Methods, function_named

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from numpy.typing import DTypeLike

    from treadle.graph import Apply, Op, Variable
    from treadle.tensor.types.tensor_type import TensorType
    from treadle.tensor.variables.variable import AxisLike, TensorLike, TensorVariable


def _elementwise(name: str) -> Callable[[Methods], TensorVariable]:
    """Return the method that applies an elementwise function."""

    def apply(self: Methods) -> TensorVariable:
        return function_named(name)(self)

    apply.__name__ = name
    apply.__qualname__ = f"FurtherMethods.{name}"
    apply.__doc__ = f"Return ``{name}(x)``, elementwise."
    return apply


class FurtherMethods(Methods):
    """Methods of NumPy's arrays, and elementwise functions as methods."""

    __slots__ = ()

    type: TensorType
    owner: Apply[Any] | None
    name: str | None

    arccos = _elementwise("arccos")
    arccosh = _elementwise("arccosh")
    arcsin = _elementwise("arcsin")
    arcsinh = _elementwise("arcsinh")
    arctan = _elementwise("arctan")
    arctanh = _elementwise("arctanh")
    ceil = _elementwise("ceil")
    cos = _elementwise("cos")
    cosh = _elementwise("cosh")
    deg2rad = _elementwise("deg2rad")
    exp = _elementwise("exp")
    exp2 = _elementwise("exp2")
    expm1 = _elementwise("expm1")
    floor = _elementwise("floor")
    log = _elementwise("log")
    log10 = _elementwise("log10")
    log1p = _elementwise("log1p")
    log2 = _elementwise("log2")
    rad2deg = _elementwise("rad2deg")
    sin = _elementwise("sin")
    sinh = _elementwise("sinh")
    sqrt = _elementwise("sqrt")
    tan = _elementwise("tan")
    tanh = _elementwise("tanh")
    trunc = _elementwise("trunc")

    # Order

    def sort(
        self, axis: int | None = -1, kind: str | None = None, order: object = None, *, stable: bool | None = None
    ) -> TensorVariable:
        """Return the tensor sorted along an axis; it is not changed."""
        return function_named("sort")(self, axis, kind, order, stable=stable)

    def argsort(
        self, axis: int | None = -1, kind: str | None = None, order: object = None, *, stable: bool | None = None
    ) -> TensorVariable:
        """Return the positions that sort the tensor along an axis."""
        return function_named("argsort")(self, axis, kind, order, stable=stable)

    def partition(self, kth: object, axis: int | None = -1, kind: str = "introselect") -> TensorVariable:
        """Return the tensor with its k-th element where sorting puts it, smaller ones before it."""
        return function_named("partition")(self, kth, axis, kind)

    def argpartition(self, kth: object, axis: int | None = -1, kind: str = "introselect") -> TensorVariable:
        """Return the positions that partition the tensor along an axis."""
        return function_named("argpartition")(self, kth, axis, kind)

    def searchsorted(self, v: TensorLike, side: str = "left", sorter: TensorLike | None = None) -> TensorVariable:
        """Return where values belong in the tensor, a sorted vector."""
        return function_named("searchsorted")(self, v, side, sorter)

    # Parts

    def choose(self, choices: TensorLike, mode: str = "raise") -> TensorVariable:
        """Return for each element, a number, the element of the choice of that number."""
        return function_named("choose")(self, choices, mode=mode)

    def compress(self, condition: TensorLike, axis: int | None = None) -> TensorVariable:
        """Return the parts along an axis whose condition is true."""
        return function_named("compress")(condition, self, axis=axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> TensorVariable:
        """Return a diagonal of two axes."""
        return function_named("diagonal")(self, offset, axis1, axis2)

    def nonzero(self, return_matrix: bool = False) -> tuple[TensorVariable, ...] | TensorVariable:
        """Return the positions of elements that are not zero, one vector for each axis."""
        nonzero: Callable[..., tuple[TensorVariable, ...] | TensorVariable] = function_named("nonzero")
        return nonzero(self, return_matrix=True) if as_flag("nonzero: return_matrix", return_matrix) else nonzero(self)

    def nonzero_values(self) -> TensorVariable:
        """Return the elements that are not zero, as a vector."""
        return function_named("nonzero_values")(self)

    def repeat(self, repeats: TensorLike, axis: int | None = None) -> TensorVariable:
        """Repeat elements along an axis."""
        return function_named("repeat")(self, repeats, axis)

    # Reductions

    def cumsum(self, axis: int | None = None, dtype: DTypeLike | None = None) -> TensorVariable:
        """Return the sums of the elements up to each along an axis."""
        return function_named("cumsum")(self, axis, dtype)

    def cumprod(self, axis: int | None = None, dtype: DTypeLike | None = None) -> TensorVariable:
        """Return the products of the elements up to each along an axis."""
        return function_named("cumprod")(self, axis, dtype)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None) -> TensorVariable:
        """Return the sum of a diagonal of two axes."""
        return function_named("trace")(self, offset, axis1, axis2, dtype)

    def norm(self, L: float = 2, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:  # noqa: N803 - documented
        """Return the L-norm of the elements along axes, of all of them if None (as `vector_norm`)."""
        return function_named("vector_norm")(self, axis=axis, keepdims=keepdims, ord=L)

    # Graphs

    def transfer(self, target: str) -> TensorVariable:
        """Return the tensor on a device: itself, as backends move what they compute with.

        Raises
        ------
        TensorTypeError
            If `target` is another device than ``cpu``.
        """
        if not isinstance(target, str) or target != "cpu":
            msg = f"transfer: the only device is 'cpu', got {text_of(target)}. Choose it by the function's mode."
            raise TensorTypeError(msg)
        return self  # type: ignore[return-value]  # a variable

    def get_underlying_scalar_constant(self, **options: Any) -> Any:
        """Return the number that the tensor is known to be in every element.

        Raises
        ------
        NotScalarConstantError
            If it is not known, or there are several.
        """
        return function_named("get_underlying_scalar_constant_value")(self, **options)

    @property
    def owner_op(self) -> Op | None:
        """The op of the node that computes the tensor."""
        return None if self.owner is None else self.owner.op

    @property
    def owner_op_and_inputs(self) -> tuple[Op | Variable | None, ...]:
        """The op of the node that computes the tensor, and its inputs: what ``match`` statements look at."""
        return (None,) if self.owner is None else (self.owner.op, *self.owner.inputs)

    # Values

    def item(self, *index: int) -> Any:
        """Return an element of a constant as a Python number.

        Raises
        ------
        TensorTypeError
            If the tensor is not a constant.
        """
        return self._array("item").item(*index)

    def tolist(self) -> Any:
        """Return a constant as a nested list.

        Raises
        ------
        TensorTypeError
            If the tensor is not a constant.
        """
        return self._array("tolist").tolist()

    if not TYPE_CHECKING:  # with it, type checkers take NumPy's functions of tensors to return arrays

        def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
            """Return a constant's array; an array that holds the variable, if the option ``numpy_functions`` says so.

            Raises
            ------
            TensorTypeError
                If the tensor is not a constant: an array of it would hold variables.
            """
            if config.numpy_functions == "objects":
                holder = np.empty(1, dtype=object)
                holder[0] = self
                return holder.reshape(())
            return np.array(self._array("array"), dtype, copy=copy)

    def __dlpack__(
        self, *, max_version: tuple[int, int] | None = None, copy: bool | None = None, **options: Any
    ) -> Any:
        """Return a constant's array in the form by which libraries share memory.

        It cannot be written into, which readers of before version 1 do not understand: they get a copy.

        Raises
        ------
        TensorTypeError
            If the tensor is not a constant.
        """
        array = self._array("dlpack")
        if copy is None and (max_version is None or max_version < (1, 0)):
            array = array.copy()
        return array.__dlpack__(max_version=max_version, copy=copy, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the device of values, in the numbers of DLPack: the processor's memory."""
        return 1, 0

    def __array_namespace__(self, api_version: str | None = None) -> ModuleType:
        """Return the functions of the array API standard that take the tensor, `treadle.tensor.array_api`.

        Raises
        ------
        ArgumentError
            If another version of the standard is asked for.
        """
        namespace: ModuleType = function_named("array_api")  # type: ignore[assignment]  # a module
        versions = ("2021.12", "2022.12", "2023.12", "2024.12")
        if api_version is not None and api_version not in versions:
            msg = (
                f"__array_namespace__: one of the versions {', '.join(versions)} is needed, got "
                f"{text_of(api_version)}. Ask for one of these."
            )
            raise ArgumentError(msg)
        return namespace

    @property
    def device(self) -> str:
        """The device, ``"cpu"``: the backend of a function's mode decides where it computes."""
        return "cpu"

    def to_device(self, device: str, /, *, stream: object = None) -> TensorVariable:
        """Return the tensor on a device, itself.

        Raises
        ------
        TensorTypeError
            If `device` is another than ``"cpu"``, or there is a `stream`.
        """
        if stream is not None:
            msg = f"to_device: the device 'cpu' has no streams, got {text_of(stream)}. Leave `stream` out."
            raise TensorTypeError(msg)
        return self.transfer(device)

    def __int__(self) -> int:
        return int(self._number("int"))

    def __float__(self) -> float:
        return float(self._number("float"))

    def __complex__(self) -> complex:
        return complex(self._number("complex"))

    def __index__(self) -> int:
        """Return a constant integer, as positions and lengths of Python take it."""
        number: object = self._number("index")
        if isinstance(number, bool) or not isinstance(number, int):
            msg = f"index: an integer is needed, got {self} of type {self.type}. Cast it, or take its int()."
            raise TensorTypeError(msg)
        return number

    def __round__(self, ndigits: int | None = None) -> Any:
        """Return a constant of one element rounded, as Python does."""
        return round(self._number("round"), ndigits)

    def __format__(self, spec: str) -> str:
        """Return the text of the tensor; by a format, that of a constant's number."""
        return format(self._number("format"), spec) if spec else str(self)

    def __setitem__(self, index: object, value: object) -> NoReturn:
        """Refuse: tensors are not changed.

        Raises
        ------
        TensorTypeError
            Always.
        """
        msg = (
            f"item assignment: {self} of type {self.type} cannot be changed in place. Write y = x[index].set(value), "
            "or inc(value) to add to it, and go on with y."
        )
        raise TensorTypeError(msg)

    def __delitem__(self, index: object) -> NoReturn:
        """Refuse: tensors are not changed.

        Raises
        ------
        TensorTypeError
            Always.
        """
        msg = (
            f"item deletion: {self} of type {self.type} cannot be changed in place. Write y = delete(x, index, axis), "
            "or y = x[mask] with what is to stay, and go on with y."
        )
        raise TensorTypeError(msg)

    def __contains__(self, item: object) -> bool:
        """Whether an element of a constant equals a number, as in an array of NumPy.

        Raises
        ------
        TensorTypeError
            If the tensor is not a constant.
        """
        if isinstance(self, Constant):
            return item in self.data
        msg = (
            f"membership: {self} of type {self.type} has no value yet, so that nothing is known to be in it. Use "
            "any(eq(x, item)), or isin(item, x)."
        )
        raise TensorTypeError(msg)

    def _number(self, method: str) -> Any:
        """Return a constant of one element as a number of Python."""
        array = self._array(method)
        if array.size != 1:
            msg = f"{method}: one element is needed, got {self} of type {self.type}. Take one of its elements first."
            raise TensorTypeError(msg)
        return array.item()

    def _array(self, method: str) -> Any:
        if isinstance(self, Constant):
            return self.data
        shared = isinstance(self, SharedVariable)
        way = "Read it by get_value()." if shared else "Compute it by x.eval(), or make it an output of a function."
        library = asking_library()
        if library is not None:
            # Its operators and functions make arrays of what they are given.
            way += (
                f" It was {library} that asked for it: where its values are an operand, write as_tensor(values) @ x in "
                "place of values @ x, with any operator."
            )
        msg = f"{method}: {self} of type {self.type} has no value yet. {way}"
        raise TensorTypeError(msg)
