"""Ranges: numbers at even distances, and the identity matrix that is made of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import config, text_of
from treadle.graph import Apply, Constant, Form, as_index, composed, static_op
from treadle.tensor.control.assertion import checked_length
from treadle.tensor.elementwise.arithmetic import add, mul
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.ops.known_values import known_value
from treadle.tensor.ops.tensor_op import Derivatives, TensorOp, Variables
from treadle.tensor.reductions.reduction import sum_
from treadle.tensor.shapes.batch_dims import refuse_batched
from treadle.tensor.shapes.dimshuffle import expand_dims
from treadle.tensor.shapes.shape import as_lengths, shape_i
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.conversion import tensors as as_tensors
from treadle.tensor.types.dtype_rules import check_conversion
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from treadle.graph import Variable
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import TensorLike, TensorNode, TensorVariable

__all__ = ["ARange", "arange", "eye", "range_length"]


@static_op
class ARange(TensorOp):
    """Numbers from start to stop in steps. Inputs: start, stop, step, scalars.

    Parameters
    ----------
    dtype
        Dtype of the result.
    """

    dtype: str

    static_inputs = (0, 1, 2)
    _output_type_depends_on_input_value = True
    dtype_fields = ("dtype",)

    def make_node(self, *inputs: object) -> Apply:
        """Return the node; the length is known where all three inputs are."""
        variables = [self.as_input(x) for x in inputs]
        if len(variables) != 3 or any(getattr(v.type, "ndim", -1) != 0 for v in variables):
            msg = f"arange: start, stop and step must be scalars, got {', '.join(map(str, inputs))}."
            raise TensorTypeError(msg)
        values = [v.data if isinstance(v, Constant) else known_value(v) for v in variables]
        known = [v for v in values if v is not None]
        length = range_length(*known) if len(known) == 3 else None
        return Apply(self, variables, [TensorType(self.dtype, (length,)).make_variable()])

    def printed_form(self, node: Apply) -> Form:
        """Write ``arange(start, stop, step)``."""
        return Form.call("arange", node.inputs)

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Fill with NumPy."""
        # Unsigned bounds would wrap around in NumPy's own subtraction of one from the other.
        bounds: list[int | np.ndarray] = [int(x) if x.dtype.kind in "iub" else x for x in inputs]
        if bounds[2] == 0:
            msg = "the step is 0, so the range never ends"
            raise ValueError(msg)
        output_storage[0][0] = np.arange(*bounds, dtype=self.dtype)  # type: ignore[arg-type]  # of rank 0

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that numbers follow start and step, if they are not whole; the stop only decides how many there are."""
        return [[self._is_smooth], [False], [self._is_smooth]]

    @property
    def _is_smooth(self) -> bool:
        return np.dtype(self.dtype).kind in "fc"

    def symbolic_shape(self, node: TensorNode, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Count: ``range(n)`` has length n."""
        start, stop, step = node.inputs
        if as_index(start) == 0 and as_index(step) == 1:
            kind = stop.type
            n = shapes.of_scalar(stop) if kind.numpy_dtype.kind in "iu" and kind.dtype != "uint64" else None
            if n is not None and shapes.is_natural(n):
                return [n]
        return [shapes.atom("range", start, stop, step)]

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> Apply:
        """Return the range, whose bounds must be the same for the whole batch."""
        refuse_batched(zip(node.inputs, inputs, strict=True), "the lengths of ranges")
        return self.make_node(*inputs)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Sum the cotangent, for the step with how many steps were taken to each number."""
        if not self._is_smooth:
            return [None, None, None]
        ct = as_tensors(cotangents)[0]
        steps = cast(arange(shape_i(outputs[0], 0)), ct.real.dtype)
        return [sum_(ct), None, sum_(mul(ct, steps))]


_TOO_MANY = 2**63


def range_length(start: np.ndarray | float, stop: np.ndarray | float, step: np.ndarray | float) -> int:
    """Return how many numbers a range has.

    Raises
    ------
    ShapeError
        If the step is zero, a number is not finite, or they are too many.
    TensorTypeError
        If a number is not real.
    """
    kinds = {np.asarray(v).dtype.kind for v in (start, stop, step)}
    if not kinds <= set("biuf"):
        msg = (
            f"arange: start, stop and step must be real numbers, got {start}, {stop} and {step}. Take their real parts."
        )
        raise TensorTypeError(msg)
    if step == 0:
        msg = "arange: the step is 0, so the range never ends. Give another step."
        raise ShapeError(msg)
    if kinds <= {"i", "u", "b"}:
        first, last, by = int(start), int(stop), int(step)
        length = max(0, -((first - last) // by))
    else:
        quotient = (float(stop) - float(start)) / float(step)
        length = max(0, math.ceil(quotient)) if math.isfinite(quotient) else _TOO_MANY
    if length >= _TOO_MANY:
        msg = f"arange: the numbers from {start} to {stop} in steps of {step} cannot be counted. Give finite bounds."
        raise ShapeError(msg)
    return length


def _counted(given: TensorLike, number: np.ndarray) -> np.dtype:
    """Return what a bound counts as where dtypes are joined: of Python's numbers, no more than they need."""
    if type(given) is int or (type(given) is float and float(np.float32(given)) == given):
        return np.dtype("int8" if type(given) is int else "float32")
    return number.dtype


@composed
def arange(
    start: TensorLike, stop: TensorLike | None = None, step: TensorLike = 1, dtype: DTypeLike | None = None
) -> TensorVariable:
    """Return numbers from start to stop, stop left out (as numpy.arange).

    Parameters
    ----------
    start, stop, step
        Scalars; one argument alone is the stop.
    dtype
        Dtype of the result; by default what NumPy makes it: int64 or float64, unless one is wider; under the
        option ``cast_policy=custom``, the common dtype of floats.

    Examples
    --------
    >>> tt.arange(1, 7, 2).eval()
    array([1, 3, 5])
    """
    first, last = (0, start) if stop is None else (start, stop)
    variables = [as_tensor_variable(x) for x in (first, last, step)]
    # NumPy takes the numbers as plain ones: short integers and floats become int64 and float64.
    numbers = [np.ones((), v.dtype) for v in variables]
    common = np.arange(*numbers).dtype  # type: ignore[call-overload]  # of rank 0
    if config.cast_policy == "custom" and common.kind == "f":
        # There, floats count like any tensor, and integers of Python's are short.
        bounds = zip((first, last, step), numbers, strict=True)
        common = np.result_type(*(_counted(given, number) for given, number in bounds))
    kind = TensorType(common if dtype is None else dtype)
    check_conversion("arange", common, kind.numpy_dtype)
    result: TensorVariable = ARange(kind.dtype)(*variables)
    return result


@composed
def eye(
    n: TensorLike, m: TensorLike | None = None, k: TensorLike = 0, dtype: DTypeLike | None = None
) -> TensorVariable:
    """Return a matrix with ones on one diagonal and zeros elsewhere (as numpy.eye); `k` may be an integer scalar.

    Examples
    --------
    >>> tt.eye(2).eval()
    array([[1., 0.],
           [0., 1.]])
    """
    diagonal = as_tensor_variable(k)
    if diagonal.ndim or diagonal.type.numpy_dtype.kind not in "iu":
        msg = f"eye: k must be an integer or an integer scalar, got {text_of(k)}. Pass one."
        raise TensorTypeError(msg)
    rows_and_columns = as_lengths("eye", [n] if m is None else [n, m])
    checked = [checked_length(x) for x in rows_and_columns]
    height, width = checked[0], checked[-1]
    rows, columns = expand_dims(arange(height), 1), expand_dims(arange(width), 0)
    return cast(columns.eq(add(rows, diagonal)), "floatX" if dtype is None else dtype)
