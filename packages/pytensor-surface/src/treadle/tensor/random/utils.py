"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.tensor.random import *  # noqa: F403
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.tensor.random": (
                "RandomStream broadcast_params compute_batch_shape explicit_expand_dims normalize_size_param "
                "params_broadcast_shapes supp_shape_from_ref_param_shape"
            ),
            "treadle.tensor.random.words": "custom_rng_deepcopy=separated",
        },
    )
