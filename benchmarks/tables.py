"""Tables of measured figures, the page that keeps them, and under which conditions they are measured."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CONDITIONS = {
    "JAX_ENABLE_X64": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    # JAX keeps compiled programs in a directory only if it is told to, and how long a compilation must take for that.
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}


@dataclass(slots=True)
class Table:
    """Rows of measured medians."""

    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the table in Markdown."""
        head = "| " + " | ".join(self.columns) + " |"
        rule = "|" + "---|" * len(self.columns)
        body = ["| " + " | ".join(row) + " |" for row in self.rows]
        return "\n".join([f"## {self.title}", "", head, rule, *body, "", *(f"{note}\n" for note in self.notes)])


def median_of(answers: list[dict[str, Any]], key: str) -> float:
    """Return the median of one figure, NaN where no run gave it."""
    values = [a[key] for a in answers if key in a]
    return statistics.median(values) if values else math.nan


def show(value: float, scale: float, digits: int) -> str:
    """Return a figure as text, a dash where there is none."""
    return "-" if math.isnan(value) else f"{value * scale:.{digits}f}"


def check_agreement(name: str, answers: dict[str, list[dict[str, Any]]]) -> None:
    """Refuse to report speeds of systems that compute different things."""
    sums = {s: a[0]["check"] for s, a in answers.items() if a and "check" in a[0]}
    if sums and max(sums.values()) - min(sums.values()) > 1e-6 * (1 + abs(next(iter(sums.values())))):
        msg = f"bench {name}: the systems disagree: {sums}"
        raise SystemExit(msg)


PAGE = Path("docs/benchmarks.md")


def kept_sections() -> dict[str, str]:
    """Return the sections of the page as it is, by their headings up to the colon."""
    if not PAGE.exists():
        return {}
    parts = PAGE.read_text().split("\n## ")[1:]
    return {f"## {part.split(':')[0]}": f"## {part}".rstrip() + "\n" for part in parts}
