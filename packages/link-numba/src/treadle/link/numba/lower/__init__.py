"""The lowerings of tensor ops, one module for each family; importing this package registers them."""

from treadle.link.numba.lower import (
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
