"""Every distribution draws what it should, on every backend.

Seeds are fixed, so that a test of fit fails always or never. Its bound is a p-value of 1e-4: with some three hundred
such tests, a change of seeds has one of them fail by chance three times in a hundred.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import treadle.tensor as tt
from tests.contract.backends import BACKENDS
from tools import distributions
from treadle.compile import function
from treadle.tensor import random as tr
from treadle.testing.distributions import Distribution, families

FAMILIES = families()
RECORDS = [record for records in FAMILIES.values() for record in records]
LEAST = 1e-4
COUNT = 4000
EXACT = [name for name in BACKENDS if name in {"vm", "c", "numba"}]
QUICK = [name for name in BACKENDS if name in {"vm", "c"}]
# NumPy's generators, drawn from by these backends with keys of their own, are told of.
COMPILED = [name for name in BACKENDS if name not in {"vm", "cvm"}]


def mode_of(backend: str) -> str:
    return backend.upper()


def as_parameters(given: tuple[Any, ...]) -> list[Any]:
    """Return parameters as inputs of a graph are: values that rewriting does not see, of known lengths."""
    return [tt.shared(np.asarray(value), shape=np.shape(value)) for value in given]


def drawn(record: Distribution, parameters: tuple[Any, ...], rng: Any, size: Any) -> Any:
    """Return the next generator and the draw."""
    make = record.make or getattr(tr, record.name)
    return make(*as_parameters(parameters), size=size, rng=rng, return_next_rng=True)


def draws(record: Distribution, parameters: tuple[Any, ...], generator: Any, size: Any, backend: str = "vm") -> Any:
    _, draw = drawn(record, parameters, tr.shared_rng(generator), size)
    return function([], draw, mode=mode_of(backend))()


def chained(records: list[Distribution], generator: Any, size: Any) -> tuple[Any, list[Any], Any]:
    """Return a shared generator, one draw of each record with the generator after the one before, and the last one."""
    shared = rng = tr.shared_rng(generator)
    made = []
    for record in records:
        rng, draw = drawn(record, record.parameters[0], rng, size)
        made.append(draw)
    return shared, made, rng


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("backend", EXACT)
def test_draws_are_those_of_numpys_generator_bit_for_bit(backend: str, family: str) -> None:
    records = [record for record in FAMILIES[family] if record.numpy is not None]
    if not records:
        return
    shared, made, last = chained(records, np.random.default_rng(11), (5, 3))
    compute = function([], made, updates={shared: last}, mode=mode_of(backend))
    theirs = np.random.default_rng(11)
    for _ in range(2):
        for record, draw in zip(records, compute(), strict=True):
            assert record.numpy is not None
            wanted = record.numpy(theirs, *record.parameters[0], (5, 3))
            np.testing.assert_array_equal(draw, wanted, err_msg=record.name)
    assert shared.get_value().bit_generator.state == theirs.bit_generator.state


# XLA compiles these for a quarter of a minute and more: they are made of many draws.
SLOW = {("jax", "counts"), ("jax", "categories"), ("jax", "gamma_family")}
BOTH = [
    pytest.param(backend, family, marks=[pytest.mark.slow] if (backend, family) in SLOW else [])
    for backend in COMPILED
    for family in FAMILIES
]


@pytest.mark.parametrize(("backend", "family"), BOTH)
def test_portable_draws_are_the_same_on_every_backend(backend: str, family: str) -> None:
    records = FAMILIES[family]
    shared, made, last = chained(records, tr.PortableGenerator(12), (7, 3))
    wanted = function([], made, updates={shared: last}, mode=mode_of("vm"))
    wanted_draws = wanted(), wanted()
    reached = shared.get_value()
    shared.set_value(tr.PortableGenerator(12))
    compute = function([], made, updates={shared: last}, mode=mode_of(backend))
    for expected in wanted_draws:
        for record, draw, other in zip(records, compute(), expected, strict=True):
            assert draw.dtype == other.dtype
            if record.exact:
                np.testing.assert_array_equal(draw, other, err_msg=record.name)
            else:
                np.testing.assert_allclose(draw, other, rtol=1e-9, atol=1e-12, err_msg=record.name)
    np.testing.assert_array_equal(shared.get_value().state, reached.state)


CHOICES = [(record, at) for record in RECORDS for at in range(len(record.parameters))]
GENERATORS: dict[str, Callable[[], Any]] = {
    "numpy": lambda: np.random.default_rng(2024),
    "portable": lambda: tr.PortableGenerator(2024),
}


@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize(("record", "at"), CHOICES, ids=lambda v: v.name if isinstance(v, Distribution) else str(v))
def test_draws_fit_the_distribution(record: Distribution, at: int, kind: str) -> None:
    parameters = record.parameters[at]
    found = draws(record, parameters, GENERATORS[kind](), (COUNT,))
    if record.oracle is not None:
        assert fit(record.oracle(*parameters), found) > LEAST
    if record.moments is not None:
        mean, covariance = (np.asarray(value, "float64") for value in record.moments(*parameters))
        flat = found.reshape(COUNT, -1).astype("float64")
        spread = np.sqrt(np.atleast_1d(np.diag(covariance) if covariance.ndim == 2 else covariance.ravel()))
        # Five standard errors of the mean; the covariance by one part in seven of the largest variance.
        assert np.all(np.abs(flat.mean(0) - mean.ravel()) <= 5 * spread / np.sqrt(COUNT) + 1e-12)
        if covariance.ndim == 2:
            assert np.abs(np.cov(flat.T) - covariance).max() <= covariance.max() / 7


def fit(wanted: Any, found: np.ndarray) -> float:
    """Return the p-value of the Kolmogorov-Smirnov test, or of a chi-square test of integers."""
    if not hasattr(wanted, "pmf"):
        return float(stats.kstest(found, wanted.cdf).pvalue)
    low, high = (int(wanted.ppf(p)) for p in (0.0005, 0.9995))
    edges = np.unique(np.linspace(low, high, 21).round())
    observed = np.diff(np.concatenate([[0], np.searchsorted(np.sort(found), edges, side="right"), [len(found)]]))
    expected = np.diff(np.concatenate([[0.0], wanted.cdf(edges), [1.0]])) * len(found)
    rare = expected < 5
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if len(observed) < 3:
        return 1.0
    statistic = np.sum((observed - expected) ** 2 / np.maximum(expected, 1e-3))
    return float(stats.chi2.sf(statistic, len(observed) - 1))


EXTREMES = [(record, at) for record in RECORDS for at in range(len(record.extremes))]
INVALID = [(record, at) for record in RECORDS for at in range(len(record.invalid))]


@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("backend", QUICK)
def test_draws_are_right_at_the_edges_of_the_domain(backend: str, kind: str) -> None:
    given = [(record, *record.extremes[at]) for record, at in EXTREMES]
    made = [drawn(r, parameters, tr.shared_rng(GENERATORS[kind]()), (50,))[1] for r, parameters, _ in given]
    found = function([], made, mode=mode_of(backend))()
    wrong = [
        (record.name, parameters, draw)
        for (record, parameters, is_right), draw in zip(given, found, strict=True)
        if not is_right(draw)
    ]
    assert wrong == []


INVALID_CALLS = [
    pytest.param(record, at, backend, kind, id=f"{record.name}-{at}-{backend}-{kind}")
    for record, at in INVALID
    for backend in QUICK
    for kind in GENERATORS
]


@pytest.mark.parametrize(("record", "at", "backend", "kind"), INVALID_CALLS)
def test_invalid_parameters_are_refused_and_nothing_moves(
    record: Distribution, at: int, backend: str, kind: str
) -> None:
    parameters, text = record.invalid[at]
    shared = tr.shared_rng(GENERATORS[kind]())
    following, draw = drawn(record, parameters, shared, (3,))
    compute = function([], draw, updates={shared: following}, mode=mode_of(backend))
    before = shared.get_value()
    with pytest.raises(ValueError, match=text):
        compute()
    assert shared.type.values_eq(shared.get_value(), before)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("backend", QUICK)
def test_sizes(backend: str, kind: str, family: str) -> None:
    records = FAMILIES[family]
    shapes: list[tuple[int, ...]] = [(), (0,), (2, 0, 3), (1,)]
    outputs: list[Any] = []
    wanted: list[Any] = []
    for record in records:
        single = drawn(record, record.parameters[0], tr.shared_rng(GENERATORS[kind]()), None)[1]
        outputs.append(single)
        wanted.append(single.type.shape if None not in single.type.shape else None)
        for shape in shapes:
            outputs.append(drawn(record, record.parameters[0], tr.shared_rng(GENERATORS[kind]()), shape)[1])
            wanted.append(shape)
    found = function([], outputs, mode=mode_of(backend))()
    for shape, draw, variable in zip(wanted, found, outputs, strict=True):
        assert draw.dtype == variable.dtype
        if shape is not None:
            assert draw.shape[: len(shape)] == shape


@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("backend", QUICK)
def test_float32_draws_are_float32(backend: str, kind: str) -> None:
    made = []
    for record in RECORDS:
        function_of = record.make or getattr(tr, record.name)
        if getattr(function_of, "dtype", None) == "floatX":
            rng = tr.shared_rng(GENERATORS[kind]())
            made.append(function_of(*as_parameters(record.parameters[0]), size=(4,), rng=rng, dtype="float32"))
    for draw in function([], made, mode=mode_of(backend))():
        assert draw.dtype == "float32"
        assert np.isfinite(draw).all()


SMOOTH = [(record, k) for record in RECORDS if record.oracle is not None for k in record.smooth]


@pytest.mark.parametrize(("record", "k"), SMOOTH, ids=lambda v: v.name if isinstance(v, Distribution) else str(v))
def test_derivatives_of_draws_are_those_of_the_quantile_function(record: Distribution, k: int) -> None:
    # x = Q(u, t) and F(x, t) = u give dx/dt = -(dF/dt) / (dF/dx).
    assert record.oracle is not None
    given = record.parameters[0]
    inputs = [tt.dscalar() for _ in given]
    draw = (record.make or getattr(tr, record.name))(*inputs, size=(40,), rng=tr.shared_rng(seed=5))
    slopes = tt.jacobian(draw, inputs[k])
    x, found = function(inputs, [draw, slopes], mode=mode_of("vm"))(*given)
    step = 1e-5 * max(1.0, abs(given[k]))
    moved = [[v + sign * step if i == k else v for i, v in enumerate(given)] for sign in (1, -1)]
    by_parameter = (record.oracle(*moved[0]).cdf(x) - record.oracle(*moved[1]).cdf(x)) / (2 * step)
    wanted = -by_parameter / record.oracle(*given).pdf(x)
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=1e-5 * np.abs(wanted).max())


def test_every_distribution_has_a_record() -> None:
    assert distributions.unchecked() == []
