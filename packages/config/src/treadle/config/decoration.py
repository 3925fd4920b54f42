"""Blocks as decorators: functions, plain or async, of which each call runs inside a block."""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from treadle.config.errors import DecorationError
from treadle.config.lazy import lazy_module

if TYPE_CHECKING:
    import inspect
else:
    inspect = lazy_module("inspect")

P = ParamSpec("P")
R = TypeVar("R")


def run_inside(block: AbstractContextManager[Any], shown: str, function: Callable[P, R]) -> Callable[P, R]:
    """Return `function` so wrapped that each call runs inside a block.

    Parameters
    ----------
    block
        A context manager that may be entered again and from several threads.
    shown
        How the block is written, for the error.
    function
        A plain or async function.

    Raises
    ------
    DecorationError
        For a class or a generator function, whose body runs outside of the call.
    """
    if inspect.isclass(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        msg = (
            f"{shown.partition('(')[0]}: cannot decorate {function!r}, a class or generator function, whose body runs "
            f"after the call has returned. Use 'with {shown}:' inside it."
        )
        raise DecorationError(msg)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def run_async(*args: P.args, **kwargs: P.kwargs) -> Any:
            with block:
                return await function(*args, **kwargs)

        return cast("Callable[P, R]", run_async)

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with block:
            return function(*args, **kwargs)

    return run
