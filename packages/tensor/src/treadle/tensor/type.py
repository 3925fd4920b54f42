"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.tensor import *  # noqa: F403
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.tensor": (
                "DenseTensorType=TensorType TensorType bcol bmatrix brow bscalar btensor3 btensor4 bvector ccol "
                "cmatrix col complex_matrix_types complex_scalar_types complex_types complex_vector_types cscalar "
                "cvector dcol dmatrix drow dscalar dtensor3 dtensor4 dvector fcol float_matrix_types "
                "float_scalar_types float_types float_vector_types fmatrix frow fscalar ftensor3 ftensor4 fvector "
                "imatrix int_matrix_types int_scalar_types int_types int_vector_types iscalar ivector lmatrix "
                "lscalar lvector matrix row scalar tensor tensor3 tensor4 tensor5 tensor6 tensor7 vector wmatrix "
                "wscalar wvector zmatrix zscalar zvector values_eq_approx_always_true"
            ),
            "treadle.tensor.types": "TensorType",
        },
    )
