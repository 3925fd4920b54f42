"""Modes, linkers and sets of rewrites, and the names that they are known by."""

from treadle.compile.mode.linkers import predefined_linkers, register_linker
from treadle.compile.mode.mode import (
    FAST_COMPILE,
    FAST_RUN,
    Mode,
    get_default_mode,
    get_mode,
    predefined_modes,
    register_mode,
)
from treadle.compile.mode.optimizers import (
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
    PrintCurrentFunctionGraph,
    predefined_optimizers,
    register_optimizer,
)
from treadle.compile.plugins import brought_names
from treadle.rewrite import optdb

__all__ = [
    "FAST_COMPILE", "FAST_RUN", "OPT_FAST_COMPILE", "OPT_FAST_RUN", "OPT_FAST_RUN_STABLE", "OPT_MERGE", "OPT_MINIMUM",
    "OPT_NONE", "OPT_O2", "OPT_O3", "OPT_STABILIZE", "OPT_UNSAFE", "AddDestroyHandler", "AddFeatureOptimizer", "Mode",
    "PrintCurrentFunctionGraph", "get_default_mode", "get_mode", "optdb", "predefined_linkers", "predefined_modes",
    "predefined_optimizers", "register_linker", "register_mode", "register_optimizer",
]  # fmt: skip

# The modes of installed backends, by their names.
__getattr__ = brought_names(__name__, allowed=(), modes="treadle.compile.mode.mode")
