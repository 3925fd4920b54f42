"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.surface.ops.op_names import *  # noqa: F403
    from treadle.tensor import *  # noqa: F403
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.tensor": (
                "Dot=MatMul abs add all allclose and_ angle any arccos arccosh arcsin arcsinh arctan arctan2 arctanh "
                "argmax argmin betainc betaincinv bitwise_and bitwise_not bitwise_or bitwise_xor ceil ceil_intdiv "
                "chi2sf clip complex complex_from_polar conj conjugate cos cosh cov deg2rad dense_dot digamma divmod "
                "dot eq equal erf erfc erfcinv erfcx erfinv exp exp2 expit expm1 floor floor_div gamma gammainc "
                "gammaincc gammainccinv gammaincinv gammal gammaln gammau ge greater greater_equal gt hyp2f1 i0 i1 "
                "imag int_div invert iround isclose isfinite isinf isnan isneginf isposinf iv ive j0 j1 jv kn kv kve "
                "largest le less less_equal log log10 log1mexp log1p log1pexp log2 logaddexp logsumexp lt matmul "
                "matvec max max_and_argmax maximum mean median min minimum mod mul nan_to_num ndtri_exp neg neq "
                "not_equal or_ outer owens_t polygamma pow power prod psi ptp rad2deg real reciprocal round "
                "round_half_away_from_zero round_half_to_even sgn sigmoid sign sin sinh smallest softplus sqr sqrt "
                "square std sub sum switch tan tanh tensordot tri_gamma true_div trunc var variadic_add variadic_mul "
                "vecdot vecmat xor _matmul=matmul _dot=dot"
            ),
            "treadle.surface.ops.op_names": "All Any=Any_ Argmax Argmin CAReduce Max Min Prod Sum",
        },
    )
