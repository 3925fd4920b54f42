"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.link.vm.utils import *  # noqa: F403
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.link.vm.utils": (
                "compile_function_src fgraph_to_python gc_helper get_destroy_dependencies get_name_for_object "
                "map_storage raise_with_op register_thunk_trace_excepthook streamline unique_name_generator"
            ),
        },
    )
