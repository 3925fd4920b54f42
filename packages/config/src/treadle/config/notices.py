"""Warnings given once, and the places in a program that actions came from."""

import sys
import warnings
from types import FrameType

from treadle.config.errors import OptionWarning
from treadle.config.places import is_own_module


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


def warn_user(text: str, category: type[Warning]) -> None:
    """Give a warning at the line of the nearest caller outside treadle."""
    warnings.warn(text, category, stacklevel=user_depth())


def user_place() -> tuple[str, int]:
    """Return file and line of the nearest caller outside treadle, or outside treadle.config where there is none."""
    frame: FrameType | None = sys._getframe(1)
    nearest: FrameType | None = None
    while frame is not None:
        if not _is_ours(frame):
            return frame.f_code.co_filename, frame.f_lineno
        if nearest is None and not _is_configs(frame.f_globals.get("__name__")):
            nearest = frame
        frame = frame.f_back
    found = nearest or sys._getframe(1)
    return found.f_code.co_filename, found.f_lineno


def user_depth() -> int:
    """Return the ``stacklevel`` at which a warning of the caller's shows the nearest line outside treadle."""
    frame: FrameType | None = sys._getframe(1)
    depth = 1
    while frame is not None and frame.f_back is not None and _is_ours(frame):
        frame = frame.f_back
        depth += 1
    return depth


def _is_ours(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__")
    # contextlib enters blocks on behalf of the function that uses it.
    return is_own_module(module) or module == "contextlib"


def reader_place() -> str:
    """Return which code reads an option: file and line, and the function if it is one of treadle's."""
    frame, _ = _outside()
    place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    module = frame.f_globals.get("__name__")
    if not is_own_module(module):
        return place
    file, line = user_place()
    return f"{module}.{frame.f_code.co_qualname} ({place}), called from {file}:{line}"


def _outside() -> tuple[FrameType, int]:
    frame = sys._getframe(1)
    depth = 1
    while frame.f_back is not None and _is_configs(frame.f_globals.get("__name__")):
        frame = frame.f_back
        depth += 1
    return frame, depth


def _is_configs(module: object) -> bool:
    """Whether a module's name is that of treadle.config or of one inside it; namespaces may be without a name."""
    return isinstance(module, str) and f"{module}.".startswith("treadle.config.")
