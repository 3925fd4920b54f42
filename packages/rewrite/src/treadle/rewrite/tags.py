"""Tags that queries may name even if no rule carries them: modes, backends and users exclude them."""

from __future__ import annotations

from treadle.config import BACKEND_REQUIREMENTS
from treadle.rewrite.phase import Phase

# The first is carried by rules that give another value than the expression as written at some operands of floats: at
# NaN, infinities, zeros of either sign and subnormal numbers, outside of a function's domain, or where an intermediate
# value leaves the range. A query that names the second leaves them out.
NOT_IEEE, STRICT_IEEE = "not_ieee", "strict_ieee"

# The documented tags, by what they are about.
_DOCUMENTED = {
    "modes": "fast_run fast_compile minimum_compile more_mem",
    "backends": "cxx_only py_only c_blas normalization_by_rows search_as_loop",
    "passes": "merge add_destroy_handler canonicalize_db BlasOpt blas_opt_inplace FusionOptimizer ShapeOpt infer_shape"
    " inplace_elemwise inplace_elemwise_opt inplace_elemwise_optimizer elemwise_fusion local_elemwise_fusion"
    " local_careduce_fusion fuse_indexed_into_elemwise add_mul_fusion compile_inner_graph inline_ofg",
    "kinds of rules": "stable unsafe shape_unsafe random_unsafe useless local_useless local_cut_useless_reduce"
    " alloc_empty_to_zeros symbolic_op_recognition local_incsubtensor_of_allocs local_setsubtensor_of_allocs",
    "ops that are still to come": "blockwise inline_einsum lower_xtensor reuse_lu_decomposition_multiple_solves"
    " scan_split_non_sequence_lu_decomposition_solve",
    "Scan": "scan scan_eqopt1 scan_eqopt2 scan_inline_invariant_constants scan_make_inplace"
    " scan_merge_duplicate_inputs scan_pushout scan_pushout_add scan_pushout_dot1 scan_pushout_nonseqs_ops"
    " scan_pushout_seqs_ops scan_reduce_trace_prealloc scan_remove_unused scan_save_mem scan_save_mem_no_prealloc"
    " scan_save_mem_prealloc all_pushout_opt",
}
DOCUMENTED_TAGS = frozenset(
    {
        *(tag for tags in _DOCUMENTED.values() for tag in tags.split()),
        *(phase.tag for phase in Phase),
        *(NOT_IEEE, STRICT_IEEE),
        *BACKEND_REQUIREMENTS,
    }
)
