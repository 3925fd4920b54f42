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
                "apply_along_axis transfer values_eq_approx_always_true variadic_add variadic_mul vectorize vmap"
            ),
        },
    )
