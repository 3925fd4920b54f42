"""The discrete Fourier transform along one axis, without scale: the op behind `treadle.tensor.fft`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Apply, Form, static_op
from treadle.tensor.arguments.values import as_choice
from treadle.tensor.elementwise.arithmetic import add, floor_div, mul
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq
from treadle.tensor.elementwise.logic import bitwise_or
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.ops.fields import fix_integers
from treadle.tensor.ops.tensor_op import TensorOp
from treadle.tensor.shapes.batch_dims import refuse_batched
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle
from treadle.tensor.shapes.shape import length_inputs, shape_i, static_lengths
from treadle.tensor.types.conversion import constant, tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import SymbolicShape, Variable
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

__all__ = ["FourierTransform"]

KINDS = ("fft", "ifft", "rfft", "irfft")
REAL_OF = {"complex64": "float32", "complex128": "float64"}
COMPLEX_OF = {real: name for name, real in REAL_OF.items()}


@static_op
class FourierTransform(TensorOp):
    """Sums of elements along an axis times roots of unity.

    Parameters
    ----------
    kind
        ``"fft"`` of complex numbers; ``"ifft"``, the same with conjugate roots; ``"rfft"``, the first half of ``"fft"``
        of real numbers; ``"irfft"``, the real numbers that ``"ifft"`` makes of what is the first half of a symmetric
        tensor. Its second input is their number n; the first has n // 2 + 1 elements.
    axis
        The axis, counted from the end: -1 or less.
    """

    linear = "jointly"

    kind: str
    axis: int

    _output_type_depends_on_input_value = True

    def __post_init__(self) -> None:
        """Bring the fields to one form."""
        as_choice("FourierTransform: kind", self.kind, KINDS)
        fix_integers(self, "axis")

    @property
    def static_inputs(self) -> tuple[int, ...]:  # type: ignore[override]  # depends on the kind
        """Position of the length."""
        return (1,) if self.kind == "irfft" else ()

    def make_node(self, *inputs: object) -> Apply:
        """Return the node; a length that is constant becomes part of the type."""
        x, *wanted = (self.as_input(v) for v in inputs)
        length_inputs(self, wanted)
        dtypes = COMPLEX_OF if self.kind == "rfft" else REAL_OF
        if len(wanted) != len(self.static_inputs) or x.dtype not in dtypes or not -x.ndim <= self.axis < 0:
            number = "real" if self.kind == "rfft" else "complex"
            msg = f"{self}: a tensor of {number} floats with that axis is needed, got {', '.join(map(str, inputs))}."
            raise TensorTypeError(msg)
        n = x.type.shape[self.axis]
        if n == 0:
            msg = f"{self}: there is nothing to transform along that axis of {x} of type {x.type}. Choose another."
            raise ShapeError(msg)
        if self.kind == "rfft":
            n = None if n is None else n // 2 + 1
        elif wanted:
            half, (n,) = n, static_lengths(wanted)
            if n is not None and (n < 1 or (half is not None and half != n // 2 + 1)):
                msg = f"{self}: {n} numbers have {n // 2 + 1} coefficients, got {half} of them."
                raise ShapeError(msg)
        dtype = dtypes[x.dtype] if self.kind in {"rfft", "irfft"} else x.dtype
        shape = list(x.type.shape)
        shape[self.axis] = n
        return Apply(self, [x, *wanted], [TensorType(dtype, tuple(shape)).make_variable()])

    def printed_form(self, node: Apply) -> Form:
        """Write ``fft(x, axis=-1)``."""
        return Form.call(self.kind, node.inputs, {"axis": self.axis})

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Transform with NumPy."""
        output_storage[0][0] = self.apply(*inputs)

    def apply(self, x: np.ndarray, n: np.ndarray | None = None) -> np.ndarray:
        """Return the result for NumPy arrays."""
        if self.kind == "irfft":
            count = int(n) if n is not None else 0
            if count < 1 or x.shape[self.axis] != count // 2 + 1:
                msg = f"irfft: {count} numbers have {count // 2 + 1} coefficients, got {x.shape[self.axis]}."
                raise ShapeError(msg)
            real: np.ndarray = np.fft.irfft(x, count, axis=self.axis, norm="forward")
            return real
        function = {"fft": np.fft.fft, "ifft": np.fft.ifft, "rfft": np.fft.rfft}[self.kind]
        result: np.ndarray = function(x, axis=self.axis, norm="forward" if self.kind == "ifft" else "backward")
        return result

    def infer_shape(self, node: Apply, shapes: Sequence[SymbolicShape | None]) -> Sequence[SymbolicShape | None] | None:
        """Return the input's lengths, with that of the axis in its place."""
        if shapes[0] is None:
            return None
        own = list(shapes[0])
        if self.kind == "rfft":
            own[self.axis] = add(floor_div(own[self.axis], 2), 1)
        elif self.kind == "irfft":
            own[self.axis] = node.inputs[1]
        return [tuple(own)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the tensor is connected, the length is not."""
        return [[True], *([False] for _ in node.inputs[1:])]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Apply the conjugate transpose: another transform, for real numbers with weights of the coefficients."""
        x, *wanted = tensors(inputs)
        ct = tensors(cotangents)[0]
        if self.kind in {"fft", "ifft"}:
            return [FourierTransform("ifft" if self.kind == "fft" else "fft", self.axis)(ct)]
        n = wanted[0] if wanted else shape_i(x, x.ndim + self.axis)
        if self.kind == "rfft":
            return [FourierTransform("irfft", self.axis)(mul(ct, self._weights(ct, n, 0.5)), n)]
        back: TensorVariable = FourierTransform("rfft", self.axis)(ct)
        return [mul(back, self._weights(back, n, 2.0)), None]

    def _weights(self, half: TensorVariable, n: TensorVariable, paired: float) -> TensorVariable:
        """Return 1 for coefficients that stand for themselves, another weight for those that stand for two."""
        at = arange(shape_i(half, half.ndim + self.axis))
        alone = bitwise_or(eq(at, 0), eq(mul(at, 2), n))
        dtype = REAL_OF[half.dtype]
        weights = switch(alone, constant(1, dtype=dtype), constant(paired, dtype=dtype))
        return dimshuffle(weights, 0, *[NEW] * (-self.axis - 1))

    def vectorize_node(self, node: TensorNode, x: TensorVariable, *wanted: TensorVariable) -> Apply:
        """Transform each tensor of the batch."""
        refuse_batched(zip(node.inputs[1:], wanted, strict=True), "lengths")
        return self.make_node(x, *wanted)
