"""PortableLinker: a linker of tensors for backends without NumPy's samplers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from treadle.link.vm import TableLinker
from treadle.tensor.linking.generator_forms import forms_of, installed_forms, portable_draws
from treadle.tensor.linking.generator_states import expand_with_loops, with_states
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
            # Bodies do not get what a subclass does to whole graphs only.
            of_body = partial(PortableLinker.expanded, self, whole=whole)
            once = partial(super().expanded, whole=whole)
            return expand_with_loops(once(fgraph), once, of_body)

    def with_states(self, fgraph: FunctionGraph) -> FunctionGraph:
        """Return the expanded graph with states of portable generators, which are arrays, as its inputs and outputs."""
        with portable_draws():
            return with_states(fgraph, self.expanded)

    def draws_otherwise(self, types: Iterable[Type]) -> bool:
        """Whether some of the types are generators whose numbers only the Python VM, C and Numba draw."""
        return any(forms is not None and not forms.is_portable(t) for t in types for forms in [forms_of(t)])

    def tell(self, nodes: Iterable[Apply]) -> None:
        """Warn of Python steps, and once of keys that are taken from NumPy's generators."""
        steps = list(nodes)
        super().tell(steps)
        for forms in installed_forms():
            forms.tell(self.table.backend, steps)
