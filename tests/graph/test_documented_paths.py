"""The documented dotted paths import: programs written for the documentation need no other names."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import treadle.graph
from tests.repo.test_sources import is_table_of_contents

PATHS = {
    "treadle.graph": (
        "Apply Constant FunctionGraph Op Type Variable ancestors clone clone_replace explicit_graph_inputs "
        "graph_inputs graph_replace vectorize_graph"
    ),
    "treadle.graph.basic": (
        "Apply Constant Node Variable ancestors applys_between clone clone_get_equiv equal_computations "
        "explicit_graph_inputs general_toposort graph_inputs io_toposort orphans_between truncated_graph_inputs "
        "variable_depends_on vars_between walk"
    ),
    "treadle.graph.fg": "AbstractFunctionGraph FrozenFunctionGraph FunctionGraph MissingInputError Output",
    "treadle.graph.op": (
        "HasInnerGraph Op ThunkType compute_test_value get_test_value get_test_values io_connection_pattern "
        "is_thunk_type missing_test_message"
    ),
    "treadle.graph.type": "HasDataType HasShape Type",
    "treadle.graph.traversal": (
        "ancestors apply_ancestors apply_depends_on applys_between explicit_graph_inputs general_toposort "
        "get_var_by_name graph_inputs io_toposort orphans_between toposort toposort_with_orderings "
        "truncated_graph_inputs variable_ancestors variable_depends_on vars_between walk walk_toposort"
    ),
    "treadle.graph.replace": "clone_replace graph_replace vectorize_graph vectorize_node",
    "treadle.graph.features": (
        "AlreadyThere Bookkeeper Feature FullHistory History HistoryEntry NoOutputFromInplace "
        "PreserveVariableAttributes ReplaceValidate ReplacementDidNotRemoveError Validator"
    ),
    "treadle.graph.destroyhandler": "DestroyHandler inplace_candidates",
    "treadle.graph.null_type": "DisconnectedType NullType null_type",
    "treadle.graph.utils": (
        "InconsistencyError MethodNotDefined MissingInputError Scratchpad add_tag_trace get_variable_trace_string"
    ),
    "treadle.compile": (
        "FAST_COMPILE FAST_RUN Function In Mode Out SharedVariable function get_default_mode get_mode shared"
    ),
    "treadle.compile.mode": (
        "AddDestroyHandler AddFeatureOptimizer C CVM FAST_COMPILE FAST_RUN JAX Mode NUMBA OPT_FAST_COMPILE "
        "OPT_FAST_RUN OPT_FAST_RUN_STABLE OPT_MERGE OPT_NONE OPT_O2 OPT_O3 OPT_STABILIZE OPT_UNSAFE PYTORCH "
        "PrintCurrentFunctionGraph VM get_default_mode get_mode optdb predefined_linkers predefined_modes "
        "predefined_optimizers register_linker register_mode register_optimizer"
    ),
    "treadle.compile.monitormode": "MonitorMode detect_nan",
    "treadle.link.vm": "Loop Stack UpdatingVM VM VMLinker calculate_reallocate_info",
    "treadle.link.vm.basic": "Container JITLinker Linker LocalLinker PerformLinker WrapLinker WrapLinkerMany",
    "treadle.link.vm.utils": (
        "compile_function_src fgraph_to_python gc_helper get_destroy_dependencies get_name_for_object map_storage "
        "raise_with_op register_thunk_trace_excepthook streamline unique_name_generator"
    ),
    "treadle.link.c": "CLinker OpWiseCLinker",
    "treadle.compile.io": "In Out",
    "treadle.config": "config",
}
# Modules that only list documented names, under names that modules of treadle's own do not have.
LISTS = ("basic", "destroyhandler", "features", "fg", "null_type", "op", "replace", "traversal", "type", "utils")


@pytest.mark.parametrize("path", PATHS)
def test_documented_names_are_found_at_their_path(path: str) -> None:
    module = importlib.import_module(path)
    assert [name for name in PATHS[path].split() if not hasattr(module, name)] == []


def test_names_at_both_paths_are_the_same_objects() -> None:
    for path in ("basic", "fg", "op", "type", "traversal", "replace"):
        module = importlib.import_module(f"treadle.graph.{path}")
        for name in PATHS[f"treadle.graph.{path}"].split():
            facade = getattr(treadle.graph, name, None)
            assert facade is None or facade is getattr(module, name), name


def test_function_of_compile_is_the_function_itself() -> None:
    from treadle.compile import function

    assert callable(function)


@pytest.mark.parametrize(
    "path", [*(f"treadle.graph.{name}" for name in LISTS), "treadle.link.vm.basic", "treadle.link.vm.utils"]
)
def test_lists_of_names_define_nothing(path: str) -> None:
    file = importlib.import_module(path).__file__
    assert file is not None
    assert is_table_of_contents(ast.parse(Path(file).read_text(encoding="utf-8")))


def test_graph_does_not_load_the_lists() -> None:
    lists = [f"treadle.graph.{name}" for name in LISTS]
    program = f"import sys, treadle.graph; print([m for m in {lists} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_trace_of_a_variable_is_shown_line_by_line() -> None:
    from tests.graph.arithmetic import inverse, number
    from treadle.graph.utils import add_tag_trace, get_variable_trace_string

    x = number("x")
    assert get_variable_trace_string(x) == ""
    y = inverse(x)
    assert '"y = inverse(x)"' in get_variable_trace_string(y)
    add_tag_trace(x, user_line=1)
    assert get_variable_trace_string(x).endswith('"add_tag_trace(x, user_line=1)"\n')


def test_registry_of_vectorisers_is_written_as_documented() -> None:
    from tests.graph.arithmetic import Inverse, number
    from treadle.graph import vectorize_graph
    from treadle.graph.replace import _vectorize_node, _vectorize_not_needed

    class Mapped(Inverse):
        pass

    _vectorize_node.register(Mapped)(_vectorize_not_needed)
    x, y = number("x"), number("y")
    assert vectorize_graph(Mapped()(x), {x: y}).owner.inputs == [y]
