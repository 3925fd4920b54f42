"""Which names of PyTensor's stand for objects of this package, and for objects of treadle's at other places."""

from __future__ import annotations

# The release whose names these are.
VERSION = "3.3.8"

_LINKERS = "treadle.as_pytensor.adapters.linkers"
_SHAPES = "treadle.as_pytensor.adapters.shape_features"
_DRAWS = "treadle.as_pytensor.adapters.draws"

# For each module, the place of each of its names as ``module:attribute`` (the name itself where there is none).
ADAPTERS: dict[str, dict[str, str]] = {
    "pytensor.link.c.type": {"CType": "treadle.graph:Type"},
    "pytensor.link.jax.linker": {"JAXLinker": _LINKERS},
    "pytensor.link.mlx.linker": {"MLXLinker": _LINKERS},
    "pytensor.link.numba.linker": {"NumbaLinker": _LINKERS},
    "pytensor.link.pytorch.linker": {"PytorchLinker": _LINKERS},
    # The op of products of stacks of matrices, for rewriters that track it.
    "pytensor.tensor.math": {"_matmul": "treadle.tensor:MatMul"},
    "pytensor.tensor.random.basic": dict.fromkeys(("CauchyRV", "GumbelRV", "cauchy", "gumbel"), _DRAWS),
    "pytensor.tensor.rewriting.shape": dict.fromkeys(("ShapeFeature", "ShapeOptimizer"), _SHAPES),
}
