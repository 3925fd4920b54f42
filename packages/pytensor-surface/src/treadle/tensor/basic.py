"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.surface.rule_databases import *  # noqa: F403
    from treadle.surface.values.as_tensor import *  # noqa: F403
    from treadle.surface.values.scalar_values import *  # noqa: F403
    from treadle.surface.values.vectors import *  # noqa: F403
    from treadle.tensor import *  # noqa: F403
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.tensor": (
                "ARange Alloc ExtractDiag Join Nonzero Split alloc arange as_tensor as_tensor_variable atleast_1d "
                "atleast_2d atleast_3d atleast_Nd cast choose concatenate constant diag diagonal empty empty_like "
                "expand_dims extract_diag eye fill flatnonzero flatten flip full full_like get_scalar_constant_value "
                "get_underlying_scalar_constant_value get_vector_length horizontal_stack identity identity_like "
                "inverse_permutation is_flat ix_ join mgrid moveaxis nonzero nonzero_values ogrid ones ones_like "
                "permute_row_elements roll second split stack stacklists swapaxes switch take_along_axis tensor_copy "
                "tile trace transfer transpose tri tril tril_indices tril_indices_from triu triu_indices "
                "triu_indices_from vertical_stack where zeros zeros_like NotScalarConstantError"
            ),
            "treadle.surface.rule_databases": "infer_shape_db",
            "treadle.surface.values.as_tensor": "_as_tensor_variable",
            "treadle.surface.values.vectors": "AllocEmpty MakeVector make_vector",
            "treadle.surface.values.scalar_values": (
                "ScalarFromTensor TensorFromScalar scalar_from_tensor tensor_from_scalar"
            ),
        },
    )
