"""Write docs/rules.md, every rewrite rule and what corresponds to it.

The second part of the page maps the rules of the system that treadle's interface follows to ours. The mapping is
docs/rules_reference.tsv, one row for each rule there: its database, name, position and tags; then ``rule`` and the ids
of ours (a remark may follow a semicolon), ``construction`` and how the rule is made needless, or ``reason`` and why
there is none.
"""

from __future__ import annotations

import csv
import inspect
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from treadle.config import discover
from treadle.rewrite import Phase, Rule, RuleSet
from treadle.rewrite.builtin import RULES as CORE
from treadle.rewrite.tags import NOT_IEEE, STRICT_IEEE

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "rules.md"
REFERENCE = ROOT / "docs" / "rules_reference.tsv"
PUBLISHED = [rules for entry in discover("treadle.rules").values() for rules in entry.load()]
SETS: tuple[RuleSet, ...] = (CORE, *PUBLISHED)
KINDS = {"rule": "a rule", "construction": "by construction", "reason": "none, with a reason"}
# Tags that every rule has, or that its other columns show.
SHOWN_ELSEWHERE = {phase.tag for phase in Phase}


class Row(NamedTuple):
    """One rule of the reference list, and what answers to it."""

    database: str
    name: str
    position: str
    tags: str
    kind: str
    answer: str


def rows() -> list[Row]:
    """Return the reference list.

    Raises
    ------
    SystemExit
        If a row is not mapped, or names a rule that does not exist.
    """
    with REFERENCE.open(encoding="utf-8", newline="") as file:
        table = [Row(**row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    known = frozenset().union(*(rules.names for rules in SETS))
    for row in table:
        if row.kind not in KINDS or not row.answer:
            msg = f"{REFERENCE.name}: {row.name} ({row.database}) is not mapped: kind {row.kind!r}"
            raise SystemExit(msg)
        unknown = sorted(set(ids_of(row)) - known)
        if unknown:
            msg = f"{REFERENCE.name}: {row.name} ({row.database}) names rules that do not exist: {', '.join(unknown)}"
            raise SystemExit(msg)
    return table


def ids_of(row: Row) -> list[str]:
    """Return the ids of our rules that answer to a row."""
    return row.answer.partition(";")[0].split() if row.kind == "rule" else []


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _place(item: Any) -> str:
    """Return the file that a rule is declared in; lines would change too often."""
    return str(item.place).partition(":")[0]


def _operators(item: Any) -> str:
    """Return the ops that a rule looks at."""
    if not isinstance(item, Rule):
        return "whole graph"
    if not item.tracked:
        return "any"
    if len(item.tracked) > 6:
        return f"{len(item.tracked)} ops"
    return ", ".join(op.__name__ if inspect.isclass(op) else str(op) for op in item.tracked)


def _items() -> list[Any]:
    """Return our rules by id."""
    return sorted((item for rules in SETS for item in rules), key=lambda item: item.name)


def _ours() -> list[str]:
    """Return the table of our rules."""
    lines = ["| id | law | phase | tags | looks at | file |", "|---|---|---|---|---|---|"]
    for item in _items():
        phases = ", ".join(phase.tag for phase in item.phases)
        tags = ", ".join(sorted(item.tags - SHOWN_ELSEWHERE))
        lines.append(
            f"| `{item.name}` | {_cell(item.law)} | {phases} | {tags} | {_cell(_operators(item))} | {_place(item)} |"
        )
    return lines


def _marked() -> list[str]:
    """Return the paragraph on rules that change values at special operands, and the list of them."""
    marked = [f"`{item.name}`" for item in _items() if NOT_IEEE in item.tags]
    return [
        f"{len(marked)} rules give another value than the expression as written at some operands of floats: at NaN,",
        "infinities, zeros of either sign and subnormal numbers, outside of a function's domain, or where a value",
        f"in between leaves the range. Their laws say where they differ, and they carry the tag `{NOT_IEEE}`. The tag",
        f'`{STRICT_IEEE}` leaves them out together: `get_mode("FAST_RUN").including("{STRICT_IEEE}")`.',
        "",
        ", ".join(marked) + ".",
    ]


def _theirs(reference: list[Row]) -> list[str]:
    """Return the table of the reference list."""
    lines = ["| database | name | what answers to it |", "|---|---|---|"]
    for row in reference:
        if row.kind == "rule":
            remark = row.answer.partition(";")[2].strip()
            answer = ", ".join(f"`{name}`" for name in ids_of(row)) + (f" ({remark})" if remark else "")
        else:
            answer = f"{'by construction' if row.kind == 'construction' else 'none'}: {row.answer}"
        lines.append(f"| {row.database} | `{row.name}` | {_cell(answer)} |")
    return lines


def page() -> str:
    """Return the page's text."""
    reference = rows()
    count = Counter(row.kind for row in reference)
    reasons = Counter(row.answer.partition(":")[0] for row in reference if row.kind == "reason")
    lines = [
        "# Rewrite rules",
        "",
        "Written by `./dev pages`. A rule's id is what reports show and what queries exclude.",
        "",
        f"treadle has {sum(len(rules) for rules in SETS)} rules. Of the {len(reference)} entries of the reference list",
        ", ".join(f"{count[kind]} have {text}" for kind, text in KINDS.items()) + ".",
        "",
        "| why there is none | entries |",
        "|---|---|",
        *(f"| {_cell(reason)} | {n} |" for reason, n in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
        "",
        "## Rules",
        "",
        *_ours(),
        "",
        "## Rules that differ at special values",
        "",
        *_marked(),
        "",
        "## The reference list",
        "",
        *_theirs(reference),
        "",
    ]
    return "\n".join(lines)
