"""Parameters of every sampler of NumPy's generators, and the draws of a generator with them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import treadle.tensor as tt
from treadle.tensor import GENERATOR_SAMPLERS, GeneratorDraws
from treadle.tensor.random.words import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KINDS = ("PCG64", "PCG64DXSM", "SFC64", "Philox", "MT19937")
_ROW, _COLUMN = np.array([0.5, 2.0, 3.0, 40.0]), np.array([[1.0], [0.25], [3.0]])
_COUNTS = np.array([[5, 3, 9], [1, 1, 1], [0, 4, 0], [10, 0, 0]])
_SHARES = np.array([0.2, 0.3, 0.5])
_INTEGERS: list[tuple[Any, ...]] = [
    (0, 10), (-5, 2**40), (-(2**63), 2**63 - 1), (0, 2**32), (3, 4), (np.array([0]), 10),
    (0, np.array([[10], [2**33], [1]])),
]  # fmt: skip
# For each sampler, parameters as they are given to NumPy: numbers, and arrays of which (3, 4) draws are made.
CASES: dict[str, list[tuple[Any, ...]]] = {
    "random": [()],
    "standard_normal": [()],
    "standard_exponential": [()],
    "standard_cauchy": [()],
    "standard_gamma": [(2.5,), (0.0,), (_ROW,), (_COLUMN - 0.25,)],
    "uniform": [(-1.0, 3.0), (_ROW, 50.0), (_COLUMN, _COLUMN)],
    "vonmises": [(0.5, 2.0), (0.1, np.array([0.0, 1e-9, 1e7, 3.0]))],
    "triangular": [(0.0, 1.0, 3.0), (_COLUMN, 3.0, _ROW + 3)],
    "binomial": [(10, 0.3), (1000, 0.6), (np.array([0, 10, 1000, 5]), np.array([[0.3], [1.0], [0.0]]))],
    "negative_binomial": [(5.0, 0.3), (_ROW, np.array([[0.1], [1.0], [0.5]]))],
    "poisson": [(3.0,), (np.array([0.0, 3.0, 300.0, 1e10]),)],
    "zipf": [(2.0,), (_ROW + 1,)],
    "geometric": [(0.3,), (np.array([0.5, 0.01, 1.0, 0.2]),)],
    "hypergeometric": [(10, 20, 8), (np.array([10, 0, 500, 3]), np.array([[20], [30], [9]]), 8)],
    "logseries": [(0.3,), (np.array([0.5, 0.01, 0.0, 0.99]),)],
    "integers": _INTEGERS,
    "multinomial": [
        (10, _SHARES), (np.arange(4), _SHARES), (5, np.array([[_SHARES], [_SHARES[::-1]], [[1.0, 0.0, 0.0]]])),
    ],
    "multivariate_hypergeometric": [(_COUNTS[0], 7), (_COUNTS[0], np.arange(4)), (_COUNTS, 3)],
    "dirichlet": [
        (_ROW,), (np.array([0.02, 0.03, 0.05]),), (np.zeros(3),), (np.array([0.01, 0.0, 0.0]),),
        (np.arange(12.0).reshape(4, 3) / 40,),
    ],
    "permutation": [(np.arange(7),), (np.arange(12).reshape(4, 3),)],
}  # fmt: skip
_NUMBERS: dict[str, list[tuple[Any, ...]]] = {
    "()->()": [(2.5,), (_ROW,)],
    "(),()->()": [(1.5, 2.0), (_ROW, _COLUMN)],
    "(),(),()->()": [(3.0, 2.0, 1.0), (_ROW, _COLUMN, 2.0)],
}
CASES.update({name: _NUMBERS[signature] for name, (signature, _) in GENERATOR_SAMPLERS.items() if name not in CASES})
# Parameters that NumPy refuses, and its message.
REFUSED: list[tuple[str, tuple[Any, ...], str]] = [
    ("normal", (0.0, -1.0), "scale < 0"),
    ("normal", (0.0, -0.0), "scale < 0"),
    ("gamma", (_ROW, np.array([1.0, 1.0, -2.0, 1.0])), "scale < 0"),
    ("uniform", (2.0, 1.0), "high - low < 0"),
    ("beta", (0.0, 1.0), "a <= 0"),
    ("triangular", (0.0, 2.0, 1.0), "mode > right"),
    ("triangular", (1.0, 1.0, 1.0), "left == right"),
    ("binomial", (10, 1.5), "p < 0, p > 1 or p is NaN"),
    ("binomial", (10, np.array([0.5, np.nan, 0.5, 0.5])), "p < 0, p > 1 or p contains NaNs"),
    ("binomial", (-1, 0.5), "n < 0"),
    ("negative_binomial", (1e300, 1e-300), "n too large or p too small"),
    ("poisson", (-1.0,), "lam < 0 or lam is NaN"),
    ("poisson", (1e19,), "lam value too large"),
    ("zipf", (1.0,), "a <= 1 or a is NaN"),
    ("geometric", (0.0,), "p <= 0, p > 1 or p contains NaNs"),
    ("logseries", (1.0,), "p < 0, p >= 1 or p is NaN"),
    ("hypergeometric", (-1, 2, 1), "ngood < 0"),
    ("hypergeometric", (1, 2, 4), "ngood \\+ nbad < nsample"),
    ("integers", (3, 3), "low >= high"),
    ("multinomial", (3, np.array([0.5, 0.6, 0.1])), "sum\\(pvals"),
    ("multivariate_hypergeometric", (_COUNTS[0], 100), "nsample > sum\\(colors\\)"),
    ("dirichlet", (np.array([1.0, -1.0]),), "alpha < 0"),
]


class Draw(NamedTuple):
    """A draw of a chain: parameters, as given to NumPy, and the rank of the batch."""

    name: str
    dtype: str
    parameters: tuple[Any, ...]
    ndim: int

    def size(self, lengths: tuple[int, int]) -> tuple[int, ...]:
        """Return the size: the lengths passed, if the rank is that of two numbers."""
        return lengths[: self.ndim] if self.is_free else (3, 4)

    @classmethod
    def of(cls, name: str, parameters: tuple[Any, ...]) -> Draw:
        """Return many draws if the parameters are arrays, else one."""
        one = cls(name, GENERATOR_SAMPLERS[name][1][0], parameters, 0)
        return one if one.is_free else one._replace(ndim=2)

    @property
    def is_free(self) -> bool:
        """Whether batches of any lengths can be drawn."""
        ranks = ranks_of(self.name)
        return all(np.ndim(p) == rank for p, rank in zip(self.parameters, ranks, strict=True))

    def values(self) -> list[np.ndarray]:
        """Return the parameters as arrays of the dtypes that the op takes."""
        dtypes = GeneratorDraws.parameter_dtypes(self.name)
        return [np.asarray(p, dtype) for p, dtype in zip(self.parameters, dtypes, strict=True)]

    def by_numpy(self, rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
        """Return the draws of a generator."""
        method, ranks = getattr(rng, self.name), ranks_of(self.name)
        if self.name in {"random", "standard_normal", "standard_exponential", "standard_gamma"}:
            return np.asarray(method(*self.parameters, size=size, dtype=self.dtype))
        if self.name == "permutation":
            (x,) = self.parameters
            return rng.permuted(np.broadcast_to(x, (*size, x.shape[-1])), axis=-1)
        if self.name == "multinomial" or self.is_free or not any(ranks):
            return np.asarray(method(*self.parameters, size=size))
        whole = [
            np.broadcast_to(p, (*size, *np.shape(p)[np.ndim(p) - rank :]))
            for p, rank in zip(self.parameters, ranks, strict=True)
        ]
        draws = np.zeros((*size, np.shape(self.parameters[ranks.index(1)])[-1]), self.dtype)
        for at in np.ndindex(*size):
            draws[at] = method(*(p[at] for p in whole))
        return draws


def ranks_of(name: str) -> list[int]:
    """Return the ranks of the parameters of one draw."""
    input_part = GENERATOR_SAMPLERS[name][0].partition("->")[0]
    return [int(core != "()") for core in re.findall(r"\(\w*\)", input_part)]


def all_draws() -> list[Draw]:
    """Return every sampler with every choice of parameters."""
    draws = []
    for name, choices in CASES.items():
        for dtype in GENERATOR_SAMPLERS[name][1]:
            for parameters in choices:
                draw = Draw(name, dtype, parameters, 2)
                draws += [draw, draw._replace(ndim=0), draw._replace(ndim=1)] if draw.is_free else [draw]
    return draws


class Chain:
    """A graph of draws, each from the state that the one before left.

    Attributes
    ----------
    inputs
        The words, two lengths, and all parameters.
    outputs
        The words afterwards, and the draws.
    """

    def __init__(self, draws: Sequence[Draw]) -> None:
        self.draws = draws
        words: Any = tt.tensor("words", shape=(None,), dtype="uint64")
        lengths = [tt.tensor(f"n{k}", shape=(), dtype="int64") for k in range(2)]
        self.inputs: list[Any] = [words, *lengths]
        drawn = []
        for draw in draws:
            values = draw.values()
            parameters: list[Any] = [tt.tensor(shape=(None,) * v.ndim, dtype=v.dtype.name) for v in values]
            size = lengths[: draw.ndim] if draw.is_free else [tt.constant(n) for n in (3, 4)]
            words, variable = GeneratorDraws(draw.name, draw.dtype, draw.ndim)(
                words, *size, *parameters, return_list=True
            )
            self.inputs += parameters
            drawn.append(variable)
        self.outputs: list[Any] = [words, *drawn]

    def compare(
        self,
        program: Callable[..., Sequence[np.ndarray]],
        kind: str,
        lengths: Sequence[tuple[int, int]] = ((3, 5), (2, 0)),
    ) -> None:
        """Compare two calls of a compiled chain, one after the other, with NumPy's numbers and states."""
        rng = np.random.Generator(getattr(np.random, kind)(11))
        # The other half of a 64-bit number is kept for the next draw.
        rng.integers(9, dtype="uint32")
        words = words_of(rng)
        for size in lengths:
            numbers = [np.array(n) for n in size]
            words, *drawn = program(words, *numbers, *(v for draw in self.draws for v in draw.values()))
            for draw, values in zip(self.draws, drawn, strict=True):
                expected = draw.by_numpy(rng, draw.size(size))
                assert values.dtype == expected.dtype == draw.dtype
                np.testing.assert_array_equal(values, expected, err_msg=f"{draw} {kind}", strict=True)
            np.testing.assert_array_equal(words, words_of(rng))
