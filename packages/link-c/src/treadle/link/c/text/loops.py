"""Compiled loops of NumPy's ufuncs, as generated C calls them."""

from __future__ import annotations

from dataclasses import dataclass

from treadle.link.c.capsules import CPointer
from treadle.link.c.errors import BackendUnavailableError
from treadle.tensor import CompiledLoopError, compiled_loop


@dataclass(frozen=True, slots=True)
class LoopPointer(CPointer):
    """A loop of a ufunc: its name in a module, and for `signature` the types as the ufunc lists them, ``Dd->D``.

    Parameters
    ----------
    is_data
        Whether what the loop is called with is meant, in place of the loop.
    """

    is_data: bool = False

    def address(self) -> int:
        """Return its address.

        Raises
        ------
        BackendUnavailableError
            If NumPy has no such loop.
        """
        try:
            return compiled_loop(self.module, self.name, self.signature)[self.is_data]
        except CompiledLoopError as error:
            msg = f"c: {error}"
            raise BackendUnavailableError(msg) from error
