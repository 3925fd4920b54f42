"""Public names of `treadle.sparse`, by the modules imported when one is asked for.

For each module the names of its ``__all__``, and nothing else (tests/sparse/test_names.py). One line for each module.
"""

NAMES = {
    "treadle.sparse.elementwise.arithmetic": "add add_s_d add_s_s add_s_s_data col_scale divide mul mul_s_d mul_s_s mul_s_v multiply neg row_scale structured_add_s_v sub subtract",
    "treadle.sparse.selection.cleaning": "clean ensure_sorted_indices remove0",
    "treadle.sparse.elementwise.comparison": "eq ge gt le lt neq",
    "treadle.sparse.types.conversion": "as_sparse as_sparse_or_tensor_variable as_sparse_variable as_symbolic_sparse constant csc_dmatrix csc_fmatrix csc_matrix csr_dmatrix csr_fmatrix csr_matrix dcsc_matrix dcsr_matrix fcsc_matrix fcsr_matrix is_sparse is_sparse_variable matrix shared sparse_constructor",
    "treadle.sparse.forms.dense": "DenseFromSparse SparseFromDense asformat bcast cast ccast copy csc_from_dense csr_from_dense dcast dense_from_sparse fcast icast lcast sp_ones_like sp_zeros_like transpose wcast zcast",
    "treadle.sparse.elementwise.functions": "abs arcsin arcsinh arctan arctanh ceil conj conjugate deg2rad expm1 floor log1p rad2deg rint sign sin sinh sqr sqrt structured_abs structured_add structured_conjugate structured_elemwise structured_exp structured_log structured_maximum structured_minimum structured_pow structured_sigmoid tan tanh trunc",
    "treadle.sparse.errors": "SparseFormatError SparseShapeError SparseTypeError",
    "treadle.sparse.selection.indexing": "get_item_2d get_item_2lists get_item_list get_item_scalar getitem",
    "treadle.sparse.joins": "block_diag construct_sparse_from_list hstack vstack",
    "treadle.sparse.forms.parts": "CSC CSM CSR CSMProperties csm_data csm_indices csm_indptr csm_properties csm_shape sparse_shape",
    "treadle.sparse.products": "Dot TrueDot dot sampling_dot structured_dot structured_dot_grad true_dot usmm",
    "treadle.sparse.reductions": "SpSum diag sp_sum square_diagonal",
    "treadle.sparse.types.sparse_type": "SparseTensorType",
    "treadle.sparse.types.variable": "SparseConstant SparseTensorSharedVariable SparseVariable",
    "treadle.sparse.verification": "verify_grad_sparse",
}
