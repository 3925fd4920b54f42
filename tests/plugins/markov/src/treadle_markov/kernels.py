"""Kernels of sum_uniform: its definition, for the lanes of a tile."""

from treadle.kernels import kernel
from treadle.kernels.language import OK, Pointer, bits, float64, from_bits, independent, int64, uint64
from treadle.tensor.random.lower.kernels import TILE, WIDE, fraction


@kernel
def prepare_sum(p: Pointer[int64], step: int, q: Pointer[float64]) -> int:
    """Compute twice the lower bound, and the range."""
    for e in independent(range(TILE), WIDE):
        low = from_bits(p[e])
        q[e] = 2.0 * low
        q[TILE + e] = from_bits(p[step + e]) - low
    return OK


@kernel
def attempt_sum(
    x: Pointer[uint64], y: Pointer[uint64], q: Pointer[float64], made: Pointer[int64], verdict: Pointer[int64]
) -> int:
    """Draw under the triangle."""
    rejected = 0
    for e in independent(range(TILE), WIDE):
        z = 2.0 * fraction(x[e])
        made[e] = bits(q[e] + q[TILE + e] * z)
        out = int(fraction(y[e]) >= 1.0 - abs(z - 1.0))
        verdict[e] = out
        rejected += out
    return rejected
