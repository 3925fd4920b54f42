"""Scalars as values of graphs: numbers of NumPy's scalar classes, where a tensor of rank 0 would do too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import text_of
from treadle.graph import Apply, Constant, DisconnectedType, Form, Op, Type, Variable
from treadle.tensor.errors import TensorTypeError
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.tensor_type import TensorType
from treadle.tensor.variables.operators import Operators

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Cell, Value
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = [
    "ScalarConstant",
    "ScalarFromTensor",
    "ScalarType",
    "ScalarVariable",
    "TensorFromScalar",
    "as_scalar",
    "get_scalar_type",
    "scalar_from_tensor",
    "tensor_from_scalar",
]


class ScalarType(Type):
    """The type of NumPy's scalars of one dtype. They enter expressions of tensors as tensors of rank 0.

    Parameters
    ----------
    dtype
        Name of the dtype, or ``floatX``.
    """

    __props__ = ("dtype",)

    def __init__(self, dtype: str) -> None:
        self.tensor_type = TensorType(dtype)
        self.dtype = self.tensor_type.dtype

    ndim = 0
    shape: tuple[int | None, ...] = ()

    def filter(self, data: Value, strict: bool = False, allow_downcast: bool | None = None) -> np.generic:
        """Return a number as NumPy's scalar.

        Raises
        ------
        TensorTypeError
            If it is none, or the conversion is not allowed.
        """
        exact = strict and not isinstance(data, np.generic)
        array = self.tensor_type.filter(data, strict=exact, allow_downcast=allow_downcast)
        scalar: np.generic = array.dtype.type(array[()])
        return scalar

    @staticmethod
    def values_eq(a: Value, b: Value) -> bool:
        """Whether two numbers are the same; NaN is itself."""
        return bool(a == b or (a != a and b != b))

    def as_tensor(self, var: Variable) -> TensorVariable:
        """Return a variable of this type as a tensor."""
        tensor: TensorVariable = tensor_from_scalar(var)
        return tensor

    def sample(self, seed: int) -> np.generic:
        """Return some number."""
        return self.filter(self.tensor_type.sample(seed))

    def __str__(self) -> str:
        return f"Scalar({self.dtype})"


class ScalarVariable(Operators, Variable[ScalarType]):
    """A symbolic scalar; its operators give tensors of rank 0."""

    __slots__ = ()
    __hash__ = Variable.__hash__

    @property
    def dtype(self) -> str:
        """Name of the dtype."""
        return self.type.dtype


class ScalarConstant(ScalarVariable, Constant[ScalarType]):
    """A scalar that is known when the graph is built."""

    __slots__ = ()
    __hash__ = Variable.__hash__


ScalarType.variable_type = ScalarVariable
ScalarType.constant_type = ScalarConstant


def get_scalar_type(dtype: str) -> ScalarType:
    """Return the type of scalars of a dtype.

    Examples
    --------
    >>> tt.get_scalar_type("float64").dtype
    'float64'
    """
    return ScalarType(dtype)


bool_ = ScalarType("bool")
complex64, complex128 = ScalarType("complex64"), ScalarType("complex128")
float16, float32, float64 = ScalarType("float16"), ScalarType("float32"), ScalarType("float64")
int8, int16, int32, int64 = ScalarType("int8"), ScalarType("int16"), ScalarType("int32"), ScalarType("int64")
uint8, uint16, uint32, uint64 = ScalarType("uint8"), ScalarType("uint16"), ScalarType("uint32"), ScalarType("uint64")


def upcast(dtype: str, *dtypes: str) -> str:
    """Return the name of the dtype that operands of some dtypes have in common (as numpy.result_type)."""
    return np.result_type(*(TensorType(name).numpy_dtype for name in (dtype, *dtypes))).name


class ScalarFromTensor(Op):
    """The number in a tensor of rank 0."""

    __props__ = ()

    def make_node(self, *inputs: TensorLike) -> Apply:
        """Return the node.

        Raises
        ------
        TensorTypeError
            If the input is no tensor of rank 0.
        """
        if len(inputs) != 1:
            msg = f"scalar_from_tensor: one tensor is needed, got {len(inputs)}. Pass it alone."
            raise TensorTypeError(msg)
        x = as_tensor_variable(inputs[0])
        if x.ndim:
            msg = f"scalar_from_tensor: a tensor of rank 0 is needed, got {x} of type {x.type}. Take an element of it."
            raise TensorTypeError(msg)
        return Apply(self, [x], [ScalarType(x.dtype).make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Take the number out."""
        output_storage[0][0] = inputs[0][()]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the cotangent as a tensor."""
        return [as_tensor_variable(cotangents[0])]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Return the tangent as a scalar."""
        return [None if t is None or isinstance(t.type, DisconnectedType) else scalar_from_tensor(t) for t in tangents]

    def printed_form(self, node: Apply) -> Form:
        """Write ``scalar_from_tensor(x)``."""
        return Form.call("scalar_from_tensor", node.inputs)


class TensorFromScalar(Op):
    """The tensor of rank 0 that holds a number.

    Arithmetic of scalars gives tensors already: a tensor of rank 0 is returned as it is.
    """

    __props__ = ()

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return the tensor (parameters as for `Op.__call__`)."""
        if len(inputs) == 1 and isinstance(inputs[0], Variable):
            kind = inputs[0].type
            if isinstance(kind, TensorType) and not kind.ndim:
                return inputs[0]
        return super().__call__(*inputs, **kwargs)

    def make_node(self, *inputs: Variable) -> Apply:
        """Return the node.

        Raises
        ------
        TensorTypeError
            If the input is no scalar.
        """
        x = inputs[0] if len(inputs) == 1 else inputs
        if not isinstance(x, Variable) or not isinstance(x.type, ScalarType):
            msg = f"tensor_from_scalar: a variable of type ScalarType is needed, got {text_of(x)}. Use as_tensor."
            raise TensorTypeError(msg)
        return Apply(self, [x], [x.type.tensor_type.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Put the number into an array."""
        output_storage[0][0] = np.array(inputs[0])

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the cotangent as a scalar."""
        return [scalar_from_tensor(cotangents[0])]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Return the tangent as a tensor."""
        return [None if t is None or isinstance(t.type, DisconnectedType) else as_tensor_variable(t) for t in tangents]

    def printed_form(self, node: Apply) -> Form:
        """Write ``tensor_from_scalar(x)``."""
        return Form.call("tensor_from_scalar", node.inputs)


scalar_from_tensor = ScalarFromTensor()
tensor_from_scalar = TensorFromScalar()


def as_scalar(x: TensorLike, name: str | None = None) -> ScalarVariable:
    """Return a number, or a tensor of rank 0, as a scalar.

    Raises
    ------
    TensorTypeError
        If it is neither.

    Examples
    --------
    >>> tt.as_scalar(3).eval()
    np.int64(3)
    """
    if isinstance(x, ScalarVariable):
        return x
    tensor = as_tensor_variable(x)
    if isinstance(tensor, Constant) and tensor.ndim == 0:
        constant: ScalarVariable = ScalarType(tensor.dtype).make_constant(tensor.data, name)  # type: ignore[assignment]
        return constant
    scalar: ScalarVariable = scalar_from_tensor(tensor, name=name)
    return scalar
