"""Checks of draws from a distribution, for every backend.

Seeds are fixed, so that a check of fit fails always or never. Its bound is a p-value of 1e-4: with some three hundred
such checks, a change of seeds has one of them fail by chance three times in a hundred.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from treadle import tensor as tt
from treadle.compile import function
from treadle.graph import Variable
from treadle.tensor import TensorVariable
from treadle.testing.distribution import Distribution
from treadle.testing.errors import ContractError

Size = tuple[int, ...] | None


LEAST = 1e-4
COUNT = 4000
# Functions that create the generators that distributions draw from.
GENERATORS: Mapping[str, Callable[[], Any]] = {
    "numpy": lambda: np.random.default_rng(2024),
    "portable": lambda: tt.random.PortableGenerator(2024),
}


def _mode(backend: str) -> str:
    return backend.upper()


def _as_parameters(values: Sequence[object]) -> list[Variable]:
    """Return parameters as shared variables with known lengths, whose values rewriting does not see."""
    arrays = [np.asarray(value) for value in values]
    return [tt.shared(array, shape=array.shape) for array in arrays]


def apply(
    record: Distribution, parameters: Sequence[object], rng: Variable, size: Size, **options: object
) -> tuple[Variable, TensorVariable]:
    """Return the next generator and the draw.

    Parameters become shared variables, so that no rewrite sees them; `options` are further arguments of the
    distribution.
    """
    make = record.make or getattr(tt.random, record.name)
    following, draw = make(*_as_parameters(parameters), size=size, rng=rng, return_next_rng=True, **options)
    return following, draw


def _chained(
    records: Iterable[Distribution], generator: np.random.Generator | tt.random.PortableGenerator, size: Size
) -> tuple[Any, list[TensorVariable], Variable]:
    """Return a shared generator, one draw of each record in a chain of generators, and the last generator."""
    shared: Any = tt.random.shared_rng(generator)
    rng = shared
    all_draws = []
    for record in records:
        rng, draw = apply(record, record.parameters[0], rng, size)
        all_draws.append(draw)
    return shared, all_draws, rng


def _fail(backend: str, record: Distribution, problem: str) -> None:
    msg = f"{backend}: {record.name}: {problem}"
    raise ContractError(msg)


def check_numpy_draws(backend: str, records: Iterable[Distribution]) -> None:
    """Check that draws from NumPy's generator equal those of `Distribution.numpy` bit for bit, call after call.

    Afterwards the generator must be where NumPy's is.
    """
    chosen = [record for record in records if record.numpy is not None]
    if not chosen:
        return
    shared, outputs, last = _chained(chosen, np.random.default_rng(11), (5, 3))
    compute = function([], outputs, updates={shared: last}, mode=_mode(backend))
    theirs = np.random.default_rng(11)
    for _ in range(2):
        for record, draw in zip(chosen, compute(), strict=True):
            assert record.numpy is not None
            if not np.array_equal(draw, record.numpy(theirs, *record.parameters[0], (5, 3)), equal_nan=True):
                _fail(backend, record, "draws from NumPy's generator are other than NumPy's.")
    if shared.get_value().bit_generator.state != theirs.bit_generator.state:
        _fail(backend, chosen[-1], "NumPy's generator is in another state afterwards.")


def check_portable_draws(backend: str, records: Sequence[Distribution]) -> None:
    """Check that draws from the portable generator, and its state afterwards, are those of the Python VM.

    Draws may differ by rounding, unless the record says `exact`.
    """
    shared, outputs, last = _chained(records, tt.random.PortableGenerator(12), (7, 3))
    reference = function([], outputs, updates={shared: last}, mode="VM")
    expected_calls = reference(), reference()
    reached = shared.get_value()
    shared.set_value(tt.random.PortableGenerator(12))
    compute = function([], outputs, updates={shared: last}, mode=_mode(backend))
    for expected in expected_calls:
        for record, draw, other in zip(records, compute(), expected, strict=True):
            if draw.dtype != other.dtype:
                _fail(backend, record, f"portable draws have dtype {draw.dtype}, expected {other.dtype}.")
            same = np.array_equal(draw, other) if record.exact else np.allclose(draw, other, rtol=1e-9, atol=1e-12)
            if not same:
                _fail(backend, record, "portable draws differ from the Python VM's.")
    if not np.array_equal(shared.get_value().state, reached.state):
        _fail(backend, records[-1], "the portable generator is in another state afterwards.")


def check_fit(backend: str, record: Distribution, choice: int, generator: str) -> None:
    """Check that many draws fit the distribution of the record's oracle, or its moments, at a choice of parameters.

    The p-value of a test of fit must not be below 1e-4, nor a mean more than five standard errors off.
    """
    parameters = record.parameters[choice]
    _, draw = apply(record, parameters, tt.random.shared_rng(GENERATORS[generator]()), (COUNT,))
    values = function([], draw, mode=_mode(backend))()
    if record.oracle is not None and (p := _p_value(record.oracle(*parameters), values)) <= LEAST:
        _fail(backend, record, f"{COUNT} draws with parameters {parameters} do not fit the distribution (p = {p:.1g}).")
    if record.moments is None:
        return
    mean, covariance = (np.asarray(value, "float64") for value in record.moments(*parameters))
    flat = values.reshape(COUNT, -1).astype("float64")
    spread = np.sqrt(np.atleast_1d(np.diag(covariance) if covariance.ndim == 2 else covariance.ravel()))
    # Five standard errors of the mean; the covariance by one part in seven of the largest variance.
    if not np.all(np.abs(flat.mean(0) - mean.ravel()) <= 5 * spread / np.sqrt(COUNT) + 1e-12):
        _fail(backend, record, f"{COUNT} draws with parameters {parameters} have another mean.")
    if covariance.ndim == 2 and np.abs(np.cov(flat.T) - covariance).max() > covariance.max() / 7:
        _fail(backend, record, f"{COUNT} draws with parameters {parameters} have another covariance.")


def _p_value(frozen: Any, values: np.ndarray) -> float:
    """Return the p-value of the Kolmogorov-Smirnov test, or of a chi-square test of integers."""
    if not hasattr(frozen, "pmf"):
        return float(stats.kstest(values, frozen.cdf).pvalue)
    low, high = (int(frozen.ppf(p)) for p in (0.0005, 0.9995))
    edges = np.unique(np.linspace(low, high, 21).round())
    below = np.searchsorted(np.sort(values), edges, side="right")
    observed = np.diff(np.concatenate([[0], below, [len(values)]]))
    expected = np.diff(np.concatenate([[0.0], frozen.cdf(edges), [1.0]])) * len(values)
    rare = expected < 5
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if len(observed) < 3:
        return 1.0
    statistic = np.sum((observed - expected) ** 2 / np.maximum(expected, 1e-3))
    return float(stats.chi2.sf(statistic, len(observed) - 1))


def check_extremes(backend: str, records: Iterable[Distribution], generator: str) -> None:
    """Check draws at the edges of the domain by the tests in the records."""
    cases = [(record, *extreme) for record in records for extreme in record.extremes]
    outputs = [
        apply(record, parameters, tt.random.shared_rng(GENERATORS[generator]()), (50,))[1]
        for record, parameters, _ in cases
    ]
    values = function([], outputs, mode=_mode(backend))()
    for (record, parameters, is_right), draw in zip(cases, values, strict=True):
        if not is_right(draw):
            _fail(backend, record, f"draws with parameters {parameters} are not right: {draw}.")


def check_refusal(backend: str, record: Distribution, case: int, generator: str) -> None:
    """Check that invalid parameters are refused, and that the generator stays where it was."""
    parameters, text = record.invalid[case]
    shared = tt.random.shared_rng(GENERATORS[generator]())
    following, draw = apply(record, parameters, shared, (3,))
    compute = function([], draw, updates={shared: following}, mode=_mode(backend))
    before = shared.get_value()
    try:
        compute()
    except ValueError as error:
        if re.search(text, str(error)) is None:
            _fail(backend, record, f"parameters {parameters} are refused with {str(error)!r}, expected {text!r} in it.")
    else:
        _fail(backend, record, f"invalid parameters {parameters} are not refused.")
    if not shared.type.values_eq(shared.get_value(), before):
        _fail(backend, record, "a call that failed has moved the generator.")


def check_sizes(backend: str, records: Iterable[Distribution], generator: str) -> None:
    """Check shapes and dtypes of draws of several sizes, also without a size and with empty ones."""
    shapes: list[tuple[int, ...]] = [(), (0,), (2, 0, 3), (1,)]
    outputs: list[TensorVariable] = []
    expected: list[tuple[Distribution, Size]] = []
    for record in records:
        for size in (None, *shapes):
            _, draw = apply(record, record.parameters[0], tt.random.shared_rng(GENERATORS[generator]()), size)
            outputs.append(draw)
            static = tuple(n for n in draw.type.shape if n is not None)
            known = static if len(static) == draw.ndim else None
            expected.append((record, known if size is None else size))
    values = function([], outputs, mode=_mode(backend))()
    for (record, shape), value, variable in zip(expected, values, outputs, strict=True):
        if value.dtype != variable.dtype:
            _fail(backend, record, f"draws have dtype {value.dtype}, expected {variable.dtype}.")
        if shape is not None and value.shape[: len(shape)] != shape:
            _fail(backend, record, f"a draw has shape {value.shape}, expected {shape} in front.")


def check_float32(backend: str, records: Iterable[Distribution], generator: str) -> None:
    """Check that float32 draws of distributions that take a dtype are finite float32 numbers."""
    chosen = [r for r in records if getattr(r.make or getattr(tt.random, r.name), "dtype", None) == "floatX"]
    outputs = [
        apply(r, r.parameters[0], tt.random.shared_rng(GENERATORS[generator]()), (4,), dtype="float32")[1]
        for r in chosen
    ]
    for record, draw in zip(chosen, function([], outputs, mode=_mode(backend))(), strict=True):
        if draw.dtype != "float32" or not np.isfinite(draw).all():
            _fail(backend, record, f"draws of float32 are {draw!r}.")


def check_derivative(backend: str, record: Distribution, parameter: int) -> None:
    """Check the derivative of draws by a parameter against that of the quantile function.

    From x = Q(u, t) and F(x, t) = u follows dx/dt = -(dF/dt) / (dF/dx).
    """
    if record.oracle is None:
        return
    at = record.parameters[0]
    inputs = [tt.dscalar() for _ in at]
    draw = (record.make or getattr(tt.random, record.name))(*inputs, size=(40,), rng=tt.random.shared_rng(seed=5))
    slopes = tt.jacobian(draw, inputs[parameter])
    x, received = function(inputs, [draw, slopes], mode=_mode(backend))(*at)
    step = 1e-5 * max(1.0, abs(at[parameter]))
    above, below = ([v + sign * step if i == parameter else v for i, v in enumerate(at)] for sign in (1, -1))
    by_parameter = (record.oracle(*above).cdf(x) - record.oracle(*below).cdf(x)) / (2 * step)
    expected = -by_parameter / record.oracle(*at).pdf(x)
    if not np.allclose(received, expected, rtol=2e-4, atol=1e-5 * np.abs(expected).max()):
        _fail(backend, record, f"the derivative by parameter {parameter} is {received}, expected {expected}.")


def distribution_tests(backend: str, records: Iterable[Distribution]) -> type:
    """Return the checks of distributions on a backend as a class of tests.

    Parameters
    ----------
    backend
        Name of an installed backend.
    records
        The distributions.

    Examples
    --------
    In the test-suite of a library of distributions, this line is enough for each backend::

        TestDrawsOnNumba = distribution_tests("numba", MY_DISTRIBUTIONS)
    """
    every = list(records)
    choices = [pytest.param(r, at, id=f"{r.name}-{at}") for r in every for at in range(len(r.parameters))]
    refusals = [pytest.param(r, at, id=f"{r.name}-{at}") for r in every for at in range(len(r.invalid))]
    smooth = [pytest.param(r, k, id=f"{r.name}-{k}") for r in every if r.oracle is not None for k in r.smooth]

    class TestDistributions:
        """The checks of draws."""

        def test_draws_are_those_of_numpys_generator(self) -> None:
            check_numpy_draws(backend, every)

        def test_portable_draws_are_those_of_the_virtual_machine(self) -> None:
            check_portable_draws(backend, every)

        @pytest.mark.parametrize("generator", GENERATORS)
        @pytest.mark.parametrize(("record", "choice"), choices)
        def test_draws_fit_the_distribution(self, record: Distribution, choice: int, generator: str) -> None:
            check_fit(backend, record, choice, generator)

        @pytest.mark.parametrize("generator", GENERATORS)
        def test_draws_at_the_edges_of_the_domain_are_right(self, generator: str) -> None:
            check_extremes(backend, every, generator)

        @pytest.mark.parametrize("generator", GENERATORS)
        @pytest.mark.parametrize(("record", "case"), refusals)
        def test_invalid_parameters_are_refused(self, record: Distribution, case: int, generator: str) -> None:
            check_refusal(backend, record, case, generator)

        @pytest.mark.parametrize("generator", GENERATORS)
        def test_shapes_and_dtypes(self, generator: str) -> None:
            check_sizes(backend, every, generator)
            check_float32(backend, every, generator)

        @pytest.mark.parametrize(("record", "parameter"), smooth)
        def test_derivatives_are_those_of_the_quantile_function(self, record: Distribution, parameter: int) -> None:
            check_derivative(backend, record, parameter)

    return TestDistributions
