"""The methods of generators that draw vectors: counts, probabilities and positions."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Variable
from treadle.tensor.random.methods.conditions import checked_probabilities
from treadle.tensor.random.methods.discrete_methods import DiscreteMethods

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.tensor.random.methods.generator_methods import Operand, Size

# Up to how many halvings of categories graphs are made for where their number is known only when they run.
HALVINGS = 16


class VectorMethods(DiscreteMethods):
    """Methods with the names and parameters of ``numpy.random.Generator``; parameters may be batches of vectors."""

    __slots__ = ()

    def dirichlet(self, alpha: Operand, size: Size = None) -> Operand:
        """Return vectors of gammas over their sums, formed of logarithms, so that tiny ones keep their ratios."""
        alpha = self.non_negative("alpha", alpha)
        shape = self.shape_for(size, np.sum(alpha, -1))
        logs = self.draw("log_standard_gamma", (*shape, alpha.shape[-1]), "float64", alpha)
        # Zeros alone stay zeros, as in NumPy.
        none = np.sum(alpha, -1, keepdims=True) <= 0
        return np.where(none, 0, self.shares(np.where(none, 0, logs)))

    def multinomial(self, n: Operand, pvals: Operand, size: Size = None) -> Operand:
        """Return how often each category is drawn in n draws; the last one has what the others leave.

        The categories are halved again and again, and counts divided among the halves by binomial draws.
        """
        n, p = self.non_negative("n", n), self.operand(pvals)
        text = "pvals must have at least 1 dimension and the last dimension of pvals must be greater than 0."
        n = self.require(p.shape[-1] > 0, n, text)
        p = self.require((p >= 0) & (p <= 1), p, "pvals < 0, pvals > 1 or pvals contains NaNs")
        others = np.sum(p[..., :-1], -1, keepdims=True)
        others = self.require(others <= 1 + 1e-12, others, "sum(pvals[:-1]) > 1.0")
        last = np.where(np.abs(others + p[..., -1:] - 1) <= 1e-12, p[..., -1:], np.maximum(1 - others, 0))
        p = np.concatenate([p[..., :-1], last], -1)

        def share(shape: Sequence[Operand], count: Operand, left: Operand, right: Operand) -> Operand:
            both = left + right
            return self.draw(
                "binomial", shape, "int64", count, np.where(both > 0, left / np.where(both > 0, both, 1), 0)
            )

        return self._divided(share, self.shape_for(size, n, np.sum(p, -1)), n, p)

    def multivariate_hypergeometric(
        self, colors: Operand, nsample: Operand, size: Size = None, method: str = "marginals"
    ) -> Operand:
        """Return how many of each colour are among nsample things drawn; NumPy's `method` makes no difference.

        The colours are halved again and again, and counts divided among the halves by hypergeometric draws.
        """
        colors, nsample = self.operand(colors), self.operand(nsample)
        text = f"colors must be a one-dimensional sequence of nonnegative integers not exceeding {2**63 - 1}."
        colors = self.require(colors >= 0, colors, text)
        total = np.sum(colors, -1)
        total = self.require(total < 10**9, total, "sum(colors) must be less than 1000000000")
        nsample = self.require(nsample >= 0, nsample, "nsample must be nonnegative.")
        nsample = self.require(nsample <= total, nsample, "nsample > sum(colors)")

        def share(shape: Sequence[Operand], count: Operand, left: Operand, right: Operand) -> Operand:
            return self.draw("hypergeometric", shape, "int64", left, right, count)

        return self._divided(share, self.shape_for(size, total, nsample), nsample, colors)

    def _divided(
        self, share: Callable[..., Operand], batch: Sequence[Operand], count: Operand, weights: Operand
    ) -> Operand:
        """Return counts divided among categories: `share` draws the part of the left one of two neighbours."""
        known = weights.type.shape[-1] if isinstance(weights, Variable) else weights.shape[-1]
        if known is None:
            text = f"there are more than {2**HALVINGS} categories: give their number by the static shape"
            weights = self.require(weights.shape[-1] <= 2**HALVINGS, weights, text)
        halvings = HALVINGS if known is None else max(known - 1, 0).bit_length()
        length = weights.shape[-1] if known is None else known
        levels = []
        for _ in range(halvings):
            pairs = length // 2
            left, right = weights[..., : 2 * pairs : 2], weights[..., 1 : 2 * pairs : 2]
            levels.append((pairs, left, right))
            weights = np.concatenate([left + right, weights[..., 2 * pairs :]], -1)
            length = length - pairs
        counts = np.broadcast_to(count, tuple(batch))[..., None]
        if known == 0:
            return counts[..., :0]
        for pairs, left, right in reversed(levels):
            whole = counts[..., :pairs]
            drawn = share((*batch, pairs), whole, left, right)
            halves = np.stack([drawn, whole - drawn], -1).reshape((*batch, 2 * pairs))
            counts = np.concatenate([halves, counts[..., pairs:]], -1)
        return counts

    # Positions

    def permuted_positions(self, n: Operand, size: Sequence[Operand]) -> Operand:
        """Return permutations of the integers from 0 up to n: the order of 64 random bits for each."""
        return np.argsort(self.draw("bits", (*size, n), "int64"), -1)

    def chosen_positions(self, n: Operand, count: Operand, p: Operand | None, size: Sequence[Operand]) -> Operand:
        """Return different integers from 0 up to n, in the order drawn.

        With probabilities they are those that come first where integer k waits for an exponential time of rate p[k]
        (Efraimidis and Spirakis, *Weighted random sampling with a reservoir*, 2006).
        """
        count = self.require(n >= count, count, "Cannot take a larger sample than population when replace is False")
        if p is None:
            return self.permuted_positions(n, size)[..., :count]
        p = checked_probabilities(p)
        p = self.require(np.sum(p > 0, -1) >= count, p, "Fewer non-zero entries in p than size")
        waits = self.draw("standard_exponential", (*size, n), "float64") / np.where(p > 0, p, 1)
        return np.argsort(np.where(p > 0, waits, np.inf), -1)[..., :count]

    # Of values alone: in graphs these are random variables

    def permutation(self, x: Operand, axis: int = 0) -> np.ndarray:
        """Return the elements along a dimension, or the integers from 0 up to a number, in any order."""
        if np.ndim(x) == 0:
            return np.asarray(self.permuted_positions(max(operator.index(x), 0), ()))
        elements: np.ndarray = np.take(x, self.permuted_positions(np.shape(x)[axis], ()), axis)
        return elements

    def permuted(self, x: Operand, axis: int | None = None) -> np.ndarray:
        """Return an array with the elements along a dimension in any order, each vector for itself, or all of them."""
        array = np.asarray(x)
        vectors = array.reshape(-1) if axis is None else np.moveaxis(array, axis, -1)
        at = self.permuted_positions(vectors.shape[-1], vectors.shape[:-1])
        elements: np.ndarray = np.take_along_axis(vectors, at, -1)
        return elements.reshape(array.shape) if axis is None else np.moveaxis(elements, -1, axis)

    def shuffle(self, x: np.ndarray, axis: int = 0) -> None:
        """Bring the elements along a dimension of an array into any order, in place."""
        x[...] = self.permutation(x, axis)

    def choice(
        self,
        a: Operand,
        size: int | Sequence[int] | None = None,
        replace: bool = True,
        p: Operand | None = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> np.ndarray:
        """Return elements along a dimension, or integers from 0 up to a number; `shuffle` makes no difference."""
        n = operator.index(a) if np.ndim(a) == 0 else np.shape(a)[axis]
        shape = self.shape_for(() if size is None else size)
        weights = None if p is None else np.asarray(p)
        if weights is not None:
            weights = self.require(weights.shape == (n,), weights, "a and p must have same size")
        if not (replace or size is None):
            at = self.chosen_positions(n, math.prod(shape), weights, ()).reshape(shape)
        elif weights is None:
            at = self.integers(0, n, shape)
        else:
            at = categories_of(weights, self.random(shape, "float64"))
        return np.asarray(at) if np.ndim(a) == 0 else np.take(a, at, axis)


def categories_of(p: Operand, u: Operand) -> Operand:
    """Return the categories whose cumulative probabilities are the first above uniform numbers.

    Parameters
    ----------
    p
        Probabilities in the last dimension: a vector, or batches that broadcast to the numbers.
    u
        The numbers.
    """
    cumulative = np.cumsum(checked_probabilities(p), -1)
    cumulative = cumulative / cumulative[..., -1:]
    if p.ndim == 1:
        return np.searchsorted(cumulative, u, side="right")
    return np.sum(cumulative <= u[..., None], -1)
