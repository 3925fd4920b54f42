"""XElemwise: functions of each element, with dimensions of one name together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import Apply, Variable, composing, static_op
from treadle.named.errors import NamedTypeError
from treadle.named.ops.named_op import Lowered, XOp
from treadle.named.types.casts import aligned
from treadle.named.types.named_type import Input, XTensorType, joined_lengths
from treadle.tensor import Composite, Elemwise, ScalarOp
from treadle.tensor import tensors as plain_tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.named.variables import XTensorVariable

PYTHON_NUMBERS = (bool, int, float, complex)


@static_op
class XElemwise(XOp):
    """A scalar function applied to each element; operands are broadcast by the names of their dimensions.

    The result has the dimensions of all operands in order of appearance.

    Parameters
    ----------
    scalar_op
        The function.
    """

    scalar_op: ScalarOp | Composite

    def make_node(self, *inputs: Input) -> Apply:
        """Return the node. Python numbers take the dtype of the other operands, as in plain tensors.

        Raises
        ------
        NamedTypeError
            If there are more or fewer operands than the function has.
        DimsError
            If dimensions of one name have different lengths.
        """
        nin = self.scalar_op.nin
        if len(inputs) != nin:
            msg = f"{self.text}: {nin} operands are needed, got {len(inputs)}. Pass one for each."
            raise NamedTypeError(msg)
        if not any(type(x) in PYTHON_NUMBERS for x in inputs):
            return super().make_node(*inputs)
        operands: list[Input] = [x if type(x) in PYTHON_NUMBERS else self.as_input(x) for x in inputs]
        with composing():
            results = self._results(operands)
        node: Input = results[0].tensor.owner
        variables = [
            _number(x, at) if type(x) in PYTHON_NUMBERS else x for x, at in zip(operands, node.inputs, strict=True)
        ]
        return self.node_of(variables)

    def lower(self, *inputs: Input) -> Sequence[Lowered]:
        """Return the function of the plain tensors, their dimensions aligned."""
        return self._results(inputs)

    def _results(self, operands: Sequence[Input]) -> Sequence[Lowered]:
        named = [x for x in operands if isinstance(x, Variable)]
        dims = tuple(joined_lengths(self.text, [x.type for x in named]))
        tensors = [aligned(x, dims) if isinstance(x, Variable) else x for x in operands]
        return [Lowered(y, dims) for y in plain_tensors(Elemwise(self.scalar_op)(*tensors, return_list=True))]

    @property
    def text(self) -> str:
        """The name of the function."""
        return str(getattr(self.scalar_op, "name", "XElemwise"))

    def __str__(self) -> str:
        return f"XElemwise{{{self.text}}}"

    __repr__ = __str__


def _number(number: complex, at: Input) -> Variable:
    """Return a Python number as a constant of the dtype that it has next to the other operands."""
    dtype = at.type.dtype
    return XTensorType(dtype, dims=()).make_constant(at.type.numpy_dtype.type(number))


def elementwise(op: Elemwise, *operands: object) -> XTensorVariable:
    """Return a function of treadle's applied to each element of named tensors."""
    result: XTensorVariable = XElemwise(op.scalar_op)(*operands)
    return result


__all__ = ["XElemwise"]
