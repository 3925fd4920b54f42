"""PortableLinker: a linker of tensors for backends without NumPy's samplers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.vm import TableLinker
from treadle.tensor.linking.generator_forms import installed_forms, portable_draws
from treadle.tensor.linking.generator_states import expand_generators
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.graph import Apply, FunctionGraph, Type

__all__ = ["PortableLinker"]


class PortableLinker(TableLinker):
    """Links graphs of tensors; all random variables become portable draws."""

    def is_array(self, kind: Type) -> bool:
        """Whether a type is one of tensors."""
        return isinstance(kind, TensorType)

    def expanded(self, fgraph: FunctionGraph, *, whole: bool = False) -> FunctionGraph:
        """Return the graph with simpler ops in place of what the rules do not lower, in bodies of loops too."""
        with portable_draws():
            simpler = super().expanded(fgraph, whole=whole)
            # Bodies do not get what a subclass does to whole graphs only.
            with_loops = expand_generators(simpler, lambda body: PortableLinker.expanded(self, body, whole=whole))
            # Only now does a draw from a generator that a loop returns find its state.
            return simpler if with_loops is simpler else super().expanded(with_loops, whole=whole)

    def tell(self, nodes: Iterable[Apply]) -> None:
        """Warn of Python steps, and once of keys that are taken from NumPy's generators."""
        steps = list(nodes)
        super().tell(steps)
        for forms in installed_forms():
            forms.tell(self.table.backend, steps)
