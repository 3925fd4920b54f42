"""The rules that fired in a rewrite, matched to the boxes of the graphs before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph.html.records import Json, as_text
from treadle.graph.ir.apply import Apply
from treadle.graph.ir.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.graph.html.records import Record

# Names of the parts of a firing, in the reports of treadle.rewrite and in others.
_RULE = ("rule", "name")
_BEFORE = ("node", "before", "node_before")
_AFTER = ("after", "nodes_after", "replacements", "replacement")


def _part(firing: Any, names: Iterable[str], position: int) -> Any:
    for name in names:
        part = getattr(firing, name, None)
        if part is not None and not callable(part):
            return part
    plain = isinstance(firing, tuple | list) and not hasattr(firing, "_fields")
    return firing[position] if plain and len(firing) > position else None


def _nodes(value: Any) -> list[Apply | Variable]:
    values = value if isinstance(value, tuple | list) else [value]
    return [x for part in values for x in ((part.owner or part, part) if isinstance(part, Variable) else (part,))]


class _Index:
    """Boxes of one graph, by node and by (user line, op)."""

    def __init__(self, record: Record) -> None:
        self._boxes = record.boxes
        self._lines: dict[object, dict[str, list[int]]] = {}
        for node, box in record.boxes.items():
            if isinstance(node, Apply) and node.user_line is not None:
                self._lines.setdefault(node.user_line, {}).setdefault(as_text(node.op), []).append(box)

    def exact(self, things: Iterable[object]) -> list[int]:
        """Return the boxes of nodes and variables that are in the graph."""
        return sorted({self._boxes[x] for x in things if isinstance(x, Apply | Variable) and x in self._boxes})

    def at(self, line: object, ops: Iterable[str]) -> list[int]:
        """Return the boxes that a line made, of some ops."""
        by_op = self._lines.get(line, {})
        return [box for op in ops for box in by_op.get(op, ())]

    def ops_at(self, line: object) -> set[str]:
        """Return the ops that a line made."""
        return set(self._lines.get(line, {}))


def _row(firing: object, before: _Index, after: _Index) -> Json:
    old = _nodes(_part(firing, _BEFORE, 1))
    new = _nodes(_part(firing, _AFTER, 2))
    line = _part(firing, ("user_line",), 3)
    node = next((x for x in old if isinstance(x, Apply)), None)
    op = getattr(firing, "op", None) if node is None else node.op
    if line is None and node is not None:
        line = node.user_line
    name = None if op is None else as_text(op)
    row: dict[str, object] = {"op": name, "before": before.exact(old), "after": after.exact(new)}
    # Rewriting works on copies: nodes that are not in the graphs given are found by line and op.
    if not row["before"] and line is not None:
        removed = before.ops_at(line) - after.ops_at(line)
        row["before"] = before.at(line, [name] if name is not None else sorted(removed))
    if not row["after"] and line is not None:
        added = after.ops_at(line) - before.ops_at(line)
        row["after"] = after.at(line, sorted(added))
    if line is not None:
        row["line"] = as_text(line)
    phase = getattr(firing, "phase", None)
    if phase is not None:
        row["phase"] = as_text(getattr(phase, "tag", phase))
    return row


def rule_rows(report: Any, before: Record, after: Record) -> list[Json]:
    """Return the rules in the order in which they first fired, each with its firings and the boxes they touched."""
    firings = getattr(report, "firings", report) or ()
    old, new = _Index(before), _Index(after)
    rows: dict[str, Json] = {}
    for firing in firings:
        rule = firing if isinstance(firing, str) else as_text(_part(firing, _RULE, 0))
        row = rows.setdefault(rule, {"rule": rule, "firings": []})
        if not isinstance(firing, str):
            row["firings"].append(_row(firing, old, new))
        else:
            row["firings"].append({"op": None, "before": [], "after": []})
    return list(rows.values())
