"""NumPy's compiled loops of ufuncs, which kernels call by addresses in a program's table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from treadle.tensor import compiled_loop


class Address(Protocol):
    """An address that a program's table gets when the program is loaded; it is pickled with the program."""

    def address(self) -> int:
        """Return the address in this process."""


@dataclass(frozen=True, slots=True)
class LoopPointer:
    """The address of a loop of a ufunc, by its name in a module and its types as the ufunc lists them: ``Dd->D``.

    Parameters
    ----------
    is_data
        Whether this is the address of the data that the loop is called with, not the loop's own.
    """

    module: str
    name: str
    types: str
    is_data: bool = False

    def address(self) -> int:
        """Return the address in this process.

        Raises
        ------
        CompiledLoopError
            If NumPy has no such loop.
        """
        return compiled_loop(self.module, self.name, self.types)[self.is_data]
