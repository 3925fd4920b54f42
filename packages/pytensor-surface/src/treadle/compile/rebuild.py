"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from treadle.config import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "treadle.compile": "UnusedInputError rebuild_collect_shared",
    },
)
