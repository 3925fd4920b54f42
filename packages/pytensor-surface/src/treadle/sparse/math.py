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
                "Dot SpSum TrueDot abs add add_s_d add_s_s add_s_s_data arcsin arcsinh arctan arctanh ceil conj "
                "conjugate deg2rad dot eq expm1 floor ge gt le log1p lt mul mul_s_d mul_s_s mul_s_v multiply neg neq "
                "rad2deg rint sampling_dot sign sin sinh sp_sum sqr sqrt structured_add structured_add_s_v "
                "structured_conjugate structured_dot structured_dot_grad structured_elemwise structured_exp "
                "structured_log structured_maximum structured_minimum structured_pow structured_sigmoid sub subtract "
                "tan tanh true_dot trunc usmm"
            ),
            "treadle.sparse.op_kinds": (
                "AddSparseDense AddSparseSparse AddSparseSparseData EqualSparseDense EqualSparseSparse "
                "GreaterEqualSparseDense GreaterEqualSparseSparse GreaterThanSparseDense GreaterThanSparseSparse "
                "LessEqualSparseDense LessEqualSparseSparse LessThanSparseDense LessThanSparseSparse "
                "MultiplySparseDense MultiplySparseDenseVector MultiplySparseSparse NotEqualSparseDense "
                "NotEqualSparseSparse SamplingDot StructuredAddSparseDenseVector StructuredDot StructuredDotGradCSC "
                "StructuredDotGradCSR Usmm equal_s_d equal_s_s greater_equal_s_d greater_equal_s_s greater_than_s_d "
                "greater_than_s_s less_equal_s_d less_equal_s_s less_than_s_d less_than_s_s not_equal_s_d "
                "not_equal_s_s sdg_csc sdg_csr"
            ),
        },
    )
