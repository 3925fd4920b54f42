"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.tensor import exp2 as exp2
    from treadle.tensor import expit as expit
    from treadle.tensor import expm1 as expm1
    from treadle.tensor import log1mexp as log1mexp
    from treadle.tensor import log1p as log1p
    from treadle.tensor import log1pexp as log1pexp
    from treadle.tensor import logaddexp as logaddexp
    from treadle.tensor import round as round
    from treadle.tensor import sigmoid as sigmoid
    from treadle.tensor import softplus as softplus
    from treadle.tensor.elementwise.floating import cbrt as cbrt
    from treadle.tensor.reductions.normalization import log_softmax as log_softmax
    from treadle.tensor.reductions.normalization import logsumexp as logsumexp
    from treadle.tensor.reductions.normalization import softmax as softmax
    from treadle.tensor.special_functions.bessel_functions import i0 as i0
    from treadle.tensor.special_functions.bessel_functions import i0e as i0e
    from treadle.tensor.special_functions.bessel_functions import i1 as i1
    from treadle.tensor.special_functions.bessel_functions import i1e as i1e
    from treadle.tensor.special_functions.bessel_functions import iv as iv
    from treadle.tensor.special_functions.bessel_functions import ive as ive
    from treadle.tensor.special_functions.bessel_functions import j0 as j0
    from treadle.tensor.special_functions.bessel_functions import j1 as j1
    from treadle.tensor.special_functions.bessel_functions import jn as jn
    from treadle.tensor.special_functions.bessel_functions import jv as jv
    from treadle.tensor.special_functions.bessel_functions import jve as jve
    from treadle.tensor.special_functions.bessel_functions import k0 as k0
    from treadle.tensor.special_functions.bessel_functions import k0e as k0e
    from treadle.tensor.special_functions.bessel_functions import k1 as k1
    from treadle.tensor.special_functions.bessel_functions import k1e as k1e
    from treadle.tensor.special_functions.bessel_functions import kn as kn
    from treadle.tensor.special_functions.bessel_functions import kv as kv
    from treadle.tensor.special_functions.bessel_functions import kve as kve
    from treadle.tensor.special_functions.bessel_functions import y0 as y0
    from treadle.tensor.special_functions.bessel_functions import y1 as y1
    from treadle.tensor.special_functions.bessel_functions import yn as yn
    from treadle.tensor.special_functions.bessel_functions import yv as yv
    from treadle.tensor.special_functions.bessel_functions import yve as yve
    from treadle.tensor.special_functions.entropy import entr as entr
    from treadle.tensor.special_functions.entropy import kl_div as kl_div
    from treadle.tensor.special_functions.entropy import rel_entr as rel_entr
    from treadle.tensor.special_functions.entropy import xlog1py as xlog1py
    from treadle.tensor.special_functions.entropy import xlogx as xlogx
    from treadle.tensor.special_functions.entropy import xlogy as xlogy
    from treadle.tensor.special_functions.entropy import xlogy0 as xlogy0
    from treadle.tensor.special_functions.error_functions import erf as erf
    from treadle.tensor.special_functions.error_functions import erfc as erfc
    from treadle.tensor.special_functions.error_functions import erfcinv as erfcinv
    from treadle.tensor.special_functions.error_functions import erfcx as erfcx
    from treadle.tensor.special_functions.error_functions import erfinv as erfinv
    from treadle.tensor.special_functions.error_functions import log_ndtr as log_ndtr
    from treadle.tensor.special_functions.error_functions import ndtr as ndtr
    from treadle.tensor.special_functions.error_functions import ndtri as ndtri
    from treadle.tensor.special_functions.error_functions import ndtri_exp as ndtri_exp
    from treadle.tensor.special_functions.error_functions import owens_t as owens_t
    from treadle.tensor.special_functions.gamma_functions import beta as beta
    from treadle.tensor.special_functions.gamma_functions import betaln as betaln
    from treadle.tensor.special_functions.gamma_functions import digamma as digamma
    from treadle.tensor.special_functions.gamma_functions import factorial as factorial
    from treadle.tensor.special_functions.gamma_functions import gamma as gamma
    from treadle.tensor.special_functions.gamma_functions import gammaln as gammaln
    from treadle.tensor.special_functions.gamma_functions import loggamma as loggamma
    from treadle.tensor.special_functions.gamma_functions import multigammaln as multigammaln
    from treadle.tensor.special_functions.gamma_functions import poch as poch
    from treadle.tensor.special_functions.gamma_functions import polygamma as polygamma
    from treadle.tensor.special_functions.gamma_functions import psi as psi
    from treadle.tensor.special_functions.gamma_functions import tri_gamma as tri_gamma
    from treadle.tensor.special_functions.hypergeometric import hyp2f1 as hyp2f1
    from treadle.tensor.special_functions.incomplete_beta import betainc as betainc
    from treadle.tensor.special_functions.incomplete_beta import betaincinv as betaincinv
    from treadle.tensor.special_functions.incomplete_gamma import gammainc as gammainc
    from treadle.tensor.special_functions.incomplete_gamma import gammaincc as gammaincc
    from treadle.tensor.special_functions.incomplete_gamma import gammainccinv as gammainccinv
    from treadle.tensor.special_functions.incomplete_gamma import gammaincinv as gammaincinv
    from treadle.tensor.special_functions.stable_quotients import exprel as exprel
    from treadle.tensor.special_functions.stable_quotients import log_expit as log_expit
    from treadle.tensor.special_functions.stable_quotients import logit as logit
    from treadle.tensor.special_functions.stable_quotients import sinc as sinc
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
