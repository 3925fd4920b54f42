"""DrawOp: the base of ops that make arrays of random numbers from the state of a generator, itself an array."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treadle.graph import Apply, static_op
from treadle.tensor.arguments.signatures import cores_of
from treadle.tensor.batches.batching import batch_lengths
from treadle.tensor.errors import ArgumentError, ShapeError, TensorTypeError
from treadle.tensor.ops.fields import fix_integers
from treadle.tensor.ops.tensor_op import TensorOp
from treadle.tensor.shapes.batch_dims import aligned, batch_ndim, refuse_batched
from treadle.tensor.shapes.broadcasting import broadcast_static
from treadle.tensor.shapes.shape import length_inputs, static_lengths
from treadle.tensor.types.conversion import tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import TensorNode, TensorVariable


@static_op
class DrawOp(TensorOp):
    """An array of draws of one distribution.

    Inputs: the state; then one int64 scalar for each dimension of the batch; then the distribution's parameters. Each
    parameter is a tensor whose batch dimensions (those before its core) broadcast to the batch.

    Parameters
    ----------
    sampler
        Name of the distribution.
    dtype
        Dtype of the draws.
    ndim
        Rank of the batch.
    """

    sampler: str
    dtype: str
    ndim: int

    # The type of the state.
    storage: ClassVar[TensorType]
    _output_type_depends_on_input_value = True

    def __post_init__(self) -> None:
        """Bring the fields to one form, and check them.

        Raises
        ------
        ArgumentError
            If there is no such sampler, or not of this dtype.
        """
        fix_integers(self, "ndim")
        if self.dtype not in self.known().get(self.sampler, ()):
            msg = (
                f"{type(self).__name__}: there is no sampler {self.sampler!r} of {self.dtype}. "
                f"Use one of {', '.join(self.known())}."
            )
            raise ArgumentError(msg)

    @classmethod
    @abstractmethod
    def known(cls) -> dict[str, Sequence[str]]:
        """Return the samplers, and which dtypes each may have."""

    @property
    @abstractmethod
    def signature(self) -> str:
        """Core dimensions of parameters and draw, such as ``(),(p)->(p)``."""

    @property
    def cores(self) -> tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]]:
        """Names of the core dimensions of each parameter, and of the draw."""
        return cores_of(self.signature)

    @property
    def static_inputs(self) -> tuple[int, ...]:
        """Positions of the lengths."""
        return tuple(range(1, self.ndim + 1))

    @abstractmethod
    def made_types(self, state: TensorType, draw: TensorType) -> list[TensorType]:
        """Return the types of the outputs."""

    def parts(self, inputs: Sequence[Variable]) -> tuple[TensorVariable, list[TensorVariable], list[TensorVariable]]:
        """Return the state, the lengths and the parameters among a node's inputs."""
        state, *others = tensors(inputs)
        return state, others[: self.ndim], others[self.ndim :]

    def make_node(self, *inputs: object) -> Apply:
        """Return the node; lengths that are constant become part of the type.

        Raises
        ------
        TensorTypeError, ShapeError
            If the inputs do not fit.
        """
        state, lengths, parameters = self.parts([self.as_input(x) for x in inputs])
        length_inputs(self, lengths)
        if not self.storage.is_super(state.type):
            msg = f"{self}: a state of type {self.storage} is needed, got {state} of type {state.type}."
            raise TensorTypeError(msg)
        input_cores, output_cores = self.cores
        n_parameters = len(input_cores)
        if len(parameters) != n_parameters or len(lengths) != self.ndim:
            msg = f"{self}: {self.ndim} lengths and {n_parameters} parameters are needed, got {len(inputs) - 1} inputs."
            raise TensorTypeError(msg)
        batch = static_lengths(lengths)
        known: dict[str, int | None] = {}
        for p, core in zip(parameters, input_cores, strict=True):
            rank = p.type.ndim - len(core)
            if not 0 <= rank <= self.ndim:
                msg = f"{self}: a parameter of rank {len(core)} to {len(core) + self.ndim} is needed, got {p.type}."
                raise ShapeError(msg)
            broadcast_static(str(self), [batch, (1,) * (self.ndim - rank) + p.type.shape[:rank]])
            for name, n in zip(core, p.type.shape[rank:], strict=True):
                known[name] = n if known.get(name) is None else known[name]
        draw = TensorType(self.dtype, (*batch, *(known[name] for name in output_cores[0])))
        outputs = [kind.make_variable() for kind in self.made_types(state.type, draw)]
        return Apply(self, [state, *lengths, *parameters], outputs)

    def flat(self, inputs: Sequence[np.ndarray]) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """Return the batch's shape, and the parameters' values with all dimensions of the batch.

        Raises
        ------
        ShapeError
            If a length is negative, or a parameter does not broadcast to the batch.
        """
        _, lengths, parameters = inputs[0], inputs[1 : self.ndim + 1], inputs[self.ndim + 1 :]
        batch = tuple(int(n) for n in lengths)
        if min(batch, default=0) < 0:
            msg = f"negative dimensions are not allowed, got the size {batch}"
            raise ShapeError(msg)
        input_cores, _ = self.cores
        flattened = []
        for p, core in zip(parameters, input_cores, strict=True):
            rank = p.ndim - len(core)
            try:
                flattened.append(np.broadcast_to(p, (*batch, *p.shape[rank:])))
            except ValueError as error:
                msg = f"a parameter of shape {p.shape} does not broadcast to the size {batch}"
                raise ShapeError(msg) from error
        return batch, flattened

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the batch's lengths, then those of the core; the state's own length of a new state."""
        state, lengths, parameters = self.parts(node.inputs)
        if out is not node.outputs[-1]:
            return list(shapes.of(state))
        input_cores, output_cores = self.cores
        known: dict[str, Length] = {}
        for p, core in zip(parameters, input_cores, strict=True):
            own = shapes.of(p)
            known.update(zip(core, own[len(own) - len(core) :], strict=True))
        return [*(shapes.given(n) for n in lengths), *(known[name] for name in output_cores[0])]

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> Apply:
        """Draw for each value of the batch, independently: the lengths of the batch stand before the others.

        Raises
        ------
        VectorizeError
            If there is a batch of states or of lengths.
        """
        state, wanted, parameters = self.parts(inputs)
        refuse_batched([(node.inputs[0], state)], f"{self}: states")
        refuse_batched(zip(node.inputs[1 : self.ndim + 1], wanted, strict=True), f"{self}: lengths")
        pairs = list(zip(node.inputs[self.ndim + 1 :], parameters, strict=True))
        batch = batch_lengths(pairs)
        cores, _ = cores_of(self.signature)
        whole = [
            aligned(p, new, len(batch), self.ndim + len(core)) if batch_ndim(p, new) else new
            for (p, new), core in zip(pairs, cores, strict=True)
        ]
        return replace(self, ndim=len(batch) + self.ndim).make_node(state, *batch, *wanted, *whole)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that nothing flows back: derivatives are those of the random variables."""
        return [[False] * len(node.outputs) for _ in node.inputs]
