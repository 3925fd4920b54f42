"""Where in the user's program a node was made."""

from __future__ import annotations

import linecache
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType


@dataclass(frozen=True, slots=True)
class UserLine:
    """One line of the user's program.

    Attributes
    ----------
    file
        Path of the file, or a name such as ``<stdin>``.
    line
        Line number, from 1.
    """

    file: str
    line: int

    @property
    def text(self) -> str:
        """Source text of the line, stripped; empty where the source cannot be read."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        """Show as ``model.py:41 "z = solve(L, y)"``."""
        place = f"{Path(self.file).name}:{self.line}"
        text = self.text
        return f'{place} "{text}"' if text else place


class FrameFilter:
    """Tell the user's files from treadle's own and from installed packages; each file is judged once."""

    __slots__ = ("_foreign", "_inner")

    def __init__(self) -> None:
        paths = sysconfig.get_paths()
        own = Path(__file__).resolve().parents[1]
        self._inner = tuple(
            {
                str(own),
                *(paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib") if key in paths),
            }
        )
        self._foreign: dict[str, bool] = {"<string>": False}

    def is_foreign(self, file: str) -> bool:
        """Whether a frame in `file` is not the user's."""
        known = self._foreign.get(file)
        if known is None:
            parts = Path(file).parts
            known = (
                file.startswith(("<frozen", "<treadle"))
                or "site-packages" in parts
                or "dist-packages" in parts
                or file.startswith(self._inner)
                or self._in_source_tree(parts)
            )
            self._foreign[file] = known
        return known

    @staticmethod
    def _in_source_tree(parts: tuple[str, ...]) -> bool:
        """Whether the file is in an editable checkout of a package of the namespace."""
        return any(a == "src" and b == "treadle" for a, b in zip(parts, parts[1:], strict=False))


_FRAMES = FrameFilter()


def user_line(depth: int = 1) -> UserLine | None:
    """Return the innermost frame outside treadle and installed packages, or None where there is none.

    Parameters
    ----------
    depth
        Number of frames to leave out, counted from the caller.
    """
    frame: FrameType | None = sys._getframe(depth)
    is_foreign = _FRAMES.is_foreign
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_foreign(file):
            return UserLine(file, frame.f_lineno)
        frame = frame.f_back
    return None


def user_trace(limit: int, depth: int = 1) -> list[UserLine]:
    """Return up to `limit` user frames, innermost first; all of them where `limit` is -1."""
    lines: list[UserLine] = []
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None and (limit < 0 or len(lines) < limit):
        file = frame.f_code.co_filename
        if not _FRAMES.is_foreign(file):
            lines.append(UserLine(file, frame.f_lineno))
        frame = frame.f_back
    return lines
