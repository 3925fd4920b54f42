"""Filling in C text: whole words, and calls of macros."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORD = re.compile(r"\w+")


def replace_words(text: str, words: Mapping[str, str]) -> str:
    """Replace whole words."""
    return _WORD.sub(lambda found: words.get(found[0], found[0]), text)


def expand_calls(text: str, name: str, by: str) -> str:
    """Replace ``NAME(a, x)`` or ``NAME(x)``, whose arguments hold no commas of their own, by an expression."""
    pieces = text.split(f"{name}(")
    made = [pieces[0]]
    for piece in pieces[1:]:
        depth, end = 1, 0
        while depth:
            depth += {"(": 1, ")": -1}.get(piece[end], 0)
            end += 1
        arguments = [part.strip() for part in piece[: end - 1].split(",")]
        made.append(by.format(a=arguments[0], x=arguments[-1]) + piece[end:])
    return "".join(made)
