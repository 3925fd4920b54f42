"""The samplers of the portable generator: Philox's published vectors, fit at fixed seeds, and extreme parameters.

Seeds are fixed, so that a test of fit fails always or never; the bound of its p-value is 1e-4.
"""

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from treadle.compile import function
from treadle.tensor import PortableDraws, constant, shared
from treadle.tensor.random import PortableGenerator
from treadle.tensor.random.generators.philox import State, philox
from treadle.tensor.random.generators.rejection import gamma_shift, search, stirling
from treadle.tensor.random.generators.samplers import PORTABLE_SAMPLERS

COUNT = 20_000
LEAST = 1e-4
STATE = State(0x9E3779B97F4A7C15, 77, 5)


def draws(name: str, *parameters: Any, n: int = COUNT, dtype: str = "", state: State = STATE) -> np.ndarray:
    sampler = PORTABLE_SAMPLERS[name]
    arrays = [
        np.broadcast_to(np.asarray(p, kind), (n,)) for p, kind in zip(parameters, sampler.parameters, strict=True)
    ]
    return sampler.reference(state, n, dtype or sampler.dtypes[0], *arrays)


def fit(drawn: np.ndarray, wanted: Any) -> float:
    """Return the p-value of a Kolmogorov-Smirnov test; integers are spread evenly over the steps of the cdf."""
    if drawn.dtype.kind == "f":
        return float(stats.kstest(drawn, wanted.cdf).pvalue)
    spread = np.random.default_rng(0).random(drawn.size)
    return float(stats.kstest(wanted.cdf(drawn - 1) + spread * wanted.pmf(drawn), "uniform").pvalue)


# From Random123's file of known answers.
KNOWN = [
    ("0" * 32, "0" * 16, "6627e8d5e169c58dbc57ac4c9b00dbd8"),
    ("f" * 32, "f" * 16, "408f276d41c83b0ea20bc7c66d5451fd"),
    ("243f6a8885a308d313198a2e03707344", "a4093822299f31d0", "d16cfe0994fdcceb5001e42024126ea1"),
]


@pytest.mark.parametrize(("counter", "key", "wanted"), KNOWN)
def test_philox_gives_the_known_answers(counter: str, key: str, wanted: str) -> None:
    words = [np.uint64(int(counter[k : k + 8], 16)) for k in range(0, 32, 8)]
    low, high = (np.uint64(int(key[k : k + 8], 16)) for k in (0, 8))
    assert "".join(f"{int(word):08x}" for word in philox(words, (low, high))) == wanted


FITS: list[tuple[str, tuple[Any, ...], Any]] = [
    *(("standard_gamma", (a,), stats.gamma(a)) for a in (0.01, 0.3, 1.0, 2.5, 1e3, 1e10)),
    *(("poisson", (lam,), stats.poisson(lam)) for lam in (1e-3, 0.3, 9.99, 10.0, 11.3, 200.0, 1e8, 1e12)),
    *(
        ("binomial", (n, p), stats.binom(n, p))
        for n, p in ((10, 0.3), (19, 0.5), (20, 0.5), (100, 0.93), (10**6, 0.2), (10**12, 0.5), (10**15, 1e-14))
    ),
    *(
        ("hypergeometric", (good, bad, sample), stats.hypergeom(good + bad, good, sample))
        for good, bad, sample in ((3, 4, 2), (100, 20, 60), (1000, 2000, 1500), (45, 5, 25), (20, 30, 45))
    ),
    *(("vonmises", (kappa,), stats.vonmises(kappa)) for kappa in (1e-8, 0.1, 1.0, 100.0, 1e5)),
    *(
        ("integers", (low, high), stats.randint(low, high))
        for low, high in ((0, 6), (-5, 2**31 - 5), (-5, 2**31 - 4), (0, 3 * 2**50))
    ),
]


@pytest.mark.parametrize(("name", "parameters", "wanted"), FITS, ids=lambda v: v if isinstance(v, str) else None)
def test_draws_fit_the_distribution(name: str, parameters: tuple[Any, ...], wanted: Any) -> None:
    assert fit(draws(name, *parameters), wanted) > LEAST


def test_zipf_draws_fit_the_distribution() -> None:
    for a in (1.5, 2.0, 4.0):
        k = np.arange(1, 12)
        wanted = COUNT * k**-a / special.zeta(a)
        counts = np.bincount(np.minimum(draws("zipf", a), 12), minlength=13)[1:12]
        both = [np.append(x, COUNT - x.sum()) for x in (counts, wanted)]
        assert stats.chisquare(*both).pvalue > LEAST


def test_huge_means_have_the_right_spread() -> None:
    for mean in (1e15, 9.2e18):
        standardized = (draws("poisson", mean).astype("float64") - mean) / np.sqrt(mean)
        assert fit(standardized, stats.norm()) > LEAST
    standardized = (draws("binomial", 2**62, 0.3).astype("float64") - 0.3 * 2**62) / np.sqrt(0.21 * 2**62)
    assert fit(standardized, stats.norm()) > LEAST


def test_limits_of_parameters_have_their_limits_as_draws() -> None:
    assert (draws("standard_gamma", 0.0, n=9) == 0).all()
    assert (draws("standard_gamma", 1e-10, n=9) == 0).all()
    assert np.isfinite(draws("log_standard_gamma", 1e-300, n=99)).all()
    assert (draws("log_standard_gamma", 0.0, n=9) == -np.inf).all()
    assert (draws("standard_gamma", np.inf, n=9) == np.inf).all()
    assert np.isnan(draws("standard_gamma", np.nan, n=9)).all()
    assert (draws("poisson", 0.0, n=9) == 0).all()
    for trials in (0, 10, 10**18):
        assert (draws("binomial", trials, 0.0, n=9) == 0).all()
        assert (draws("binomial", trials, 1.0, n=9) == trials).all()
    assert (draws("hypergeometric", 0, 5, 3, n=9) == 0).all()
    assert (draws("hypergeometric", 5, 0, 3, n=9) == 3).all()
    assert (draws("hypergeometric", 5, 5, 10, n=9) == 5).all()
    assert (draws("vonmises", np.inf, n=9) == 0).all()
    assert (draws("zipf", 2000.0, n=9) == 1).all()
    assert (draws("integers", 4, 5, n=9) == 4).all()


def test_integers_reach_the_whole_range_of_int64() -> None:
    drawn = draws("integers", -(2**63), -(2**63)).astype("float64")
    assert fit(drawn, stats.uniform(-(2.0**63), 2.0**64)) > LEAST


def test_the_logarithm_of_a_gamma_draw_is_that_of_the_same_draw() -> None:
    for alpha in (0.2, 3.0):
        logs, plain = draws("log_standard_gamma", alpha, n=99), draws("standard_gamma", alpha, n=99)
        np.testing.assert_allclose(np.exp(logs), plain, rtol=1e-12)


@pytest.mark.parametrize("name", PORTABLE_SAMPLERS)
def test_draws_of_a_size_start_those_of_larger_sizes(name: str) -> None:
    parameters = {"standard_gamma": [0.7], "log_standard_gamma": [0.7], "poisson": [30.0], "binomial": [50, 0.4]}
    parameters |= {"hypergeometric": [50, 60, 70], "vonmises": [2.0], "zipf": [2.0], "integers": [0, 3 * 2**61]}
    for dtype in PORTABLE_SAMPLERS[name].dtypes:
        many = draws(name, *parameters.get(name, []), n=10, dtype=dtype)
        np.testing.assert_array_equal(draws(name, *parameters.get(name, []), n=5, dtype=dtype), many[:5])


def test_positions_wrap_around() -> None:
    end = State(1, 2, 2**64 - 2)
    for name, parameters in (("standard_gamma", [0.7]), ("random", [])):
        per_block = PORTABLE_SAMPLERS[name].per_block.get("float64", 1)
        late = draws(name, *parameters, n=4 * per_block, state=end)
        start = draws(name, *parameters, n=2 * per_block, state=State(1, 2, 0))
        np.testing.assert_array_equal(late[2 * per_block :], start)


def test_searches_end_where_probabilities_are_negligible() -> None:
    positions = search(
        np.array([0.0, 1 - 2.0**-53, 1.0]), np.full(3, np.exp(-1e-5)), lambda k: np.full(3, 1e-5 / (k + 1))
    )
    assert positions[0] == 0
    assert (positions[1:] < 6).all()


def test_what_stirlings_formula_lacks_is_known_to_twelve_digits() -> None:
    z = np.array([1.0, 1.5, 2.0, 7.0, 30.0])
    wanted = special.gammaln(z) - ((z - 0.5) * np.log(z) - z + 0.5 * np.log(2 * np.pi))
    np.testing.assert_allclose(stirling(z), wanted, atol=4e-13)
    d = np.array([0.0, 3.0, -1.0, 40.0, -20.0])
    np.testing.assert_allclose(
        gamma_shift(z, d), special.gammaln(z + d) - special.gammaln(z) - d * np.log(z), atol=2e-12
    )


GIVEN: dict[str, list[tuple[Any, ...]]] = {
    "integers": [(0, 6), (-5, 2**40), (-(2**63), -(2**63)), (np.array([[1], [2]]), np.array([50, 60, 2**40]))],
    "standard_gamma": [(2.5,), (0.3,), (0.0,), (np.inf,), (np.nan,), (np.array([[0.1], [1e5]]),)],
    "log_standard_gamma": [(2.5,), (1e-10,), (np.array([0.0, 1e-300, 3.0]),)],
    "poisson": [(3.0,), (1e-5,), (50.0,), (1e12,), (np.array([3.0, 0.0, 400.0]),)],
    "binomial": [(10, 0.3), (1000, 0.7), (0, 0.5), (10, 1.0), (np.array([[5], [1000]]), np.array([0.2, 0.8, 1.0]))],
    "hypergeometric": [
        (10, 20, 15),
        (1000, 2000, 1500),
        (0, 5, 3),
        (np.array([5, 600, 0]), np.array([[700], [20]]), 15),
    ],
    "vonmises": [(0.0,), (3.0,), (1e10,), (np.array([1.0, 2.0, 3.0]),)],
    "zipf": [(1.1,), (3.0,), (2000.0,), (np.array([1.5, 2.0, 3.0]),)],
}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["C", "NUMBA"])
def test_compiled_draws_are_those_of_the_definition(mode: str) -> None:
    # Not constants: draws from those are computed when the graph is rewritten.
    state = shared(np.array([*PortableGenerator(5).state[:2], -3]), shape=(3,))
    variables = []
    for name, sampler in PORTABLE_SAMPLERS.items():
        for dtype in sampler.dtypes:
            for parameters in GIVEN.get(name, [()]):
                alike = all(np.ndim(p) == 0 for p in parameters)
                typed = [shared(np.asarray(p, kind)) for p, kind in zip(parameters, sampler.parameters, strict=True)]
                for shape in [(2, 3), (3, 501), ()] if alike else [(2, 3)]:
                    lengths = [constant(n, dtype="int64") for n in shape]
                    variables.append(PortableDraws(name, dtype, len(shape))(state, *lengths, *typed))
    wanted = function([], variables, mode="VM")()
    for x, y in zip(wanted, function([], variables, mode=mode)(), strict=True):
        assert x.dtype == y.dtype
        # Large integers of Zipf's are made of floats.
        tolerance = {"float64": 1e-12, "float32": 3e-6}.get(str(x.dtype), 1e-13)
        np.testing.assert_allclose(y, x, rtol=tolerance, atol=0 if x.dtype == "int64" else tolerance)
