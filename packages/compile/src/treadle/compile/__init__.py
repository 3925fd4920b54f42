"""treadle.compile: function, modes and shared variables."""

from treadle.compile.backends import BACKENDS
from treadle.compile.errors import (
    BackendWarning,
    CallError,
    CompileError,
    FunctionTypeError,
    FunctionValueError,
    MissingBackendError,
    UnknownModeError,
    UnusedInputError,
)
from treadle.compile.evaluation import evaluate
from treadle.compile.executor import Function, Maker
from treadle.compile.facade import function
from treadle.compile.io import In, Out
from treadle.compile.mode import (
    FAST_COMPILE,
    FAST_RUN,
    OPTIMIZERS,
    Mode,
    get_default_mode,
    get_mode,
    predefined_modes,
)
from treadle.compile.specification import Specification
from treadle.graph import SharedVariable, shared

__all__ = [
    "BACKENDS",
    "FAST_COMPILE",
    "FAST_RUN",
    "OPTIMIZERS",
    "BackendWarning",
    "CallError",
    "CompileError",
    "Function",
    "FunctionTypeError",
    "FunctionValueError",
    "In",
    "Maker",
    "MissingBackendError",
    "Mode",
    "Out",
    "SharedVariable",
    "Specification",
    "UnknownModeError",
    "UnusedInputError",
    "evaluate",
    "function",
    "get_default_mode",
    "get_mode",
    "predefined_modes",
    "shared",
]
