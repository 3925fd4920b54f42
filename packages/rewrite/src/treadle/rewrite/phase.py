"""Phases: the stages that a graph goes through, in order."""

from __future__ import annotations

from enum import IntEnum


class Phase(IntEnum):
    """A stage of rewriting. Stages run in this order; the rules of one run together until none applies."""

    CANONICALIZE = 1
    STABILIZE = 2
    SPECIALIZE = 3
    UNCANONICALIZE = 4
    FUSION = 5
    INPLACE = 6

    @property
    def tag(self) -> str:
        """The tag that every rule of the phase carries: the name of its database."""
        return self.name.lower()

    @property
    def position(self) -> float:
        """Where the phase stands in the default database, as documented."""
        return (1.0, 1.5, 2.0, 3.0, 49.0, 50.0)[self - 1]

    @property
    def default_tags(self) -> tuple[str, ...]:
        """Tags of a rule that names none.

        Canonical forms and stable forms belong to every mode: a result must not depend on how much time was spent on
        compiling.
        """
        return ("fast_run", "fast_compile") if self <= Phase.STABILIZE else ("fast_run",)


# What rules carry that give other values than the expression as written at some operands of floats: at NaN, infinities,
# zeros of either sign and subnormal numbers, outside of a function's domain, or where a value on the way leaves the
# range. A query that names the second tag leaves them out.
NOT_IEEE, STRICT_IEEE = "not_ieee", "strict_ieee"

# Tags that queries may name although no rule may carry them at the moment: modes, backends and users exclude them.
DOCUMENTED_TAGS = frozenset(
    {
        "BlasOpt", "FusionOptimizer", "ShapeOpt", "add_destroy_handler", "add_mul_fusion", "all_pushout_opt",
        "alloc_empty_to_zeros", "blas_opt_inplace", "blockwise", "c_blas", "canonicalize_db", "compile_inner_graph",
        "cxx_only", "elemwise_fusion", "fast_compile", "fast_run", "fuse_indexed_into_elemwise", "fusion",
        "infer_shape", "inline_einsum", "inline_ofg", "inplace", "inplace_elemwise", "inplace_elemwise_opt",
        "inplace_elemwise_optimizer", "jax", "local_careduce_fusion", "local_cut_useless_reduce",
        "local_elemwise_fusion", "local_incsubtensor_of_allocs", "local_setsubtensor_of_allocs", "local_useless",
        "lower_xtensor", "merge", "minimum_compile", "more_mem", "numba", "py_only", "pytorch", "random_unsafe",
        "reuse_lu_decomposition_multiple_solves", "scan", "scan_eqopt1", "scan_eqopt2",
        "scan_inline_invariant_constants", "scan_make_inplace", "scan_merge_duplicate_inputs", "scan_pushout",
        "scan_pushout_add", "scan_pushout_dot1", "scan_pushout_nonseqs_ops", "scan_pushout_seqs_ops",
        "scan_reduce_trace_prealloc", "scan_remove_unused", "scan_save_mem", "scan_save_mem_no_prealloc",
        "scan_save_mem_prealloc", "scan_split_non_sequence_lu_decomposition_solve", "shape_unsafe", "stable",
        "symbolic_op_recognition", "unsafe", "useless",
        NOT_IEEE, STRICT_IEEE, *(phase.tag for phase in Phase),
    }
)  # fmt: skip
