"""The cells that a page becomes: its text, and its sessions and programs without prompts."""

from __future__ import annotations

import doctest
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools.notebooks import DOCS, PAGES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The paragraph that follows is about the page, and is no part of the notebook.
OMIT = "<!-- not in the notebook -->"

_BLOCK = re.compile(r"^(?P<fence>```+|:::+)(?P<info>[^\n]*)\n(?P<text>.*?)^(?P=fence)[ ]*\n?", re.MULTILINE | re.DOTALL)
_OMITTED = re.compile(rf"^{re.escape(OMIT)}\n(?:.+\n)*\n?", re.MULTILINE)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)\n*")
_LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<target>[^)\s]+)\)")
_ROLE = re.compile(r"\{py:\w+\}(?=`)")
_CODE = re.compile(r"`[^`]*`")


@dataclass(frozen=True)
class Cell:
    """One cell of a notebook.

    Parameters
    ----------
    kind
        ``markdown`` or ``code``.
    text
        Its text.
    want
        What the page says that the code shows, as `doctest` compares it.
    error
        The class of the error that the page says the code raises, or None.
    """

    kind: str
    text: str
    want: str = ""
    error: str | None = None


def page_of(name: str) -> Path:
    """Return the file of a page."""
    return DOCS / f"{name}.md"


def cells(name: str) -> list[Cell]:
    """Return the cells of a page, by its name below docs/.

    Text is one cell between two blocks of code. A session becomes as many cells as it shows results, since a cell shows
    only what its last line gives; a block of Python is one cell; other blocks are text. Tables of contents and pictures
    are left out. Links lead to other notebooks or to other sites: elsewhere, only their words stay.
    """
    text = _OMITTED.sub("", page_of(name).read_text(encoding="utf-8"))
    found: list[Cell] = []
    prose, end = "", 0
    for block in _BLOCK.finditer(text):
        prose += _prose(text[end : block.start()], name)
        end = block.end()
        language = block["info"].strip()
        if block["fence"].startswith(":"):
            continue
        if language not in {"pycon", "python"}:
            prose += block[0]
            continue
        found += _markdown(prose)
        prose = ""
        found += _session(block["text"]) if language == "pycon" else [Cell("code", block["text"].strip("\n"))]
    return [*found, *_markdown(prose + _prose(text[end:], name))]


def _markdown(text: str) -> list[Cell]:
    return [Cell("markdown", text.strip())] if text.strip() else []


def _session(text: str) -> Iterator[Cell]:
    """Yield cells, each ending with an example that shows something."""
    lines: list[str] = []
    for example in doctest.DocTestParser().get_examples(text):
        lines.append(example.source.rstrip("\n"))
        if example.want:
            message = example.exc_msg
            error = None if message is None else message.partition(":")[0].strip().rpartition(".")[2]
            yield Cell("code", "\n".join(lines), example.want, error)
            lines = []
    if lines:
        yield Cell("code", "\n".join(lines))


def _prose(text: str, name: str) -> str:
    """Return text with what only the site understands replaced; code in it is left alone."""
    text = _ROLE.sub("", _IMAGE.sub("", text))
    # What stands in backticks may look like a link: it is put aside, and back.
    spans = _CODE.findall(text)
    marked = _LINK.sub(lambda link: _link(link, name), _CODE.sub("\0", text))
    parts = marked.split("\0")
    return "".join(part + span for part, span in zip(parts, [*spans, ""], strict=True))


def _link(link: re.Match[str], name: str) -> str:
    target = link["target"]
    if target.startswith(("http://", "https://")):
        return link[0]
    path = (page_of(name).parent / target.partition("#")[0]).resolve()
    notebook = next((other for other in PAGES if page_of(other).resolve() == path), None)
    return link["text"] if notebook is None else f"[{link['text']}]({path.stem}.ipynb)"
