"""Which names of PyTensor's stand for objects of this package, and for objects of treadle's at other places."""

from __future__ import annotations

# The release whose names these are.
VERSION = "3.3.8"

_LINKERS = "treadle.as_pytensor.adapters.linkers"
_BACKENDS = "treadle.as_pytensor.adapters.backends"
_SHAPES = "treadle.as_pytensor.adapters.shape_features"
_CONVERSION = "treadle.as_pytensor.adapters.conversion"
_DRAWS = "treadle.as_pytensor.adapters.draws.by_quantiles"
_NAMED_DRAWS = "treadle.as_pytensor.adapters.draws.named"
_MATRICES = "treadle.as_pytensor.adapters.matrices"
_TRANSFORMS = "treadle.as_pytensor.adapters.transforms"
_ASSUMPTIONS = "treadle.as_pytensor.adapters.assumptions"
_DTYPES = "treadle.as_pytensor.adapters.dtypes"
_SCALARS = "treadle.as_pytensor.adapters.scalars"
_TENSORS = "treadle.as_pytensor.adapters.tensors"
_VECTORS = "treadle.as_pytensor.adapters.vectors"
_SEARCHES = "treadle.as_pytensor.adapters.searches"
_VECTORIZATION = "treadle.as_pytensor.adapters.vectorization"
_GRAPH_OPS = "treadle.as_pytensor.adapters.graph_ops"
_UTILITIES = "treadle.as_pytensor.adapters.utilities"
_KEYS = (
    "ALL_KEYS DIAGONAL IMPLIES KEY_REGISTRY LOWER_TRIANGULAR MATRIX_KEYS ORTHOGONAL PERMUTATION POSITIVE_DEFINITE "
    "SELECTION SYMMETRIC TRIDIAGONAL UNIQUE_INDICES UNIT_MAGNITUDE UNIVERSAL_RULES UPPER_TRIANGULAR AssumptionFeature "
    "AssumptionKey FactState KeyRegistryView all_inputs_have_key check_assumption infer_assumption_for_node "
    "infer_assumption_from_client propagate_first register_assumption register_client_inference "
    "register_constant_inference register_implies register_universal_assumption true_if"
)


def _at(place: str, names: str) -> dict[str, str]:
    """Return a place for each of some names."""
    return dict.fromkeys(names.split(), place)


# Values that many of PyTensor's modules have from one of them, wherever they are asked for.
EVERYWHERE: dict[str, str] = {
    **_at(_ASSUMPTIONS, "KEY_REGISTRY MATRIX_KEYS"),
    **_at(
        _DTYPES,
        "LOCAL_BITWIDTH PYTHON_INT_BITWIDTH all_dtypes complex_dtypes continuous_dtypes discrete_dtypes float_dtypes "
        "int_dtypes integer_dtypes uint_dtypes",
    ),
    **{f"pt_{name}": f"treadle.tensor:{name}" for name in ("abs", "eq", "pow", "switch")},
    **{f"{name}_t": f"treadle.scalar:{dtype}" for name, dtype in (("bool", "bool"), ("int", "int64"))},
}
_SCAN = "treadle.as_pytensor.adapters.scan"

# For each module, the place of each of its names as ``module:attribute`` (the name itself where there is none).
ADAPTERS: dict[str, dict[str, str]] = {
    "pytensor.assumptions": _at(_ASSUMPTIONS, f"{_KEYS} assumption_tags summarize_assumptions"),
    "pytensor.assumptions.bundles": {"register_matrix_property_rules": _ASSUMPTIONS},
    "pytensor.assumptions.core": _at(_ASSUMPTIONS, _KEYS),
    "pytensor.assumptions.specify": {"assume": _ASSUMPTIONS},
    "pytensor._version": {"get_versions": _UTILITIES},
    "pytensor.configdefaults": {"short_platform": _UTILITIES},
    "pytensor.gradient": {
        f"{name}_": f"treadle.tensor:{name}" for name in ("disconnected_grad", "undefined_grad", "zero_grad")
    },
    "pytensor.graph": {"vectorize_graph": _VECTORIZATION},
    "pytensor.graph.replace": {"vectorize_graph": _VECTORIZATION},
    "pytensor.graph.utils": {"AssocList": _UTILITIES},
    "pytensor.compile.builders": {"SymbolicOp": _GRAPH_OPS},
    "pytensor.compile.rewriting": {"rewrite_inner_graph": "treadle.as_pytensor.adapters.inner_graphs"},
    "pytensor.link.jax.dispatch.basic": _at(f"{_BACKENDS}.jax_dispatch", "jax_funcify jax_typify"),
    "pytensor.link.numba.dispatch.basic": _at(
        f"{_BACKENDS}.numba_dispatch",
        "generate_fallback_impl get_numba_type numba_funcify numba_funcify_ensure_cache numba_njit numba_typify "
        "register_funcify_and_cache_key register_funcify_default_op_cache_key",
    ),
    "pytensor.link.c.type": {"CType": "treadle.graph:Type"},
    "pytensor.link.jax.linker": {"JAXLinker": _LINKERS},
    "pytensor.link.mlx.linker": {"MLXLinker": _LINKERS},
    "pytensor.link.numba.linker": {"NumbaLinker": _LINKERS},
    "pytensor.link.pytorch.linker": {"PytorchLinker": _LINKERS},
    "pytensor.link.vm": {"VMLinker": _LINKERS},
    "pytensor.misc.frozendict": {"frozendict": _UTILITIES},
    "pytensor.misc.may_share_memory": {"may_share_memory": _UTILITIES},
    "pytensor.misc.ordered_set": {"OrderedSet": _UTILITIES},
    "pytensor.scalar": {"scalar_abs": "treadle.scalar:abs"},
    "pytensor.scalar.basic": {
        "ScalarMaximum": "treadle.scalar:Maximum",
        "ScalarMinimum": "treadle.scalar:Minimum",
        **_at(_SCALARS, "ComplexError IntegerDivisionError floor_div isinf isnan scalar_maximum scalar_minimum"),
        **_at(
            _SCALARS,
            "convert_to_bool convert_to_complex64 convert_to_complex128 convert_to_float16 convert_to_float32 "
            "convert_to_float64 convert_to_int8 convert_to_int16 convert_to_int32 convert_to_int64 convert_to_uint8 "
            "convert_to_uint16 convert_to_uint32 convert_to_uint64",
        ),
        **_at(
            _DTYPES,
            "float_out int_out real_out same_out same_out_float_only same_out_min8 same_out_nobool same_out_nocomplex "
            "specific_out upcast_out upcast_out_min8 upcast_out_no_complex upcast_out_nobool upgrade_to_float "
            "upgrade_to_float64",
        ),
    },
    "pytensor.scalar.math": _at(
        _SCALARS,
        "betainc betaincinv betaln gamma gammainc gammaincc gammainccinv gammaincinv hyp2f1 i0 i1 ive j0 j1 jv kve "
        "ndtri_exp owens_t polygamma scalar_abs tri_gamma",
    ),
    "pytensor.tensor": {
        **_at(_CONVERSION, "as_tensor as_tensor_variable constant"),
        **_at(_VECTORS, "stack stacklists"),
        **_at(_TENSORS, "full_like ones_like power zeros_like"),
    },
    "pytensor.tensor.basic": {
        **_at(_CONVERSION, "as_tensor as_tensor_variable constant"),
        **_at(_VECTORS, "stack stacklists"),
        **_at(_TENSORS, "full_like infer_static_shape ones_like zeros_like"),
        "vectorize_node": "treadle.graph.replace:vectorize_node",
    },
    "pytensor.tensor.blockwise": {"Blockwise": _GRAPH_OPS},
    "pytensor.tensor.fft": _at(_TRANSFORMS, "irfft rfft"),
    "pytensor.tensor.linalg.decomposition.qr": {"qr": _MATRICES},
    "pytensor.tensor.linalg.decomposition.schur": {"schur": _MATRICES},
    "pytensor.tensor.linalg.decomposition.svd": {"svd": _MATRICES},
    "pytensor.tensor.linalg.dtype_utils": _at(_DTYPES, "linalg_output_dtype linalg_real_output_dtype"),
    "pytensor.tensor.linalg.inverse": {"matrix_inverse": "treadle.tensor.linalg:inv"},
    "pytensor.tensor.linalg": {"matrix_inverse": "treadle.tensor.linalg:inv"},
    "pytensor.tensor.linalg.summary": {"VALID_ORD": _UTILITIES, "norm": _MATRICES},
    "pytensor.tensor.math": {
        # The op of products of stacks of matrices, for rewriters that track it.
        "_matmul": "treadle.tensor:MatMul",
        "power": _TENSORS,
        "min": "treadle.as_pytensor.adapters.extrema",
        "isinf_": "treadle.tensor:isinf",
        "isnan_": "treadle.tensor:isnan",
    },
    "pytensor.scan.basic": {"scan": f"{_SCAN}.building"},
    "pytensor.scan.op": {"Scan": f"{_SCAN}.op"} | _at(f"{_SCAN}.layout", "ScanInfo ScanMethodsMixin"),
    "pytensor.scan.rewriting.db": _at("treadle.surface.rule_databases", "scan_eqopt1 scan_eqopt2"),
    "pytensor.scan.utils": _at(f"{_SCAN}.args", "FieldInfo ScanArgs default_filter_scanargs safe_index")
    | _at(f"{_SCAN}.variables", "InnerFunctionError forced_replace reconstruct_graph safe_new")
    | {"expand_empty": f"{_SCAN}.buffers"},
    "pytensor.scan.views": _at(f"{_SCAN}.views", "filter foldl foldr map reduce"),
    "pytensor.tensor.optimize": {"LRUCache1": _SEARCHES},
    "pytensor.tensor.random.basic": _at(_DRAWS, "CauchyRV GumbelRV cauchy gumbel"),
    "pytensor.tensor.rewriting.shape": _at(_SHAPES, "ShapeFeature ShapeOptimizer"),
    "pytensor.tensor.shape": {"Shape": "treadle.as_pytensor.adapters.shapes"},
    "pytensor.tensor.sort": _at(_UTILITIES, "KIND KIND_VALUES"),
    "pytensor.tensor.subtensor": {"as_index_constant": _TENSORS},
    "pytensor.tensor.symbolic": _at(_GRAPH_OPS, "FusibleSymbolicOp SymbolicOp TensorSymbolicOp"),
    "pytensor.tensor.type": _at(
        _DTYPES,
        "ubscalar uiscalar ulscalar uwscalar values_eq_approx values_eq_approx_remove_inf "
        "values_eq_approx_remove_inf_nan values_eq_approx_remove_nan",
    ),
    "pytensor.tensor.type_other": {"as_int_none_variable": _TENSORS},
    "pytensor.tensor.utils": {
        "faster_broadcast_to": "numpy:broadcast_to",
        "faster_ndindex": "numpy:ndindex",
        "get_static_shape_from_size_variables": _TENSORS,
        "shape_of_variables": _TENSORS,
        **_at(
            _UTILITIES, "broadcast_static_dim_lengths hash_from_ndarray import_func_from_string normalize_reduce_axis"
        ),
    },
    "pytensor.tensor.variable": {
        "DenseTensorConstant": "treadle.tensor:TensorConstant",
        "DenseTensorVariable": "treadle.tensor:TensorVariable",
        "get_unique_constant_value": _TENSORS,
    },
    "pytensor.xtensor.random": _at(_NAMED_DRAWS, "cauchy gumbel"),
    "pytensor.xtensor.random.basic": _at(_NAMED_DRAWS, "cauchy gumbel"),
    "pytensor.utils": _at(
        _UTILITIES,
        "Singleton apply_across_args call_subprocess_Popen difference flatten from_return_values get_unbound_function "
        "hash_from_code output_subprocess_Popen subprocess_Popen to_return_values uniq unzip",
    ),
}
