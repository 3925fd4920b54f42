"""XElemwise: functions of each element, with dimensions of one name together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import Apply, Variable, composing, static_op
from treadle.named.casts import aligned
from treadle.named.errors import NamedTypeError
from treadle.named.op import Lowered, XOp
from treadle.named.types import XTensorType, joined_lengths
from treadle.tensor import Composite, Elemwise, ScalarOp

if TYPE_CHECKING:
    from collections.abc import Sequence

_NUMBERS = (bool, int, float, complex)


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

    def make_node(self, *inputs: Any) -> Apply:
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
        if not any(type(x) in _NUMBERS for x in inputs):
            return super().make_node(*inputs)
        operands = [x if type(x) in _NUMBERS else self.as_input(x) for x in inputs]
        with composing():
            results = self._results(operands)
        plain = results[0].tensor.owner.inputs
        variables = [_number(x, at) if type(x) in _NUMBERS else x for x, at in zip(operands, plain, strict=True)]
        return self.node_of(variables)

    def lower(self, *inputs: Any) -> Sequence[Lowered]:
        """Return the function of the plain tensors, their dimensions aligned."""
        return self._results(inputs)

    def _results(self, operands: Sequence[Any]) -> Sequence[Lowered]:
        named = [x for x in operands if isinstance(x, Variable)]
        dims = tuple(joined_lengths(self.text, [x.type for x in named]))
        tensors = [aligned(x, dims) if isinstance(x, Variable) else x for x in operands]
        return [Lowered(y, dims) for y in Elemwise(self.scalar_op)(*tensors, return_list=True)]

    @property
    def text(self) -> str:
        """The name of the function."""
        return str(getattr(self.scalar_op, "name", "XElemwise"))

    def __str__(self) -> str:
        return f"XElemwise{{{self.text}}}"

    __repr__ = __str__


def _number(number: Any, at: Any) -> Any:
    """Return a Python number as a constant of the dtype that it has next to the other operands."""
    dtype = at.type.dtype
    return XTensorType(dtype, dims=()).make_constant(at.type.numpy_dtype.type(number))


def elementwise(op: Elemwise, *operands: Any) -> Any:
    """Return a function of treadle's applied to each element of named tensors."""
    return XElemwise(op.scalar_op)(*operands)


__all__ = ["XElemwise"]
