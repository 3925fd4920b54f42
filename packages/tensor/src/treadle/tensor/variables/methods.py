"""Further methods of tensor variables, as of NumPy's arrays: each calls the function of its name, imported then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from treadle.config import config, text_of
from treadle.graph import Constant, SharedVariable, as_flag
from treadle.tensor.errors import ArgumentError, TensorTypeError
from treadle.tensor.types.other_arrays import asking_library
from treadle.tensor.variables.operators import Methods, Operators, function_named

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
    operand, result = _OF_ELEMENTS[name]
    apply.__doc__ = f"Return ``{name}(x)``, elementwise{_example(f'tt.constant({operand}).{name}().eval()', result)}"
    return apply


def _example(call: str, result: str) -> str:
    """Return the end of a docstring with an example."""
    return f".\n\nExamples\n--------\n>>> {call}\n{result}\n"


# An operand of each elementwise function that is a method, and the result.
_OF_ELEMENTS = {
    "arccos": ("1.0", "array(0.)"),
    "arccosh": ("1.0", "array(0.)"),
    "arcsin": ("0.0", "array(0.)"),
    "arcsinh": ("0.0", "array(0.)"),
    "arctan": ("0.0", "array(0.)"),
    "arctanh": ("0.0", "array(0.)"),
    "ceil": ("[1.2, -1.2]", "array([ 2., -1.])"),
    "cos": ("0.0", "array(1.)"),
    "cosh": ("0.0", "array(1.)"),
    "deg2rad": ("0.0", "array(0.)"),
    "exp": ("[0.0, -np.inf]", "array([1., 0.])"),
    "exp2": ("[2.0, 3.0]", "array([4., 8.])"),
    "expm1": ("0.0", "array(0.)"),
    "floor": ("[1.2, -1.2]", "array([ 1., -2.])"),
    "log": ("[1.0, 0.0]", "array([  0., -inf])"),
    "log10": ("[1.0, 100.0]", "array([0., 2.])"),
    "log1p": ("0.0", "array(0.)"),
    "log2": ("[1.0, 8.0]", "array([0., 3.])"),
    "rad2deg": ("[0.0, np.pi]", "array([  0., 180.])"),
    "sin": ("0.0", "array(0.)"),
    "sinh": ("0.0", "array(0.)"),
    "sqrt": ("[4.0, 9.0]", "array([2., 3.])"),
    "tan": ("0.0", "array(0.)"),
    "tanh": ("0.0", "array(0.)"),
    "trunc": ("[1.2, -1.2]", "array([ 1., -1.])"),
}


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
        """Return the tensor sorted along an axis; it is not changed.

        Examples
        --------
        >>> tt.constant([3, 1, 2]).sort().eval()
        array([1, 2, 3])
        """
        return function_named("sort")(self, axis, kind, order, stable=stable)

    def argsort(
        self, axis: int | None = -1, kind: str | None = None, order: object = None, *, stable: bool | None = None
    ) -> TensorVariable:
        """Return the positions that sort the tensor along an axis.

        Examples
        --------
        >>> tt.constant([3, 1, 2]).argsort().eval()
        array([1, 2, 0])
        """
        return function_named("argsort")(self, axis, kind, order, stable=stable)

    def partition(self, kth: object, axis: int | None = -1, kind: str = "introselect") -> TensorVariable:
        """Return the tensor with its k-th element where sorting puts it, smaller ones before it.

        Examples
        --------
        >>> tt.constant([3, 1, 2]).partition(0).eval()[0]
        np.int64(1)
        """
        return function_named("partition")(self, kth, axis, kind)

    def argpartition(self, kth: object, axis: int | None = -1, kind: str = "introselect") -> TensorVariable:
        """Return the positions that partition the tensor along an axis.

        Examples
        --------
        >>> tt.constant([3, 1, 2]).argpartition(0).eval()[0]
        np.int64(1)
        """
        return function_named("argpartition")(self, kth, axis, kind)

    def searchsorted(self, v: TensorLike, side: str = "left", sorter: TensorLike | None = None) -> TensorVariable:
        """Return where values belong in the tensor, a sorted vector.

        Examples
        --------
        >>> tt.constant([1, 3, 5]).searchsorted(4).eval()
        array(2)
        """
        return function_named("searchsorted")(self, v, side, sorter)

    # Parts

    def choose(self, choices: TensorLike, mode: str = "raise") -> TensorVariable:
        """Return for each element, a number, the element of the choice of that number.

        Examples
        --------
        >>> tt.constant([0, 1]).choose([[10, 20], [30, 40]]).eval()
        array([10, 40])
        """
        return function_named("choose")(self, choices, mode=mode)

    def compress(self, condition: TensorLike, axis: int | None = None) -> TensorVariable:
        """Return the parts along an axis whose condition is true.

        Examples
        --------
        >>> tt.constant([1, 2, 3]).compress([True, False, True]).eval()
        array([1, 3])
        """
        return function_named("compress")(condition, self, axis=axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> TensorVariable:
        """Return a diagonal of two axes.

        Examples
        --------
        >>> tt.constant([[1, 2], [3, 4]]).diagonal().eval()
        array([1, 4])
        """
        return function_named("diagonal")(self, offset, axis1, axis2)

    def nonzero(self, return_matrix: bool = False) -> tuple[TensorVariable, ...] | TensorVariable:
        """Return the positions of elements that are not zero, one vector for each axis.

        Examples
        --------
        >>> [at.eval() for at in tt.constant([0, 5, 6]).nonzero()]
        [array([1, 2])]
        """
        nonzero: Callable[..., tuple[TensorVariable, ...] | TensorVariable] = function_named("nonzero")
        return nonzero(self, return_matrix=True) if as_flag("nonzero: return_matrix", return_matrix) else nonzero(self)

    def nonzero_values(self) -> TensorVariable:
        """Return the elements that are not zero, as a vector.

        Examples
        --------
        >>> tt.constant([0, 5, 6]).nonzero_values().eval()
        array([5, 6])
        """
        return function_named("nonzero_values")(self)

    def repeat(self, repeats: TensorLike, axis: int | None = None) -> TensorVariable:
        """Repeat elements along an axis.

        Examples
        --------
        >>> tt.constant([1, 2]).repeat(2).eval()
        array([1, 1, 2, 2])
        """
        return function_named("repeat")(self, repeats, axis)

    # Reductions

    def cumsum(self, axis: int | None = None, dtype: DTypeLike | None = None) -> TensorVariable:
        """Return the sums of the elements up to each along an axis.

        Examples
        --------
        >>> tt.constant([1, 2, 3]).cumsum().eval()
        array([1, 3, 6])
        """
        return function_named("cumsum")(self, axis, dtype)

    def cumprod(self, axis: int | None = None, dtype: DTypeLike | None = None) -> TensorVariable:
        """Return the products of the elements up to each along an axis.

        Examples
        --------
        >>> tt.constant([1, 2, 3]).cumprod().eval()
        array([1, 2, 6])
        """
        return function_named("cumprod")(self, axis, dtype)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None) -> TensorVariable:
        """Return the sum of a diagonal of two axes.

        Examples
        --------
        >>> tt.constant([[1, 2], [3, 4]]).trace().eval()
        array(5)
        """
        return function_named("trace")(self, offset, axis1, axis2, dtype)

    def norm(self, L: float = 2, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:  # noqa: N803 - documented
        """Return the L-norm of the elements along axes, of all of them if None (as `vector_norm`).

        Examples
        --------
        >>> tt.constant([3.0, 4.0]).norm(2).eval()
        array(5.)
        """
        return function_named("vector_norm")(self, axis=axis, keepdims=keepdims, ord=L)

    # Graphs

    def transfer(self, target: str) -> TensorVariable:
        """Return the tensor on a device: itself, as backends move what they compute with.

        Raises
        ------
        TensorTypeError
            If `target` is another device than ``cpu``.

        Examples
        --------
        >>> tt.constant([1, 2]).transfer("cpu").eval()
        array([1, 2])
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

        Examples
        --------
        >>> tt.constant(3.0).get_underlying_scalar_constant()
        array(3.)
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

        Examples
        --------
        >>> tt.constant(3.0).item()
        3.0
        """
        return self._array("item").item(*index)

    def tolist(self) -> Any:
        """Return a constant as a nested list.

        Raises
        ------
        TensorTypeError
            If the tensor is not a constant.

        Examples
        --------
        >>> tt.constant([1, 2]).tolist()
        [1, 2]
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
        """The device, ``"cpu"``: the backend of a function's mode decides where it computes.

        Examples
        --------
        >>> tt.dvector("x").device
        'cpu'
        """
        return "cpu"

    def to_device(self, device: str, /, *, stream: object = None) -> TensorVariable:
        """Return the tensor on a device, itself.

        Raises
        ------
        TensorTypeError
            If `device` is another than ``"cpu"``, or there is a `stream`.

        Examples
        --------
        >>> x = tt.dvector("x")
        >>> x.to_device("cpu") is x
        True
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


# An example of each method of the classes that this module's derives from.
_EXAMPLES = {
    "T": ("tt.constant([[1, 2], [3, 4]]).T.eval()", "array([[1, 3],\n       [2, 4]])"),
    "all": ("tt.constant([True, False]).all().eval()", "array(False)"),
    "any": ("tt.constant([True, False]).any().eval()", "array(True)"),
    "argmax": ("tt.constant([1, 5, 3]).argmax().eval()", "array(1)"),
    "argmin": ("tt.constant([1, 5, 3]).argmin().eval()", "array(0)"),
    "astype": ('tt.constant([1, 2]).astype("float32").eval()', "array([1., 2.], dtype=float32)"),
    "clip": ("tt.constant([1, 5, 9]).clip(2, 6).eval()", "array([2, 5, 6])"),
    "conj": ("tt.constant([1 + 2j]).conj().eval()", "array([1.-2.j])"),
    "copy": ("tt.constant([1, 2]).copy().eval()", "array([1, 2])"),
    "dimshuffle": ('tt.constant([1, 2]).dimshuffle(0, "x").eval()', "array([[1],\n       [2]])"),
    "dot": ("tt.constant([1, 2]).dot([3, 4]).eval()", "array(11)"),
    "eq": ("tt.constant([1, 2]).eq(2).eval()", "array([False,  True])"),
    "fill": ("tt.constant([1, 2]).fill(7).eval()", "array([7, 7])"),
    "flatten": ("tt.constant([[1, 2], [3, 4]]).flatten().eval()", "array([1, 2, 3, 4])"),
    "imag": ("tt.constant([1 + 2j]).imag.eval()", "array([2.])"),
    "inc": ("tt.constant([1, 2, 3])[1:].inc(10).eval()", "array([ 1, 12, 13])"),
    "mT": ("tt.constant([[1, 2], [3, 4]]).mT.eval()", "array([[1, 3],\n       [2, 4]])"),
    "max": ("tt.constant([1, 5, 3]).max().eval()", "array(5)"),
    "mean": ("tt.constant([1.0, 3.0]).mean().eval()", "array(2.)"),
    "min": ("tt.constant([1, 5, 3]).min().eval()", "array(1)"),
    "neq": ("tt.constant([1, 2]).neq(2).eval()", "array([ True, False])"),
    "ones_like": ("tt.constant([3, 4]).ones_like().eval()", "array([1, 1])"),
    "prod": ("tt.constant([2, 3]).prod().eval()", "array(6)"),
    "ptp": ("tt.constant([1, 5, 3]).ptp().eval()", "array(4)"),
    "ravel": ("tt.constant([[1, 2], [3, 4]]).ravel().eval()", "array([1, 2, 3, 4])"),
    "real": ("tt.constant([1 + 2j]).real.eval()", "array([1.])"),
    "reshape": ("tt.constant([1, 2, 3, 4]).reshape(2, -1).eval()", "array([[1, 2],\n       [3, 4]])"),
    "round": ("tt.constant([1.26, 2.34]).round(1).eval()", "array([1.3, 2.3])"),
    "set": ("tt.constant([1, 2, 3])[1:].set(0).eval()", "array([1, 0, 0])"),
    "shape": ("tt.constant([[1, 2], [3, 4]]).shape.eval()", "array([2, 2])"),
    "size": ("tt.constant([[1, 2], [3, 4]]).size.eval()", "array(4)"),
    "squeeze": ("tt.constant([[1, 2]]).squeeze().eval()", "array([1, 2])"),
    "std": ("tt.constant([1.0, 3.0]).std().eval()", "array(1.)"),
    "sum": ("tt.constant([[1, 2], [3, 4]]).sum(axis=0).eval()", "array([4, 6])"),
    "swapaxes": ("tt.constant([[1, 2], [3, 4]]).swapaxes(0, 1).eval()", "array([[1, 3],\n       [2, 4]])"),
    "take": ("tt.constant([10, 20, 30]).take([2, 0]).eval()", "array([30, 10])"),
    "transpose": ("tt.constant([[1, 2], [3, 4]]).transpose().eval()", "array([[1, 3],\n       [2, 4]])"),
    "var": ("tt.constant([1.0, 3.0]).var().eval()", "array(1.)"),
    "zeros_like": ("tt.constant([3, 4]).zeros_like().eval()", "array([0, 0])"),
}


def _show_examples() -> None:
    """Write the examples into the docstrings, where Python keeps these."""
    for name, (call, result) in _EXAMPLES.items():
        method: Any = vars(Methods if name in vars(Methods) else Operators)[name]
        if method.__doc__ is not None:
            indented = "\n        ".join(_example(call, result).removeprefix(".").rstrip().splitlines())
            method.__doc__ += f"{indented}\n        "


_show_examples()
