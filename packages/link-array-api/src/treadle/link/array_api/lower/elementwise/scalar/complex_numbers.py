"""Functions of complex numbers; those that need no care are found by NumPy's names."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from types import MappingProxyType, SimpleNamespace
from typing import Any

from treadle.link.array_api.table import SCALARS, Array, Kernel, copied
from treadle.tensor import ArrayFunctions

SCALARS.register("real", {"c": lambda xp: xp.real, "biuf": copied})
SCALARS.register("imag", {"c": lambda xp: xp.imag, "biuf": lambda xp: xp.zeros_like})
SCALARS.register("conj", {"c": lambda xp: xp.conj, "biuf": copied})


_OWN = MappingProxyType({"array_api_compat.torch": "torch.complex", "jax.numpy": "jax.lax.complex"})


@SCALARS.function("complex", kinds="f")
def from_parts(xp: Any) -> Any:
    """A complex number of its parts. The standard has no function for it: a sum of multiples of 1 and i.

    The product of an infinity and i has NaN for its real part: such parts are added as numbers. Of libraries whose
    sums do not keep infinite parts, their own function is taken.
    """
    module, _, name = _OWN.get(xp.__name__, "").rpartition(".")
    if module:
        own: Any = getattr(import_module(module), name)
        return lambda x, y: own(*xp.broadcast_arrays(x, y))

    def run(x: Array, y: Array) -> Array:
        dtype = xp.complex64 if x.dtype == xp.float32 else xp.complex128
        x, y = xp.broadcast_arrays(x, y)
        size = xp.abs(y)
        plain = xp.where(xp.isfinite(size), size, xp.zeros_like(size))
        zero = xp.zeros_like(y, dtype=dtype)
        beside = xp.where(xp.isnan(y), zero + complex(0, math.nan), zero + complex(0, math.inf))
        z = xp.astype(x, dtype) + xp.astype(plain, dtype) * 1j + xp.where(xp.isfinite(size), zero, beside)
        # So that a zero keeps its sign.
        return xp.where(xp.signbit(y), xp.conj(z), z)

    return run


def functions_of(xp: Any, special: Any = None) -> ArrayFunctions:
    """Return the functions that libraries share, of a namespace and a module of special functions."""
    return ArrayFunctions(xp, special, from_parts(xp), _repeated)


def _repeated(step: Callable[[Any], Any], start: Any, times: int) -> Any:
    for _ in range(times):
        start = step(start)
    return start


def _of_complex(name: str) -> Kernel:
    return lambda xp: functions_of(xp).of_complex_numbers()[name]


for _name in functions_of(SimpleNamespace(__name__="")).of_complex_numbers():
    SCALARS.register(_name, {"c": _of_complex(_name)})
