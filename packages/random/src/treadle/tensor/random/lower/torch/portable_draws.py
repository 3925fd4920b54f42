"""PortableDraws on PyTorch: the definitions of `treadle.tensor.random.generators.philox` in PyTorch's arithmetic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from treadle.graph import Unsupported
from treadle.link.torch import STORAGE_DTYPES, TORCH
from treadle.tensor import PortableDraws
from treadle.tensor.random.lower.torch.lanes import TorchLanes
from treadle.tensor.random.lower.torch.philox import Stream, bits32, interleaved, unit32, unit64

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from treadle.link.torch import Lowered
    from treadle.tensor import TensorNode

    # n draws of a dtype.
    Sampler = Callable[[Stream, int, str], torch.Tensor]


@TORCH.register(PortableDraws)
def portable_draws(op: PortableDraws, node: TensorNode) -> Lowered:
    """Lower to the sampler's function of the state."""
    direct, by_rejection = SAMPLERS.get(op.sampler), op.lanes
    if direct is None and by_rejection is None:
        msg = f"there is no sampler {op.sampler} here"
        raise Unsupported(msg)
    ndim, dtype, storage = op.ndim, op.dtype, STORAGE_DTYPES[op.dtype]

    def run(state: torch.Tensor, *inputs: Any) -> torch.Tensor:
        shape = inputs[:ndim]
        for n in shape:
            if n < 0:
                msg = "a size must be 0 or more"
                raise ValueError(msg)
        if 0 in shape:
            # No loop is traced for nothing: counts of categories whose number is not known take many empty draws.
            return state.new_zeros(shape, dtype=storage)
        stream = Stream(state)
        if by_rejection is not None:
            draws: torch.Tensor = by_rejection(TorchLanes(stream, shape), *inputs[ndim:])
        elif direct is not None:
            draws = direct(stream, math.prod(shape), dtype)
        return draws.to(storage).reshape(shape)

    return run


def _bits(stream: Stream, n: int, dtype: str) -> torch.Tensor:
    if dtype == "uint32":
        return bits32(stream, n)
    w0, w1, w2, w3 = stream.blocks(-(-n // 2))
    return interleaved((w0 | w1 << 32, w2 | w3 << 32), n)


def _random(stream: Stream, n: int, dtype: str) -> torch.Tensor:
    if dtype == "float32":
        return unit32(bits32(stream, n))
    w0, w1, w2, w3 = stream.blocks(-(-n // 2))
    return interleaved((unit64(w0, w1), unit64(w2, w3)), n)


def _normal(stream: Stream, n: int, dtype: str) -> torch.Tensor:
    """Return normals by Box and Muller's transform: a pair from each block, in float32 two."""
    if dtype == "float32":
        w0, w1, w2, w3 = stream.blocks(-(-n // 4))
        first, second = (
            _box_muller((a + 1).to(torch.float32) * 2.0**-32, b.to(torch.float32) * 2.0**-32)
            for a, b in ((w0, w1), (w2, w3))
        )
        return interleaved((*first, *second), n)
    w0, w1, w2, w3 = stream.blocks(-(-n // 2))
    return interleaved(_box_muller(1 - unit64(w0, w1), unit64(w2, w3)), n)


def _box_muller(u: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    r, angle = torch.sqrt(-2 * torch.log(u)), (2 * math.pi) * v
    return r * torch.cos(angle), r * torch.sin(angle)


SAMPLERS: Mapping[str, Sampler] = {
    "bits": _bits,
    "random": _random,
    "standard_exponential": lambda stream, n, dtype: -torch.log(1 - _random(stream, n, dtype)),
    "standard_normal": _normal,
}
