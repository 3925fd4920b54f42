"""NumPy's compiled loops of Fourier transforms, where programs that were stored find them without rules."""

from __future__ import annotations

from treadle.config import dataclass
from treadle.tensor import compiled_loop


@dataclass(frozen=True, slots=True)
class CompiledLoop:
    """What finds one of the loops, or the data that it is called with."""

    name: str
    # The types of the loop as the ufunc lists them.
    types: str
    is_data: bool
    module: str = "numpy.fft._pocketfft_umath"

    def address(self) -> int:
        """Return the address."""
        return compiled_loop(self.module, self.name, self.types)[self.is_data]
