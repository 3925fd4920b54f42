"""Distributions with named dimensions: those of `treadle.tensor.random`, by the same names."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import treadle.tensor.random as plain
from treadle.named.conversion import as_xtensor
from treadle.named.ops.elementwise import elementwise
from treadle.named.random.op import Draw, as_xrv
from treadle.named.types.named_type import as_dims
from treadle.tensor import true_div
from treadle.tensor.random import GammaRV, MvNormalRV, RandomVariable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_gamma = as_xrv(GammaRV())


def _drawn_by(name: str) -> Callable[..., Draw]:
    return as_xrv(getattr(plain, name))


# Which core dimensions parameters and draws have, where it is not the first ones: those of matrices of rows and
# columns and of their covariances, whose dimensions are named twice.
_MAPS: dict[str, tuple[Sequence[Sequence[int]], Sequence[int]]] = {
    "matrix_normal": (((0, 1), (0, 2), (1, 3)), (0, 1)),
}


def gamma(shape: object, scale: object = 1.0, **options: object) -> Draw:
    """Return draws of the gamma distribution with a shape and a scale."""
    return _gamma(shape, scale, **options)


def chisquare(df: object, **options: object) -> Draw:
    """Return draws of the chi-square distribution."""
    return _gamma(elementwise(true_div, as_xtensor(df), 2.0), 2.0, **options)


def standard_normal(**options: object) -> Draw:
    """Return draws of the normal distribution with mean 0 and standard deviation 1."""
    return _drawn_by("normal")(0.0, 1.0, **options)


def standard_cauchy(**options: object) -> Draw:
    """Return draws of the Cauchy distribution with location 0 and scale 1."""
    return _drawn_by("cauchy")(0.0, 1.0, **options)


def standard_exponential(**options: object) -> Draw:
    """Return draws of the exponential distribution with mean 1."""
    return _drawn_by("exponential")(1.0, **options)


def standard_gamma(shape: object, **options: object) -> Draw:
    """Return draws of the gamma distribution with scale 1."""
    return _gamma(shape, 1.0, **options)


def standard_t(df: object, **options: object) -> Draw:
    """Return draws of Student's t distribution with location 0 and scale 1."""
    return _drawn_by("t")(df, 0.0, 1.0, **options)


def multivariate_normal(
    mean: object, cov: object, *, core_dims: Sequence[str], method: str = "cholesky", **options: object
) -> Draw:
    """Return draws of the multivariate normal distribution.

    Parameters
    ----------
    mean
        Means; they have one of the core dimensions, and so do the draws.
    cov
        Covariance matrices, of both core dimensions.
    core_dims
        The two, in either order.
    method
        How the covariance is decomposed, as for `treadle.tensor.random.multivariate_normal`.
    options
        ``extra_dims``, ``rng`` and ``return_next_rng``.
    """
    mean = as_xtensor(mean)
    cores = as_dims("multivariate_normal", core_dims)
    if cores and cores[0] not in mean.type.dims:
        cores = cores[::-1]
    return as_xrv(MvNormalRV(method=method))(mean, cov, core_dims=cores, **options)


_OWN = (
    "chisquare", "gamma", "multivariate_normal", "standard_cauchy", "standard_exponential", "standard_gamma",
    "standard_normal", "standard_t",
)  # fmt: skip


@cache
def distribution(name: str) -> Callable[..., Draw] | None:
    """Return the function that draws from a distribution with named dimensions, or None if there is none."""
    if name in _OWN:
        own: Callable[..., Draw] = globals()[name]
        return own
    op = None if name.startswith("_") else getattr(plain, name, None)
    if not isinstance(op, RandomVariable):
        return None
    return as_xrv(op, *_MAPS.get(name, (None, None)))


def distribution_names() -> list[str]:
    """Return the names of all distributions."""
    return sorted({*_OWN, *(n for n in dir(plain) if isinstance(getattr(plain, n), RandomVariable))})


def brought_names(module: str, others: str) -> Callable[[str], Draw]:
    """Return the ``__getattr__`` of a module that has all distributions, and other names, which are listed."""

    def look_up(name: str) -> Draw:
        value: object = [*others.split(), *distribution_names()] if name == "__all__" else distribution(name)
        if value is None:
            msg = f"module {module!r} has no attribute {name!r}"
            raise AttributeError(msg)
        return value

    return look_up


__getattr__ = brought_names(__name__, "")
