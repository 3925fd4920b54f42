"""treadle.compile: function, modes and shared variables."""

from typing import TYPE_CHECKING

from treadle.compile.plugins import brought_names
from treadle.compile.upward import upward as _upward
from treadle.config import lazy_module as _lazy_module
from treadle.config import package_folders

if TYPE_CHECKING:
    from treadle.compile.errors import (
        AliasedMemoryError,
        BackendWarning,
        CallError,
        ClientError,
        CompileError,
        FunctionTypeError,
        FunctionValueError,
        FunctionWarning,
        MissingBackendError,
        ReadOnlyModeError,
        TaskError,
        UnknownInputError,
        UnknownModeError,
        UnknownNameError,
        UnusedInputError,
    )
    from treadle.compile.evaluation import evaluate
    from treadle.compile.functions.aliasing import (
        add_supervisor_to_fgraph,
        alias_root,
        infer_reuse_pattern,
        insert_deepcopy,
        view_tree_set,
    )
    from treadle.compile.functions.dumping import StripPickler, function_dump
    from treadle.compile.functions.facade import function
    from treadle.compile.functions.function import Function
    from treadle.compile.functions.maker import FunctionMaker
    from treadle.compile.functions.maps.clients import Engine, register_client
    from treadle.compile.functions.nested import NestedFunction
    from treadle.compile.functions.rebuilding import rebuild_collect_shared
    from treadle.compile.functions.specification import Specification
    from treadle.compile.functions.tracing import CompiledFunction, compiled
    from treadle.compile.functions.values import DUPLICATE
    from treadle.compile.io import In, Out, SymbolicInput, SymbolicOutput
    from treadle.compile.mode import (
        FAST_COMPILE,
        FAST_RUN,
        OPT_FAST_COMPILE,
        OPT_FAST_RUN,
        OPT_FAST_RUN_STABLE,
        OPT_MERGE,
        OPT_MINIMUM,
        OPT_NONE,
        OPT_O2,
        OPT_O3,
        OPT_STABILIZE,
        OPT_UNSAFE,
        AddDestroyHandler,
        AddFeatureOptimizer,
        Mode,
        PrintCurrentFunctionGraph,
        get_default_mode,
        get_mode,
        optdb,
        predefined_linkers,
        predefined_modes,
        predefined_optimizers,
        register_linker,
        register_mode,
        register_optimizer,
    )
    from treadle.compile.mode.backends import BACKENDS
    from treadle.compile.monitormode import MonitorMode
    from treadle.compile.profiling import ProfileStats
    from treadle.graph import (
        Container,
        DeepCopyOp,
        SharedVariable,
        Supervisor,
        ViewOp,
        deep_copy_op,
        shared,
        shared_constructor,
        view_op,
    )

__all__ = [
    "BACKENDS", "DUPLICATE", "FAST_COMPILE", "FAST_RUN", "OPT_FAST_COMPILE", "OPT_FAST_RUN", "OPT_FAST_RUN_STABLE",
    "OPT_MERGE", "OPT_MINIMUM", "OPT_NONE", "OPT_O2", "OPT_O3", "OPT_STABILIZE", "OPT_UNSAFE", "AddDestroyHandler",
    "AddFeatureOptimizer", "AliasedMemoryError", "BackendWarning", "CallError", "ClientError", "CompileError",
    "CompiledFunction", "Container", "DeepCopyOp", "Engine", "Function", "FunctionMaker", "FunctionTypeError",
    "FunctionValueError", "FunctionWarning", "In", "MissingBackendError", "Mode", "MonitorMode", "NestedFunction",
    "Out", "PrintCurrentFunctionGraph", "ProfileStats", "ReadOnlyModeError", "SharedVariable", "Specification",
    "StripPickler", "Supervisor", "SymbolicInput", "SymbolicOutput", "TaskError", "UnknownInputError",
    "UnknownModeError", "UnknownNameError", "UnusedInputError", "ViewOp", "add_supervisor_to_fgraph", "alias_root",
    "compiled", "deep_copy_op", "evaluate", "function", "function_dump", "get_default_mode", "get_mode",
    "infer_reuse_pattern", "insert_deepcopy", "optdb", "predefined_linkers", "predefined_modes",
    "predefined_optimizers", "rebuild_collect_shared", "register_client", "register_linker", "register_mode",
    "register_optimizer", "shared", "shared_constructor", "view_op", "view_tree_set",
]  # fmt: skip

_upward.wire(
    DebugMode=_lazy_module("treadle.compile.debugmode"),
    FunctionMaker=_lazy_module("treadle.compile.functions.maker"),
    MonitorMode=_lazy_module("treadle.compile.monitormode"),
    NanGuardMode=_lazy_module("treadle.compile.nanguardmode"),
    NestedFunction=_lazy_module("treadle.compile.functions.nested"),
    detect_nan=_lazy_module("treadle.compile.monitormode"),
    read_nesting=_lazy_module("treadle.compile.functions.nested"),
)

# Everything is loaded when it is first asked for: much of it is never used by a program that does not compile.
# Other installed distributions bring names too, such as OpFromGraph, and backends their modes.
__getattr__ = brought_names(
    __name__,
    distribution="compile",
    own={
        "treadle.compile.errors": (
            "AliasedMemoryError BackendWarning CallError ClientError CompileError FunctionTypeError "
            "FunctionValueError FunctionWarning MissingBackendError ReadOnlyModeError TaskError UnknownInputError "
            "UnknownModeError UnknownNameError UnusedInputError"
        ),
        "treadle.compile.evaluation": "evaluate",
        "treadle.compile.functions.aliasing": (
            "add_supervisor_to_fgraph alias_root infer_reuse_pattern insert_deepcopy view_tree_set"
        ),
        "treadle.compile.functions.maps.clients": "Engine register_client",
        "treadle.compile.functions.dumping": "StripPickler function_dump",
        "treadle.compile.functions.facade": "function",
        "treadle.compile.functions.function": "Function",
        "treadle.compile.functions.maker": "FunctionMaker",
        "treadle.compile.functions.nested": "NestedFunction",
        "treadle.compile.functions.rebuilding": "rebuild_collect_shared",
        "treadle.compile.functions.specification": "Specification",
        "treadle.compile.functions.tracing": "CompiledFunction compiled",
        "treadle.compile.functions.values": "DUPLICATE",
        "treadle.compile.io": "In Out SymbolicInput SymbolicOutput",
        "treadle.compile.mode": (
            "AddDestroyHandler AddFeatureOptimizer FAST_COMPILE FAST_RUN Mode OPT_FAST_COMPILE OPT_FAST_RUN "
            "OPT_FAST_RUN_STABLE OPT_MERGE OPT_MINIMUM OPT_NONE OPT_O2 OPT_O3 OPT_STABILIZE OPT_UNSAFE "
            "PrintCurrentFunctionGraph get_default_mode get_mode optdb predefined_linkers predefined_modes "
            "predefined_optimizers register_linker register_mode register_optimizer"
        ),
        "treadle.compile.mode.backends": "BACKENDS",
        "treadle.compile.monitormode": "MonitorMode",
        "treadle.compile.profiling": "ProfileStats",
        "treadle.graph": (
            "Container DeepCopyOp SharedVariable Supervisor ViewOp deep_copy_op shared shared_constructor view_op"
        ),
    },
    modules=("debugmode", "errors", "io", "mode", "monitormode", "nanguardmode", "profiling"),
    modes="treadle.compile.mode.mode",
)

# Other distributions may bring modules of the package.
__path__ = package_folders(__name__)
