"""Distributions whose numbers PyTensor draws otherwise from one generator: by SciPy, from one uniform number each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.random.distributions import continuous

if TYPE_CHECKING:
    from treadle.tensor.random.methods.generator_methods import Generator, Operand, Size


class CauchyRV(continuous.CauchyRV):
    """The Cauchy distribution, by its quantiles, as `scipy.stats.cauchy.rvs` has it."""

    def standard(self, rng: Generator, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        return np.tan(np.pi * rng.random(size) - np.pi / 2)


class GumbelRV(continuous.GumbelRV):
    """The Gumbel distribution, by its quantiles, as `scipy.stats.gumbel_r.rvs` has it."""

    def definition(self, rng: Generator, loc: Operand, scale: Operand, *, size: Size) -> Operand:
        """Draw."""
        return loc - scale * np.log(-np.log(rng.random(size)))


cauchy = CauchyRV()
gumbel = GumbelRV()
