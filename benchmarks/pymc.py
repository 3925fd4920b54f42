"""Measure PyMC on treadle beside PyMC on PyTensor, and write the table to docs/benchmarks.md: ``./dev bench pymc``."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from typing import Any

from benchmarks.tables import CONDITIONS, PAGE, Table, check_agreement, kept_sections, median_of, show

TITLES = {
    "eight_schools": "eight schools",
    "radon": "radon in 919 houses, varying slopes",
    "logistic": "logistic regression, 1,000 x 10",
    "gp": "Gaussian process, 100 points",
    "volatility": "stochastic volatility, 500 days",
    "state_space": "state space, 10 states, 120 months",
}
# PyTensor's linker of each system; treadle has its default mode.
LINKERS = {"treadle": "", "pytensor-C": "cvm", "pytensor-NUMBA": "numba"}
DRAWS = 1_000
NOTE = (
    "First draw: seconds from the start of a process, imports and the model included, to the first draw of NUTS; cold "
    "with empty compile directories, warm with those that the cold process left. Call: microseconds of processor time "
    "of a call of PyMC's function of log density and gradient. Draws: seconds of {draws:,} draws of NUTS after "
    "{tune:,} of tuning, without compilation; in brackets, microseconds for each gradient, PyMC's own work included, "
    "since chains that round differently make different numbers of steps. PyMC {pymc}, "
    "PyTensor {pytensor}, NumPy {numpy}."
)


def measure(name: str, system: str, part: str, draws: int, directory: str) -> dict[str, Any]:
    """Run one worker process; return what it says, or nothing if it failed, which is told."""
    flags = f"base_compiledir={directory}/pytensor"
    if LINKERS[system]:
        flags += f",linker={LINKERS[system]}"
    env = {**os.environ, **CONDITIONS, "TREADLE_FLAGS": f"base_compiledir={directory}/treadle", "PYTENSOR_FLAGS": flags}
    # Numba keeps what it compiled for PyTensor in a directory of its own.
    env["NUMBA_CACHE_DIR"] = f"{directory}/numba"
    command = [sys.executable, "-m", "benchmarks.pymc_worker", name, system, part, str(draws)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        error_lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        print(f"  {name} {system}: failed: {error_lines[-1]}", flush=True)
        return {}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def measure_case(name: str, systems: list[str], rounds: int, draws: int) -> list[list[str]]:
    """Measure a model on all systems, in turns; return a row for each system."""
    cold: dict[str, list[dict[str, Any]]] = {s: [] for s in systems}
    warm: dict[str, list[dict[str, Any]]] = {s: [] for s in systems}
    for _ in range(rounds):
        for system in systems:
            # A system that failed once is not run again.
            if cold[system] == [{}]:
                continue
            with tempfile.TemporaryDirectory() as directory:
                cold[system].append(measure(name, system, "first", draws, directory))
                if cold[system][-1]:
                    warm[system].append(measure(name, system, "all", draws, directory))
    check_agreement(name, warm)
    rows = []
    for system in systems:
        first = f"{show(median_of(cold[system], 'first'), 1, 1)} / {show(median_of(warm[system], 'first'), 1, 1)}"
        call = show(median_of(warm[system], "seconds"), 1e6, 1)
        step = show(median_of(warm[system], "step"), 1e6, 0)
        rows.append([TITLES[name], system, first, call, f"{show(median_of(warm[system], 'sampling'), 1, 1)} ({step})"])
        print(f"  {' | '.join(rows[-1])}", flush=True)
    return rows


def main() -> int:
    """Measure, print, and write the section of the page."""
    parser = argparse.ArgumentParser(prog="bench pymc", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each system is measured, in turns")
    parser.add_argument("--cases", default=",".join(TITLES), help="names of models, separated by commas")
    parser.add_argument("--systems", default=",".join(LINKERS), help="names of systems, separated by commas")
    parser.add_argument(
        "--draws", type=int, default=DRAWS, help="how many draws are measured, after half as many of tuning"
    )
    options = parser.parse_args()
    cases, systems = options.cases.split(","), options.systems.split(",")
    unknown = {*cases, *systems} - {*TITLES, *LINKERS}
    if unknown:
        parser.error(
            f"unknown {', '.join(sorted(unknown))}; models: {', '.join(TITLES)}; systems: {', '.join(LINKERS)}"
        )
    table = Table("pymc: PyMC on treadle and on PyTensor", ["model", "on", "first draw, cold / warm", "call", "draws"])
    table.notes = [
        NOTE.format(
            draws=options.draws,
            tune=options.draws // 2,
            **{name: version(name) for name in ("pymc", "pytensor", "numpy")},
        )
    ]
    for name in cases:
        table.rows += measure_case(name, systems, options.rounds, options.draws)
    print(table.text())
    if cases != [*TITLES] or systems != [*LINKERS] or options.draws != DRAWS:
        print("Only a part was measured: docs/benchmarks.md stays as it is.")
        return 0
    head = PAGE.read_text(encoding="utf-8").split("\n## ")[0]
    sections = {**kept_sections(), table.text().split(":")[0]: table.text()}
    PAGE.write_text("\n".join([head, *(text.rstrip() + "\n" for text in sections.values())]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
