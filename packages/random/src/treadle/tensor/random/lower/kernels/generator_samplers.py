"""What one draw of a method of NumPy's Generator is, and what the method asks of its parameters.

Kernels of draws take a generator's block `g`. Those of numbers return the draw; those of vectors take pointers to the
parameters, and to the `m` elements of the draw.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from treadle.config import new_lock
from treadle.kernels import Kernel, kernel, kernel_of_text
from treadle.kernels.blocks import cleared, copied
from treadle.kernels.language import OK, Pointer, bits, float32, float64, int64, sqrt, uint64
from treadle.tensor.random.generators.compiled_samplers import SAMPLER_CONDITIONS
from treadle.tensor.random.generators.generator_draws import GeneratorDraws
from treadle.tensor.random.lower.kernels.compiled_samplers import compiled_sampler

if TYPE_CHECKING:
    from treadle.kernels.externals import ExternalFunction

# The word of a generator's block from which on binomials keep something between draws of equal parameters.
BINOMIAL = 328

standard_exponential = compiled_sampler("random_standard_exponential")
standard_gamma = compiled_sampler("random_standard_gamma")
short_standard_gamma = compiled_sampler("random_standard_gamma_f")
uniform = compiled_sampler("random_uniform")
beta = compiled_sampler("random_beta")
binomial = compiled_sampler("random_binomial")
bounded = compiled_sampler("random_bounded_uint64")
bounded_fill = compiled_sampler("random_bounded_uint64_fill")
interval = compiled_sampler("random_interval")
multinomial = compiled_sampler("random_multinomial")
marginals = compiled_sampler("random_multivariate_hypergeometric_marginals")


# Draws of numbers that are not calls of the sampler of the name.


@kernel(inline=True)
def drawn_exponential(g: Pointer[uint64], scale: float) -> float:
    """Draw."""
    return scale * standard_exponential(g)


@kernel(inline=True)
def drawn_gamma(g: Pointer[uint64], shape: float, scale: float) -> float:
    """Draw."""
    return scale * standard_gamma(g, shape)


@kernel(inline=True)
def drawn_short_gamma(g: Pointer[uint64], shape: float) -> float32:
    """Draw in single precision."""
    return short_standard_gamma(g, float32(shape))


@kernel(inline=True)
def drawn_uniform(g: Pointer[uint64], low: float, high: float) -> float:
    """Draw."""
    return uniform(g, low, high - low)


@kernel(inline=True)
def drawn_binomial(g: Pointer[uint64], n: int, p: float) -> int:
    """Draw."""
    return binomial(g, p, n, g + BINOMIAL)


@kernel(inline=True)
def drawn_integers(g: Pointer[uint64], low: int, high: int) -> int:
    """Draw."""
    return int(bounded(g, uint64(low), uint64(high) - uint64(low) - 1, 0, False))


# Draws of vectors, and what is asked of their parameters: sums are as NumPy takes them, to compare with its bounds.


@kernel(inline=True)
def drawn_multinomial(g: Pointer[uint64], n: Pointer[int64], p: Pointer[float64], o: Pointer[int64], m: int) -> int:
    """Draw."""
    cleared(o, m)
    multinomial(g, n[0], o, p, m, g + BINOMIAL)
    return OK


@kernel
def multinomial_holds(n: Pointer[int64], p: Pointer[float64], m: int) -> bool:
    """Whether there are draws, and numbers are shares; their sum without the last one is compensated."""
    if n[0] < 0 or m == 0:
        return False
    for k in range(m):
        if not (p[k] >= 0 and p[k] <= 1):
            return False
    total = p[0] if m > 1 else 0.0
    rest = 0.0
    for j in range(1, m - 1):
        y = p[j] - rest
        t = total + y
        rest = t - total - y
        total = t
    return total <= 1.0 + 1e-12 or total != total


@kernel
def total_of(x: Pointer[int64], m: int) -> int:
    """Return the sum of counts; -1 if it is too large, or one is less than none."""
    total = 0
    for k in range(m):
        if x[k] < 0 or x[k] >= 1000000000:
            return -1
        total += x[k]
        if total >= 1000000000:
            return -1
    return total


@kernel(inline=True)
def drawn_hypergeometric(
    g: Pointer[uint64], colors: Pointer[int64], count: Pointer[int64], o: Pointer[int64], m: int
) -> int:
    """Draw."""
    cleared(o, m)
    if m > 0:
        marginals(g, total_of(colors, m), uint64(m), colors, count[0], 1, o)
    return OK


@kernel(inline=True)
def hypergeometric_holds(colors: Pointer[int64], count: Pointer[int64], m: int) -> bool:
    """Whether there are as many as are taken."""
    return count[0] >= 0 and total_of(colors, m) >= count[0]


@kernel
def drawn_dirichlet(g: Pointer[uint64], alpha: Pointer[float64], o: Pointer[float64], m: int) -> int:
    """Draw gammas over their sum, or where all parameters are small, pieces broken from a stick (as NumPy chooses)."""
    small = 0
    while small < m and alpha[small] < 0.1:
        small += 1
    total = 0.0
    if small < m or m == 0:
        for k in range(m):
            o[k] = standard_gamma(g, alpha[k])
            total += o[k]
        factor = 1.0 / total
        for j in range(m):
            o[j] = o[j] * factor
        return OK
    # o[k] holds the sum of the parameters from k on until piece k is drawn.
    for e in range(m - 1, -1, -1):
        total += alpha[e]
        o[e] = total
    left = 1.0
    going = total > 0
    for i in range(m - 1):
        rest = o[i + 1]
        part = 0.0
        if going:
            part = beta(g, alpha[i], rest)
        o[i] = left * part
        left = left * (1.0 - part)
        going = going and rest != 0
    o[m - 1] = left if total > 0 else 0.0
    return OK


@kernel
def dirichlet_holds(alpha: Pointer[float64], m: int) -> bool:
    """Whether no parameter is negative."""
    k = 0
    while k < m and not alpha[k] < 0:
        k += 1
    return k == m


@kernel
def drawn_permutation(g: Pointer[uint64], x: Pointer[int64], o: Pointer[int64], m: int) -> int:
    """Shuffle a copy."""
    copied(x, o, m)
    for i in range(m - 1, 0, -1):
        j = int(interval(g, uint64(i)))
        held = o[j]
        o[j] = o[i]
        o[i] = held
    return OK


# Conditions of numbers, by the names that `SAMPLER_CONDITIONS` has for them.


@kernel(inline=True)
def not_negative(x: float) -> bool:
    """Whether a number is NaN or has no sign."""
    return x != x or bits(x) >= 0


@kernel(inline=True)
def not_zero_or_less(x: float) -> bool:
    """Whether a number is NaN or positive."""
    return not x <= 0


@kernel(inline=True)
def not_greater(x: float, y: float) -> bool:
    """Whether a number is not greater than another, or one is NaN."""
    return not x > y


@kernel(inline=True)
def is_finite(x: float) -> bool:
    """Whether a number is neither infinite nor NaN."""
    return x - x == 0


_SCOPE = MappingProxyType(
    {k.name: k for k in (not_negative, not_zero_or_less, not_greater, is_finite)} | {"sqrt": sqrt}
)


class Requirement(NamedTuple):
    """What is asked of some parameters: a kernel, and their positions."""

    holds: Kernel
    used: Sequence[int]


class _Conditions:
    """The conditions of each sampler of numbers, made once."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._known: dict[str, Sequence[Requirement]] = {}

    def get(self, sampler: str) -> Sequence[Requirement]:
        """Return the conditions of a sampler."""
        with self._lock:
            if sampler not in self._known:
                texts = SAMPLER_CONDITIONS.get(sampler, ())
                self._known[sampler] = [self._condition(sampler, k, text) for k, text in enumerate(texts)]
            return self._known[sampler]

    @staticmethod
    def _condition(sampler: str, number: int, text: str) -> Requirement:
        kinds = {"int64": "int", "float64": "float"}
        dtypes = GeneratorDraws.parameter_dtypes(sampler)
        used = [k for k in range(len(dtypes)) if re.search(rf"\b{'abc'[k]}\b", text)]
        parameters = ", ".join(f"{'abc'[k]}: {kinds[dtypes[k]]}" for k in used)
        name = f"{sampler}_holds_{number}"
        return Requirement(
            kernel_of_text(name, f"def {name}({parameters}) -> bool:\n    return {text}\n", _SCOPE), used
        )


_CONDITIONS = _Conditions()
_VECTORS: Mapping[str, Kernel] = MappingProxyType(
    {
        "multinomial": drawn_multinomial,
        "multivariate_hypergeometric": drawn_hypergeometric,
        "dirichlet": drawn_dirichlet,
        "permutation": drawn_permutation,
    }
)
_OF_VECTORS: Mapping[str, Sequence[Requirement]] = MappingProxyType(
    {
        "multinomial": [Requirement(multinomial_holds, (0, 1))],
        "multivariate_hypergeometric": [Requirement(hypergeometric_holds, (0, 1))],
        "dirichlet": [Requirement(dirichlet_holds, (0,))],
    }
)
_NUMBERS: Mapping[tuple[str, str], Kernel] = MappingProxyType(
    {
        ("exponential", "float64"): drawn_exponential,
        ("gamma", "float64"): drawn_gamma,
        ("standard_gamma", "float32"): drawn_short_gamma,
        ("uniform", "float64"): drawn_uniform,
        ("binomial", "int64"): drawn_binomial,
        ("integers", "int64"): drawn_integers,
    }
)
# Samplers that fill an array.
FILLS: Mapping[str, str] = MappingProxyType(
    {
        "random": "random_standard_uniform_fill",
        "standard_normal": "random_standard_normal_fill",
        "standard_exponential": "random_standard_exponential_fill",
    }
)


def conditions_of(sampler: str) -> Sequence[Requirement]:
    """Return what is asked of a sampler's parameters."""
    return _OF_VECTORS.get(sampler) or _CONDITIONS.get(sampler)


def draw_of(sampler: str, dtype: str) -> Kernel | ExternalFunction | None:
    """Return what makes one draw of a sampler; None of those that fill arrays."""
    if sampler in FILLS:
        return None
    return _VECTORS.get(sampler) or _NUMBERS.get((sampler, dtype)) or compiled_sampler(f"random_{sampler}")


def fill_of(sampler: str, dtype: str) -> ExternalFunction:
    """Return what fills an array with draws of one of `FILLS`."""
    return compiled_sampler(f"{FILLS[sampler]}{'_f' if dtype == 'float32' else ''}")
