"""What modules of treadle.compile ask of the modules above them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import UpwardCalls

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.compile.functions.maker import FunctionMaker
    from treadle.compile.functions.nested import NestedFunction
    from treadle.compile.mode.mode import Mode


class Upward(UpwardCalls):
    """Classes and functions of modules above, each declared with the reason why it is asked for from below."""

    # A mode says which class makes functions in it; that class takes modes.
    FunctionMaker: type[FunctionMaker]
    # Few functions have nested arguments or results: what takes these apart is loaded for them only.
    NestedFunction: type[NestedFunction]
    read_nesting: Callable[[object, object], tuple[Any, Any, Any]]
    # The predefined modes that are classes derived from Mode are made by their names.
    DebugMode: Callable[..., Mode]
    MonitorMode: Callable[..., Mode]
    NanGuardMode: Callable[..., Mode]
    detect_nan: Callable[..., Any]


upward = Upward()
