"""Make docs/from_pytensor.md: where each documented name is, and what differs; part of what `./dev pages` runs.

The tables stand in docs/: api_reference.tsv has the documented names (see `tools.coverage`), pytensor_names.tsv all
public names of a version of PyTensor by module, pytensor_absent.tsv its parts that are not here, and
pytensor_differences.tsv what names do otherwise. tests/from_pytensor compares what is said with values of PyTensor.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tools.coverage import Row, exists, rows

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "from_pytensor.md"
VERSION = "3.0.7"
_HEAD = """# Coming from PyTensor

Written by `./dev pages` from [api_reference.tsv](api_reference.tsv) and the tables beside it; tests compare these with
the packages, and what is said of values with those that PyTensor gave for the same programs. Those who come from JAX
find their page in [from_jax.md](from_jax.md).

{absent}
## Imports

A program for PyTensor changes its imports first:

| there | here |
|---|---|
| `import pytensor` | `import treadle.tensor as tt`: `tt.function`, `tt.shared`, `tt.config` are there |
| `import pytensor.tensor as pt` | `import treadle.tensor as tt` |
| `pytensor.function`, `.shared`, `.In`, `.Out`, `.Mode` | the same names in `tt` and in `treadle.compile` |
| `pytensor.grad`, `pytensor.gradient` | `tt.grad`, `treadle.gradient` |
| `pytensor.scan`, `pytensor.map` | `treadle.scan.scan`, `treadle.scan.map`; `tt.scan` |
| `pytensor.ifelse.ifelse` | `tt.ifelse`, `treadle.ifelse` |
| `pytensor.graph`, `pytensor.printing`, `pytensor.dprint` | `treadle.graph`, `treadle.printing`, its `dprint` |
| `pytensor.sparse` | `treadle.sparse` ([sparse.md](sparse.md)) |
| `pytensor.xtensor` | `treadle.named` ([named.md](named.md)) |
| `pytensor.config`, `PYTENSOR_FLAGS`, `.pytensorrc` | `treadle.config`, `TREADLE_FLAGS`, `.treadlerc` |
| a whole program, or a library, left as it is | `python -m treadle.as_pytensor program.py` ([pymc.md](pymc.md)) |

## What behaves otherwise

- **Modes.** The default is C where a compiler is present, else Numba, else the Python VM. `mode="NUMBA"`, `"JAX"`,
  `"PYTORCH"`, `"C"` and `"FAST_COMPILE"` (the VM) name backends; each is a package of its own.
- **Functions** may be called from any number of threads. A call that fails changes no shared variable.
- **Errors** name the op, the types or shapes, and your line; `optimizer=None` is not needed to find it.
- **Broadcasting** is decided at run time, as in NumPy: a dimension of unknown length may turn out to be 1.
- **Integers** wrap around, and dtypes follow NumPy's rules for the same operation.
- **Random draws** on C and Numba are NumPy's, bit for bit. JAX and PyTorch take a key from the generator; a portable
  generator gives the same numbers on all backends.
- **Loops.** `scan` is as documented; what it builds is one op with one body, in place of the many kinds of states. Its
  gradient is a loop too, as often as you take one. There are `while_loop`, `fori_loop` and `scan_with_carry` beside it.
- **Jacobians** are batches of gradients; they are loops where an op takes no batches, or with `vectorize=False`.
- **Custom ops** with `make_node`, `perform`, `grad` or `L_op`, `R_op` work as they are, on every backend; where a
  backend has no rule for one, it is a step of Python, which a warning names. C code of ops stands in rules, not in ops.
- **Gradients by complex variables** are d/da + i d/db for z = a + ib.
"""


class Difference(NamedTuple):
    """A difference: of some documented paths, or of none in particular."""

    group: str
    names: str
    there: str
    here: str


@cache
def differences() -> tuple[Difference, ...]:
    """Return the differences in the behaviour of names."""
    with (DOCS / "pytensor_differences.tsv").open(encoding="utf-8", newline="") as file:
        return tuple(Difference(**row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def paths_with_a_difference() -> frozenset[str]:
    """Return the paths whose difference is listed."""
    apart = {path for difference in differences() for path in difference.names.split()}
    return frozenset(apart | {row.path for row in rows() if row.differs})


@cache
def _names_of_pytensor() -> dict[str, tuple[str, ...]]:
    with (DOCS / "pytensor_names.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["module"]: tuple(row["names"].split()) for row in rows}


@cache
def absent() -> tuple[tuple[str, int, int, str], ...]:
    """Return each part of PyTensor that is missing: how many of its public names are, of how many, and why."""
    with (DOCS / "pytensor_absent.tsv").open(encoding="utf-8", newline="") as file:
        parts = [(row["part"], row["instead"]) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    counts = []
    for part, instead in parts:
        paths = [
            f"treadle.{module}.{name}"
            for module, names in _names_of_pytensor().items()
            if f"{module}.".startswith(f"{part}.")
            for name in names
        ]
        counts.append((part, sum(not exists(path) for path in paths), len(paths), instead))
    return tuple(counts)


def _absent_text() -> str:
    every = [f"treadle.{module}.{name}" for module, names in _names_of_pytensor().items() for name in names]
    missing = sum(not exists(path) for path in every)
    of_parts = sum(count for _, count, _, _ in absent())
    lines = [
        "## What is not here",
        "",
        f"Of {len(every)} public names in the modules of PyTensor {VERSION}, {missing} are not at their path here,",
        f"{of_parts} of them in the parts below. Most others are internals.",
        "",
        "| part of `pytensor` | names missing | what there is |",
        "|---|---:|---|",
        *(f"| `{part}` | {count} of {total} | {instead} |" for part, count, total, instead in absent()),
        "",
    ]
    return "\n".join(lines)


def _differences_text() -> str:
    groups: dict[str, list[Difference]] = defaultdict(list)
    for difference in differences():
        groups[difference.group].append(difference)
    lines = [
        "## Differences",
        "",
        "Where NumPy or SciPy define a function, treadle gives their results, though PyTensor's differ; where neither",
        "does, it gives PyTensor's. These are the places where a program that runs on both gives something else.",
        "",
    ]
    for group, members in groups.items():
        lines += [f"### {group}", "", "| names | in PyTensor | here |", "|---|---|---|"]
        lines += [f"| {_listed(d.names.split())} | {d.there} | {d.here} |" for d in members]
        lines.append("")
    return "\n".join(lines)


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _prefix(rows: list[Row]) -> str:
    """Return the module that most names of a section are in."""
    counts: dict[str, int] = defaultdict(int)
    for row in rows:
        counts[row.path.rpartition(".")[0]] += 1
    return max(counts, key=lambda home: counts[home])


def _section(title: str, rows: list[Row]) -> list[str]:
    home = _prefix(rows)
    same: list[str] = []
    other: list[str] = []
    for row in rows:
        if row.missing or row.path in paths_with_a_difference():
            continue
        module, _, name = row.path.rpartition(".")
        (same if module == home else other).append(name if module == home else row.path)
    lines = [f"## {title[0].upper()}{title[1:]}", ""]
    if same:
        lines += [f"As documented, in `treadle.{home}`: {_listed(same)}.", ""]
    if other:
        lines += [f"As documented, below `treadle`: {_listed(other)}.", ""]
    apart = [row.path for row in rows if row.path in paths_with_a_difference() and not row.differs and not row.missing]
    if apart:
        lines += [f"With a [difference](#differences): {_listed(apart)}.", ""]
    changed = [row for row in rows if row.differs and not row.missing]
    if changed:
        lines += ["| name | what differs |", "|---|---|", *(f"| `{r.path}` | {r.differs} |" for r in changed), ""]
    lacking = [row for row in rows if row.missing]
    if lacking:
        reasons = [f"| `{row.path}` | {row.why} |" for row in lacking]
        lines += ["| not here | why, or what there is |", "|---|---|", *reasons, ""]
    return lines


def page() -> str:
    """Return the page."""
    sections: dict[str, list[Row]] = defaultdict(list)
    for row in rows():
        if not row.section.startswith("clients: ") and row.section != "rest of numpy":
            sections[row.section].append(row)
    every = [row for rows in sections.values() for row in rows]
    here = [row for row in every if not row.missing]
    differing = sum(row.path in paths_with_a_difference() for row in here)
    counts = (
        f"\nOf {len(every)} documented names, {len(here)} are here under their own names, {differing} of them with a "
        "difference that is told here.\n"
    )
    lines = [line for title, rows in sections.items() for line in _section(title, rows)]
    head = _HEAD.format(absent=_absent_text())
    return "\n".join([head, _differences_text() + counts, *lines]).rstrip() + "\n"


def idle() -> list[str]:
    """Return the listed differences of names that do not exist."""
    return [row.path for row in rows() if row.path in paths_with_a_difference() and row.missing]
