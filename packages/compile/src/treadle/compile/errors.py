"""Errors of compiling and calling functions."""

from __future__ import annotations

from treadle.config import TreadleError, TreadleWarning


class CompileError(TreadleError):
    """A function cannot be compiled from these arguments."""


class FunctionTypeError(CompileError, TypeError):
    """An argument of `function` is of a wrong kind."""


class FunctionValueError(CompileError, ValueError):
    """Arguments of `function` contradict each other."""


class UnusedInputError(CompileError, ValueError):
    """An input is not used by any output or update."""


class UnknownNameError(CompileError, ValueError, KeyError):
    """No mode, linker or set of rewrites has this name; the message lists near ones."""

    __str__ = Exception.__str__  # KeyError's would quote the message


class UnknownModeError(UnknownNameError):
    """No mode has this name."""


class ReadOnlyModeError(CompileError, AttributeError):
    """An attribute of a mode was assigned; modes do not change."""


class MissingBackendError(UnknownModeError):
    """The backend of a mode is not installed, or cannot work on this machine."""


class CallError(TreadleError, TypeError):
    """A compiled function was called with wrong arguments."""


class UnknownInputError(CallError, KeyError):
    """A function has no input, or several, of the name, variable or position asked for."""

    __str__ = Exception.__str__  # KeyError's would quote the message


class AliasedMemoryError(TreadleError, ValueError):
    """Values that a function keeps share memory, which pickling would not preserve."""


class FunctionWarning(TreadleWarning):
    """A function was compiled or pickled, but not entirely as asked for."""


class BackendWarning(TreadleWarning):
    """The preferred backend cannot be used; another takes its place."""


class ClientError(CallError):
    """What was given to ``f.map`` as a client cannot run tasks."""


class TaskError(TreadleError, RuntimeError):
    """A task of ``f.map`` failed; the error that it failed with is the cause.

    Attributes
    ----------
    index
        The position of the task among the values that were mapped, from 0; of the first one where a worker was lost
        with several.
    """

    index: int = -1
