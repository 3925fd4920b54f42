"""Errors of the kernel language."""

from __future__ import annotations

from treadle.config import TreadleError


class KernelError(TreadleError, TypeError):
    """A kernel is not in the language, or is called with arguments that it does not take."""
