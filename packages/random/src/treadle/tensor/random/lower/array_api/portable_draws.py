"""PortableDraws by the standard's functions: `treadle.tensor.random.generators.philox` on int64, which wraps alike.

Draws by rejection are left to their graphs, whose loops Python leads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from treadle.graph import Unsupported
from treadle.link.array_api import ARRAY_API, Library, library
from treadle.tensor import PortableDraws, TensorNode
from treadle.tensor.random.generators.philox import INCREMENTS, MULTIPLIERS, ROUNDS

_MASK = 2**32 - 1


class Stream:
    """The blocks of one key and stream from a position on: the state holds the three as int64."""

    def __init__(self, lib: Library, state: Any) -> None:
        self.lib, self.xp = lib, lib.xp
        key, self.stream, self.position = state[0], state[1] & _MASK, state[2]
        self.key = key & _MASK, (key >> 32) & _MASK

    def blocks(self, n: int) -> Sequence[Any]:
        """Return the four numbers of 32 bits of each of the first n blocks."""
        at = self.position + self.lib.arange(n)
        zero = self.xp.zeros_like(at)
        c0, c1, c2, c3 = at & _MASK, (at >> 32) & _MASK, self.stream + zero, zero
        k0, k1 = self.key
        for _ in range(ROUNDS):
            a, b = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
            c0, c1, c2, c3 = ((b >> 32) & _MASK) ^ c1 ^ k0, b & _MASK, ((a >> 32) & _MASK) ^ c3 ^ k1, a & _MASK
            k0, k1 = (k0 + INCREMENTS[0]) & _MASK, (k1 + INCREMENTS[1]) & _MASK
        return c0, c1, c2, c3

    def interleaved(self, parts: Sequence[Any], n: int) -> Any:
        """Return the first n of: the first elements of all parts, then the second ones, and so on."""
        return self.xp.reshape(self.xp.stack(parts, axis=-1), (-1,))[:n]

    def bits32(self, n: int) -> Any:
        """Return n numbers of 32 bits, four from each block."""
        return self.interleaved(self.blocks(-(-n // 4)), n)

    def unit64(self, low: Any, high: Any) -> Any:
        """Return numbers of 64 bits, given by halves, as float64 in [0, 1)."""
        return self.lib.astype((high << 21) + (low >> 11), "float64") * 2.0**-53

    def scaled32(self, words: Any) -> Any:
        """Return numbers of 32 bits divided by 2**32, rounded to float32."""
        return self.lib.astype(words, "float32") * 2.0**-32


def _bits(stream: Stream, n: int, dtype: str) -> Any:
    if dtype == "uint32":
        return stream.bits32(n)
    w0, w1, w2, w3 = stream.blocks(-(-n // 2))
    return stream.interleaved((w0 | (w1 << 32), w2 | (w3 << 32)), n)


def _random(stream: Stream, n: int, dtype: str) -> Any:
    if dtype == "float32":
        return stream.lib.astype(stream.bits32(n) >> 8, "float32") * 2.0**-24
    w0, w1, w2, w3 = stream.blocks(-(-n // 2))
    return stream.interleaved((stream.unit64(w0, w1), stream.unit64(w2, w3)), n)


def _normal(stream: Stream, n: int, dtype: str) -> Any:
    """Return normals by Box and Muller's transform: a pair from each block, in float32 two."""

    def pair(u: Any, v: Any) -> tuple[Any, Any]:
        r, angle = stream.xp.sqrt(-2.0 * stream.xp.log(u)), (2 * math.pi) * v
        return r * stream.xp.cos(angle), r * stream.xp.sin(angle)

    if dtype == "float32":
        w0, w1, w2, w3 = stream.blocks(-(-n // 4))
        pairs = (pair(stream.scaled32(a + 1), stream.scaled32(b)) for a, b in ((w0, w1), (w2, w3)))
        return stream.interleaved([x for both in pairs for x in both], n)
    w0, w1, w2, w3 = stream.blocks(-(-n // 2))
    return stream.interleaved(pair(1.0 - stream.unit64(w0, w1), stream.unit64(w2, w3)), n)


def _exponential(stream: Stream, n: int, dtype: str) -> Any:
    return -stream.xp.log(1.0 - _random(stream, n, dtype))


_SAMPLERS: Mapping[str, Callable[[Stream, int, str], Any]]
_SAMPLERS = {"bits": _bits, "random": _random, "standard_exponential": _exponential, "standard_normal": _normal}


@ARRAY_API.register(PortableDraws)
def portable_draws(op: PortableDraws, node: TensorNode) -> Callable[..., Any]:
    """Lower to the sampler's function of the state."""
    draw = _SAMPLERS.get(op.sampler)
    if draw is None:
        msg = f"draws by the sampler {op.sampler} are made by their graph"
        raise Unsupported(msg)
    lib, ndim, dtype = library(), op.ndim, op.dtype

    def run(state: Any, *lengths: Any) -> Any:
        shape = tuple(int(n) for n in lengths[:ndim])
        if any(n < 0 for n in shape):
            msg = "a size must be 0 or more"
            raise ValueError(msg)
        draws = draw(Stream(lib, state), math.prod(shape), dtype)
        return lib.xp.reshape(lib.astype(draws, dtype), shape)

    return run
