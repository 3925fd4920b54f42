"""DebugMode, and what it finds wrong."""

from treadle.compile.debugmode.errors import (
    BadDestroyMap,
    BadOptimization,
    BadThunkOutput,
    BadViewMap,
    DebugModeError,
    DebugModeWarning,
    InvalidValueError,
    StochasticOrder,
    StrideMismatchError,
)
from treadle.compile.debugmode.maker import DebugMaker
from treadle.compile.debugmode.mode import DebugMode
from treadle.compile.debugmode.program import DebugProgram

__all__ = [
    "BadDestroyMap", "BadOptimization", "BadThunkOutput", "BadViewMap", "DebugMaker", "DebugMode", "DebugModeError",
    "DebugModeWarning", "DebugProgram", "InvalidValueError", "StochasticOrder", "StrideMismatchError",
]  # fmt: skip
