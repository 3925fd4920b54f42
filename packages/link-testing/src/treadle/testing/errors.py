"""Errors of the testing tools."""

from __future__ import annotations

from treadle.config import TreadleError


class ContractError(TreadleError, AssertionError):
    """A backend's results are not what the contract asks for; the message lists what differs."""


class DuplicateSampleError(TreadleError, ValueError):
    """Two samples have one name."""


class UnknownBackendError(TreadleError, LookupError):
    """No installed distribution provides a backend of that name."""


class HammerError(TreadleError, AssertionError):
    """Calls from several threads gave wrong results."""
