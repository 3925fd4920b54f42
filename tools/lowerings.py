"""Write docs/lowerings.md, which backend lowers which op."""

from __future__ import annotations

import csv
import importlib
import inspect
import math
from pathlib import Path

import treadle.tensor as tt
from tools.lowering_ratios import ENOUGH, Ratio, by_rule
from treadle.config import discover
from treadle.graph import LoweringTable, Op
from treadle.kernels import TABLE as KERNELS
from treadle.link.vm import TABLE as VM

PAGE = Path(__file__).resolve().parents[1] / "docs" / "lowerings.md"
# Ops that no simpler ones can take the place of, and why.
PRIMITIVES = Path(__file__).resolve().with_name("primitives.tsv")
# An op whose rules are one for all functions, and a backend whose rules are another's.
OF_MANY, SAME = "Elemwise", {"cvm": "c"}


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


def pairs() -> list[tuple[str, str]]:
    """Return the ops that have simpler forms, each with the backends that have a rule or kernel beside them."""
    by_backend = tables()
    return [
        (kind.__name__, backend)
        for kind in op_classes()
        for backend, table in by_backend.items()
        if kind.decompose is not Op.decompose
        and kind.__name__ != OF_MANY
        and table is not VM
        and backend not in SAME
        and cell(table, kind) in {"rule", "kernel"}
    ]


def with_ratio(entry: str, lines: list[Ratio]) -> str:
    """Return a table's entry with the ratios that the rule wins, from the smallest to the largest."""
    if not lines:
        return entry
    least, most = min(line.ratio for line in lines), max(line.ratio for line in lines)
    if most == math.inf:
        return f"{entry} only"
    return f"{entry} {least:.3g}" + (f" to {most:.3g}" if f"{most:.3g}" != f"{least:.3g}" else "")


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
    reasons, measured = primitives(), by_rule()
    lines = [
        "# Which backend lowers which op",
        "",
        "Written by `./dev pages`. `rule`: the backend has a lowering of its own; `kernel`: one that all compiling",
        "backends share ([kernels](contributing/kernels.md)); `perform`: the op's NumPy reference runs; `decomposed`:",
        "simpler ops take its place, of which one without a rule runs as a step of Python; `-`: it runs as a step of",
        "Python, or is refused, when a function is compiled.",
        "",
        "A number is how many times quicker the rule or kernel is than the simpler ops that the op has too, from the",
        "smallest to the largest of the sizes measured: medians of five rounds in turns, processor time, one thread,",
        "calls of one op on NumPy arrays, PyTorch without its compiler. `./dev bench lowerings` measures them",
        "(`tools/lowering_ratios.tsv` has the sizes). `only`: the backend cannot lower the simpler ops.",
        "",
        "| op | " + " | ".join(by_backend) + " |",
        "|---|" + "---|" * len(by_backend),
    ]
    lines += [
        f"| `{kind.__name__}` | "
        + " | ".join(
            with_ratio(cell(t, kind), measured.get((kind.__name__, SAME.get(name, name)), []))
            for name, t in by_backend.items()
        )
        + " |"
        for kind in op_classes()
    ]
    kept = {key: lines for key, lines in measured.items() if max(line.ratio for line in lines) <= ENOUGH}
    lines += [
        "",
        "Rules that win nothing are there for another reason:",
        "",
        "| op | backend | ratio | why |",
        "|---|---|---|---|",
        *(
            f"| `{op}` | {backend} | {with_ratio('', lines_of_rule).strip()} | {lines_of_rule[0].reason} |"
            for (op, backend), lines_of_rule in sorted(kept.items())
        ),
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
