"""NumPy's compiled samplers, and the functions of its bit generators that these call, for code generators.

The samplers are exported functions of the extension module `numpy.random._generator`; they take a ``bitgen_t *``
first. That holds a state and the functions of a bit generator, and is part of NumPy's stable binary interface. NumPy
itself calls them without the interpreter's lock.
"""

from __future__ import annotations

import ctypes
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import dataclass, new_lock
from treadle.graph import GraphError
from treadle.tensor.random.words import KINDS, words_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "COMPILED_SAMPLERS", "SAMPLER_CONDITIONS", "CompiledSamplerError", "bit_generator_functions", "sampler_address",
]  # fmt: skip

# The exported functions: a letter for each parameter after the bit generator's, and after ``>`` for the result.
# d: double, f: float, i: int64_t, u: uint64_t, b: bool, and capital letters for pointers to such.
COMPILED_SAMPLERS: dict[str, str] = {
    "random_standard_uniform_fill": "iD>",
    "random_standard_uniform_fill_f": "iF>",
    "random_standard_normal_fill": "iD>",
    "random_standard_normal_fill_f": "iF>",
    "random_standard_exponential_fill": "iD>",
    "random_standard_exponential_fill_f": "iF>",
    "random_standard_exponential": ">d",
    "random_standard_gamma": "d>d",
    "random_standard_gamma_f": "f>f",
    "random_normal": "dd>d",
    "random_uniform": "dd>d",
    "random_exponential": "d>d",
    "random_gamma": "dd>d",
    "random_beta": "dd>d",
    "random_f": "dd>d",
    "random_chisquare": "d>d",
    "random_noncentral_chisquare": "dd>d",
    "random_noncentral_f": "ddd>d",
    "random_standard_cauchy": ">d",
    "random_standard_t": "d>d",
    "random_vonmises": "dd>d",
    "random_pareto": "d>d",
    "random_weibull": "d>d",
    "random_power": "d>d",
    "random_laplace": "dd>d",
    "random_gumbel": "dd>d",
    "random_logistic": "dd>d",
    "random_lognormal": "dd>d",
    "random_rayleigh": "d>d",
    "random_wald": "dd>d",
    "random_triangular": "ddd>d",
    "random_binomial": "diU>i",
    "random_negative_binomial": "dd>i",
    "random_poisson": "d>i",
    "random_zipf": "d>i",
    "random_geometric": "d>i",
    "random_hypergeometric": "iii>i",
    "random_logseries": "d>i",
    "random_interval": "u>u",
    "random_bounded_uint64": "uuub>u",
    "random_bounded_uint64_fill": "uuibI>",
    "random_multinomial": "iIDiU>",
    "random_multivariate_hypergeometric_marginals": "iuIiuI>",
}
# The largest mean of a Poisson distribution that NumPy takes.
_MOST = float(np.iinfo("int64").max - np.sqrt(np.iinfo("int64").max) * 10)
_POISSON = f"{_MOST!r}"
# What NumPy's methods ask of the parameters a, b, c, as expressions of kernels. NaN is ``not_negative`` and
# ``not_zero_or_less``, and ``not_greater`` than anything; -0.0 is negative.
SAMPLER_CONDITIONS: dict[str, tuple[str, ...]] = {
    "standard_gamma": ("not_negative(a)",),
    "normal": ("not_negative(b)",),
    "uniform": ("is_finite(b - a)", "not_negative(b - a)"),
    "exponential": ("not_negative(a)",),
    "gamma": ("not_negative(a)", "not_negative(b)"),
    "beta": ("not_zero_or_less(a)", "not_zero_or_less(b)"),
    "f": ("not_zero_or_less(a)", "not_zero_or_less(b)"),
    "chisquare": ("not_zero_or_less(a)",),
    "noncentral_chisquare": ("not_zero_or_less(a)", "not_negative(b)"),
    "noncentral_f": ("not_zero_or_less(a)", "not_zero_or_less(b)", "not_negative(c)"),
    "standard_t": ("not_zero_or_less(a)",),
    "vonmises": ("not_negative(b)",),
    "pareto": ("not_zero_or_less(a)",),
    "weibull": ("not_negative(a)",),
    "power": ("not_zero_or_less(a)",),
    "laplace": ("not_negative(b)",),
    "gumbel": ("not_negative(b)",),
    "logistic": ("not_negative(b)",),
    "lognormal": ("not_negative(b)",),
    "rayleigh": ("not_negative(a)",),
    "wald": ("not_zero_or_less(a)", "not_zero_or_less(b)"),
    "triangular": ("not_greater(a, b)", "not_greater(b, c)", "a != c"),
    "binomial": ("a >= 0", "b >= 0", "b <= 1"),
    "negative_binomial": ("a > 0", "b > 0", "b <= 1", f"not_greater((1 - b) / b * (a + 10 * sqrt(a)), {_POISSON})"),
    "poisson": ("a >= 0", f"a <= {_POISSON}"),
    "zipf": ("a > 1",),
    "geometric": ("a > 0", "a <= 1"),
    "hypergeometric": ("a >= 0", "b >= 0", "c >= 0", "a < 1000000000", "b < 1000000000", "a + b >= c"),
    "logseries": ("a >= 0", "a < 1"),
    "integers": ("a < b",),
}


class CompiledSamplerError(GraphError, ImportError):
    """NumPy has no such sampler, or keeps the states of its bit generators in an unknown way."""


class _Bitgen(ctypes.Structure):
    """NumPy's ``bitgen_t``."""

    _fields_ = (
        ("state", ctypes.c_void_p),
        ("next_uint64", ctypes.c_void_p),
        ("next_uint32", ctypes.c_void_p),
        ("next_double", ctypes.c_void_p),
        ("next_raw", ctypes.c_void_p),
    )


class _Held(ctypes.Structure):
    """The half of a 64-bit number that was not used yet, at the end of most states."""

    _fields_ = (("has_uint32", ctypes.c_int), ("uinteger", ctypes.c_uint32))


class _Pcg64(ctypes.Structure):
    _fields_ = (("numbers", ctypes.c_void_p), ("held", _Held))


class _Sfc64(ctypes.Structure):
    _fields_ = (("numbers", ctypes.c_uint64 * 4), ("held", _Held))


class _Philox(ctypes.Structure):
    _fields_ = (
        ("counter", ctypes.c_void_p),
        ("key", ctypes.c_void_p),
        ("position", ctypes.c_int),
        ("buffer", ctypes.c_uint64 * 4),
        ("held", _Held),
    )


class _Twister(ctypes.Structure):
    _fields_ = (("key", ctypes.c_uint64 * 312), ("position", ctypes.c_int))


def sampler_address(name: str) -> int:
    """Return the address of one of `COMPILED_SAMPLERS`.

    Raises
    ------
    CompiledSamplerError
        If NumPy does not export it.
    """
    module = import_module("numpy.random._generator")
    try:
        address = ctypes.cast(ctypes.CDLL(str(module.__file__))[name], ctypes.c_void_p).value
    except (AttributeError, OSError) as error:
        msg = f"NumPy {np.__version__} exports no C function {name}. Use another version or build of it, or mode VM."
        raise CompiledSamplerError(msg) from error
    return int(address or 0)


@dataclass(frozen=True, slots=True)
class CompiledSampler:
    """What finds one of `COMPILED_SAMPLERS`, also for programs that were stored."""

    name: str
    module: str = "numpy.random._generator"

    def address(self) -> int:
        """Return its address."""
        return sampler_address(self.name)


@dataclass(frozen=True, slots=True)
class BitGenerators:
    """What finds the table of the bit generators' functions."""

    name: str = "BitGenerator"
    module: str = "numpy.random"

    def address(self) -> int:
        """Return its address."""
        return bit_generator_functions()


class _Functions:
    """The functions of all bit generators, found once and then checked."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._table: ctypes.Array[ctypes.c_void_p] | None = None

    def address(self) -> int:
        with self._lock:
            if self._table is None:
                if sys.byteorder != "little":
                    msg = "States of NumPy's generators are read on machines whose low bytes come first. Use mode VM."
                    raise CompiledSamplerError(msg)
                pointers = [pointer for kind in KINDS for pointer in _functions_of(kind)]
                self._table = (ctypes.c_void_p * len(pointers))(*pointers)
            return ctypes.addressof(self._table)


_FUNCTIONS = _Functions()


def bit_generator_functions() -> int:
    """Return the address of a table of pointers: next_uint64, next_uint32, next_double and next_raw of each of `KINDS`.

    Raises
    ------
    CompiledSamplerError
        If a state of NumPy's bit generators does not lie in memory as `treadle.tensor.random.words` has it.
    """
    return _FUNCTIONS.address()


def _functions_of(kind: str) -> tuple[int | None, ...]:
    """Return the functions of a bit generator, after comparing the state in memory with what NumPy says."""
    rng = np.random.Generator(getattr(np.random, kind)(5))
    # A function object of this call's own: other packages set other types on the shared one.
    get_pointer: Callable[[object, bytes], int] = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    bitgen = _Bitgen.from_address(get_pointer(rng.bit_generator.capsule, b"BitGenerator"))
    for draw in (None, lambda: rng.integers(9, dtype="uint32"), rng.random, rng.standard_normal):
        if draw is not None:
            draw()
        if _words_in_memory(kind, bitgen, rng) != words_of(rng).tolist():
            msg = (
                f"NumPy {np.__version__} keeps the state of {kind} in an unknown way. Use another version of it, or "
                "mode VM."
            )
            raise CompiledSamplerError(msg)
    return bitgen.next_uint64, bitgen.next_uint32, bitgen.next_double, bitgen.next_raw


def _words_in_memory(kind: str, bitgen: _Bitgen, rng: np.random.Generator) -> list[int]:
    """Return the words of a state as they lie in memory; none if it is not within its generator's object."""
    held = rng.bit_generator
    first, end = id(held), id(held) + type(held).__basicsize__
    layouts: dict[str, type[_Sfc64 | _Philox | _Twister]] = {"SFC64": _Sfc64, "Philox": _Philox, "MT19937": _Twister}
    layout = layouts.get(kind, _Pcg64)
    at = bitgen.state or 0
    if not first <= at <= end - ctypes.sizeof(layout):
        return []
    state = layout.from_address(at)
    if isinstance(state, _Twister):
        return [KINDS.index(kind), *state.key, state.position]
    if isinstance(state, _Sfc64):
        numbers = list(state.numbers)
    else:
        parts = [(state.counter, 4), (state.key, 2)] if isinstance(state, _Philox) else [(state.numbers, 4)]
        if not all(first <= (p or 0) <= end - 8 * n for p, n in parts):
            return []
        numbers = [word for p, n in parts for word in (ctypes.c_uint64 * n).from_address(p)]
        if isinstance(state, _Philox):
            numbers += [*state.buffer, state.position]
    return [KINDS.index(kind), *numbers, state.held.has_uint32 | state.held.uinteger << 32]
