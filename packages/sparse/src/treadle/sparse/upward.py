"""What modules of this package ask of modules above them: `treadle.sparse.wiring` says where each function is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import UpwardCalls

if TYPE_CHECKING:
    from collections.abc import Callable


class Upward(UpwardCalls):
    """Functions of modules above, each declared with the reason why it is asked for from below."""

    # The public function of a name: variables have operators and methods for many of them.
    function: Callable[[str], Any]


upward = Upward()
