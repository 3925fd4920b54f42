"""NumPy's compiled loops of ufuncs, which generated C calls."""

from __future__ import annotations

from dataclasses import dataclass

from treadle.link.c.capsules import CPointer
from treadle.link.c.errors import BackendUnavailableError
from treadle.tensor import CompiledLoopError, compiled_loop


@dataclass(frozen=True, slots=True)
class LoopPointer(CPointer):
    """A loop of a ufunc, by its name in a module and its `signature` as the ufunc lists it, such as ``Dd->D``."""

    # Whether this is the data that the loop is called with, not the loop itself.
    is_data: bool = False

    def address(self) -> int:
        """Return its address, if NumPy has such a loop."""
        try:
            return compiled_loop(self.module, self.name, self.signature)[self.is_data]
        except CompiledLoopError as error:
            msg = f"c: {error}"
            raise BackendUnavailableError(msg) from error
