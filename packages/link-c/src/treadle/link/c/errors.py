"""Errors of the C backend."""

from __future__ import annotations

from treadle.config import TreadleWarning
from treadle.graph import GraphError


class CompileError(GraphError, RuntimeError):
    """The C compiler cannot be run, or rejects the generated text."""

    def __init__(self, message: str, line: int = 0, *, at_linking: bool = False) -> None:
        super().__init__(message)
        # The line of the text that it rejects, counted from 1; 0 if it names none.
        self.line = line
        # Whether it ended by itself and named no line, as where files cannot be linked.
        self.at_linking = at_linking


class HelperError(CompileError):
    """The C compiler rejects helper functions that were to be linked to a program."""


class LibraryGoneError(CompileError):
    """A compiled library was removed before it was loaded."""


class CompilerWarning(TreadleWarning):
    """The compiler lacks something that an option asks for."""


class BackendUnavailableError(GraphError, RuntimeError):
    """The C backend cannot work on this machine."""


class CFunctionError(GraphError, ValueError):
    """The C function of a user's op is described wrongly."""


class ExportError(GraphError, ValueError):
    """A graph cannot be exported as a library that works without Python."""
