"""Loading the lowerings of every family into the VM's table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.families import load_families

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
    load_families("treadle.tensor.lower_vm")
