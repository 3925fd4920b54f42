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
                "ancestors apply_ancestors apply_depends_on applys_between explicit_graph_inputs general_toposort "
                "get_var_by_name graph_inputs io_toposort is_in_ancestors orphans_between toposort "
                "toposort_with_orderings truncated_graph_inputs variable_ancestors variable_depends_on vars_between "
                "walk walk_toposort"
            ),
        },
    )
