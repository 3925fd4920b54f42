"""Errors of drawing graphs."""

from __future__ import annotations

from treadle.graph.errors import GraphError


class MissingProgramError(GraphError, FileNotFoundError):
    """A program that is needed to draw a picture is not installed."""


class PictureError(GraphError, RuntimeError):
    """A picture could not be drawn."""
