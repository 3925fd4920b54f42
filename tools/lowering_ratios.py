"""The table of how many times quicker rules and kernels are than what their ops decompose into.

`./dev bench lowerings` measures it (benchmarks/lowerings.py); the reasons are written by hand.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).resolve().with_name("lowering_ratios.tsv")
# A rule that is quicker by no more than this at every size needs another reason to be there.
ENOUGH = 1.05


class Ratio(NamedTuple):
    """One line: the time of what the op decomposes into, over that of the rule, at a size; and why it is there."""

    op: str
    backend: str
    size: str
    ratio: float
    reason: str


def ratios() -> list[Ratio]:
    """Return the lines of the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return [Ratio(r["op"], r["backend"], r["size"], float(r["ratio"]), r["reason"]) for r in rows]


def by_rule() -> dict[tuple[str, str], list[Ratio]]:
    """Return the lines of each rule, by op and backend."""
    lines: dict[tuple[str, str], list[Ratio]] = {}
    for line in ratios():
        lines.setdefault((line.op, line.backend), []).append(line)
    return lines


def write(lines: Iterable[Ratio]) -> None:
    """Write the table, in the order of ops and backends."""
    ordered = sorted(lines, key=lambda line: (line.op, line.backend))
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(Ratio._fields)
        writer.writerows(ordered)
