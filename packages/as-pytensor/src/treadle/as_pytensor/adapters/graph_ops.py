"""Ops that build their graphs from the types of their inputs, and ops that count as batches of one of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from treadle import tensor
from treadle.tensor import as_tensor_variable
from treadle.tensor.ops.tensor_op import StackOp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, Type


class _BatchedKind(type(tensor.Blockwise)):  # type: ignore[misc]  # the class of a class
    """Lets ops that take stacks themselves be instances: PyTensor has them as `Blockwise` of an op of matrices."""

    def __instancecheck__(cls, instance: object) -> bool:
        return super().__instancecheck__(instance) or (cls is Blockwise and isinstance(instance, StackOp))


class Blockwise(tensor.Blockwise, metaclass=_BatchedKind):
    """A core op applied to each part of its inputs along leading dimensions; also any op that takes stacks."""


class SymbolicOp(tensor.SymbolicOp):
    """An op made of a graph that it builds itself, for the inputs that it is applied to.

    Parameters
    ----------
    input_types
        The types to build the graph for at once; that of the inputs when the op is applied, if None.
    inline, name, kwargs
        As for `treadle.tensor.SymbolicOp`; what the class says is the default of `inline`. Keywords that
        ``__props__`` names are set as attributes.
    """

    inline: ClassVar[bool] = False

    def __init__(
        self,
        input_types: Sequence[Type] | None = None,
        *,
        inline: bool | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        for parameter in type(self).__props__ or ():
            if parameter in kwargs:
                setattr(self, parameter, kwargs.pop(parameter))
        # Subclasses add the arguments that they need to be made again. Here a copy takes the place of a new op.
        self._init_kwargs = dict(kwargs)
        super().__init__(inline=type(self).inline if inline is None else inline, name=name, **kwargs)
        if input_types is not None:
            node = super().make_node(*(kind.make_variable() for kind in input_types))
            self.__dict__.update(node.op.__dict__)

    @staticmethod
    def filter_inputs(*inputs: Any) -> Sequence[Any]:
        """Return the inputs as the graph takes them."""
        return inputs

    def make_node(self, *inputs: Any) -> Apply:
        """Return a node of the op with its graph, built for inputs of these types."""
        return super().make_node(*self.filter_inputs(*inputs))


class TensorSymbolicOp(SymbolicOp):
    """A symbolic op of tensors, and of whatever can be made one."""

    @staticmethod
    def filter_inputs(*inputs: Any) -> Sequence[Any]:
        """Return the inputs as tensors."""
        return tuple(as_tensor_variable(x) for x in inputs)


class FusibleSymbolicOp(TensorSymbolicOp):
    """A symbolic op that takes part in fusion, as all do here."""
