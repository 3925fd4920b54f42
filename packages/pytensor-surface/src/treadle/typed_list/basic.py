"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.surface.values.typed_list import *  # noqa: F403
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.surface.values.typed_list": (
                "TypedListConstant TypedListVariable Append Count Extend GetItem Index Insert Length MakeList Remove "
                "Reverse append count extend getitem index_ insert length make_list remove reverse"
            ),
        },
    )
