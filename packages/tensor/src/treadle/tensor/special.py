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
                "beta betainc betaincinv betaln cbrt digamma entr erf erfc erfcinv erfcx erfinv exp2 expit expm1 "
                "exprel factorial gamma gammainc gammaincc gammainccinv gammaincinv gammaln hyp2f1 i0 i0e i1 i1e iv "
                "ive j0 j1 jn jv jve k0 k0e k1 k1e kl_div kn kv kve log1mexp log1p log1pexp log_expit log_ndtr "
                "log_softmax logaddexp loggamma logit logsumexp multigammaln ndtr ndtri ndtri_exp owens_t poch "
                "polygamma psi rel_entr round sigmoid sinc softmax softplus tri_gamma xlog1py xlogx xlogy xlogy0 y0 y1 "
                "yn yv yve"
            ),
        },
    )
