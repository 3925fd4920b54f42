"""Turn docstrings in NumPy's convention into reStructuredText."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECTIONS = (
    *("Parameters", "Other Parameters", "Attributes", "Methods", "Returns", "Yields", "Raises", "Warns", "Notes"),
    *("References", "Examples", "See Also", "Fields"),
)
# Sections whose entries are names at the margin, each with an indented text.
_OF_ENTRIES = {"Parameters", "Other Parameters", "Attributes", "Methods", "Raises", "Warns", "See Also", "Fields"}
_OF_OWN_NAMES = {"Parameters", "Other Parameters", "Attributes", "Fields"}
_OF_RESULTS = {"Returns", "Yields"}
_SPAN = re.compile(r"``(?P<double>.+?)``|`(?P<single>[^`]+)`", re.DOTALL)
_SPECIAL = re.compile(r"([*|\\]|(?<=\w)_(?=\W|$))")
_ITEM = re.compile(r"(-|\*|\d+\.) ")


class Docstring:
    """The text of one docstring, as the lines of a page.

    `target` says what a name in backticks leads to, or None where it leads nowhere.
    """

    def __init__(self, text: str | None, target: Callable[[str], str | None]) -> None:
        self._target = target
        self.summary, self.sections = _parted(inspect.cleandoc(text or ""))
        # A parameter is no reference to a function of its name.
        heads = (head for title, body in self.sections if title in _OF_OWN_NAMES for head, _ in _entries(body))
        self._own = {name.strip("*` ") for head in heads for name in head.partition(" : ")[0].split(",")}

    def lines(self, own_name: str = "") -> Iterator[str]:
        """Yield the lines; a first line that only repeats the call of `own_name` is left out."""
        blocks = _blocks(self.summary)
        if blocks and own_name and re.fullmatch(rf"{re.escape(own_name)}\(.*\)", " ".join(blocks[0]), re.DOTALL):
            blocks = blocks[1:]
        yield from self._prose(blocks)
        for title, body in self.sections:
            yield from (f".. rubric:: {title}", "")
            if title in _OF_ENTRIES or (title in _OF_RESULTS and any(line.startswith(" ") for line in body)):
                yield from self._entries(body)
            else:
                yield from self._prose(_blocks(body))

    def inline(self, text: str) -> str:
        """Return running text with what is special to reStructuredText taken as it stands."""
        parts, end = [], 0
        for span in _SPAN.finditer(text):
            parts.append(_SPECIAL.sub(r"\\\1", text[end : span.start()]))
            beside = text[span.start() - 1 : span.start()], text[span.end() : span.end() + 1]
            before, after = ("\\ " if sign.isalnum() or sign in {"_", "`"} else "" for sign in beside)
            parts.append(f"{before}{self._code(span)}{after}")
            end = span.end()
        return "".join([*parts, _SPECIAL.sub(r"\\\1", text[end:])])

    def _code(self, span: re.Match[str]) -> str:
        if span["double"] is not None:
            content = " ".join(span["double"].split())
            return f"``{content}``" if content == content.strip("`") else f"*{content.strip('`')}*"
        content = " ".join(span["single"].split())
        path = None if content in self._own else self._target(content)
        return f":py:obj:`{content} <{path}>`" if path else f"``{content}``"

    def _prose(self, blocks: list[list[str]]) -> Iterator[str]:
        for block in blocks:
            yield from self._block(block)
            yield ""

    def _block(self, block: list[str]) -> Iterator[str]:
        first = block[0]
        if first.startswith(">>>"):
            yield from (".. code-block:: pycon", "", *(f"   {line}" for line in block))
        elif first.startswith((" ", "|", "=")) or any(re.search(r"\S {3,}\S", line) for line in block):
            yield from ("::", "", *(f"   {line}" for line in block))
        elif _ITEM.match(first):
            yield from self._items(block)
        else:
            text = self.inline("\n".join(block))
            yield from (re.sub(r"^(\d+)\. ", r"\1\\. ", re.sub(r"::$", ":", text))).split("\n")

    def _items(self, block: list[str]) -> Iterator[str]:
        items: list[list[str]] = []
        for line in block:
            if _ITEM.match(line):
                items.append([_ITEM.sub("", line, count=1)])
            else:
                items[-1].append(line.strip())
        for item in items:
            head, *rest = self.inline("\n".join(item)).split("\n")
            yield f"- {head}"
            yield from (f"  {line}" for line in rest)

    def _entries(self, body: list[str]) -> Iterator[str]:
        for head, text in _entries(body):
            # A type of many lengths and a name are told apart by their colon only.
            yield self._head(head)
            inner = list(self._prose(_blocks(text))) or ["..", ""]
            yield from (f"   {line}".rstrip() for line in inner)

    def _head(self, head: str) -> str:
        if "`" in head:
            return self.inline(head)
        name, colon, kind = head.partition(" : ")
        names = ", ".join(self.inline(f"`{part.strip()}`") for part in name.split(", "))
        return f"{names}: {self.inline(kind)}" if colon else names


def _parted(text: str) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Part a docstring into the lines before the first section, and the sections."""
    lines = text.splitlines()
    summary: list[str] = []
    sections: list[tuple[str, list[str]]] = []
    current, position = summary, 0
    while position < len(lines):
        line = lines[position]
        underline = lines[position + 1] if position + 1 < len(lines) else ""
        if line in SECTIONS and re.fullmatch("-{3,}", underline):
            current = []
            sections.append((line, current))
            position += 2
        else:
            current.append(line)
            position += 1
    return summary, sections


def _blocks(lines: list[str]) -> list[list[str]]:
    """Part lines at the blank ones; indented blocks and sessions that follow each other are one."""
    blocks: list[list[str]] = []
    gap = True
    for line in map(str.rstrip, lines):
        if not line:
            gap = True
        elif gap and blocks and line.startswith(" ") and blocks[-1][0].startswith(" "):
            blocks[-1] += ["", line]
            gap = False
        elif gap or (line.startswith(">>>") and not blocks[-1][0].startswith(">>>")) or _begins_item(line, blocks[-1]):
            blocks.append([line])
            gap = False
        else:
            blocks[-1].append(line)
    return blocks


def _begins_item(line: str, block: list[str]) -> bool:
    return bool(_ITEM.match(line)) and not _ITEM.match(block[0]) and not block[0].startswith((" ", ">>>"))


def _entries(body: list[str]) -> list[tuple[str, list[str]]]:
    """Return the entries of a section: the name at the margin, the text below it without its indentation."""
    found: list[tuple[str, list[str]]] = []
    for line in body:
        if line and not line.startswith(" "):
            found.append((line, []))
        elif found:
            found[-1][1].append(line)
    return [(head, inspect.cleandoc("\n" + "\n".join(text)).splitlines()) for head, text in found]
