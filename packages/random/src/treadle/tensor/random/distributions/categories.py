"""Distributions over categories: single draws, counts, and probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treadle.tensor.random.batches import draw_vectors
from treadle.tensor.random.implicit import beta_by_shape
from treadle.tensor.random.methods.vector_methods import categories_of
from treadle.tensor.random.op import REQUIRED, RandomVariable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.random.methods.generator_methods import Generator, Operand, Size

__all__ = [
    "CategoricalRV", "DirichletMultinomialRV", "DirichletRV", "MultinomialRV", "MvHyperGeometricRV", "categorical",
    "dirichlet", "dirichlet_multinomial", "multinomial", "multivariate_hypergeometric",
]  # fmt: skip


class CategoricalRV(RandomVariable):
    """One of the numbers 0, 1, ..., each with its probability in the last dimension of `p`.

    A uniform number u gives the first category whose cumulative probability is above u, by ``Generator.random``: the
    same as ``Generator.choice(len(p), p=p)``. Categories of probability 0 are never drawn. The probabilities must sum
    to 1, up to rounding.
    """

    name = "categorical"
    signature = "(p)->()"
    dtype = "int64"
    parameters: ClassVar = {"p": REQUIRED}
    _print_name = ("Categorical", "\\operatorname{Categorical}")

    def definition(self, rng: Generator, p: Operand, *, size: Size) -> Operand:
        """Draw."""
        return categories_of(p, rng.random(size))


class MultinomialRV(RandomVariable):
    """How often each category is drawn in `n` draws, whose probabilities are the last dimension of `p`.

    As in NumPy, the last category has what the others leave. From NumPy's generators by ``Generator.multinomial``.
    """

    name = "multinomial"
    signature = "(),(p)->(p)"
    dtype = "int64"
    parameters: ClassVar = {"n": REQUIRED, "p": REQUIRED}
    _print_name = ("Multinomial", "\\operatorname{Multinomial}")

    def definition(self, rng: Generator, n: Operand, p: Operand, *, size: Size) -> Operand:
        """Draw."""
        return draw_vectors(rng, "multinomial", size, n, p)


class MvHyperGeometricRV(RandomVariable):
    """How many of each colour are among `nsample` things drawn, without replacement, from `colors` of each.

    From NumPy's generators by ``Generator.multivariate_hypergeometric`` with its method "marginals".
    """

    name = "multivariate_hypergeometric"
    signature = "(p),()->(p)"
    dtype = "int64"
    parameters: ClassVar = {"colors": REQUIRED, "nsample": REQUIRED}
    _print_name = ("MultivariateHyperGeometric", "\\operatorname{MultivariateHyperGeometric}")

    def definition(self, rng: Generator, colors: Operand, nsample: Operand, *, size: Size) -> Operand:
        """Draw."""
        return draw_vectors(rng, "multivariate_hypergeometric", size, colors, nsample)


class DirichletRV(RandomVariable):
    """Vectors of numbers from 0 to 1 that sum to 1, by the concentrations in the last dimension of `alphas`.

    From NumPy's generators by ``Generator.dirichlet``.
    """

    name = "dirichlet"
    signature = "(a)->(a)"
    dtype = "floatX"
    parameters: ClassVar = {"alphas": REQUIRED}
    _print_name = ("Dirichlet", "\\operatorname{Dirichlet}")

    def definition(self, rng: Generator, alphas: Operand, *, size: Size) -> Operand:
        """Draw."""
        return draw_vectors(rng, "dirichlet", size, alphas)

    def derivatives(self, draw: Operand, cotangent: Operand, alphas: Operand) -> Sequence[Operand]:
        """Return pathwise ones: element k moves as a beta number does, the others share what is left as before.

        Source: Jankowiak and Obermeyer, *Pathwise derivatives beyond the reparameterization trick*, 2018.

        Through the definition: none, as it is the generator's method of this name.
        """
        rest = np.sum(alphas, -1, keepdims=True) - alphas
        left = 1 - draw
        moves = (rest > 0) & (left > 0)
        # A single element, or one that has taken all, stays where it is.
        slope = beta_by_shape(alphas, np.where(rest > 0, rest, 1), draw, left)
        slope = np.where(moves, slope / np.where(moves, left, 1), 0)
        return [slope * (cotangent - np.sum(cotangent * draw, -1, keepdims=True))]


class DirichletMultinomialRV(RandomVariable):
    """How often each category is drawn in `n` draws, whose probabilities are first drawn by `dirichlet` of `a`.

    From NumPy's generators by ``Generator.dirichlet`` for all elements, then ``Generator.multinomial``.
    """

    name = "dirichlet_multinomial"
    signature = "(),(p)->(p)"
    dtype = "int64"
    parameters: ClassVar = {"n": REQUIRED, "a": REQUIRED}
    _print_name = ("DirichletMultinomial", "\\operatorname{DirichletMultinomial}")

    def definition(self, rng: Generator, n: Operand, a: Operand, *, size: Size) -> Operand:
        """Draw."""
        return draw_vectors(rng, "multinomial", size, n, draw_vectors(rng, "dirichlet", size, a))


categorical = CategoricalRV()
dirichlet = DirichletRV()
dirichlet_multinomial = DirichletMultinomialRV()
multinomial = MultinomialRV()
multivariate_hypergeometric = MvHyperGeometricRV()
