"""The page itself: data, style, program and library in one file; and its frame in a notebook."""

from __future__ import annotations

import html
import importlib.metadata
import importlib.util
import json
import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from treadle.config import install_advice
from treadle.graph.errors import DrawingLibraryError
from treadle.graph.html.firings import rule_rows
from treadle.graph.html.records import record
from treadle.graph.printing import debugprint

if TYPE_CHECKING:
    from treadle.graph.html.records import Record


# Each module, and what this program relies on finding in it.
_MODULES = {
    "dagre.js": ("dagre.layout = (nodes, edges, layout, state)", "export const {"),
    "grapher.js": ("grapher.Graph = class", "grapher.Node = class", "grapher.Edge = class", "export const {"),
}
_PROGRAM = (
    *("model.js", "visibility.js", "nesting.js", "layout.js", "shapes.js", "drawing.js"),
    *("details.js", "search.js", "controls.js", "rules.js", "start.js"),
)
_INSTALL = f"Install it: {install_advice('graph-core[html]')}."

LICENCE = """\
Layout and drawing: Netron {version}, copyright (c) Lutz Roeder, with dagre, copyright (c) 2012-2014 Chris Pettitt.
Both are under the MIT licence:

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def asset(name: str) -> str:
    """Return the text of one of treadle's own files."""
    return (resources.files("treadle.graph.html") / "assets" / name).read_text(encoding="utf-8")


def program() -> str:
    """Return the page's program: the files in ``assets``, in the order in which they use each other."""
    return "\n".join(asset(name) for name in _PROGRAM)


def _folder() -> Path:
    """Return the folder of Netron, without importing it: its import loads a web server's modules."""
    spec = importlib.util.find_spec("netron")
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not places:
        msg = f"graph page: Netron, which lays the graph out and draws it, is not installed. {_INSTALL}"
        raise DrawingLibraryError(msg)
    return Path(places[0])


def library() -> dict[str, str]:
    """Return the text of Netron's modules by file name, and the licence they come with as ``licence``."""
    folder = _folder()
    try:
        version = importlib.metadata.version("netron")
    except importlib.metadata.PackageNotFoundError:  # it lies on the path without having been installed
        version = "of unknown version"
    texts = {"licence": LICENCE.format(version=version)}
    for name, needed in _MODULES.items():
        path = folder / name
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        # Inside a page a script ends at its first closing tag, wherever that stands.
        if not all(part in text for part in needed) or "</script" in text.lower() or "<!--" in text:
            msg = f"graph page: {name} of Netron {version} is not a module that this version can use. {_INSTALL}"
            raise DrawingLibraryError(msg)
        texts[name] = text
    return texts


# A notebook stores the output of its cells: a page of more boxes than this belongs in a file.
_MOST_BOXES = 3_000
_MOST_LINES = 200


def _as_text(graph: object, note: str) -> str:
    text = str(debugprint(graph, file="str"))
    lines = text.splitlines()
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"… and {len(lines) - _MOST_LINES} lines more"]
    escaped = html.escape("\n".join(lines))
    return f"<pre>{escaped}</pre><p><small>{html.escape(note)}</small></p>"


def notebook_fragment(graph: Any, height: int) -> str:
    """Return the page of a graph inside a frame; its text if the library is missing or the graph is very large."""
    content = record(graph)
    count = sum(len(data["boxes"]) for data in content.graphs)
    if count > _MOST_BOXES:
        return _as_text(graph, f"{count} boxes are too many for a notebook: treadle.graph.write_html makes a file.")
    try:
        text = page(content, None)
    except DrawingLibraryError as error:
        return _as_text(graph, str(error))
    # The frame may run the page's program, but has no access to the notebook around it.
    return (
        f'<iframe sandbox="allow-scripts" srcdoc="{html.escape(text)}" title="{html.escape(content.data["name"])}" '
        f'style="width: 100%; height: {height}px; border: 1px solid #8886; border-radius: 6px"></iframe>'
    )


class Comparison(NamedTuple):
    """Two graphs, and the report of the rewrite that led from the one to the other."""

    before: Record
    after: Record
    report: Any


def _json(data: object) -> str:
    """Return JSON without characters of tags: a script on a page ends at the first closing tag, even in a string."""
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
    # One pass: the fillers are not searched.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: fillers[match[1]], asset("page.html"))
