"""Helper functions that are compiled once on a machine, and linked to the programs that call them.

Compiling a helper takes many times as long as linking it, and most of a small program's text is helpers. In the object
file a helper's text is what it would be in a program, static functions that call each other, but for what runs once for
an array and may be in another object; what programs and other objects call gets a second, hidden symbol. That symbol is
weak, since two objects that have it may be linked to one program; it tells the text of the helper, and of all that it
calls, since an older one may be in an object that is kept for another helper.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

# Helpers shorter than this are compiled with each program, where they may become part of their callers.
LEAST = 300
# This runs several times in each call, and is too quick for a call of its own.
_INLINE = {"tr_span"}
# Shorter ones that are linked all the same, since they run once for an array or a block of elements.
_LINKED = {
    "tr_adopt", "tr_choose", "tr_drop", "tr_keep", "tr_materialise", "tr_overwrite",
    "tr_block1", "tr_block2", "tr_block4", "tr_block8", "tr_block16",
}  # fmt: skip
# What is called for each element is not linked either: functions that return a value, but for those of whole runs, and
# of blocks, whose value is a pointer.
_FUNCTION = re.compile(
    r"^static ((?:int|int64_t|void) (?=tr_)|const void \*(?=tr_)|[\w ]+? (?=tr_\w+_run\())(tr_\w+)\(([^;{}]*)\) \{",
    re.MULTILINE,
)
_DATA = re.compile(r"^static const (tr_\w+) (tr_\w+) = ", re.MULTILINE)
_TYPE = re.compile(
    r"^typedef struct \{[^{}]*\} (?P<struct>tr_\w+);|^typedef [^{}]*?\b(?P<other>tr_\w+)\b[^;]*;", re.MULTILINE
)
_STATE = re.compile(r"^static (?!const\b)[^({]*[;=]", re.MULTILINE)
_MACRO = re.compile(r"^#define (\w+)", re.MULTILINE)
_UNDEFINED = re.compile(r"^#undef (\w+)", re.MULTILINE)
# How lines at the margin may begin; any other is a definition that is not static.
_BEGINNING = re.compile(r"(?:static|typedef|extern|enum)\b|/\*|#|[} ]|$")
_NAME = re.compile(r"\btr_\w+")


def declarations(text: str, names: Collection[str], digest: str) -> str | None:
    """Return the declarations of what a helper's text defines, for programs that have it linked.

    `digest` is that of the text, with the texts of all helpers that it needs. None for a helper that is not linked: a
    short one, and one with state, with macros for others, or with functions that are called for each element. `names`
    are those that other texts may mention.
    """
    if (
        (len(text) < LEAST and not _LINKED & {*names})
        or _INLINE & {*names}
        or not all(map(_BEGINNING.match, text.splitlines()))
        or _STATE.search(text)
    ):
        return None
    if {*_MACRO.findall(text)} - {*_UNDEFINED.findall(text)}:
        return None
    declared = {match[2]: f"{match[1]}{match[2]}({match[3]})" for match in _FUNCTION.finditer(text)}
    declared.update({match[2]: f"const {match[1]} {match[2]}" for match in _DATA.finditer(text)})
    types = {match["struct"] or match["other"]: match[0] for match in _TYPE.finditer(text)}
    if not {*names} <= declared.keys() | types.keys() or not declared.keys() & names:
        return None
    externs = "".join(
        f'extern {declared[name]} __asm__("{name}_linked_{digest}") __attribute__((visibility("hidden")));\n'
        for name in declared
        if name in names
    )
    mentioned = {*names, *_NAME.findall(externs)}
    return "".join(f"{line}\n" for name, line in types.items() if name in mentioned) + externs


def symbols(declared: str) -> str:
    """Return the text, behind that of a helper, which defines the symbols that its declarations mention."""
    return "".join(
        f'extern __typeof__({name}) {symbol} __attribute__((weak, visibility("hidden"), alias("{name}")));\n'
        for symbol, name in re.findall(r'__asm__\("((\w+)_linked_\w+)"\)', declared)
    )
