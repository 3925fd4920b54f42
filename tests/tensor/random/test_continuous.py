"""Continuous distributions beyond their records."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor import random as tr
from treadle.tensor.errors import ArgumentError, NullTypeGradError
from treadle.tensor.random import RandomVariable
from treadle.tensor.random.implicit import beta_by_shape, log_gamma_by_shape, t_by_df, vonmises_by_kappa


def test_gamma_takes_a_rate_or_a_scale() -> None:
    by_rate = tr.gamma(2.5, 4.0, rng=tr.shared_rng(seed=1))
    by_scale = tr.gamma(2.5, scale=0.25, rng=tr.shared_rng(seed=1))
    assert by_rate.eval() == by_scale.eval() == np.random.default_rng(1).gamma(2.5, 0.25)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [({}, "got none. Give one by name"), ({"rate": 1.0, "scale": 1.0}, "got both. Leave one out")],
)
def test_gamma_refuses_both_of_rate_and_scale_and_neither(parameters: dict[str, float], told: str) -> None:
    with pytest.raises(ArgumentError, match=f"either rate or scale is needed, {told}"):
        tr.gamma(2.5, **parameters)


@pytest.mark.parametrize(
    ("draw", "wanted"),
    [
        (tr.standard_normal, lambda rng: rng.standard_normal(5)),
        (tr.standard_cauchy, lambda rng: rng.standard_cauchy(5)),
        (tr.standard_exponential, lambda rng: rng.standard_exponential(5)),
        (lambda **k: tr.standard_gamma(0.7, **k), lambda rng: rng.standard_gamma(0.7, 5)),
        (lambda **k: tr.standard_t(3, **k), lambda rng: rng.standard_t(3, 5)),
        (lambda **k: tr.chisquare(3, **k), lambda rng: rng.chisquare(3, 5)),
    ],
)
def test_functions_of_fewer_parameters_draw_what_numpys_methods_do(
    draw: Callable[..., Any], wanted: Callable[[np.random.Generator], np.ndarray]
) -> None:
    following, drawn = draw(size=(5,), rng=tr.shared_rng(seed=3), return_next_rng=True)
    assert following.type == tr.random_generator_type
    np.testing.assert_array_equal(drawn.eval(), wanted(np.random.default_rng(3)))


@pytest.mark.parametrize(
    ("draw", "wanted"),
    [
        (tr.halfcauchy(1.0, 2.0, size=9, rng=tr.shared_rng(seed=3)), stats.halfcauchy(1.0, 2.0)),
        (tr.halfnormal(1.0, 2.0, size=9, rng=tr.shared_rng(seed=3)), stats.halfnorm(1.0, 2.0)),
        (tr.pareto(3.0, 2.0, size=9, rng=tr.shared_rng(seed=3)), stats.pareto(3.0, scale=2.0)),
        (tr.gengamma(3.0, 2.0, 1.5, size=9, rng=tr.shared_rng(seed=3)), stats.gengamma(1.5, 2.0, scale=1.5)),
        (tr.truncexpon(1.5, 1.0, 2.0, size=9, rng=tr.shared_rng(seed=3)), stats.truncexpon(1.5, 1.0, 2.0)),
        (tr.skewnorm(-3.0, 1.0, 2.0, size=9, rng=tr.shared_rng(seed=3)), stats.skewnorm(-3.0, 1.0, 2.0)),
        (tr.maxwell(1.0, 2.0, size=9, rng=tr.shared_rng(seed=3)), stats.maxwell(1.0, 2.0)),
    ],
)
def test_draws_with_scipys_parameters_are_scipys_up_to_rounding(draw: Any, wanted: Any) -> None:
    np.testing.assert_allclose(draw.eval(), wanted.rvs(9, random_state=np.random.default_rng(3)), rtol=1e-13)


def test_distributions_draw_with_a_generator_of_numpys_and_arrays() -> None:
    draw = tr.normal(0, 1, size=(2,))
    op = draw.owner.op
    assert [p.type.ndim for p in op.dist_params(draw.owner)] == [0, 0]
    drawn = op.rng_fn(np.random.default_rng(3), np.array([0.0, 10.0]), 1, (3, 2))
    np.testing.assert_array_equal(drawn, np.random.default_rng(3).normal([0.0, 10.0], 1, (3, 2)))
    assert len(set(tr.skewnorm.rng_fn(np.random.default_rng(3), np.full(9, 2.0), 0, 1, None))) == 9
    assert np.ndim(tr.truncnorm.rng_fn(np.random.default_rng(3), 1, 2, 0, 1, None)) == 0


def test_small_integers_as_parameters_mean_what_floats_do() -> None:
    for op, parameters in (
        (tr.loguniform, (1, 100)),
        (tr.truncexpon, (200,)),
        (tr.skewnorm, (100,)),
        (tr.truncnorm, (1, 3)),
    ):
        draws = [
            op(*(tt.constant(v, dtype=dtype) for v in parameters), size=5, rng=tr.shared_rng(seed=1))
            for dtype in ("uint8", "float64")
        ]
        np.testing.assert_array_equal(*function([], draws, mode="VM")())


def test_small_integers_do_not_wrap_around_in_portable_draws() -> None:
    for op, parameters in ((tr.uniform, (-100, 100)), (tr.triangular, (-100, 0, 100)), (tr.wald, (100, 100))):
        draws = [
            op(*(tt.constant(v, dtype=dtype) for v in parameters), size=3, rng=tr.shared_rng(tr.PortableGenerator(1)))
            for dtype in ("int8", "float64")
        ]
        np.testing.assert_array_equal(*function([], draws, mode="VM")())


def test_powers_of_gamma_draws_of_tiny_shapes_are_not_zero() -> None:
    drawn = tr.gengamma(0.5, 1e4, 1.0, size=2000, rng=tr.shared_rng(seed=1)).eval()
    # Below 1, the distribution is that of u**(1 / alpha).
    assert stats.kstest(drawn, lambda x: np.minimum(x, 1) ** 0.5).pvalue > 1e-4


def test_a_normal_number_can_be_cut_off_far_out() -> None:
    draw = tr.truncated_normal(1.0, 2.0, lower=[41.0, -np.inf], upper=[np.inf, -79.0], size=(2000, 2))
    drawn = draw.eval()
    # Beyond 20 and 40 standard deviations.
    for z, tail in (((drawn[:, 0] - 1) / 2, 20.0), (-(drawn[:, 1] - 1) / 2, 40.0)):
        assert z.min() >= tail
        assert stats.kstest(z, lambda x, t=tail: -np.expm1(special.log_ndtr(-x) - special.log_ndtr(-t))).pvalue > 1e-4


@pytest.mark.parametrize(("name", "values"), [("noncentral_chisquare", (3.0, 2.0)), ("noncentral_f", (3.0, 5.0, 2.0))])
def test_derivatives_that_are_not_known_are_refused_by_name(name: str, values: tuple[float, ...]) -> None:
    parameters = [tt.dscalar() for _ in values]
    with pytest.raises(NullTypeGradError, match=f"a draw of {name} has no derivative"):
        tt.grad(getattr(tr, name)(*parameters), parameters)


# Derivatives by differences in 40 digits.
IMPLICIT: list[tuple[Callable[..., Any], tuple[float, ...], float]] = [
    (log_gamma_by_shape, (0.001, -200.0), 199424.4280681897),
    (log_gamma_by_shape, (3.3, 2.1972245773362196), 0.18495357426929234),
    (log_gamma_by_shape, (1e4, 9.239899174217728), 9.8530982929664876e-5),
    (lambda a, b, x: beta_by_shape(a, b, x, 1 - x), (0.1, 0.2, 1e-8), 2.1499449862770214e-6),
    (lambda a, b, x: beta_by_shape(a, b, x, 1 - x), (2.5, 0.5, 0.999), 0.00043902790469944577),
    (lambda a, b, x: beta_by_shape(a, b, x, 1 - x), (200.0, 100.0, 0.5), 0.0014410943035313606),
    (t_by_df, (-2.5, 0.3), 13.297424285675261),
    (t_by_df, (3.0, 30.0), -0.0077498330624937255),
    (t_by_df, (0.1, 300.0), -2.8055706272357135e-7),
    (t_by_df, (4.0, 1e6), -1.6999920000636827e-11),
    (vonmises_by_kappa, (-2.0, 0.0), 0.9092974268256817),
    (vonmises_by_kappa, (1.0 + 2 * np.pi, 2.0), -0.33847195190273491),
    (vonmises_by_kappa, (3.0, 50.0), -0.20380117655364469),
    (vonmises_by_kappa, (1e-3, 1e7), -5.0000005416667626e-11),
]


def test_implicit_derivatives_hold_in_the_tails_and_for_extreme_shapes() -> None:
    slopes = function([], [derivative(*map(tt.shared, values)) for derivative, values, _ in IMPLICIT], mode="VM")()
    np.testing.assert_allclose(slopes, [wanted for *_, wanted in IMPLICIT], rtol=1e-9)


# The mean of the cosine for a concentration of 2.
COSINE = special.iv(1, 2) / special.iv(0, 2)
# A parameter, a function of the draw, and the derivative of its mean by the parameter.
MEANS: list[tuple[Any, tuple[float, ...], int, Callable[[Any], Any], float]] = [
    (tr._gamma, (0.3, 2.0), 0, lambda x: x, 2.0),
    (tr.invgamma, (6.0, 2.0), 0, lambda x: x, -2.0 / 25),
    (tr.beta, (0.4, 0.8), 1, lambda x: x, -0.4 / 1.44),
    (tr.t, (9.0, 0.0, 1.0), 0, lambda x: x**2, -2.0 / 49),
    (tr.vonmises, (0.5, 2.0), 1, lambda x: tt.cos(x - 0.5), 1 - COSINE / 2 - COSINE**2),
    (tr.wald, (2.0, 5.0), 1, lambda x: (x - 2.0) ** 2, -8.0 / 25),
]


def test_means_of_derivatives_are_derivatives_of_means() -> None:
    count = 20_000
    terms = []
    for op, values, k, of, _ in MEANS:
        parameters = [tt.shared(np.full(count, value)) for value in values]
        terms.append(tt.grad(of(op(*parameters, rng=tr.shared_rng(seed=4))).sum(), parameters[k]))
    for gradient, (op, *_, wanted) in zip(function([], terms, mode="VM")(), MEANS, strict=True):
        # Five standard errors.
        assert abs(gradient.mean() - wanted) < 5 * gradient.std() / np.sqrt(count), op


def test_derivatives_keep_the_dtype_of_parameters() -> None:
    for op, values in (
        (tr._gamma, (2.5, 1.0)),
        (tr.beta, (2.5, 1.0)),
        (tr.t, (2.5, 1.0, 2.0)),
        (tr.vonmises, (0.5, 2.0)),
    ):
        parameters = [tt.shared(np.float32(value)) for value in values]
        slopes = tt.grad(op(*parameters, size=3, rng=tr.shared_rng(seed=1), dtype="float32").sum(), parameters)
        assert [s.dtype for s in slopes] == ["float32"] * len(values)
        assert np.isfinite(function([], slopes, mode="VM")()).all()


class OfGammas(RandomVariable):
    """Drawn by the methods of generators that draw from gamma distributions, each with other arguments."""

    name = "of_gammas"
    signature = "(),()->()"
    dtype = "float64"

    def definition(self, rng: Any, shape: Any, scale: Any, *, size: Any) -> Any:
        g = rng.gamma(shape, scale, size) + rng.gamma(shape, scale, size=size)
        return g * rng.standard_gamma(shape + 1.0, size=size) / rng.chisquare(2.0 * scale, size)


class AtQuantiles:
    """A generator whose gamma draws are those of another one, at the quantiles where they are for other parameters."""

    def __init__(self, rng: Any, shape: Any, scale: Any) -> None:
        self._rng = rng
        # Shape and scale of each draw, in order.
        self._drawn = iter([(shape, scale), (shape, scale), (shape + 1.0, 1.0), (scale, 2.0)])

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        first, factor = next(self._drawn)
        g = self._rng.gamma(first, factor, size) / factor
        return scale * special.gammaincinv(shape, special.gammainc(first, g))

    def standard_gamma(self, shape: Any, size: Any = None) -> Any:
        return self.gamma(shape, 1.0, size)

    def chisquare(self, df: Any, size: Any = None) -> Any:
        return self.gamma(df / 2, 2.0, size)


@pytest.mark.parametrize("make", [np.random.default_rng, tr.PortableGenerator])
def test_definitions_of_gamma_draws_have_their_derivatives(make: Callable[[int], Any]) -> None:
    shape, scale = tt.dvector("shape"), tt.dscalar("scale")
    draw = OfGammas()(shape, scale, size=(2, 3), rng=tr.shared_rng(make(3)))
    f = function([shape, scale], [draw, *tt.grad(draw.sum(), [shape, scale])], mode="VM")
    at, of, step = np.array([0.6, 1.5, 4.0]), 1.3, 1e-6
    drawn, by_shape, by_scale = f(at, of)

    def moved(shift: Any, factor: float) -> np.ndarray:
        result: np.ndarray = OfGammas().definition(AtQuantiles(make(3), at, of), at + shift, factor, size=(2, 3))
        return result

    np.testing.assert_allclose(moved(0.0, of), drawn, rtol=1e-9)
    np.testing.assert_allclose(by_scale, (moved(0.0, of + step) - moved(0.0, of - step)).sum() / (2 * step), rtol=1e-6)
    slopes = (moved(step, of) - moved(-step, of)).sum(axis=0) / (2 * step)
    np.testing.assert_allclose(by_shape, slopes, rtol=1e-6)


class OfTwoUniforms(RandomVariable):
    """The sum of a number between 0 and `high` and the square of another."""

    name = "of_two_uniforms"
    signature = "()->()"
    dtype = "float64"

    def definition(self, rng: Any, high: Any, *, size: Any) -> Any:
        return rng.uniform(0.0, high, size=size) + rng.uniform(0.0, high, size=size) ** 2


@pytest.mark.parametrize("mode", ["JAX", pytest.param("PYTORCH", marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore::treadle.tensor.random.RandomStreamWarning")
def test_derivatives_of_definitions_are_those_of_the_draws_by_keys(mode: str) -> None:
    high = tt.dscalar("high")
    draw = OfTwoUniforms()(high, size=5, rng=tr.shared_rng(seed=3)).sum()
    f = function([high], [draw, tt.grad(draw, high)], mode=mode)
    np.testing.assert_allclose(f(0.9)[1], (f(0.9 + 1e-6)[0] - f(0.9 - 1e-6)[0]) / 2e-6, rtol=1e-6)


class OfSingles(RandomVariable):
    """Sums of draws of float64 in a distribution of float32."""

    name = "of_singles"
    signature = "(n)->(n)"
    dtype = "float32"

    def definition(self, rng: Any, mu: Any, *, size: Any) -> Any:
        shape = (*size, mu.shape[-1])
        return mu * rng.standard_normal(size=shape) + rng.uniform(size=shape) * mu**2


@pytest.mark.parametrize("make", [np.random.default_rng, tr.PortableGenerator])
@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA", "JAX"])
@pytest.mark.filterwarnings("ignore::treadle.tensor.random.RandomStreamWarning")
def test_derivatives_of_definitions_in_single_precision(make: Callable[[int], Any], mode: str) -> None:
    mu = tt.fvector("mu")
    draw = OfSingles()(mu, size=(2,), rng=tr.shared_rng(make(1)))
    total = (draw * draw).sum()
    f = function([mu], [total, tt.grad(total, mu)], mode=mode)
    at, step = np.array([1.0, 2.0, 3.0], "float32"), np.float32(0.01)
    slope = f(at)[1]
    assert slope.dtype == np.float32
    np.testing.assert_allclose(slope.sum(), (f(at + step)[0] - f(at - step)[0]) / 0.02, rtol=1e-2)
    assert f(np.zeros(0, "float32"))[1].shape == (0,)


class OfKeywords(RandomVariable):
    """Draws whose parameters are given by name, by default, and before a size that is given by place."""

    name = "of_keywords"
    signature = "()->()"
    dtype = "float64"

    def definition(self, rng: Any, scale: Any, *, size: Any) -> Any:
        first = rng.normal(scale=scale, size=size) + rng.gumbel(1.0, scale, size) + rng.gamma(2.0, size=size)
        return first * rng.integers(1, 3, size) * rng.integers(2, size=size, endpoint=True)


@pytest.mark.parametrize("make", [np.random.default_rng, tr.PortableGenerator])
@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
def test_definitions_may_call_methods_as_numpy_lets_them(make: Callable[[int], Any], mode: str) -> None:
    scale = tt.dscalar("scale")
    draw = OfKeywords()(scale, size=(4,), rng=tr.shared_rng(make(2)))
    drawn, slope = function([scale], [draw, tt.grad(draw.sum(), scale)], mode=mode)(0.7)
    np.testing.assert_allclose(drawn, OfKeywords().definition(make(2), 0.7, size=(4,)), rtol=1e-12)
    above, below = (OfKeywords().definition(make(2), 0.7 + step, size=(4,)).sum() for step in (1e-6, -1e-6))
    np.testing.assert_allclose(slope, (above - below) / 2e-6, rtol=1e-6)
