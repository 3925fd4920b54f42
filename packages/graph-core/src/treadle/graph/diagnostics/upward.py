"""Functions that show graphs, which variables, graphs and errors call although they are in modules above."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import UpwardCalls

if TYPE_CHECKING:
    from collections.abc import Callable


class Upward(UpwardCalls):
    """Functions of modules above, each declared with the reason why it is called from below."""

    # Variables and graphs print themselves, and an error shows the graph of the node that failed.
    debugprint: Callable[..., Any]
    # Variables are shown as formulas.
    latex: Callable[..., Any]
    # Variables and graphs have a page.
    GraphPage: Callable[..., Any]


upward = Upward()
