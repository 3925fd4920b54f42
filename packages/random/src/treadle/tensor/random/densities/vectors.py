"""Log-densities of distributions whose draws, or parameters, are vectors or matrices.

They have the density, and means where these are simple; a function of the numbers up to others has no closed form.
"""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING

from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, ge, gt, lt
from treadle.tensor.elementwise.exponential import exp, log, log1mexp, log1p, sqrt
from treadle.tensor.elementwise.logic import and_
from treadle.tensor.elementwise.rounding import floor
from treadle.tensor.errors import ArgumentError
from treadle.tensor.indexing.gathering import take_along_axis
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.linalg import cholesky, solve_triangular
from treadle.tensor.random.densities.law import REQUIRED, documented, floats
from treadle.tensor.random.normal_mass import log_normal_mass
from treadle.tensor.reductions.reduction import all_, sum_
from treadle.tensor.shapes.broadcasting import full_like
from treadle.tensor.shapes.dimshuffle import expand_dims, squeeze, swapaxes
from treadle.tensor.shapes.shape import lengths
from treadle.tensor.special_functions.bessel_functions import kve
from treadle.tensor.special_functions.entropy import xlogy
from treadle.tensor.special_functions.gamma_functions import betaln, gammaln, multigammaln
from treadle.tensor.special_functions.stable_quotients import log_expit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from treadle.tensor.variables.variable import TensorVariable

LOG_2PI = math.log(2 * math.pi)


class VectorLaw:
    """The functions of a distribution of vectors or matrices, by name."""

    def __init__(
        self, name: str, parameters: Mapping[str, object], functions: Mapping[str, Callable[..., TensorVariable]],
        shape: str, scipy: str = "",
    ) -> None:  # fmt: skip
        self.name = name
        self.parameters = parameters
        self.formulas = functions
        self.shape = shape
        self.scipy = scipy

    def names(self) -> list[str]:
        """Return the names of its functions."""
        return list(self.formulas)

    def has(self, function: str) -> bool:
        """Whether there is a function of a name."""
        return function in self.formulas

    def function(self, name: str, path: str) -> Callable[..., TensorVariable]:
        """Return a function of the user's."""
        formula = self.formulas[name]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        first = [] if name == "mean" else [inspect.Parameter("x", kind)]
        own = [inspect.Parameter(arg, kind, default=default) for arg, default in self.parameters.items()]
        signature = inspect.Signature([*first, *own])

        def call(*args: object, **kwargs: object) -> TensorVariable:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                msg = f"{path}.{name}: {error}. Call {path}.{name}{signature}."
                raise ArgumentError(msg) from None
            bound.apply_defaults()
            return formula(*map(floats, bound.arguments.values()))

        what = {
            "mean": "the mean", "logpdf": "the logarithm of the density", "logpmf": "the logarithm of the probability",
            "pdf": "the density", "pmf": "the probability",
        }[name]  # fmt: skip
        scipy = f" (as scipy.stats.{self.scipy}.{name})" if self.scipy else ""
        at = "" if name == "mean" else " at x"
        lines = [f"Return {what} of the {self.name}{at}{scipy}.", "", "Parameters", "----------"]
        lines += [] if name == "mean" else ["x", f"    {self.shape} Leading dimensions are a batch."]
        for arg in self.parameters:
            lines += [arg, f"    As for `{path}`; batches broadcast."]
        lines += ["", "Raises", "------", "ArgumentError", "    If arguments are missing, or there are too many.", ""]
        return documented(call, name, path, signature, "\n".join(lines))


def _both(
    logarithm: Callable[..., TensorVariable], kind: str = "pdf", mean: Callable[..., TensorVariable] | None = None
) -> Mapping[str, Callable[..., TensorVariable]]:
    functions: Mapping[str, Callable[..., TensorVariable]] = {
        f"log{kind}": logarithm,
        kind: lambda *args: exp(logarithm(*args)),
    }
    return functions if mean is None else {**functions, "mean": mean}


def _counts(x: TensorVariable) -> TensorVariable:
    """Whether all of the last dimension are counts."""
    return all_(and_(ge(x, 0), eq(x, floor(x))), axis=-1)


def _categorical(x: TensorVariable, p: TensorVariable) -> TensorVariable:
    count = lengths(p)[-1]
    inside = and_(and_(ge(x, 0), lt(x, count)), eq(x, floor(x)))
    place = cast(switch(inside, x, 0), "int64")
    rows = p + 0 * expand_dims(place, -1)
    picked = squeeze(take_along_axis(rows, expand_dims(place, -1) + cast(0 * rows[..., :1], "int64"), axis=-1), axis=-1)
    return switch(inside, log(picked), -math.inf)


def _multinomial(x: TensorVariable, n: TensorVariable, p: TensorVariable) -> TensorVariable:
    inside = and_(_counts(x), eq(sum_(x, axis=-1), n))
    safe = switch(expand_dims(inside, -1), x, 0)
    return switch(inside, gammaln(n + 1) + sum_(xlogy(safe, p) - gammaln(safe + 1), axis=-1), -math.inf)


def _dirichlet(x: TensorVariable, alphas: TensorVariable) -> TensorVariable:
    inside = and_(all_(ge(x, 0), axis=-1), lt(abs(sum_(x, axis=-1) - 1), 1e-9))
    safe = switch(expand_dims(inside, -1), x, 0.5)
    value = sum_(xlogy(alphas - 1, safe) - gammaln(alphas), axis=-1) + gammaln(sum_(alphas, axis=-1))
    return switch(all_(gt(alphas, 0), axis=-1), switch(inside, value, -math.inf), math.nan)


def _dirichlet_multinomial(x: TensorVariable, n: TensorVariable, a: TensorVariable) -> TensorVariable:
    inside = and_(_counts(x), eq(sum_(x, axis=-1), n))
    safe = switch(expand_dims(inside, -1), x, 0)
    total = sum_(a, axis=-1)
    # n B(total, n) / prod(x B(a, x)), where terms of no counts are 1.
    terms = switch(gt(safe, 0), log(switch(gt(safe, 0), safe, 1)) + betaln(a, switch(gt(safe, 0), safe, 1)), 0.0)
    some = switch(gt(n, 0), n, 1)
    value = switch(gt(n, 0), log(some) + betaln(total, some), 0.0) - sum_(terms, axis=-1)
    return switch(inside, value, -math.inf)


def _multivariate_hypergeometric(x: TensorVariable, colors: TensorVariable, nsample: TensorVariable) -> TensorVariable:
    inside = and_(and_(_counts(x), all_(ge(colors, x), axis=-1)), eq(sum_(x, axis=-1), nsample))
    safe = switch(expand_dims(inside, -1), x, 0)

    def choose(n: TensorVariable, k: TensorVariable) -> TensorVariable:
        return -log(n + 1) - betaln(n - k + 1, k + 1)

    total = sum_(colors, axis=-1)
    drawn = switch(inside, nsample, 0)
    return switch(inside, sum_(choose(colors, safe), axis=-1) - choose(total, drawn), -math.inf)


def _log_diagonal(factor: TensorVariable) -> TensorVariable:
    return sum_(log(factor.diagonal(axis1=-2, axis2=-1)), axis=-1)


def _whitened(x: TensorVariable, cov: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
    """Return the squared distance of a vector from 0 in terms of a covariance, and half the log-determinant of that."""
    factor = cholesky(cov)
    z = squeeze(solve_triangular(factor, expand_dims(x, -1), lower=True), axis=-1)
    return sum_(z**2, axis=-1), _log_diagonal(factor)


def _multivariate_normal(x: TensorVariable, mean: TensorVariable, cov: TensorVariable) -> TensorVariable:
    distance, half = _whitened(x - mean, cov)
    return -distance / 2 - half - lengths(cov)[-1] / 2 * LOG_2PI


def _multivariate_t(
    x: TensorVariable, loc: TensorVariable, shape: TensorVariable, df: TensorVariable
) -> TensorVariable:
    distance, half = _whitened(x - loc, shape)
    p = cast(lengths(shape)[-1], distance.dtype)
    constant = gammaln((df + p) / 2) - gammaln(df / 2) - p / 2 * log(df * math.pi)
    return constant - half - (df + p) / 2 * log1p(distance / df)


def _multivariate_laplace(x: TensorVariable, mean: TensorVariable, cov: TensorVariable) -> TensorVariable:
    distance, half = _whitened(x - mean, cov)
    p = cast(lengths(cov)[-1], distance.dtype)
    root = sqrt(2 * distance)
    order = 1 - p / 2
    bessel = log(kve(abs(order), root)) - root
    return math.log(2) - p / 2 * LOG_2PI - half + order / 2 * log(distance / 2) + bessel


def _matrix_normal(
    x: TensorVariable, mean: TensorVariable, rowcov: TensorVariable, colcov: TensorVariable
) -> TensorVariable:
    rows, columns = cholesky(rowcov), cholesky(colcov)
    z = solve_triangular(rows, x - mean, lower=True)
    z = solve_triangular(columns, swapaxes(z, -1, -2), lower=True)
    m, n = lengths(rowcov)[-1], lengths(colcov)[-1]
    squares = sum_(z**2, axis=(-2, -1))
    return -squares / 2 - m * n / 2 * LOG_2PI - n * _log_diagonal(rows) - m * _log_diagonal(columns)


def _wishart_constant(df: TensorVariable, p: int, half: TensorVariable) -> TensorVariable:
    return -df * p / 2 * math.log(2) - multigammaln(df / 2, p) - df * half


def _dimension(matrix: TensorVariable, name: str) -> int:
    known: int | None = matrix.type.shape[-1]
    if known is None:
        msg = (
            f"{name}: the length of the scale's rows must be known, got {matrix} of type {matrix.type}. Give it with "
            "tt.specify_shape."
        )
        raise ArgumentError(msg)
    return known


def _wishart(x: TensorVariable, df: TensorVariable, scale: TensorVariable) -> TensorVariable:
    p = _dimension(scale, "wishart.logpdf")
    scale_factor, factor = cholesky(scale), cholesky(x)
    z = solve_triangular(scale_factor, factor, lower=True)
    constant = _wishart_constant(df, p, _log_diagonal(scale_factor))
    return constant + (df - p - 1) * _log_diagonal(factor) - sum_(z**2, axis=(-2, -1)) / 2


def _inverse_wishart(x: TensorVariable, df: TensorVariable, scale: TensorVariable) -> TensorVariable:
    p = _dimension(scale, "inverse_wishart.logpdf")
    scale_factor, factor = cholesky(scale), cholesky(x)
    z = solve_triangular(factor, scale_factor, lower=True)
    constant = -df * p / 2 * math.log(2) - multigammaln(df / 2, p) + df * _log_diagonal(scale_factor)
    return constant - (df + p + 1) * _log_diagonal(factor) - sum_(z**2, axis=(-2, -1)) / 2


def _edges(x: TensorVariable, cutpoints: TensorVariable) -> tuple[TensorVariable, TensorVariable, TensorVariable]:
    """Return the cutpoints below and above a category, and whether there is such a category."""
    ends = cutpoints[..., :1]
    padded = concatenate([full_like(ends, -math.inf), cutpoints, full_like(ends, math.inf)], axis=-1)
    inside = and_(and_(ge(x, 0), lt(x, lengths(padded)[-1] - 1)), eq(x, floor(x)))
    place = expand_dims(cast(switch(inside, x, 0), "int64"), -1)
    rows = padded + 0 * cast(place, padded.dtype)
    index = place + cast(0 * cutpoints[..., :1], "int64")
    low, high = (squeeze(take_along_axis(rows, index + i, axis=-1), axis=-1) for i in (0, 1))
    return low, high, inside


def _ordered_logistic(x: TensorVariable, eta: TensorVariable, cutpoints: TensorVariable) -> TensorVariable:
    low, high, inside = _edges(x, cutpoints)
    a, b = low - eta, high - eta
    return switch(inside, log_expit(b) + log_expit(-a) + log1mexp(a - b), -math.inf)


def _ordered_probit(
    x: TensorVariable, eta: TensorVariable, cutpoints: TensorVariable, sigma: TensorVariable
) -> TensorVariable:
    low, high, inside = _edges(x, cutpoints)
    return switch(inside, log_normal_mass((low - eta) / sigma, (high - eta) / sigma), -math.inf)


def _total(a: TensorVariable) -> TensorVariable:
    return sum_(a, axis=-1, keepdims=True)


_COUNTS, _VECTORS, _MATRICES = "Vectors of counts.", "Vectors.", "Matrices."
categorical = VectorLaw("categorical distribution", {"p": REQUIRED}, _both(_categorical, "pmf"), "Categories, from 0.")
multinomial = VectorLaw(
    "multinomial distribution", {"n": REQUIRED, "p": REQUIRED},
    _both(_multinomial, "pmf", lambda n, p: expand_dims(n, -1) * p), _COUNTS, "multinomial",
)  # fmt: skip
dirichlet = VectorLaw(
    "Dirichlet distribution", {"alphas": REQUIRED}, _both(_dirichlet, "pdf", lambda a: a / _total(a)),
    "Vectors of probabilities, of sum 1.", "dirichlet",
)  # fmt: skip
dirichlet_multinomial = VectorLaw(
    "Dirichlet-multinomial distribution", {"n": REQUIRED, "a": REQUIRED},
    _both(_dirichlet_multinomial, "pmf", lambda n, a: expand_dims(n, -1) * a / _total(a)), _COUNTS,
    "dirichlet_multinomial",
)  # fmt: skip
multivariate_hypergeometric = VectorLaw(
    "multivariate hypergeometric distribution", {"colors": REQUIRED, "nsample": REQUIRED},
    _both(_multivariate_hypergeometric, "pmf", lambda c, n: expand_dims(n, -1) * c / _total(c)), _COUNTS,
    "multivariate_hypergeom",
)  # fmt: skip
multivariate_normal = VectorLaw(
    "multivariate normal distribution", {"mean": REQUIRED, "cov": REQUIRED}, _both(_multivariate_normal), _VECTORS,
    "multivariate_normal",
)  # fmt: skip
multivariate_t = VectorLaw(
    "multivariate Student's t distribution", {"loc": REQUIRED, "shape": REQUIRED, "df": 1.0}, _both(_multivariate_t),
    _VECTORS, "multivariate_t",
)  # fmt: skip
multivariate_laplace = VectorLaw(
    "multivariate Laplace distribution", {"mean": REQUIRED, "cov": REQUIRED}, _both(_multivariate_laplace), _VECTORS
)
matrix_normal = VectorLaw(
    "matrix normal distribution", {"mean": REQUIRED, "rowcov": REQUIRED, "colcov": REQUIRED}, _both(_matrix_normal),
    _MATRICES, "matrix_normal",
)  # fmt: skip
wishart = VectorLaw(
    "Wishart distribution", {"df": REQUIRED, "scale": REQUIRED},
    _both(_wishart, "pdf", lambda df, scale: expand_dims(df, (-2, -1)) * scale), _MATRICES, "wishart",
)  # fmt: skip
inverse_wishart = VectorLaw(
    "inverse Wishart distribution",
    {"df": REQUIRED, "scale": REQUIRED},
    _both(_inverse_wishart),
    _MATRICES,
    "invwishart",
)
ordered_logistic = VectorLaw(
    "ordered logistic distribution", {"eta": REQUIRED, "cutpoints": REQUIRED}, _both(_ordered_logistic, "pmf"),
    "Categories, from 0.",
)  # fmt: skip
ordered_probit = VectorLaw(
    "ordered probit distribution", {"eta": REQUIRED, "cutpoints": REQUIRED, "sigma": 1.0},
    _both(_ordered_probit, "pmf"), "Categories, from 0.",
)  # fmt: skip
