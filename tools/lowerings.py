"""Write docs/lowerings.md, which backend lowers which op."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import treadle.tensor as tt
from treadle.config import discover
from treadle.graph import LoweringTable, Op
from treadle.link.vm import TABLE as VM

PAGE = Path(__file__).resolve().parents[1] / "docs" / "lowerings.md"


def op_classes() -> list[type[Op]]:
    """Return treadle.tensor's op classes, by name."""
    kinds = [
        kind
        for kind in (getattr(tt, name) for name in tt.__all__)
        if inspect.isclass(kind) and issubclass(kind, Op) and not inspect.isabstract(kind)
    ]
    return sorted(set(kinds), key=lambda kind: kind.__name__)


def table_of(module: str) -> LoweringTable:
    """Return the lowering table that a backend's module exports."""
    package = importlib.import_module(module)
    exported = [getattr(package, name) for name in package.__all__]
    tables = [v for v in exported if isinstance(v, LoweringTable)]
    if len(tables) != 1:
        msg = f"{module}: one LoweringTable must be exported, found {len(tables)}"
        raise SystemExit(msg)
    return tables[0]


def tables() -> dict[str, LoweringTable]:
    """Return our backends' tables by name of the backend."""
    ours = {}
    for name, entry in sorted(discover("treadle.backends").items()):
        module = entry.value.partition(":")[0]
        if module.startswith("treadle.link."):
            ours[name] = table_of(module)
    return ours


def cell(table: LoweringTable, kind: type[Op]) -> str:
    """Return the table's entry for one op class."""
    if any(base in table.op_types() for base in kind.__mro__):
        return "rule"
    if table is VM:
        return "perform"
    return "-" if kind.decompose is Op.decompose else "decomposed"


def page() -> str:
    """Return the page's text."""
    by_backend = tables()
    lines = [
        "# Which backend lowers which op",
        "",
        "Written by `./dev pages`. `rule`: the backend has a lowering of its own; `perform`: the op's",
        "NumPy reference runs; `decomposed`: simpler ops take its place; `-`: it runs as a step of Python, or is",
        "refused, when a function is compiled.",
        "",
        "| op | " + " | ".join(by_backend) + " |",
        "|---|" + "---|" * len(by_backend),
    ]
    lines += [
        f"| `{kind.__name__}` | " + " | ".join(cell(t, kind) for t in by_backend.values()) + " |"
        for kind in op_classes()
    ]
    names = sorted(tt.SCALAR_OPS.names())
    lines += ["", f"`Elemwise` stands for {len(names)} functions: {', '.join(f'`{n}`' for n in names)}.", ""]
    return "\n".join(lines)
