"""The page of a profile: a flame graph and a timeline of compilations, calls and nodes, in one file without network."""

from __future__ import annotations

import html
import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle.compile.profiling.trace import trace_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from treadle.compile.profiling.recording import FunctionRecord

# A browser draws so many events in a second; of more, the longest are shown.
MOST_EVENTS = 20_000


class ProfilePage:
    """The page of a profile, which a notebook shows where it is the value of a cell.

    Parameters
    ----------
    title
        Its title.
    records
        The functions.
    height
        Of the frame in a notebook, in pixels.
    """

    def __init__(self, title: str, records: Sequence[FunctionRecord], height: int = 600) -> None:
        self._title = title
        self._records = records
        self._height = height

    def text(self) -> str:
        """Return the page as HTML."""
        events = _entries(self._records)
        longest = sorted(events, key=lambda event: -event["dur"])[:MOST_EVENTS]
        kept = [_event(event) for event in sorted(longest, key=lambda event: (event["ts"], -event["dur"]))]
        functions = len(self._records)
        about = f"{functions} function{'s' * (functions != 1)}, {len(events)} events"
        about += f", of which the longest {MOST_EVENTS} are shown." if len(kept) < len(events) else "."
        template = (resources.files("treadle.compile.profiling") / "assets" / "profile.html").read_text(
            encoding="utf-8"
        )
        values = {"TITLE": html.escape(self._title), "ABOUT": html.escape(about), "EVENTS": _literal(kept)}
        for name, value in values.items():
            template = template.replace(f"@{name}@", value)
        return template

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file."""
        Path(path).write_text(self.text(), encoding="utf-8")

    def _repr_html_(self) -> str:
        """Show the page in a notebook."""
        page = html.escape(self.text(), quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: {self._height}px; border: 0"></iframe>'

    def __repr__(self) -> str:
        return f"<page of the profile {self._title!r}: a notebook shows it, save(path) writes it to a file>"


def _entries(records: Sequence[FunctionRecord]) -> list[dict[str, Any]]:
    entries: Any = trace_of(records)["traceEvents"]
    return [entry for entry in entries if entry["ph"] == "X"]


def _event(entry: Mapping[str, Any]) -> dict[str, object]:
    """Return what the page shows of an event of a trace, times in microseconds."""
    arguments = entry["args"]
    return {
        "name": entry["name"],
        "cat": entry["cat"],
        "ts": entry["ts"],
        "dur": entry["dur"],
        "tid": entry["tid"],
        "function": arguments["function"],
        "line": arguments.get("line", ""),
    }


def _literal(value: object) -> str:
    """Return a value as JavaScript inside of a page, where no text may end the program."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c").replace("\u2028", "\\u2028")
