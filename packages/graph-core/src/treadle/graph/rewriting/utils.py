"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from treadle.config import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "treadle.rewrite": "get_clients_at_depth rewrite_graph rewrite_subgraph",
    },
)
