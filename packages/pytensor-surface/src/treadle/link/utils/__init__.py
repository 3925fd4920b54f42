"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.surface.thunks.containers import *  # noqa: F403
    from treadle.surface.thunks.node_thunks import *  # noqa: F403
    from treadle.surface.thunks.python_source import *  # noqa: F403
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.surface.thunks.containers": "map_storage",
            "treadle.surface.thunks.node_thunks": (
                "gc_helper get_destroy_dependencies raise_with_op register_thunk_trace_excepthook streamline"
            ),
            "treadle.surface.thunks.python_source": (
                "compile_function_src fgraph_to_python get_name_for_object unique_name_generator"
            ),
        },
    )
