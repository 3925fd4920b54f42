"""Entering the lowerings of every family into the VM's table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.lower_vm import dimshuffle, elemwise, from_graph, indexing, product, reduction, shape

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from treadle.graph import LoweringTable


def quietly() -> AbstractContextManager[None]:
    """Return a context in which NumPy reports no floating-point events, as no other backend does."""
    context: AbstractContextManager[None] = np.errstate(all="ignore")
    return context


def register(table: LoweringTable) -> None:
    """Register the rules, and that programs run without NumPy's floating-point warnings."""
    table.scope = quietly
    for family in (elemwise, dimshuffle, shape, reduction, product, indexing, from_graph):
        family.register(table)
