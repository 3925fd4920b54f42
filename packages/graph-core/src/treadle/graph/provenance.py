"""Where in the user's program a node was made."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from treadle.config import lazy_module

if TYPE_CHECKING:
    import linecache
    from types import FrameType
else:
    linecache = lazy_module("linecache")


class UserLine:
    """One line of the user's program.

    Attributes
    ----------
    file
        Path of the file, or a name such as ``<stdin>``.
    line
        Line number, from 1.
    """

    __slots__ = ("file", "line")

    def __init__(self, file: str, line: int) -> None:
        self.file = file
        self.line = line

    @property
    def text(self) -> str:
        """Source text of the line, stripped; empty where the source cannot be read."""
        return linecache.getline(self.file, self.line).strip()

    def __eq__(self, other: object) -> bool:
        """Compare file and line."""
        return isinstance(other, UserLine) and self.file == other.file and self.line == other.line

    def __hash__(self) -> int:
        """Hash file and line."""
        return hash((self.file, self.line))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as file and line."""
        return UserLine, (self.file, self.line)

    def __str__(self) -> str:
        """Show as ``model.py:41 "z = solve(L, y)"``."""
        place = f"{_slashed(self.file).rpartition('/')[2]}:{self.line}"
        text = self.text
        return f'{place} "{text}"' if text else place

    def __repr__(self) -> str:
        """Show file and line."""
        return f"UserLine({self.file!r}, {self.line})"


def _slashed(path: str) -> str:
    return path.replace("\\", "/")


class FrameFilter:
    """Tell the user's files from treadle's own and from installed packages; each file is judged once.

    Lines of the user's files are kept, so that the many nodes that one line makes share one object.
    """

    __slots__ = ("_inner", "files")

    def __init__(self) -> None:
        own = _slashed(__file__).rsplit("/", 2)[0]
        library = _slashed(os.__file__).rpartition("/")[0]
        self._inner = (f"{own}/", f"{library}/", "<frozen", "<treadle")
        # Lines by number for each of the user's files; None for a file that is not the user's.
        self.files: dict[str, dict[int, UserLine] | None] = {}

    def judge(self, file: str) -> dict[int, UserLine] | None:
        """Return the lines known of a file met for the first time, or None if it is not the user's."""
        path = _slashed(file)
        foreign = path.startswith(self._inner) or any(
            part in path for part in ("/site-packages/", "/dist-packages/", "/src/treadle/")
        )
        return self.files.setdefault(file, None if foreign else {})


_FRAMES = FrameFilter()


def user_line(depth: int = 1) -> UserLine | None:
    """Return the innermost frame outside treadle and installed packages, or None where there is none.

    Parameters
    ----------
    depth
        Number of frames to leave out, counted from the caller.
    """
    frame: FrameType | None = sys._getframe(depth)
    files = _FRAMES.files
    while frame is not None:
        file = frame.f_code.co_filename
        try:
            lines = files[file]
        except KeyError:
            lines = _FRAMES.judge(file)
        if lines is not None:
            number = frame.f_lineno
            found = lines.get(number)
            if found is None:
                found = lines[number] = UserLine(file, number)
            return found
        frame = frame.f_back
    return None


def user_trace(limit: int, depth: int = 1) -> list[UserLine]:
    """Return up to `limit` user frames, innermost first; all of them where `limit` is -1."""
    lines: list[UserLine] = []
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None and (limit < 0 or len(lines) < limit):
        file = frame.f_code.co_filename
        if _FRAMES.judge(file) is not None:
            lines.append(UserLine(file, frame.f_lineno))
        frame = frame.f_back
    return lines
