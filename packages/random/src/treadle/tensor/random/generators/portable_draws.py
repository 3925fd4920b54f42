"""PortableDraws: random numbers that are functions of key, stream and position alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import static_op
from treadle.tensor.random.draw_op import DrawOp
from treadle.tensor.random.generators.array_lanes import drawn_in_graph
from treadle.tensor.random.generators.philox import State
from treadle.tensor.random.generators.samplers import PORTABLE_SAMPLERS
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from treadle.graph import Apply, Variable

__all__ = ["PortableDraws"]


@static_op
class PortableDraws(DrawOp):
    """An array of draws from Philox 4x32-10; see `treadle.tensor.random.generators.philox` for what each is.

    The state is an array of key, stream and position; it does not change. Element k of the batch, in C order, depends
    on the state, on k and on its parameters, not on the batch's lengths.
    """

    storage = TensorType("int64", (3,))

    @classmethod
    def known(cls) -> dict[str, Sequence[str]]:
        """Return the samplers, and which dtypes each may have."""
        return {name: sampler.dtypes for name, sampler in PORTABLE_SAMPLERS.items()}

    @property
    def signature(self) -> str:
        """Core dimensions of parameters and draw."""
        return PORTABLE_SAMPLERS[self.sampler].signature

    @property
    def parameter_dtypes(self) -> tuple[str, ...]:
        """The dtype of each parameter."""
        return PORTABLE_SAMPLERS[self.sampler].parameters

    @property
    def per_block(self) -> int:
        """How many elements come from one block of Philox."""
        return PORTABLE_SAMPLERS[self.sampler].per_block.get(self.dtype, 1)

    @property
    def lanes(self) -> Callable[..., Any] | None:
        """The sampler's definition, for lanes; None where every backend has code of its own."""
        return PORTABLE_SAMPLERS[self.sampler].lanes

    def made_types(self, state: TensorType, draw: TensorType) -> list[TensorType]:
        """Return the draw's type."""
        return [draw]

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Draw."""
        batch, parameters = self.flat(inputs)
        key, stream, position = (int(word) % 2**64 for word in inputs[0])
        n = 1
        for length in batch:
            n *= length
        values = [p.reshape(n, *p.shape[len(batch) :]) for p in parameters]
        draws = PORTABLE_SAMPLERS[self.sampler].reference(State(key, stream, position), n, self.dtype, *values)
        output_storage[0][0] = draws.reshape((*batch, *draws.shape[1:]))

    def decompose(self, *inputs: Variable) -> Sequence[Variable] | None:
        """Return the graph that the sampler's definition gives."""
        if self.lanes is None:
            return None
        state, lengths, parameters = self.parts(inputs)
        return [drawn_in_graph(self.lanes, state, lengths, self.dtype, parameters)]
