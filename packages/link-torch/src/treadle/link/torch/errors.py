"""Errors and warnings of the PyTorch backend."""

from __future__ import annotations

from treadle.config import TreadleError, TreadleWarning


class ForkedProcessError(TreadleError, RuntimeError):
    """A program was called in a process forked from one where PyTorch had run already."""


class PyTorchWarning(TreadleWarning):
    """PyTorch cannot compile on this machine, or for this function, so that the function runs uncompiled."""
