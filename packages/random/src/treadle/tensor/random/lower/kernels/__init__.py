"""Kernels of draws, and their rules for all compiling backends: importing the modules registers them.

Packages that bring a portable sampler may register its kernels in `SAMPLER_KERNELS`, in terms of what is named here.
"""

from treadle.tensor.random.lower.kernels import generators, plain, portable_draws
from treadle.tensor.random.lower.kernels.attempts import SamplerKernels, accept, keep
from treadle.tensor.random.lower.kernels.philox import (
    BATCH,
    TILE,
    WIDE,
    blocks_at,
    exp_of,
    fraction,
    gamma_shift,
    log1p_of,
    log_of,
    stirling,
    turned,
)
from treadle.tensor.random.lower.kernels.portable_draws import SAMPLER_KERNELS

__all__ = [
    "BATCH", "SAMPLER_KERNELS", "TILE", "WIDE", "SamplerKernels", "accept", "blocks_at", "exp_of", "fraction",
    "gamma_shift", "generators", "keep", "log1p_of", "log_of", "plain", "portable_draws", "stirling", "turned",
]  # fmt: skip
