"""Errors of the C backend."""

from __future__ import annotations

from treadle.graph import GraphError


class CompileError(GraphError, RuntimeError):
    """The C compiler cannot be run, or refuses the generated text."""


class BackendUnavailableError(GraphError, RuntimeError):
    """The C backend cannot work on this machine."""
