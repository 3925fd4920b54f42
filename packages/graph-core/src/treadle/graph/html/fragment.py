"""What a notebook shows of a graph."""

from __future__ import annotations

import html
from typing import Any

from treadle.graph.errors import DrawingLibraryError
from treadle.graph.html.document import page
from treadle.graph.html.records import record
from treadle.graph.printing import debugprint

# A notebook keeps what its cells show: a page of more boxes than this belongs in a file of its own.
_MOST_BOXES = 3_000
_MOST_LINES = 200


def _as_text(thing: object, note: str) -> str:
    text = str(debugprint(thing, file="str"))
    lines = text.splitlines()
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"… and {len(lines) - _MOST_LINES} lines more"]
    shown = html.escape("\n".join(lines))
    return f"<pre>{shown}</pre><p><small>{html.escape(note)}</small></p>"


def notebook_fragment(thing: Any, height: int) -> str:
    """Return the page of a graph inside a frame; its text if the library is missing or the graph is very large."""
    made = record(thing)
    count = sum(len(graph["boxes"]) for graph in made.graphs)
    if count > _MOST_BOXES:
        return _as_text(thing, f"{count} boxes are too many for a notebook: treadle.graph.write_html makes a file.")
    try:
        text = page(made, None)
    except DrawingLibraryError as error:
        return _as_text(thing, str(error))
    # The frame may run the page's program, but is a stranger to the notebook around it.
    return (
        f'<iframe sandbox="allow-scripts" srcdoc="{html.escape(text)}" title="{html.escape(made.data["name"])}" '
        f'style="width: 100%; height: {height}px; border: 1px solid #8886; border-radius: 6px"></iframe>'
    )
