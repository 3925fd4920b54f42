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
                "imatrix int_matrix_types int_scalar_types int_types int_vector_types iscalar ivector lmatrix lscalar "
                "lvector matrix row scalar tensor tensor3 tensor4 tensor5 tensor6 tensor7 vector wmatrix wscalar "
                "wvector zmatrix zscalar zvector values_eq_approx_always_true btensor5 btensor6 btensor7 cols crow "
                "ctensor3 ctensor4 ctensor5 ctensor6 ctensor7 dcols dmatrices drows dscalars dtensor3s dtensor4s "
                "dtensor5 dtensor5s dtensor6 dtensor6s dtensor7 dtensor7s dvectors fcols fmatrices frows fscalars "
                "ftensor3s ftensor4s ftensor5 ftensor5s ftensor6 ftensor6s ftensor7 ftensor7s fvectors icol icols "
                "imatrices irow irows iscalars itensor3 itensor3s itensor4 itensor4s itensor5 itensor5s itensor6 "
                "itensor6s itensor7 itensor7s ivectors lcol lcols lmatrices lrow lrows lscalars ltensor3 ltensor3s "
                "ltensor4 ltensor4s ltensor5 ltensor5s ltensor6 ltensor6s ltensor7 ltensor7s lvectors matrices rows "
                "scalars tensor3s tensor4s tensor5s tensor6s tensor7s vectors wcol wrow wtensor3 wtensor4 wtensor5 "
                "wtensor6 wtensor7 zcol zrow ztensor3 ztensor4 ztensor5 ztensor6 ztensor7"
            ),
            "treadle.tensor.types.tensor_type": "TensorType",
        },
    )
