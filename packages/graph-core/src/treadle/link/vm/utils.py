"""A list of documented names, kept at their documented path; they are defined in the modules imported here."""

from treadle.link.vm.thunks.containers import map_storage
from treadle.link.vm.thunks.node_thunks import (
    gc_helper,
    get_destroy_dependencies,
    raise_with_op,
    register_thunk_trace_excepthook,
    streamline,
)
from treadle.link.vm.thunks.python_source import (
    compile_function_src,
    fgraph_to_python,
    get_name_for_object,
    unique_name_generator,
)

__all__ = [
    "compile_function_src",
    "fgraph_to_python",
    "gc_helper",
    "get_destroy_dependencies",
    "get_name_for_object",
    "map_storage",
    "raise_with_op",
    "register_thunk_trace_excepthook",
    "streamline",
    "unique_name_generator",
]
