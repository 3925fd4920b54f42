"""Errors of the JAX backend."""

from __future__ import annotations

from treadle.config import TreadleWarning
from treadle.config.errors import TreadleError


class ForkedProcessError(TreadleError, RuntimeError):
    """A JAX program was made or called in a forked child of the process that uses JAX."""


class CheckFailedError(TreadleError, ValueError):
    """A compiled program reported that values are invalid; the replay finds out which."""


class BranchShapeError(TreadleError, ValueError):
    """The branches of a choice have different shapes, or one has lengths that do not fit; JAX traces both."""


class CarryShapeError(TreadleError, ValueError):
    """A carry of a loop changes its shape in a step, which XLA does not allow."""


class RecompilationWarning(TreadleWarning):
    """A value forces a program to be compiled again each time it changes."""
