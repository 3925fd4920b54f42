"""Which names of PyTensor's stand for objects of this package, and for objects of treadle's at other places."""

from __future__ import annotations

# The release whose names these are.
VERSION = "3.3.8"

_LINKERS = "treadle.as_pytensor.adapters.linkers"
_SHAPES = "treadle.as_pytensor.adapters.shape_features"
_CONVERSION = "treadle.as_pytensor.adapters.conversion"
_DRAWS = "treadle.as_pytensor.adapters.draws"
_MATRICES = "treadle.as_pytensor.adapters.matrices"
_TRANSFORMS = "treadle.as_pytensor.adapters.transforms"
_ASSUMPTIONS = "treadle.as_pytensor.adapters.assumptions"
_DTYPES = "treadle.as_pytensor.adapters.dtypes"
_SCALARS = "treadle.as_pytensor.adapters.scalars"
_TENSORS = "treadle.as_pytensor.adapters.tensors"
_UTILITIES = "treadle.as_pytensor.adapters.utilities"
_KEYS = (
    "ALL_KEYS DIAGONAL IMPLIES KEY_REGISTRY LOWER_TRIANGULAR MATRIX_KEYS ORTHOGONAL PERMUTATION POSITIVE_DEFINITE "
    "SELECTION SYMMETRIC TRIDIAGONAL UNIQUE_INDICES UNIT_MAGNITUDE UNIVERSAL_RULES UPPER_TRIANGULAR AssumptionFeature "
    "AssumptionKey FactState KeyRegistryView all_inputs_have_key check_assumption infer_assumption_for_node "
    "infer_assumption_from_client propagate_first register_assumption register_client_inference "
    "register_constant_inference register_implies register_universal_assumption true_if"
)

# Values that many of PyTensor's modules have from one of them, wherever they are asked for.
EVERYWHERE: dict[str, str] = {
    **dict.fromkeys(("KEY_REGISTRY", "MATRIX_KEYS"), _ASSUMPTIONS),
    **dict.fromkeys(
        "LOCAL_BITWIDTH PYTHON_INT_BITWIDTH all_dtypes complex_dtypes continuous_dtypes discrete_dtypes float_dtypes "
        "int_dtypes integer_dtypes uint_dtypes".split(),
        _DTYPES,
    ),
    **{f"pt_{name}": f"treadle.tensor:{name}" for name in ("abs", "eq", "pow", "switch")},
    **{f"{name}_t": f"treadle.scalar:{dtype}" for name, dtype in (("bool", "bool"), ("int", "int64"))},
}
_SCAN = "treadle.as_pytensor.adapters.scan"

# For each module, the place of each of its names as ``module:attribute`` (the name itself where there is none).
ADAPTERS: dict[str, dict[str, str]] = {
    "pytensor.assumptions": dict.fromkeys(
        (*_KEYS.split(), "assumption_tags", "summarize_assumptions"), _ASSUMPTIONS
    ),
    "pytensor.assumptions.bundles": {"register_matrix_property_rules": _ASSUMPTIONS},
    "pytensor.assumptions.core": dict.fromkeys(_KEYS.split(), _ASSUMPTIONS),
    "pytensor.assumptions.specify": {"assume": _ASSUMPTIONS},
    "pytensor._version": {"get_versions": _UTILITIES},
    "pytensor.configdefaults": {"short_platform": _UTILITIES},
    "pytensor.gradient": {
        f"{name}_": f"treadle.tensor:{name}" for name in ("disconnected_grad", "undefined_grad", "zero_grad")
    },
    "pytensor.graph.utils": {"AssocList": _UTILITIES},
    "pytensor.compile.rewriting": {"rewrite_inner_graph": "treadle.as_pytensor.adapters.inner_graphs"},
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
        **dict.fromkeys(
            "ComplexError IntegerDivisionError floor_div isinf isnan scalar_maximum scalar_minimum".split(), _SCALARS
        ),
        **{
            f"convert_to_{dtype}": _SCALARS
            for dtype in "bool complex64 complex128 float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 "
            "uint64".split()
        },
        **dict.fromkeys(
            "float_out int_out real_out same_out same_out_float_only same_out_min8 same_out_nobool same_out_nocomplex "
            "specific_out upcast_out upcast_out_min8 upcast_out_no_complex upcast_out_nobool upgrade_to_float "
            "upgrade_to_float64".split(),
            _DTYPES,
        ),
    },
    "pytensor.scalar.math": dict.fromkeys(
        "betainc betaincinv betaln gamma gammainc gammaincc gammainccinv gammaincinv hyp2f1 i0 i1 ive j0 j1 jv kve "
        "ndtri_exp owens_t polygamma scalar_abs tri_gamma".split(),
        _SCALARS,
    ),
    "pytensor.tensor": dict.fromkeys(("as_tensor", "as_tensor_variable"), _CONVERSION),
    "pytensor.tensor.basic": {
        **dict.fromkeys(("as_tensor", "as_tensor_variable"), _CONVERSION),
        "infer_static_shape": _TENSORS,
        "vectorize_node": "treadle.graph.replace:vectorize_node",
    },
    "pytensor.tensor.fft": dict.fromkeys(("irfft", "rfft"), _TRANSFORMS),
    "pytensor.tensor.linalg.decomposition.qr": {"qr": _MATRICES},
    "pytensor.tensor.linalg.decomposition.schur": {"schur": _MATRICES},
    "pytensor.tensor.linalg.decomposition.svd": {"svd": _MATRICES},
    "pytensor.tensor.linalg.dtype_utils": dict.fromkeys(
        ("linalg_output_dtype", "linalg_real_output_dtype"), _DTYPES
    ),
    "pytensor.tensor.linalg.inverse": {"matrix_inverse": "treadle.tensor.linalg:inv"},
    "pytensor.tensor.linalg": {"matrix_inverse": "treadle.tensor.linalg:inv"},
    "pytensor.tensor.linalg.summary": {"VALID_ORD": _UTILITIES, "norm": _MATRICES},
    "pytensor.tensor.math": {
        # The op of products of stacks of matrices, for rewriters that track it.
        "_matmul": "treadle.tensor:MatMul",
        "isinf_": "treadle.tensor:isinf",
        "isnan_": "treadle.tensor:isnan",
    },
    "pytensor.scan.basic": {"scan": _SCAN},
    "pytensor.scan.op": {"Scan": f"{_SCAN}_op"} | dict.fromkeys(("ScanInfo", "ScanMethodsMixin"), f"{_SCAN}_layout"),
    "pytensor.scan.rewriting.db": dict.fromkeys(("scan_eqopt1", "scan_eqopt2"), "treadle.surface.rule_databases"),
    "pytensor.scan.utils": dict.fromkeys(
        ("FieldInfo", "ScanArgs", "default_filter_scanargs", "safe_index"), f"{_SCAN}_args"
    )
    | dict.fromkeys(("InnerFunctionError", "forced_replace", "reconstruct_graph", "safe_new"), f"{_SCAN}_variables")
    | {"expand_empty": f"{_SCAN}_buffers"},
    "pytensor.scan.views": dict.fromkeys(("filter", "foldl", "foldr", "map", "reduce"), f"{_SCAN}_views"),
    "pytensor.tensor.random.basic": dict.fromkeys(("CauchyRV", "GumbelRV", "cauchy", "gumbel"), _DRAWS),
    "pytensor.tensor.rewriting.shape": dict.fromkeys(("ShapeFeature", "ShapeOptimizer"), _SHAPES),
    "pytensor.tensor.shape": {"Shape": "treadle.as_pytensor.adapters.shapes"},
    "pytensor.tensor.shape": {"Shape": "treadle.as_pytensor.adapters.shapes"},
    "pytensor.tensor.sort": dict.fromkeys(("KIND", "KIND_VALUES"), _UTILITIES),
    "pytensor.tensor.type": dict.fromkeys(
        "ubscalar uiscalar ulscalar uwscalar values_eq_approx values_eq_approx_remove_inf "
        "values_eq_approx_remove_inf_nan values_eq_approx_remove_nan".split(),
        _DTYPES,
    ),
    "pytensor.tensor.type_other": {"as_int_none_variable": _TENSORS},
    "pytensor.tensor.utils": {
        "faster_broadcast_to": "numpy:broadcast_to",
        "faster_ndindex": "numpy:ndindex",
        "get_static_shape_from_size_variables": _TENSORS,
        "shape_of_variables": _TENSORS,
        **dict.fromkeys(
            "broadcast_static_dim_lengths hash_from_ndarray import_func_from_string normalize_reduce_axis".split(),
            _UTILITIES,
        ),
    },
    "pytensor.tensor.variable": {
        "DenseTensorConstant": "treadle.tensor:TensorConstant",
        "DenseTensorVariable": "treadle.tensor:TensorVariable",
        "get_unique_constant_value": _TENSORS,
    },
    "pytensor.utils": dict.fromkeys(
        "Singleton apply_across_args call_subprocess_Popen difference flatten from_return_values get_unbound_function "
        "hash_from_code output_subprocess_Popen subprocess_Popen to_return_values uniq unzip".split(),
        _UTILITIES,
    ),
}
