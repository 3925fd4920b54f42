"""Errors of compiling and calling functions."""

from __future__ import annotations

from treadle.config import TreadleError, TreadleWarning


class CompileError(TreadleError):
    """A function cannot be made from what was given."""


class FunctionTypeError(CompileError, TypeError):
    """An argument of `function` is of a wrong kind."""


class FunctionValueError(CompileError, ValueError):
    """Arguments of `function` contradict each other."""


class UnusedInputError(CompileError, ValueError):
    """An input is not used by any output or update."""


class UnknownModeError(CompileError, ValueError):
    """No mode has this name."""


class MissingBackendError(UnknownModeError):
    """The backend of a mode is not installed, or cannot work on this machine."""


class CallError(TreadleError, TypeError):
    """A compiled function was called with wrong arguments."""


class BackendWarning(TreadleWarning):
    """The preferred backend cannot be used, another takes its place."""
