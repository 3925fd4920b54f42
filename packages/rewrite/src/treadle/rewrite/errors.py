"""Errors and warnings of rewriting."""

from __future__ import annotations

from treadle.config import TreadleError, TreadleWarning


class RewriteError(TreadleError, RuntimeError):
    """A rule failed, or returned something that cannot take the place of what it replaces."""


class RuleFaultError(RewriteError, ValueError):
    """A rule changed a value, a shape or a dtype, as found by evaluating before and after it."""


class RuleDefinitionError(TreadleError, ValueError):
    """A rule, pattern, query or ordering is declared wrongly."""


class RewriterTypeError(RuleDefinitionError, TypeError):
    """Something of another kind was given where a rewriter, a query or a tag belongs."""


def require_kind(subject: str, expected: str, value: object, *kinds: type) -> None:
    """Refuse a value of another kind than expected."""
    if not isinstance(value, kinds):
        msg = f"{subject}: {expected} is needed, got {value!r}."
        raise RewriterTypeError(msg)


class UnknownTagError(TreadleError, KeyError, ValueError):
    """A query names a tag that no rule carries; the message lists the nearest ones."""

    # KeyError would show the message in quotes and on one line.
    __str__ = Exception.__str__


class AmbiguousTagError(TreadleError, ValueError):
    """One member of a database was asked for by a tag that several carry."""


class MissingTraceError(TreadleError, ValueError):
    """A node has lost the user's line that it comes from."""


class RewriteWarning(TreadleWarning):
    """A rule failed, did not come to an end, or lost the user's line."""
