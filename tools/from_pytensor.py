"""Make docs/from_pytensor.md: where each documented name is, and what differs; part of what `./dev pages` runs.

The table is docs/api_reference.tsv (see `tools.coverage`), which tests compare with the packages. What is said about
behaviour rather than names stands here.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from tools.coverage import Row, rows

PAGE = Path(__file__).resolve().parents[1] / "docs" / "from_pytensor.md"
_HEAD = """# Coming from PyTensor

Written by `./dev pages` from [api_reference.tsv](api_reference.tsv); a test compares that table with the packages.
Those who come from JAX find their page in [from_jax.md](from_jax.md).

A program for PyTensor changes its imports first:

| there | here |
|---|---|
| `import pytensor` | `from treadle import compile, config` and the modules below |
| `import pytensor.tensor as pt` | `import treadle.tensor as tt` |
| `pytensor.function`, `.shared`, `.In`, `.Out`, `.Mode` | the same names in `treadle.compile` |
| `pytensor.grad`, `pytensor.gradient` | `tt.grad`, `treadle.gradient` |
| `pytensor.scan`, `pytensor.map` | `treadle.scan.scan`, `treadle.scan.map`; `tt.scan` |
| `pytensor.ifelse.ifelse` | `tt.ifelse`, `treadle.ifelse` |
| `pytensor.graph`, `pytensor.printing`, `pytensor.dprint` | `treadle.graph`, `treadle.printing`, its `dprint` |
| `pytensor.config`, `PYTENSOR_FLAGS`, `.pytensorrc` | `treadle.config`, `TREADLE_FLAGS`, `.treadlerc` |

## What behaves otherwise

- **Modes.** The default is C where a compiler is present, else Numba, else the Python VM. `mode="NUMBA"`, `"JAX"`,
  `"PYTORCH"`, `"C"` and `"FAST_COMPILE"` (the VM) name backends; each is a package of its own.
- **Functions** may be called from any number of threads. A call that fails changes no shared variable.
- **Errors** name the op, the types or shapes, and your line; `optimizer=None` is not needed to find it.
- **Broadcasting** is decided at run time, as in NumPy: a dimension of unknown length may turn out to be 1.
- **`==`** between variables compares identity; use `tt.eq`.
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


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _prefix(found: list[Row]) -> str:
    """Return the module that most names of a section stand in."""
    counts: dict[str, int] = defaultdict(int)
    for row in found:
        counts[row.path.rpartition(".")[0]] += 1
    return max(counts, key=lambda home: counts[home])


def _section(title: str, found: list[Row]) -> list[str]:
    home = _prefix(found)
    same: list[str] = []
    other: list[str] = []
    for row in found:
        if row.missing or row.differs:
            continue
        module, _, name = row.path.rpartition(".")
        (same if module == home else other).append(name if module == home else row.path)
    lines = [f"## {title[0].upper()}{title[1:]}", ""]
    if same:
        lines += [f"As documented, in `treadle.{home}`: {_listed(same)}.", ""]
    if other:
        lines += [f"As documented, below `treadle`: {_listed(other)}.", ""]
    changed = [row for row in found if row.differs and not row.missing]
    if changed:
        lines += ["| name | what differs |", "|---|---|", *(f"| `{r.path}` | {r.differs} |" for r in changed), ""]
    lacking = [row for row in found if row.missing]
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
    every = [row for found in sections.values() for row in found]
    here = [row for row in every if not row.missing]
    differing = sum(bool(row.differs) for row in here)
    counts = (
        f"\nOf {len(every)} documented names, {len(here)} are here under their own names, {differing} of them with a "
        "difference that is told below.\n"
    )
    lines = [line for title, found in sections.items() for line in _section(title, found)]
    return "\n".join([_HEAD + counts, *lines]).rstrip() + "\n"


def idle() -> list[str]:
    """Return what is said to differ about names that do not exist."""
    return [row.path for row in rows() if row.differs and row.missing]
