"""A unit's text for two runs of the compiler at once, each of which compiles its share of the functions."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.link.c.runtime import Library

RUNS = 2
# The macro that tells a run of the compiler its share; where it is not defined, everything is compiled at once.
MACRO = "TR_SHARE"
# Characters of C from which on a second run of the compiler costs less than it saves.
LEAST = 20_000
_HEAD = f"""\
#ifdef {MACRO}
#define TR_LOCAL __attribute__((visibility("hidden")))
#else
#define TR_LOCAL static
#endif
"""
_STATIC = re.compile(r"^static ((?:int k|int64_t (?:l\d+_)?(?:run|b\d+_|loop))\d+\([^)]*\)) \{", re.MULTILINE)


def divided(functions: Sequence[str], library: Library) -> str | None:
    """Return functions' text, divided into shares, None where that does not pay."""
    helpers = [library.helpers(text) for text in functions]
    every = {name: body for found in helpers for name, body in found.items()}
    if sum(map(len, functions)) + sum(map(len, every.values())) < LEAST or _processors() < RUNS:
        return None
    declared = [f"TR_LOCAL {found[1]};" for text in functions for found in _STATIC.finditer(text)]
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


def _shares(functions: Sequence[str], helpers: Sequence[dict[str, str]]) -> list[list[int]]:
    """Return the positions of the functions of each share, so that both have about as much text to compile."""
    shares: list[list[int]] = [[] for _ in range(RUNS)]
    present: list[set[str]] = [set() for _ in range(RUNS)]
    loads = [0] * RUNS

    def load_with(at: int, share: int) -> int:
        new = sum(len(body) for name, body in helpers[at].items() if name not in present[share])
        return loads[share] + len(functions[at]) + new

    largest_first = sorted(range(len(functions)), key=lambda at: -load_with(at, 0))
    for at in largest_first:
        chosen = min(range(RUNS), key=lambda share: load_with(at, share))
        loads[chosen] = load_with(at, chosen)
        present[chosen].update(helpers[at])
        shares[chosen].append(at)
    return shares


def _processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
