"""Dividing a unit's text among parallel runs of the compiler, each of which compiles a share of the functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from treadle.config import usable_processors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

RUNS = 2
# The macro with the share that a run of the compiler compiles; if it is not defined, everything is compiled.
MACRO = "TR_SHARE"
# From this effort on, in characters of C, a second run of the compiler saves more time than it costs.
LEAST = 15_000
# Functions with loops take the compiler this much longer, for equally many characters.
_LOOPS = 2
_HEAD = f"""\
#ifdef {MACRO}
#define TR_LOCAL __attribute__((visibility("hidden")))
#else
#define TR_LOCAL static
#endif
"""
_STATIC = re.compile(
    r"^static ((?:int (?:__attribute__\(\(noinline\)\) )?k\d+(?:_\w+)?|int64_t (?:l\d+_)?(?:run|b\d+_|loop)\d+)"
    r"\([^)]*\)) \{",
    re.MULTILINE,
)


def divided(functions: Sequence[str], needs: Callable[[str], Mapping[str, str]]) -> str | None:
    """Return the text of functions, divided into shares, or None if that would not be faster.

    `needs` returns the texts of the helpers that a function needs, by name.
    """
    helpers = [needs(text) for text in functions]
    every = {name: body for needed in helpers for name, body in needed.items()}
    if sum(map(_effort, functions)) + sum(map(len, every.values())) < LEAST or usable_processors() < RUNS:
        return None
    declared = [f"TR_LOCAL {match[1]};" for text in functions for match in _STATIC.finditer(text)]
    shares = _shares(functions, helpers)
    parts = [
        "\n".join([
            f"#if !defined {MACRO} || {MACRO} == {number}",
            *(_STATIC.sub(r"TR_LOCAL \1 {", functions[at]) for at in sorted(share)),
            "#endif",
        ])
        for number, share in enumerate(shares)
    ]  # fmt: skip
    return "\n".join([_HEAD, *declared, *parts])


def _shares(functions: Sequence[str], helpers: Sequence[Mapping[str, str]]) -> list[list[int]]:
    """Return the positions of the functions of each share, so that shares have about the same size."""
    shares: list[list[int]] = [[] for _ in range(RUNS)]
    present: list[set[str]] = [set() for _ in range(RUNS)]
    loads = [0] * RUNS

    def load_with(at: int, share: int) -> int:
        new = sum(len(body) for name, body in helpers[at].items() if name not in present[share])
        return loads[share] + _effort(functions[at]) + new

    largest_first = sorted(range(len(functions)), key=lambda at: -load_with(at, 0))
    for at in largest_first:
        chosen = min(range(RUNS), key=lambda share: load_with(at, share))
        loads[chosen] = load_with(at, chosen)
        present[chosen].update(helpers[at])
        shares[chosen].append(at)
    return shares


def _effort(function: str) -> int:
    """Return the characters of a function, weighted by how long they take."""
    return len(function) * (_LOOPS if "  for (" in function else 1)
