"""Errors of tensors with named dimensions."""

from __future__ import annotations

from treadle.graph import CallError


class DimsError(CallError, ValueError):
    """Names of dimensions do not fit, or lengths of dimensions of one name do not."""


class NamedTypeError(CallError, TypeError):
    """A value has no names for its dimensions, or is of a kind that cannot have them."""


class NamedIndexError(CallError, IndexError):
    """An index does not fit the dimensions."""


class NotNamedError(CallError, NotImplementedError):
    """Labelled arrays have something that tensors with named dimensions do not have."""
