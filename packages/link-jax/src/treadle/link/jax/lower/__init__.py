"""Lowerings of treadle's own ops to JAX, one module for each family; importing them imports JAX."""

from treadle.link.jax.lower import (
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
