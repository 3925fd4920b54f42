"""NumPy's compiled Fourier transforms, which compiled functions find in a table of addresses."""

from __future__ import annotations

from treadle.tensor import compiled_loop

_MODULE = "numpy.fft._pocketfft_umath"
# The types of each loop in double precision; single precision replaces D and d by F and f.
_TYPES = {"fft": "Dd->D", "ifft": "Dd->D", "rfft_n_even": "dd->D", "rfft_n_odd": "dd->D", "irfft": "Dd->d"}
LOOPS = tuple((name, code) for name in _TYPES for code in ("f4", "f8"))
# What kernels call.
CALL = "run_loop"


def loop_addresses() -> list[int]:
    """Return for each of `LOOPS` its address, and the address of the data that it is called with."""
    addresses: list[int] = []
    for name, code in LOOPS:
        types = _TYPES[name] if code == "f8" else _TYPES[name].replace("D", "F").replace("d", "f")
        addresses += compiled_loop(_MODULE, name, types)
    return addresses
