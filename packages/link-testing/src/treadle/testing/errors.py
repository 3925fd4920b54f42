"""Errors of the testing tools."""

from __future__ import annotations

from treadle.config import TreadleError


class ContractError(TreadleError, AssertionError):
    """A backend does not satisfy the contract; the message lists the differences."""


class DuplicateSampleError(TreadleError, ValueError):
    """Two samples have the same name."""


class UnknownBackendError(TreadleError, LookupError):
    """No installed package provides a backend with that name."""


class HammerError(TreadleError, AssertionError):
    """Calls from several threads gave wrong results."""
