"""Warnings given once, and the place in the user's program that an action came from."""

import sys
import warnings
from types import FrameType

from treadle.config.errors import OptionWarning


class WarnOnce:
    """Gives each warning of one subject a single time."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def warn(self, subject: str, text: str) -> None:
        """Give the warning unless the subject had one."""
        if subject not in self._given:
            self._given.add(subject)
            _, depth = _outside()
            # The frames counted are those above _outside; warn counts from this function.
            warnings.warn(text, OptionWarning, stacklevel=depth)


def caller_place() -> str:
    """Return file and line of the nearest caller outside treadle.config."""
    frame, _ = _outside()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _outside() -> tuple[FrameType, int]:
    frame = sys._getframe(1)
    depth = 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("treadle.config"):
        frame = frame.f_back
        depth += 1
    return frame, depth
