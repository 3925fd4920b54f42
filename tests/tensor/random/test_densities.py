"""Functions of distributions: SciPy's values at common and extreme places, and derivatives by differences."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from scipy import stats

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor.random.densities.attributes import law_of
from treadle.tensor.random.densities.names import HOMES

R: Any = tt.random
INF, NAN = np.inf, np.nan
LINE = [-1e5, -40.0, -9.0, -2.0, -0.3, 0.0, 1e-9, 0.7, 3.0, 9.0, 40.0, 1e5, INF, -INF, NAN]
HALF = [-1.0, 0.0, 1e-12, 1e-3, 0.4, 1.0, 2.5, 8.0, 35.0, 300.0, INF, NAN]
UNIT = [-0.1, 0.0, 1e-9, 0.02, 0.5, 0.93, 1 - 1e-9, 1.0, 1.4, NAN]
Q = [-0.1, 0.0, 1e-12, 1e-3, 0.3, 0.5, 0.8, 0.999, 1.0, 1.1, NAN]
# What SciPy computes as 1 minus a number near 1, or ours as a difference far in the thin tail.
LOOSE = {"arcsine.logcdf", "arcsine.sf", "arcsine.logsf"}

# What draws, arguments, the distribution of SciPy's, and where to look.
CASES: list[tuple[str, tuple[Any, ...], Any, list[float]]] = [
    ("normal", (0.3, 2.0), stats.norm(0.3, 2.0), LINE),
    ("standard_normal", (), stats.norm(), LINE),
    ("laplace", (0.3, 2.0), stats.laplace(0.3, 2.0), LINE),
    ("logistic", (0.3, 2.0), stats.logistic(0.3, 2.0), LINE),
    ("cauchy", (0.3, 2.0), stats.cauchy(0.3, 2.0), LINE),
    ("standard_cauchy", (), stats.cauchy(), LINE),
    ("gumbel", (0.3, 2.0), stats.gumbel_r(0.3, 2.0), LINE),
    ("t", (3.5, 0.3, 2.0), stats.t(3.5, 0.3, 2.0), LINE),
    ("standard_t", (1.5,), stats.t(1.5), LINE),
    ("asymmetric_laplace", (1.7, 0.3, 2.0), stats.laplace_asymmetric(1.7, 0.3, 2.0), LINE),
    ("exponnorm", (1.7, 0.3, 2.0), stats.exponnorm(1.7, 0.3, 2.0), LINE),
    ("johnsonsu", (0.7, 1.4, 0.3, 2.0), stats.johnsonsu(0.7, 1.4, 0.3, 2.0), LINE),
    ("moyal", (0.3, 2.0), stats.moyal(0.3, 2.0), LINE),
    ("skewnorm", (2.0, 0.3, 2.0), stats.skewnorm(2.0, 0.3, 2.0), [p for p in LINE if not -INF < p < -8]),
    ("vonmises", (0.3, 2.0), stats.vonmises(2.0, 0.3), [-3.0, -0.2, 0.3, 2.0]),
    ("exponential", (2.0,), stats.expon(scale=2.0), HALF),
    ("standard_exponential", (), stats.expon(), HALF),
    ("halfcauchy", (0.0, 2.0), stats.halfcauchy(0, 2.0), HALF),
    ("halfnormal", (0.0, 2.0), stats.halfnorm(0, 2.0), HALF),
    ("lognormal", (0.3, 0.8), stats.lognorm(0.8, scale=np.exp(0.3)), HALF),
    ("pareto", (2.5, 2.0), stats.pareto(2.5, scale=2.0), HALF),
    ("wald", (1.5, 2.5), stats.invgauss(1.5 / 2.5, scale=2.5), HALF),
    ("weibull", (1.7,), stats.weibull_min(1.7), HALF),
    ("rayleigh", (2.0,), stats.rayleigh(scale=2.0), HALF),
    ("levy", (0.0, 2.0), stats.levy(0, 2.0), HALF),
    ("gompertz", (0.6, 0.0, 2.0), stats.gompertz(0.6, 0, 2.0), HALF),
    ("fisk", (2.7, 0.0, 2.0), stats.fisk(2.7, 0, 2.0), HALF[2:]),
    ("gamma", (2.5, 0.5), stats.gamma(2.5, scale=2.0), HALF),
    ("standard_gamma", (0.5,), stats.gamma(0.5), HALF),
    ("chisquare", (3.0,), stats.chi2(3.0), HALF),
    ("invgamma", (2.5, 2.0), stats.invgamma(2.5, scale=2.0), HALF),
    ("gengamma", (3.0, 1.5, 2.0), stats.gengamma(2.0, 1.5, scale=2.0), HALF),
    ("chi", (2.5, 0.0, 2.0), stats.chi(2.5, 0, 2.0), HALF),
    ("maxwell", (0.0, 2.0), stats.maxwell(0, 2.0), HALF),
    ("noncentral_chisquare", (3.0, 1.5), stats.ncx2(3.0, 1.5), HALF[2:]),
    ("f", (3.0, 6.0), stats.f(3.0, 6.0), HALF),
    ("uniform", (-1.0, 2.0), stats.uniform(-1.0, 3.0), UNIT),
    ("beta", (1.5, 2.5), stats.beta(1.5, 2.5), UNIT),
    ("loguniform", (0.1, 2.0), stats.loguniform(0.1, 2.0), UNIT),
    ("power", (1.7,), stats.powerlaw(1.7), UNIT),
    ("triangular", (-1.0, 0.2, 2.0), stats.triang(0.4, -1.0, 3.0), UNIT),
    ("truncexpon", (0.8,), stats.truncexpon(0.8), UNIT),
    ("truncnorm", (-0.5, 0.8, 0.3, 2.0), stats.truncnorm(-0.5, 0.8, 0.3, 2.0), LINE),
    ("truncated_normal", (0.3, 2.0, 20.0), stats.truncnorm(9.85, INF, 0.3, 2.0), [19.0, 20.0, 20.5, 24.0, 60.0]),
    ("arcsine", (), stats.arcsine(), UNIT),
]  # fmt: skip
COUNTS = [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 7.0, 12.0, 60.0, NAN]
SIGNED = [-30.0, -3.0, -0.5, 0.0, 1.0, 2.5, 7.0, 60.0]
DISCRETE: list[tuple[str, tuple[Any, ...], Any, list[float]]] = [
    ("bernoulli", (0.3,), stats.bernoulli(0.3), COUNTS),
    ("binomial", (12, 0.3), stats.binom(12, 0.3), COUNTS),
    ("betabinom", (12, 1.5, 2.5), stats.betabinom(12, 1.5, 2.5), COUNTS),
    ("geometric", (0.3,), stats.geom(0.3), COUNTS),
    ("hypergeometric", (5, 7, 4), stats.hypergeom(12, 5, 4), COUNTS),
    ("integers", (1, 8), stats.randint(1, 8), COUNTS),
    ("discrete_uniform", (1, 7), stats.randint(1, 8), COUNTS),
    ("logseries", (0.6,), stats.logser(0.6), COUNTS),
    ("negative_binomial", (2.5, 0.3), stats.nbinom(2.5, 0.3), COUNTS),
    ("poisson", (2.5,), stats.poisson(2.5), COUNTS),
    ("betanbinom", (3, 2.5, 1.5), stats.betanbinom(3, 2.5, 1.5), COUNTS),
    ("dlaplace", (0.7,), stats.dlaplace(0.7), SIGNED),
    ("planck", (0.7,), stats.planck(0.7), COUNTS),
    ("skellam", (2.5, 1.2), stats.skellam(2.5, 1.2), SIGNED),
    ("yulesimon", (2.5,), stats.yulesimon(2.5), COUNTS),
]  # fmt: skip
METHODS = {
    "logpdf": "logpdf", "logpmf": "logpmf", "cdf": "cdf", "logcdf": "logcdf", "sf": "sf", "logsf": "logsf",
    "icdf": "ppf", "mean": "mean", "variance": "var",
}  # fmt: skip


def evaluate(outputs: list[Any]) -> list[np.ndarray]:
    values: list[np.ndarray] = function([], outputs, mode=tt.Mode("vm", None), on_unused_input="ignore")()
    return values


def test_values_are_those_of_scipy() -> None:
    asked: list[tuple[str, Any]] = []
    graphs = []
    for name, arguments, theirs, places in (*CASES, *DISCRETE):
        draws = getattr(R, name)
        for method, called in METHODS.items():
            ours = getattr(draws, method, None)
            if ours is None:
                continue
            first = [] if method in {"mean", "variance"} else [np.array(Q if method == "icdf" else places)]
            graphs.append(ours(*first, *arguments))
            with np.errstate(all="ignore"):
                asked.append((f"{name}.{method}", getattr(theirs, called)(*first)))
    wrong = []
    for (what, wanted), value in zip(asked, evaluate(graphs), strict=True):
        # Where SciPy underflows to the logarithm of 0, or has NaN at an infinity, ours goes on.
        is_log = ".log" in what
        known = ~np.isneginf(wanted) & ~(np.isnan(wanted) & np.isneginf(value))
        same = np.isclose(value, wanted, rtol=1e-9 if what not in LOOSE else 1e-6, atol=1e-13, equal_nan=True)
        if not (same | ~known if is_log else same).all():
            wrong.append(f"{what}: {value}, not {wanted}")
    assert wrong == []


def test_laws_without_scipy_are_consistent() -> None:
    """Densities sum to the distribution function, whose inverse is the quantile; moments are those of the density."""
    x = np.linspace(1e-4, 0.9, 4001)
    continuous = [("kumaraswamy", (1.5, 2.5)), ("logit_normal", (0.3, 0.8))]
    far = np.linspace(0, 60, 60001)
    counts = [
        ("zero_truncated_poisson", (2.5,)), ("hurdle_poisson", (0.4, 2.5)), ("zero_inflated_poisson", (0.4, 2.5)),
        ("zero_inflated_binomial", (0.4, 12, 0.3)), ("zero_inflated_negative_binomial", (0.4, 2.5, 0.3)),
    ]  # fmt: skip
    k = np.arange(-1.0, 200)
    graphs: list[Any] = []
    for name, arguments in continuous:
        law = getattr(R, name)
        graphs += [law.pdf(x, *arguments), law.cdf(x, *arguments), law.icdf(law.cdf(x, *arguments), *arguments)]
    graphs += [R.half_student_t.pdf(far, 5.0), R.half_student_t.cdf(far, 5.0), R.half_student_t.mean(5.0)]
    for name, parameters in counts:
        law = getattr(R, name)
        graphs += [law.pmf(k, *parameters), law.cdf(k, *parameters), law.mean(*parameters), law.variance(*parameters)]
    values = iter(evaluate(graphs))
    for _ in continuous:
        density, total, back = (next(values) for _ in range(3))
        steps = (density[1:] + density[:-1]) / 2 * np.diff(x)
        np.testing.assert_allclose(np.cumsum(steps), total[1:] - total[0], atol=1e-5)
        np.testing.assert_allclose(back, x, rtol=1e-7)
    density, total, mean = (next(values) for _ in range(3))
    np.testing.assert_allclose(np.cumsum((density[1:] + density[:-1]) / 2 * 1e-3), total[1:], atol=1e-6)
    np.testing.assert_allclose((far * density).sum() * 1e-3, mean, rtol=1e-4)
    for _ in counts:
        mass, total, mean, variance = (next(values) for _ in range(4))
        np.testing.assert_allclose(np.cumsum(mass), total, atol=1e-12)
        np.testing.assert_allclose([(k * mass).sum(), (k**2 * mass).sum() - mean**2], [mean, variance], rtol=1e-9)


def test_vectors_have_the_densities_of_scipy() -> None:
    rng = np.random.default_rng(2)
    a = rng.normal(size=(3, 3))
    cov, small = a @ a.T + np.eye(3), np.array([[2.0, 0.3], [0.3, 1.0]])
    x, mean = rng.normal(size=(4, 3)), rng.normal(size=3)
    p, counts = np.array([0.2, 0.5, 0.3]), np.array([[1, 2, 3], [6, 0, 0], [1, 1, 1], [-1, 4, 3]])
    matrix = rng.normal(size=(3, 2))
    w = stats.wishart(5.5, cov).rvs(random_state=1)
    cuts = np.array([-1.0, 0.2, 1.5])
    pairs = [
        (R.multivariate_normal.logpdf(x, mean, cov), stats.multivariate_normal(mean, cov).logpdf(x)),
        (R.multivariate_normal.pdf(x, mean, cov), stats.multivariate_normal(mean, cov).pdf(x)),
        (R.multivariate_t.logpdf(x, mean, cov, 4.5), stats.multivariate_t(mean, cov, 4.5).logpdf(x)),
        (R.matrix_normal.logpdf(matrix, 0 * matrix, cov, small),
         stats.matrix_normal(0 * matrix, cov, small).logpdf(matrix)),
        (R.wishart.logpdf(w, 5.5, cov), stats.wishart(5.5, cov).logpdf(w)),
        (R.inverse_wishart.logpdf(w, 5.5, cov), stats.invwishart(5.5, cov).logpdf(w)),
        (R.dirichlet.logpdf(p, [1.5, 0.7, 2.0]), stats.dirichlet([1.5, 0.7, 2.0]).logpdf(p)),
        (R.dirichlet.logpdf([0.5, 0.6, 0.1], [1.5, 0.7, 2.0]), -INF),
        (R.multinomial.logpmf(counts, 6, p), [*stats.multinomial(6, p).logpmf(counts[:3]), -INF]),
        (R.dirichlet_multinomial.logpmf(counts[:2], 6, [1.5, 0.7, 2.0]),
         stats.dirichlet_multinomial([1.5, 0.7, 2.0], 6).logpmf(counts[:2])),
        (R.multivariate_hypergeometric.logpmf(counts, [7, 5, 4], 6),
         stats.multivariate_hypergeom([7, 5, 4], 6).logpmf(counts)),
        (R.categorical.logpmf([0, 2, 3, -1], p), [*np.log(p[[0, 2]]), -INF, -INF]),
        (R.ordered_logistic.pmf([0, 1, 2, 3, 4], 0.3, cuts), [*np.diff([0, *stats.logistic.cdf(cuts - 0.3), 1]), 0]),
        (R.ordered_probit.pmf([0, 1, 2, 3, 4], 0.3, cuts, 2.0),
         [*np.diff([0, *stats.norm.cdf((cuts - 0.3) / 2), 1]), 0]),
        # Of one dimension it is Laplace's distribution.
        (R.multivariate_laplace.logpdf([[0.7], [-2.0]], [0.3], [[1.3]]),
         stats.laplace(0.3, np.sqrt(1.3 / 2)).logpdf([0.7, -2.0])),
        (R.dirichlet.mean([1.0, 3.0]), [0.25, 0.75]),
    ]  # fmt: skip
    for value, (_, wanted) in zip(evaluate([graph for graph, _ in pairs]), pairs, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cases", [CASES[::4], pytest.param(CASES, marks=pytest.mark.slow)], ids=["some", "all"])
def test_derivatives_of_densities_are_those_of_differences(cases: list[Any]) -> None:
    variables: list[Any] = []
    starts: list[Any] = []
    totals: list[Any] = []
    counts: list[int] = []
    for name, arguments, _, places in cases:
        # Away from bounds and kinks, which numbers move across.
        x = np.array([p + 0.013 for p in places if np.isfinite(p)])[1:-1]
        x = x[(abs(x) > 0.02) & (abs(x) < 30)]
        inner = [tt.dvector(f"{name}_x"), *(tt.dscalar(f"{name}_{i}") for i in range(len(arguments)))]
        value = getattr(R, name).logpdf(*inner)
        totals.append(tt.switch(tt.isinf(value), 0.0, value).sum())
        variables += inner
        starts += [x, *map(float, arguments)]
        counts.append(len(inner))
    slopes = tt.grad(sum(totals), variables, disconnected_inputs="ignore")
    f = function(variables, [*totals, *slopes], mode=tt.Mode("vm", None), on_unused_input="ignore")
    rng = np.random.default_rng(1)
    directions = [rng.normal(size=np.shape(start)) for start in starts]
    ahead, back = (
        np.asarray(f(*(s + step * d for s, d in zip(starts, directions, strict=True)))[: len(cases)])
        for step in (1e-6, -1e-6)
    )
    gradients = f(*starts)[len(cases) :]
    products = iter([float(np.sum(g * d)) for g, d in zip(gradients, directions, strict=True)])
    moved = [sum(next(products) for _ in range(count)) for count in counts]
    wanted = (ahead - back) / 2e-6
    wrong = [
        (case[0], one, other)
        for case, one, other in zip(cases, moved, wanted, strict=True)
        if one != pytest.approx(other, rel=0.0001, abs=1e-05)
    ]
    assert wrong == []


def test_wrong_parameters_give_nan_and_wrong_calls_are_told() -> None:
    graphs = [
        R.normal.logpdf(1.0, 0.0, -1.0), R.gamma.cdf(1.0, -1.0, rate=1.0), R.beta.mean(-1.0, 1.0),
        R.binomial.logpmf(1, 3, 1.5), R.poisson.cdf(1, -1.0), R.uniform.sf(0.5, 1.0, 0.0),
    ]  # fmt: skip
    assert np.isnan(evaluate(graphs)).all()
    assert float(R.gamma.logpdf(1.0, 2.0, scale=0.5).eval()) == pytest.approx(stats.gamma(2.0, scale=0.5).logpdf(1.0))
    for wrong, message in (
        (R.normal.logpdf, "normal.logpdf: missing a required argument: 'x'. Call normal.logpdf"),
        (lambda: R.gamma.logpdf(1.0, 2.0), "gamma.logpdf: either rate or scale is needed, got none. Give one"),
        (lambda: R.normal.ppf, "'NormalRV' object has no attribute 'ppf'"),
        (lambda: R.skewnorm.icdf, "skewnorm: there is no function 'icdf'. It has logpdf, pdf, cdf"),
        (lambda: R.zipf.logpmf, "zipf: there is no function 'logpmf'"),
    ):
        with pytest.raises((ValueError, AttributeError)) as caught:
            wrong()
        assert message in str(caught.value)


def test_functions_have_signatures_and_docstrings_and_are_listed() -> None:
    assert str(inspect.signature(R.normal.logpdf)) == "(x, loc=0.0, scale=1.0)"
    assert str(inspect.signature(R.gamma.cdf)) == "(x, shape, rate=None, scale=None)"
    assert "as scipy.stats.gamma.cdf" in (R.gamma.cdf.__doc__ or "")
    assert {"logpdf", "cdf", "icdf"} <= set(dir(R.normal))
    for laws in HOMES.values():
        for name in laws.split():
            law = law_of(name)
            assert law is not None
            assert law.names()
