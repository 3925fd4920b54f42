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
                "DisconnectedInputError NullTypeGradError grad grad_clip grad_scale hessian hessian_vector_product "
                "jacobian Lop Rop pullback pushforward pushforward_through_pullback disconnected_grad zero_grad "
                "undefined_grad subgraph_grad grad_not_implemented grad_undefined verify_grad DisconnectedGrad "
                "GradClip GradScale UndefinedGrad ZeroGrad GradientError numeric_grad mode_not_slow as_list_or_tuple "
                "consider_constant"
            ),
            "treadle.graph": "DisconnectedType",
            "treadle.graph.null_type": "NullType null_type disconnected_type",
        },
    )
