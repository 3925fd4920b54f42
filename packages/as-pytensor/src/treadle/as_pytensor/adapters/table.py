"""Which names of PyTensor's stand for objects of this package, and for objects of treadle's at other places."""

from __future__ import annotations

# The release whose names these are.
VERSION = "3.3.8"

_LINKERS = "treadle.as_pytensor.adapters.linkers"
_SHAPES = "treadle.as_pytensor.adapters.shape_features"
_DRAWS = "treadle.as_pytensor.adapters.draws"
_MATRICES = "treadle.as_pytensor.adapters.matrices"
_TRANSFORMS = "treadle.as_pytensor.adapters.transforms"
_ASSUMPTIONS = "treadle.as_pytensor.adapters.assumptions"
_KEYS = (
    "ALL_KEYS DIAGONAL IMPLIES KEY_REGISTRY LOWER_TRIANGULAR MATRIX_KEYS ORTHOGONAL PERMUTATION POSITIVE_DEFINITE "
    "SELECTION SYMMETRIC TRIDIAGONAL UNIQUE_INDICES UNIT_MAGNITUDE UNIVERSAL_RULES UPPER_TRIANGULAR AssumptionFeature "
    "AssumptionKey FactState KeyRegistryView all_inputs_have_key check_assumption infer_assumption_for_node "
    "infer_assumption_from_client propagate_first register_assumption register_client_inference "
    "register_constant_inference register_implies register_universal_assumption true_if"
)

# Values that many of PyTensor's modules have from one of them, wherever they are asked for.
EVERYWHERE: dict[str, str] = dict.fromkeys(("KEY_REGISTRY", "MATRIX_KEYS"), _ASSUMPTIONS)

# For each module, the place of each of its names as ``module:attribute`` (the name itself where there is none).
ADAPTERS: dict[str, dict[str, str]] = {
    "pytensor.assumptions": dict.fromkeys(
        (*_KEYS.split(), "assumption_tags", "summarize_assumptions"), _ASSUMPTIONS
    ),
    "pytensor.assumptions.bundles": {"register_matrix_property_rules": _ASSUMPTIONS},
    "pytensor.assumptions.core": dict.fromkeys(_KEYS.split(), _ASSUMPTIONS),
    "pytensor.assumptions.specify": {"assume": _ASSUMPTIONS},
    "pytensor.link.c.type": {"CType": "treadle.graph:Type"},
    "pytensor.link.jax.linker": {"JAXLinker": _LINKERS},
    "pytensor.link.mlx.linker": {"MLXLinker": _LINKERS},
    "pytensor.link.numba.linker": {"NumbaLinker": _LINKERS},
    "pytensor.link.pytorch.linker": {"PytorchLinker": _LINKERS},
    # The op of products of stacks of matrices, for rewriters that track it.
    "pytensor.tensor.math": {"_matmul": "treadle.tensor:MatMul"},
    "pytensor.tensor.fft": dict.fromkeys(("irfft", "rfft"), _TRANSFORMS),
    "pytensor.tensor.linalg.decomposition.qr": {"qr": _MATRICES},
    "pytensor.tensor.linalg.decomposition.schur": {"schur": _MATRICES},
    "pytensor.tensor.linalg.decomposition.svd": {"svd": _MATRICES},
    "pytensor.tensor.linalg.summary": {"norm": _MATRICES},
    "pytensor.tensor.random.basic": dict.fromkeys(("CauchyRV", "GumbelRV", "cauchy", "gumbel"), _DRAWS),
    "pytensor.tensor.rewriting.shape": dict.fromkeys(("ShapeFeature", "ShapeOptimizer"), _SHAPES),
}
