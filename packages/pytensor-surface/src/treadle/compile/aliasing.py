"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from treadle.config import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "treadle.compile": (
            "Supervisor add_supervisor_to_fgraph alias_root infer_reuse_pattern insert_deepcopy view_tree_set"
        ),
    },
)
