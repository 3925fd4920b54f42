"""Thunks: callables without arguments that compute one node on storage cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

from treadle.graph.errors import GraphTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph.variable import Variable

StorageMap = dict["Variable", list[Any]]
ComputeMap = dict["Variable", list[bool]]


class ThunkType(Protocol):
    """What `Op.make_thunk` returns.

    Attributes
    ----------
    inputs, outputs
        The storage cells it reads and fills.
    lazy
        True: it reads the flags of the compute map, and a call returns the positions of the inputs that it needs
        before it can go on, or nothing once the outputs are there. False: it is called when all inputs are there.
    """

    inputs: list[list[Any]]
    outputs: list[list[Any]]
    lazy: bool

    def __call__(self) -> Any:
        """Compute the node."""
        ...


def is_thunk_type(thunk: Callable[[], Any]) -> ThunkType:
    """Return the callable under the type `ThunkType`, so that its attributes can be set (documented name).

    Raises
    ------
    GraphTypeError
        If it is not callable.
    """
    given: object = thunk
    if not callable(given):
        msg = f"thunk: a callable without arguments is needed, got {thunk!r}. Return a function from make_thunk."
        raise GraphTypeError(msg)
    return cast("ThunkType", thunk)
