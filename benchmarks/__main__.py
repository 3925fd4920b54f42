"""Run the measurements and write the tables to docs/benchmarks.md."""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.models import SECTIONS
from benchmarks.rewriting import MODELS

ROUNDS = 3
NAMES = ("import", "compile", "call", "run", "rewrite", "memory")
CONDITIONS = {
    "JAX_ENABLE_X64": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


@dataclass(slots=True)
class Table:
    """Rows of measured medians."""

    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)

    def text(self) -> str:
        """Return the table in Markdown."""
        head = "| " + " | ".join(self.columns) + " |"
        rule = "|" + "---|" * len(self.columns)
        body = ["| " + " | ".join(row) + " |" for row in self.rows]
        return "\n".join([f"## {self.title}", "", head, rule, *body, ""])


def systems() -> list[str]:
    """Return what is installed: treadle's backends, and the peers."""
    from treadle.compile import BACKENDS  # noqa: PLC0415 - only the parent process needs it here

    ours = [n for n in BACKENDS.names() if (b := BACKENDS.load(n)) is not None and b.unavailable() is None]
    peers = ["jax"] if importlib.util.find_spec("jax") else []
    return [*(f"treadle-{n.upper()}" for n in ours), *peers, "numpy"]


def measure(section: str, name: str, system: str, directory: str) -> dict[str, Any]:
    """Run one worker process; return what it says, or nothing if it failed."""
    env = {**os.environ, **CONDITIONS, "TREADLE_FLAGS": f"base_compiledir={directory}"}
    if section == "rewrite":
        # PyTensor folds constants with compiled code where it finds a compiler, which is no rewriting.
        env["PYTENSOR_FLAGS"] = "cxx="
    command = [sys.executable, "-m", "benchmarks.worker", section, name, system]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return {}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def median_of(answers: list[dict[str, Any]], key: str) -> float:
    """Return the median of one figure, NaN where no run gave it."""
    found = [a[key] for a in answers if key in a]
    return statistics.median(found) if found else math.nan


def show(value: float, scale: float, digits: int) -> str:
    """Return a figure as text, a dash where there is none."""
    return "-" if math.isnan(value) else f"{value * scale:.{digits}f}"


def check_agreement(name: str, answers: dict[str, list[dict[str, Any]]]) -> None:
    """Refuse to report speeds of systems that compute different things."""
    sums = {s: a[0]["check"] for s, a in answers.items() if a and "check" in a[0]}
    if sums and max(sums.values()) - min(sums.values()) > 1e-6 * (1 + abs(next(iter(sums.values())))):
        msg = f"bench {name}: the systems disagree: {sums}"
        raise SystemExit(msg)


def section_of_models(section: str, key: str, scale: float, unit: str) -> Table:
    """Measure every model of a section on every system, in turns."""
    wanted = systems() if section != "call" else [s for s in systems() if s != "treadle-PYTORCH"]
    table = Table(f"{section}, {unit}", ["", *wanted])
    with tempfile.TemporaryDirectory() as directory:
        for name, model in SECTIONS[section].items():
            answers: dict[str, list[dict[str, Any]]] = {s: [] for s in wanted}
            for _ in range(ROUNDS):
                for system in wanted:
                    answers[system].append(measure(section, name, system, directory))
            check_agreement(name, answers)
            table.rows.append([model.title, *(show(median_of(answers[s], key), scale, 2) for s in wanted)])
    return table


def compile_section() -> Table:
    """Measure the time from a fresh process to the first result, with an empty compile directory and a filled one."""
    wanted = [s for s in systems() if s != "numpy"]
    table = Table("compile: fresh process to first result, seconds, cold / warm", ["", *wanted])
    for name, model in SECTIONS["compile"].items():
        row = [model.title]
        for system in wanted:
            colds, warms = [], []
            for _ in range(ROUNDS):
                with tempfile.TemporaryDirectory() as directory:
                    colds.append(measure("compile", name, system, directory))
                    warms.append(measure("compile", name, system, directory))
            row.append(f"{show(median_of(colds, 'first'), 1, 2)} / {show(median_of(warms, 'first'), 1, 2)}")
        table.rows.append(row)
    return table


def import_section() -> Table:
    """Measure imports as whole processes, over a process that imports nothing."""
    statements = {
        "treadle.graph": "import treadle.graph",
        "numpy": "import numpy",
        "treadle.tensor and treadle.compile": "import numpy, treadle.tensor, treadle.compile",
        "jax": "import jax",
        "torch": "import torch",
    }
    times: dict[str, list[float]] = {name: [] for name in ("bare", *statements)}
    for _ in range(3 * ROUNDS):
        for name, statement in {"bare": "pass", **statements}.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=False, stderr=subprocess.DEVNULL)
            times[name].append(time.perf_counter() - start)
    bare = statistics.median(times["bare"])
    table = Table("import: seconds over a bare interpreter", ["", "seconds"])
    for name in statements:
        table.rows.append([name, f"{statistics.median(times[name]) - bare:.3f}"])
    return table


def rewrite_section() -> Table:
    """Measure all rewrites of models, beside PyTensor's where it is installed, and of synthetic graphs of any size."""
    columns = ["", "nodes", "treadle ms", "treadle ms per node", "PyTensor ms", "PyTensor ms per node", "ratio"]
    table = Table(
        "rewrite: FAST_RUN's rewrites, CPU time without code generation (PyTensor's without a C compiler)", columns
    )
    peer = ["pytensor"] if importlib.util.find_spec("pytensor") else []
    for name, model in MODELS.items():
        answers: dict[str, list[dict[str, Any]]] = {s: [] for s in ("treadle", *peer)}
        for _ in range(ROUNDS):
            for system, runs in answers.items():
                runs.append(measure("rewrite", name, system, ""))
        check_agreement(name, answers)
        table.rows.append(_rewrite_row(model.title, answers["treadle"], answers.get("pytensor", [])))
    for kind in ("elementwise", "gradient"):
        first = math.nan
        for nodes in (1_000, 3_000, 10_000, 30_000, 100_000):
            runs = [
                measure("rewrite", f"{kind}:{nodes}", "treadle", "") for _ in range(ROUNDS if nodes <= 10_000 else 1)
            ]
            row = _rewrite_row(f"synthetic, {kind}", runs, [])
            cost = median_of(runs, "seconds") / max(median_of(runs, "nodes"), 1)
            first = cost if math.isnan(first) else first
            row[-1] = f"{show(cost / first, 1, 2)} of the smallest"
            table.rows.append(row)
    return table


def _rewrite_row(title: str, ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> list[str]:
    """Return one row of the table of rewriting: sizes, times, times per node, how many times faster treadle is."""
    mine, other = median_of(ours, "seconds"), median_of(theirs, "seconds")
    nodes, others = median_of(ours, "nodes"), median_of(theirs, "nodes")
    return [
        title,
        show(nodes, 1, 0),
        show(mine, 1e3, 2),
        show(mine / nodes, 1e3, 4),
        show(other, 1e3, 1),
        show(other / others, 1e3, 3),
        show(other / mine, 1, 1),
    ]


def memory_section() -> Table:
    """Measure the peak of memory above the arguments, compiling included."""
    wanted = systems()
    table = Table("memory: peak above the arguments, MiB, compiling included", ["", *wanted])
    with tempfile.TemporaryDirectory() as directory:
        for name in ("seven6", "sum_seven"):
            row = [SECTIONS["run"][name].title]
            row += [show(measure("memory", name, s, directory).get("peak_mib", math.nan), 1, 0) for s in wanted]
            table.rows.append(row)
    return table


def tables(names: list[str]) -> list[Table]:
    """Run the sections asked for."""
    sections = {
        "import": import_section,
        "compile": compile_section,
        "call": lambda: section_of_models("call", "seconds", 1e6, "microseconds"),
        "run": lambda: section_of_models("run", "seconds", 1e3, "milliseconds"),
        "rewrite": rewrite_section,
        "memory": memory_section,
    }
    done = []
    for name in names:
        print(f"measuring {name} ...", flush=True)
        done.append(sections[name]())
        print(done[-1].text(), flush=True)
    return done


PAGE = Path("docs/benchmarks.md")


def kept_sections() -> dict[str, str]:
    """Return the sections of the page as it is, by their headings up to the colon."""
    if not PAGE.exists():
        return {}
    parts = PAGE.read_text().split("\n## ")[1:]
    return {f"## {part.split(':')[0]}": f"## {part}".rstrip() + "\n" for part in parts}


def page(sections: dict[str, str]) -> str:
    """Return the page: what was measured now, and the other sections as they were."""
    versions = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, one thread, float64."
    head = (
        "# Benchmarks\n\n"
        "Written by `./dev bench`; a section that is measured again takes the place of the one before. Medians; every\n"
        "system in processes of its own, in turns. Compare the columns of one table with each other: absolute times\n"
        f"drift with the machine.\n\n{versions}\n"
    )
    return "\n".join([head, *(text.rstrip() + "\n" for text in sections.values())])


def main() -> int:
    """Measure, print, and write docs/benchmarks.md."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"any of {', '.join(NAMES)}; all if none")
    given = parser.parse_args()
    unknown = set(given.sections) - set(NAMES)
    if unknown:
        parser.error(f"unknown section {', '.join(sorted(unknown))}; choose from {', '.join(NAMES)}")
    made = {t.text().split(":")[0]: t.text() for t in tables(given.sections or list(NAMES))}
    PAGE.write_text(page({**kept_sections(), **made}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
