"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.graph import *  # noqa: F403
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.graph": (
                "Apply HasInnerGraph Op ThunkType compute_test_value get_test_value get_test_values "
                "io_connection_pattern is_thunk_type missing_test_message static_op"
            ),
        },
    )
