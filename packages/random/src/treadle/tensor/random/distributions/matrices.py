"""Distributions of covariances, correlations and weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treadle.config import alias
from treadle.graph import Variable
from treadle.tensor.arguments.values import as_integer
from treadle.tensor.gradients.derivatives import pullback
from treadle.tensor.linalg import solve_triangular
from treadle.tensor.random.batches import positions
from treadle.tensor.random.distributions.multivariate import cholesky_of
from treadle.tensor.random.methods.conditions import require
from treadle.tensor.random.methods.generator_methods import GeneratorMethods
from treadle.tensor.random.op import REQUIRED, RandomVariable
from treadle.tensor.shapes.broadcasting import sum_to

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.random.methods.generator_methods import Generator, Operand, Size
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = [
    "InverseWishartRV", "LKJCholeskyRV", "LKJCorrRV", "StickBreakingRV", "WishartRV", "inverse_wishart", "invwishart",
    "lkj_cholesky", "lkj_corr", "stick_breaking", "wishart",
]  # fmt: skip


class WishartRV(RandomVariable):
    """Wishart's distribution of `df` degrees of freedom, above p - 1, and the p x p matrix `scale`.

    A draw is L A A^T L^T of the Cholesky factor L of the scale and Bartlett's lower triangular matrix A, which has
    standard normal numbers below the diagonal and roots of chi-square numbers of df, df - 1, ... on it.
    """

    name = "wishart"
    signature = "(),(p,p)->(p,p)"
    dtype = "floatX"
    parameters: ClassVar = {"df": REQUIRED, "scale": REQUIRED}
    _print_name = ("Wishart", "\\operatorname{Wishart}")

    def definition(self, rng: Generator, df: Operand, scale: Operand, *, size: Size) -> Operand:
        """Draw."""
        a, factor = self.factors(rng, df, scale, size)
        root = factor @ a
        return root @ np.swapaxes(root, -1, -2)

    def factors(self, rng: Generator, df: Operand, scale: Operand, size: Any) -> tuple[Operand, Operand]:
        """Return Bartlett's matrices, and the Cholesky factors of the scales."""
        kind = rng.dtype if isinstance(rng, GeneratorMethods) else "float64"
        p = scale.shape[-1]
        at = positions(p)
        text = "Degrees of freedom must be greater than the dimension of scale matrix minus 1."
        df = require(df > p - 1, df, text)
        z = rng.standard_normal((*size, p, p))
        roots = np.sqrt(rng.chisquare(df[..., None] - at, (*size, p)))
        a = np.where(at[:, None] > at, z, np.where(np.equal(at[:, None], at), roots[..., None], 0))
        return a, cholesky_of(scale.astype(kind))

    def derivatives(self, draw: Operand, cotangent: Operand, df: Operand, scale: Operand) -> Sequence[Operand]:
        """Return those of L S L^T by the scale; there are none by the degrees of freedom.

        Through the definition: 24 nodes in place of 13, and the numbers are drawn again.
        """
        factor = cholesky_of(scale)
        inner: Operand = solve_triangular(factor, draw, lower=True, b_ndim=2)
        by_factor = sum_to((cotangent + np.swapaxes(cotangent, -1, -2)) @ np.swapaxes(inner, -1, -2), factor)
        return [NotImplemented, pullback(factor, scale, by_factor)]


class InverseWishartRV(WishartRV):
    """The inverse Wishart distribution of `df` degrees of freedom, above p - 1, and the p x p matrix `scale`.

    A draw is the inverse of one of Wishart's distribution of the inverse scale.
    """

    name = "inverse_wishart"
    _print_name = ("InverseWishart", "\\operatorname{InverseWishart}")

    def definition(self, rng: Generator, df: Operand, scale: Operand, *, size: Size) -> Operand:
        """Draw."""
        a, factor = self.factors(rng, df, scale, size)
        right = np.swapaxes(factor, -1, -2)
        solution: Operand
        if isinstance(a, Variable):
            solution = solve_triangular(a, right, lower=True, b_ndim=2)
        else:
            solution = np.linalg.solve(a, right)
        return np.swapaxes(solution, -1, -2) @ solution


class _SizedRV(RandomVariable):
    """Base of distributions whose draws have a length that is given when the op is made.

    Parameters
    ----------
    n
        The length.
    """

    __props__: ClassVar[tuple[str, ...]] = (*RandomVariable.__props__, "n")
    dtype = "floatX"

    def __init__(self, *args: Any, n: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.n = as_integer(f"{self.name}: n", n, 1)

    def _static_core(self, parameters: Sequence[TensorVariable]) -> tuple[int | None, ...]:
        return (self.n,) * self.ndim_supp


class LKJCholeskyRV(_SizedRV):
    """Cholesky factors of correlation matrices with a density proportional to det(correlations)**(eta - 1).

    By the onion method of Lewandowski, Kurowicka and Joe, *Generating random correlation matrices based on vines and
    extended onion method*, 2009: the k numbers before the diagonal of a row point in any direction, and the sum of
    their squares has the distribution beta(k / 2, eta + (n - 1 - k) / 2).
    """

    name = "lkj_cholesky"
    signature = "()->(n,n)"
    parameters: ClassVar = {"eta": 1.0}
    _print_name = ("LKJCholesky", "\\operatorname{LKJCholesky}")

    def definition(self, rng: Generator, eta: Operand, *, size: Size) -> Operand:
        """Draw."""
        batch: Any = size
        eta = require(eta > 0, eta, "eta <= 0 or eta is NaN")
        if self.n == 1:
            return np.broadcast_to(np.ones_like(eta)[..., None, None], (*batch, 1, 1))
        k = np.arange(1, self.n)
        squares = rng.beta(k / 2, eta[..., None] + (self.n - 1 - k) / 2, (*batch, self.n - 1))
        z = np.where(k[:, None] >= k, rng.standard_normal((*batch, self.n - 1, self.n - 1)), 0)
        rows = z * np.sqrt(squares / np.sum(z**2, -1))[..., None]
        diagonal = np.sqrt(1 - squares)[..., None] * np.eye(self.n - 1)
        below = np.concatenate([rows, np.zeros_like(rows[..., :1])], -1)
        below = below + np.concatenate([np.zeros_like(rows[..., :1]), diagonal], -1)
        first = np.zeros_like(below[..., :1, :]) + (np.arange(self.n) == 0)
        return np.concatenate([first, below], -2)


class LKJCorrRV(LKJCholeskyRV):
    """Correlation matrices with a density proportional to det(correlations)**(eta - 1); see `LKJCholeskyRV`."""

    name = "lkj_corr"
    _print_name = ("LKJCorr", "\\operatorname{LKJCorr}")

    def definition(self, rng: Generator, eta: Operand, *, size: Size) -> Operand:
        """Draw."""
        factor = super().definition(rng, eta, size=size)
        return np.where(np.eye(self.n, dtype="bool"), 1, factor @ np.swapaxes(factor, -1, -2))


class StickBreakingRV(_SizedRV):
    """Weights that sum to 1: parts of a stick, broken off again and again, and what is left of it at the end.

    Each part is a number of the distribution beta(1, alpha) times what was left.
    """

    name = "stick_breaking"
    signature = "()->(n)"
    parameters: ClassVar = {"alpha": REQUIRED}
    _print_name = ("StickBreaking", "\\operatorname{StickBreaking}")

    def definition(self, rng: Generator, alpha: Operand, *, size: Size) -> Operand:
        """Draw."""
        batch: Any = size
        part = rng.beta(1.0, alpha[..., None], (*batch, self.n - 1))
        left = np.cumprod(1 - part, -1)
        one = np.broadcast_to(np.ones_like(alpha)[..., None], (*batch, 1))
        return np.concatenate([part, one], -1) * np.concatenate([one, left], -1)


invwishart = alias(InverseWishartRV(), "invwishart")
inverse_wishart = alias(invwishart, "inverse_wishart")
wishart = WishartRV()


def lkj_cholesky(
    n: int,
    eta: TensorLike = 1.0,
    size: TensorLike | None = None,
    rng: Variable | None = None,
    return_next_rng: bool = False,
    dtype: str | None = None,
) -> Any:
    """Return Cholesky factors of random correlation matrices.

    Parameters
    ----------
    n
        Number of rows and columns.
    eta
        Above 0: all matrices are equally likely for 1, those close to the identity more so for larger numbers.
    size
        Shape of the batch.
    rng, return_next_rng, dtype
        As for other distributions.

    Raises
    ------
    TensorTypeError, ArgumentError
        If `n` is not an integer of 1 or more.

    Examples
    --------
    >>> tt.random.lkj_cholesky(3, 2.0).eval().shape
    (3, 3)
    """
    return LKJCholeskyRV(n=n)(eta, size=size, rng=rng, return_next_rng=return_next_rng, dtype=dtype)


def lkj_corr(
    n: int,
    eta: TensorLike = 1.0,
    size: TensorLike | None = None,
    rng: Variable | None = None,
    return_next_rng: bool = False,
    dtype: str | None = None,
) -> Any:
    """Return random correlation matrices.

    Parameters
    ----------
    n, eta, size, rng, return_next_rng, dtype
        As for `lkj_cholesky`.

    Raises
    ------
    TensorTypeError, ArgumentError
        If `n` is not an integer of 1 or more.

    Examples
    --------
    >>> tt.random.lkj_corr(3, 2.0).eval().shape
    (3, 3)
    """
    return LKJCorrRV(n=n)(eta, size=size, rng=rng, return_next_rng=return_next_rng, dtype=dtype)


def stick_breaking(
    alpha: TensorLike,
    K: int,  # noqa: N803 - its name in PyMC
    size: TensorLike | None = None,
    rng: Variable | None = None,
    return_next_rng: bool = False,
    dtype: str | None = None,
) -> Any:
    """Return weights that sum to 1, of a stick that is broken K times.

    Parameters
    ----------
    alpha
        Above 0: the larger, the smaller are the parts that are broken off.
    K
        How often the stick is broken: there are K + 1 weights.
    size, rng, return_next_rng, dtype
        As for `lkj_cholesky`.

    Raises
    ------
    TensorTypeError, ArgumentError
        If `K` is not an integer of 0 or more.

    Examples
    --------
    >>> tt.random.stick_breaking(1.0, 4).eval().shape
    (5,)
    """
    op = StickBreakingRV(n=as_integer("stick_breaking: K", K, 0) + 1)
    return op(alpha, size=size, rng=rng, return_next_rng=return_next_rng, dtype=dtype)
