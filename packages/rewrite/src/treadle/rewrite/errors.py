"""Errors and warnings of rewriting."""

from __future__ import annotations

from treadle.config import TreadleError, TreadleWarning


class RewriteError(TreadleError, RuntimeError):
    """A rule failed, or returned something that cannot take the place of what it replaces."""


class RuleDefinitionError(TreadleError, ValueError):
    """A rule, pattern or ordering is declared wrongly."""


class UnknownTagError(TreadleError, LookupError, ValueError):
    """A query names a tag that no rule carries; the message lists the nearest ones."""


class RewriteWarning(TreadleWarning):
    """A rule failed or did not come to an end, and was left out."""
