"""NumPy's compiled loops of Fourier transforms, which generated code calls."""

from __future__ import annotations

MODULE = "numpy.fft._pocketfft_umath"
# The types of each loop in double precision.
_TYPES = {"fft": "Dd->D", "ifft": "Dd->D", "rfft_n_even": "dd->D", "rfft_n_odd": "dd->D", "irfft": "Dd->d"}


def types_of(name: str, *, single: bool) -> str:
    """Return the types of a loop, in single or double precision, as the ufunc lists them."""
    return _TYPES[name].replace("D", "F").replace("d", "f") if single else _TYPES[name]
