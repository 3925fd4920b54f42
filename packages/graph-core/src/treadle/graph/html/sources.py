"""The files a page is made of: treadle's own, and those of the installed Netron."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from importlib import resources
from pathlib import Path

from treadle.graph.errors import DrawingLibraryError

# Each module, and what this program relies on finding in it.
_MODULES = {
    "dagre.js": ("dagre.layout = (nodes, edges, layout, state)", "export const {"),
    "grapher.js": ("grapher.Graph = class", "grapher.Node = class", "grapher.Edge = class", "export const {"),
}
_PROGRAM = (
    *("model.js", "visibility.js", "nesting.js", "layout.js", "shapes.js", "drawing.js"),
    *("details.js", "search.js", "controls.js", "rules.js", "start.js"),
)
_INSTALL = "Run pip install graph-core[html]."

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
    """Return where Netron is installed, without importing it: its import starts a web server's modules."""
    found = importlib.util.find_spec("netron")
    places = list(found.submodule_search_locations or ()) if found is not None else []
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
