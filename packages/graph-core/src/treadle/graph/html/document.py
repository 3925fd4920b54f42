"""The page itself: data, style, program and library in one file."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from treadle.graph.html.firings import rule_rows
from treadle.graph.html.sources import asset, library, program

if TYPE_CHECKING:
    from treadle.graph.html.records import Record


class Comparison(NamedTuple):
    """Two graphs, and the report of the rewrite that led from the one to the other."""

    before: Record
    after: Record
    report: Any


def _json(data: object) -> str:
    """Return JSON that no name in it can end: a script ends at the first closing tag, wherever that stands."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def page(content: Record | Comparison, title: str | None) -> str:
    """Return a whole HTML page that needs nothing from outside."""
    if isinstance(content, Comparison):
        graphs = [{**content.before.data, "label": "before"}, {**content.after.data, "label": "after"}]
        rules = rule_rows(content.report, content.before, content.after)
        heading = title if title is not None else f"{content.before.data['name']}: before and after"
        data = {"title": heading, "graphs": graphs, "rules": rules}
    else:
        heading = title if title is not None else content.data["name"]
        data = {"title": heading, "graphs": [content.data]}
    parts = library()
    fillers = {
        "title": html.escape(heading),
        "licence": parts["licence"],
        "style": asset("page.css"),
        "dagre": parts["dagre.js"],
        "grapher": parts["grapher.js"],
        "program": program(),
        "data": _json(data),
    }
    # One pass: what is filled in is not searched again.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: fillers[found[1]], asset("page.html"))
