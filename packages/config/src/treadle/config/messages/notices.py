"""Warnings given once, and the places in a program that actions came from."""

import sys
import warnings
from collections.abc import Callable
from types import FrameType

from treadle.config.errors import OptionWarning
from treadle.config.messages.places import is_own_module


class WarnOnce:
    """Gives one warning per subject."""

    def __init__(self) -> None:
        self._subjects: set[str] = set()

    def warn(self, subject: str, text: str) -> None:
        """Give the warning unless the subject had one already."""
        if subject not in self._subjects:
            self._subjects.add(subject)
            warnings.warn(text, OptionWarning, stacklevel=_nearest_outside(_is_configs)[1] + 1)


def warn_user(text: str, category: type[Warning]) -> None:
    """Give a warning at the line of the nearest caller outside treadle."""
    warnings.warn(text, category, stacklevel=user_depth())


def user_place() -> tuple[str, int]:
    """Return file and line of the nearest caller outside treadle, or outside treadle.config where there is none."""
    frame, _ = _nearest_outside(_is_ours)
    if _is_ours(frame):
        frame, _ = _nearest_outside(_is_configs)
    return frame.f_code.co_filename, frame.f_lineno


def user_depth() -> int:
    """Return the ``stacklevel`` at which a warning of the caller's shows the nearest line outside treadle."""
    return _nearest_outside(_is_ours)[1]


def reader_place() -> str:
    """Return which code reads an option: file and line, and the function if it is one of treadle's."""
    frame, _ = _nearest_outside(_is_configs)
    place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    module = frame.f_globals.get("__name__")
    if not is_own_module(module):
        return place
    file, line = user_place()
    return f"{module}.{frame.f_code.co_qualname} ({place}), called from {file}:{line}"


def _nearest_outside(is_inside: Callable[[FrameType], bool]) -> tuple[FrameType, int]:
    """Return the nearest frame that is not inside, or the outermost, and its distance from the caller's caller."""
    frame, depth = sys._getframe(2), 1
    while frame.f_back is not None and is_inside(frame):
        frame, depth = frame.f_back, depth + 1
    return frame, depth


def _is_ours(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__")
    # contextlib enters blocks on behalf of the function that uses it; code that we write has no module.
    return is_own_module(module) or module == "contextlib" or frame.f_code.co_filename.startswith("<treadle ")


def _is_configs(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__")  # a namespace may have none
    return isinstance(module, str) and f"{module}.".startswith("treadle.config.")
