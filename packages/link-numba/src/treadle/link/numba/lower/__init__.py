"""The lowerings of tensor ops, one module for each family; importing this package registers them."""

from treadle.link.numba.lower import (
    broadcasting,
    dimshuffle,
    elemwise,
    fused,
    indexing,
    joining,
    normalization,
    product,
    reduction,
    shape,
)

__all__ = [
    "broadcasting",
    "dimshuffle",
    "elemwise",
    "fused",
    "indexing",
    "joining",
    "normalization",
    "product",
    "reduction",
    "shape",
]
