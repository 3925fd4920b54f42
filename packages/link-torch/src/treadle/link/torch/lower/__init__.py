"""The lowerings, one module for each family of `treadle.tensor`; importing this registers them all."""

from treadle.link.torch.lower import (
    broadcasting,
    conditional,
    copying,
    dimshuffle,
    elemwise,
    fused_reduction,
    indexing,
    joining,
    normalization,
    product,
    reduction,
    shape,
)

__all__ = [
    "broadcasting",
    "conditional",
    "copying",
    "dimshuffle",
    "elemwise",
    "fused_reduction",
    "indexing",
    "joining",
    "normalization",
    "product",
    "reduction",
    "shape",
]
