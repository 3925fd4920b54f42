"""Write docs/lowerings.md, which backend lowers which op."""

from __future__ import annotations

import csv
import importlib
import inspect
from pathlib import Path

import treadle.tensor as tt
from treadle.config import discover
from treadle.graph import LoweringTable, Op
from treadle.kernels import TABLE as KERNELS
from treadle.link.vm import TABLE as VM

PAGE = Path(__file__).resolve().parents[1] / "docs" / "lowerings.md"
# Ops that no simpler ones can take the place of, and why.
PRIMITIVES = Path(__file__).resolve().with_name("primitives.tsv")


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
        shared = KERNELS.op_types()
        compiles = table.backend in {"c", "numba"}
        return "kernel" if compiles and any(base in shared for base in kind.__mro__) else "rule"
    if table is VM:
        return "perform"
    return "-" if kind.decompose is Op.decompose else "decomposed"


def primitives() -> dict[str, str]:
    """Return why each op is primitive that has no form in simpler ops."""
    with PRIMITIVES.open(encoding="utf-8", newline="") as file:
        reasons = {row["op"]: row["reason"] for row in csv.DictReader(file, delimiter="\t")}
    without = {kind.__name__ for kind in op_classes() if kind.decompose is Op.decompose}
    if reasons.keys() != without:
        msg = (
            f"{PRIMITIVES.name}: {sorted(without - reasons.keys())} have neither a decomposition nor a line, and "
            f"{sorted(reasons.keys() - without)} have both. Write one of them."
        )
        raise SystemExit(msg)
    return reasons


def page() -> str:
    """Return the page's text."""
    by_backend = tables()
    reasons = primitives()
    lines = [
        "# Which backend lowers which op",
        "",
        "Written by `./dev pages`. `rule`: the backend has a lowering of its own; `kernel`: one that all compiling",
        "backends share ([kernels](contributing/kernels.md)); `perform`: the op's NumPy reference runs; `decomposed`:",
        "simpler ops take its place; `-`: it runs as a step of Python, or is refused, when a function is compiled.",
        "",
        "| op | " + " | ".join(by_backend) + " |",
        "|---|" + "---|" * len(by_backend),
    ]
    lines += [
        f"| `{kind.__name__}` | " + " | ".join(cell(t, kind) for t in by_backend.values()) + " |"
        for kind in op_classes()
    ]
    names = sorted(tt.SCALAR_OPS.names())
    lines += [
        "",
        "## Primitives",
        "",
        "These ops have no form in simpler ones, for the reason beside each (`tools/primitives.tsv`). Every other op",
        "has, and a backend without a rule takes that.",
        "",
        "| op | why |",
        "|---|---|",
        *(f"| `{name}` | {reason} |" for name, reason in sorted(reasons.items())),
    ]
    lines += ["", f"`Elemwise` stands for {len(names)} functions: {', '.join(f'`{n}`' for n in names)}.", ""]
    return "\n".join(lines)
