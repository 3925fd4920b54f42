"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.sparse import *  # noqa: F403
    from treadle.sparse.op_kinds import *  # noqa: F403
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.sparse": (
                "CSC CSM CSMProperties CSR DenseFromSparse SparseFromDense as_sparse as_sparse_variable "
                "as_symbolic_sparse bcast cast ccast clean col_scale construct_sparse_from_list csc_from_dense "
                "csc_matrix csm_data csm_indices csm_indptr csm_properties csm_shape csr_from_dense csr_matrix dcast "
                "dense_from_sparse diag ensure_sorted_indices fcast get_item_2d get_item_2lists get_item_list "
                "get_item_scalar hstack icast lcast matrix remove0 row_scale sp_ones_like sp_zeros_like "
                "square_diagonal transpose vstack wcast zcast"
            ),
            "treadle.sparse.op_kinds": (
                "CSMGrad Cast ColScaleCSC ConstructSparseFromList Diag EnsureSortedIndices GetItem2Lists "
                "GetItem2ListsGrad GetItem2d GetItemList GetItemListGrad GetItemScalar HStack Remove0 RowScaleCSC "
                "Transpose VStack csm_grad get_item_2lists_grad get_item_list_grad"
            ),
        },
    )
