"""Ops between plain tensors and tensors with named dimensions: the same values, with names or without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.config import text_of
from treadle.graph import Apply, Constant, Op, VectorizeError, static_op
from treadle.named.errors import DimsError, NamedTypeError
from treadle.named.types.labels import labels_of_batch
from treadle.named.types.named_type import Batched, Input, XTensorType, as_dims, dims_of
from treadle.tensor import as_tensor, constant, expand_dims, shape_padleft

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Cell, Value, Variable
    from treadle.named.variables import XTensorVariable
    from treadle.tensor import TensorVariable


class XTypeCastOp(Op):
    """Base of ops that give the same value another type."""

    view_map = {0: [0]}  # noqa: RUF012 - the documented contract: never changed in place

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Return the value itself."""
        output_storage[0][0] = inputs[0]


@static_op
class TensorFromXTensor(XTypeCastOp):
    """A named tensor without its names."""

    is_short_form = True

    def make_node(self, x: Input) -> Apply:
        """Return the node.

        Raises
        ------
        NamedTypeError
            If the operand is not a named tensor.
        """
        kind = getattr(x, "type", None)
        if not isinstance(kind, XTensorType):
            msg = f"tensor_from_xtensor: a named tensor is needed, got {text_of(x)}. Give its dimensions names first."
            raise NamedTypeError(msg)
        return Apply(self, [x], [kind.tensor_type.make_variable()])

    def decompose(self, *inputs: Variable) -> Sequence[Variable] | None:
        """Return the tensor that was given names."""
        (x,) = inputs
        if isinstance(x, Constant):
            return [plain_constant(x)]
        if x.owner is not None and isinstance(x.owner.op, XTensorFromTensor):
            return [x.owner.inputs[0]]
        return None

    def pullback(
        self, inputs: Sequence[Input], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the cotangent with names."""
        return [xtensor_from_tensor(cotangents[0], inputs[0].type.dims)]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Return the tangent without names."""
        return [tensor_from_xtensor(tangents[0])]

    def vectorize_node(self, node: Apply, *inputs: Input) -> Batched:
        """Return the tensor with the batch in front: dimensions that the operand lacks have length 1."""
        (x,) = inputs
        old = dims_of(node.inputs[0])
        added = [d for d in x.type.dims if d not in old]
        labels = labels_of_batch() or tuple(added)
        if len(added) > 1 and not labels_of_batch():
            msg = (
                f"there are several new dimensions, {tuple(added)}, whose order plain tensors cannot tell. "
                "Use treadle.named.vectorize_graph"
            )
            raise VectorizeError(msg)
        batch = [d for d in labels if d in added]
        tensor = tensor_from_xtensor(x.transpose(*batch, *old))
        return (
            expand_dims(tensor, [i for i, d in enumerate(labels) if d not in added]) if batch != [*labels] else tensor
        )


@static_op
class XTensorFromTensor(XTypeCastOp):
    """A tensor with names for its dimensions.

    Parameters
    ----------
    dims
        The names, in order.
    """

    dims: tuple[str, ...]

    def __init__(self, dims: str | Sequence[str]) -> None:
        object.__setattr__(self, "dims", as_dims("xtensor_from_tensor", dims))

    def make_node(self, x: Input) -> Apply:
        """Return the node.

        Raises
        ------
        NamedTypeError
            If the operand is a named tensor already, or none at all.
        DimsError
            If it has more or fewer dimensions than there are names.
        """
        tensor = as_tensor(x)
        if tensor.ndim != len(self.dims):
            msg = (
                f"xtensor_from_tensor: a name is needed for each of {tensor.ndim} dimensions of {tensor}, "
                f"got {self.dims}. Give as many."
            )
            raise DimsError(msg)
        kind = XTensorType(tensor.type.dtype, dims=self.dims, shape=tensor.type.shape)
        return Apply(self, [tensor], [kind.make_variable()])

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Return the cotangent without names."""
        return [tensor_from_xtensor(cotangents[0])]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Return the tangent with names."""
        return [xtensor_from_tensor(tangents[0], self.dims)]

    def vectorize_node(self, node: Apply, *inputs: Input) -> Batched:
        """Return the tensor with names for the batch dimensions as well.

        Raises
        ------
        VectorizeError
            If it is not known what these are called.
        """
        (x,) = inputs
        labels = labels_of_batch()
        added = x.ndim - len(self.dims)
        if added > len(labels):
            msg = "the new dimensions have no names. Use treadle.named.vectorize_graph, with new_tensor_dims"
            raise VectorizeError(msg)
        x = shape_padleft(x, len(labels) - added)
        # A batch dimension of length 1 is one that this tensor does not have.
        batch = [d for d, n in zip(labels, x.type.shape, strict=False) if n != 1]
        absent = tuple(i for i, d in enumerate(labels) if d not in batch)
        return xtensor_from_tensor(x.squeeze(absent) if absent else x, (*batch, *self.dims))


def plain_constant(x: Input) -> TensorVariable:
    """Return a named constant without its names."""
    return constant(x.data, dtype=x.type.dtype)


tensor_from_xtensor = TensorFromXTensor()


def xtensor_from_tensor(x: Input, dims: str | Sequence[str], name: str | None = None) -> XTensorVariable:
    """Return a tensor with names for its dimensions.

    Parameters
    ----------
    x
        A tensor.
    dims
        A name for each dimension.
    name
        Name of the result.

    Raises
    ------
    DimsError
        If there are more or fewer names than dimensions.
    """
    named: XTensorVariable = XTensorFromTensor(dims)(x, name=name)
    return named


def tensor_of(x: Input) -> TensorVariable:
    """Return the plain tensor of a named one, the one that was given names where there is one."""
    if isinstance(x, Constant):
        return plain_constant(x)
    given = x.owner is not None and isinstance(x.owner.op, XTensorFromTensor)
    tensor: TensorVariable = x.owner.inputs[0] if given else tensor_from_xtensor(x)
    return tensor


def aligned(x: Input, dims: Sequence[str]) -> TensorVariable:
    """Return the plain tensor of a named one with the dimensions in an order; those that it lacks have length 1."""
    own = x.type.dims
    order = [own.index(d) if d in own else "x" for d in dims]
    tensor = tensor_of(x)
    return tensor if order == list(range(len(own))) else tensor.dimshuffle(order)
