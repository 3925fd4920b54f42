"""TensorOp: the base of ops of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from treadle.graph import DisconnectedType, NullType, Op, Variable
from treadle.tensor.arguments.signatures import cores_of
from treadle.tensor.ops.fields import fix_dtypes, fix_integers
from treadle.tensor.types.conversion import as_tensor_variable, is_smooth

if TYPE_CHECKING:
    from typing import Self

    from treadle.graph import Apply
    from treadle.tensor.arguments.signatures import Cores
    from treadle.tensor.variables.variable import TensorVariable

# What `pullback` and `pushforward` take and return.
Variables = Sequence[Variable]
Derivatives = Sequence[Variable | None]


class Discrete:
    """What ops inherit whose results, such as positions and lengths, do not change smoothly: no gradient flows back."""

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return that no input is connected to any output."""
        return [[False] * len(node.outputs) for _ in node.inputs]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Return that nothing flows back.

        Through `decompose`: all nodes of the simpler form are walked to find that.
        """
        return [None] * len(inputs)


class Natural(Discrete):
    """What ops inherit whose results are positions or lengths: integers of 0 or more."""

    promises_structure = False

    def promises(self, fact: str, output: Variable, holds: object) -> bool:
        """Promise that no element is negative."""
        return fact == "nonnegative"


class TensorOp(Op):
    """An op whose inputs are tensors, or anything that can be made one."""

    # Whether the op is linear in its first inputs: "jointly", as a sum or a join, so that the op applied to their
    # tangents gives that of the result; or in "each", as a product, so that the terms of one tangent after the other
    # add up. Forward mode needs no other rule of such an op.
    linear: ClassVar[Literal["jointly", "each"] | None] = None
    # In how many it is, None for all; the others are indices, lengths and the like.
    linear_count: ClassVar[int | None] = 1
    # To how many of its first inputs gradients flow, None for all.
    smooth_count: ClassVar[int | None] = None
    # Fields to bring to one form, so that equal parameters make equal ops: Python's integers, and names of dtypes.
    integer_fields: ClassVar[tuple[str, ...]] = ()
    dtype_fields: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        """Bring the fields to one form, in ops that are dataclasses."""
        fix_integers(self, *self.integer_fields)
        fix_dtypes(self, *self.dtype_fields)

    def as_input(self, value: object) -> TensorVariable:
        """Take anything that can be made a tensor."""
        return as_tensor_variable(value)  # type: ignore[arg-type]  # refuses anything else

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return for each input, for each output, whether a gradient flows (see `smooth_count`)."""
        count = len(node.inputs) if self.smooth_count is None else self.smooth_count
        return [[i < count] * len(node.outputs) for i in range(len(node.inputs))]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Derivatives) -> Derivatives:
        """Return the tangents of an op that says how it is linear; any other has no rule unless it defines one."""
        if self.linear is None:
            return super().pushforward(inputs, outputs, tangents)
        moving: list[Any] = [
            t if t is not None and _moves(x, t) else None
            for x, t in zip(inputs[: self.linear_count], tangents, strict=False)
        ]
        if all(t is None for t in moving):
            return [None] * len(outputs)
        if self.linear == "jointly":
            xs: Sequence[Any] = inputs
            directions = [x.zeros_like() if t is None else t for x, t in zip(xs, moving, strict=False)]
            return list(self.make_node(*directions, *inputs[len(moving) :]).outputs)
        total: list[Any] = []
        for i, t in enumerate(moving):
            if t is not None:
                terms = self.make_node(*inputs[:i], t, *inputs[i + 1 :]).outputs
                total = [a + b for a, b in zip(total, terms, strict=True)] if total else terms
        return list(total)


class StackOp(TensorOp):
    """An op on vectors or matrices that takes stacks of them, whose dimensions come before those of its signature.

    It has what `Blockwise` says of such ops, and is its own core.

    Attributes
    ----------
    signature
        Core dimensions, such as ``(m,k),(k,n)->(m,n)``.
    """

    signature: ClassVar[str]

    @property
    def cores(self) -> tuple[Cores, Cores]:
        """The names of the core dimensions of inputs and outputs, one by one."""
        return cores_of(self.signature)

    @property
    def core_op(self) -> Self:
        """The op of one vector or matrix."""
        return self

    def batch_ndim(self, node: Apply) -> int:
        """Return how many dimensions the stacks of a node have."""
        out: Any = node.outputs[0].type
        return int(out.ndim) - len(self.cores[1][0])


def _moves(x: Variable, tangent: Variable) -> bool:
    """Whether an input has a tangent: integers have none."""
    return is_smooth(x) and not isinstance(tangent.type, DisconnectedType | NullType)
