"""Run the measurements and write the tables to docs/benchmarks.md."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import beside_jax, first, loops, random_numbers, tiers, torch_tables
from benchmarks.models import SECTIONS
from benchmarks.rewriting import MODELS
from benchmarks.systems import LIMIT, TRUSTED, WITH_WHEEL, missing, present, wheel
from benchmarks.tables import CONDITIONS, PAGE, Table, check_agreement, kept_sections, median_of, show

NAMES = ("import", "compile", "first", "tiers", "call", "run", "random", "jax", "loops", "torch", "rewrite", "memory")
# Written below the table of each section.
NOTES = {
    "compile": "Cold: with empty compile directories; warm: with those that the cold run left. treadle-C-wheel: "
    "with the wheel of `./dev support-wheel` installed. A dash: it takes minutes, so it is left out, or it failed.",
    "first": "From the expression to its value, in a process that has run another function; the compile directory has "
    "what functions share, and no program of this one. In brackets, the processors' time, compilers included.",
    "tiers": "Cold. In brackets, with tiers: until a call has run on the mode's own backend, other calls being made "
    "all the while. Without tiers that is the first one, but for libraries that compile in calls.",
    "call": "Processor time. A pair: default checks on / arguments unchecked. treadle-C-plain: without the helper "
    "extension, as in a process that has just begun and finds none in its compile directory, or where Python.h is "
    "missing.",
    "run": "Processor time. The column before the last: hand-written C with -O3 -ffast-math and the C library's vector "
    "functions, its result written over in each call. Last: treadle-C over that, or over the quickest peer where there "
    "is none. All threads of a process count: JAX keeps some of its own. Softmax and logsumexp are a library's own "
    "functions where it has them, and written out where not.",
    "random": "Processor time, one thread. treadle portable: with its own generator; treadle: with NumPy's, whose "
    "numbers it gives bit for bit. Last: NumPy over treadle-C portable.",
    "jax": "Mode JAX beside the same function written by hand, in one process, in turns; processor time, one thread. "
    "NumPy: arguments and results are NumPy arrays. Own: they are JAX's, which wait on the device. By hand, new state "
    "takes over the memory of the old (donate_argnums).",
    "loops": "Processor time, one thread; gradients by hand run backwards. In brackets, of a new process, its imports "
    "included: with empty compile directories / with those that are kept. Last: treadle-C over the quickest peer.",
    "torch": "Processor time, one thread. In brackets, of a new process, its imports included: with empty compile "
    "directories / with those that are kept; then the peak of memory during a call. By hand: in PyTorch, with tensors "
    "in and out where arrays are not named; loops are led by Python. Compiled: at the first call (torch__compile at "
    "True), with tensors in and out. Last: treadle-PYTORCH tensors over by hand.",
    "memory": "The peak during a call above arguments and results, in a process that has called the function before, "
    "on small arguments where its lengths are free.",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """What the command line asked for: how many rounds, which rows and columns; all of them where none are named."""

    rounds: int = 3
    cases: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()

    def models(self, section: str) -> dict[str, Any]:
        """Return the models of a section by name."""
        return {n: m for n, m in SECTIONS[section].items() if not self.cases or n in self.cases}

    def columns(self, *wanted: str) -> list[str]:
        """Return those of some systems that are there and asked for."""
        here = {*present(), "treadle-C-plain", *([WITH_WHEEL] if wheel() else [])}
        return [s for s in wanted if s in here and (not self.systems or s in self.systems)]


OURS = ("treadle-C", "treadle-NUMBA")
PEERS = ("pytensor-C", "pytensor-NUMBA", "jax", "torch")


def measure(section: str, name: str, system: str, directory: str) -> dict[str, Any]:
    """Run one worker process; return what it says, or nothing if it failed, which is told."""
    flags = f"base_compiledir={directory}/treadle"
    if "-plain" in system:
        flags += ",c__support_libraries=False"
    env = {**os.environ, **CONDITIONS, "TREADLE_FLAGS": flags}
    if system == WITH_WHEEL and (built := wheel()) is not None:
        installed = Path(directory) / "wheel"
        if not installed.exists():
            zipfile.ZipFile(built).extractall(installed)
        env["PYTHONPATH"] = str(installed)
    env |= {"JAX_COMPILATION_CACHE_DIR": f"{directory}/jax", "TORCHINDUCTOR_CACHE_DIR": f"{directory}/torch"}
    env["PYTENSOR_FLAGS"] = f"base_compiledir={directory}/pytensor"
    if section == "rewrite":
        # PyTensor folds constants with compiled code where it finds a compiler; that is not rewriting.
        env["PYTENSOR_FLAGS"] = "cxx="
    command = [sys.executable, "-m", "benchmarks.worker", section, name, system, directory]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        error_lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        print(f"  {section} {name} {system}: failed: {error_lines[-1]}", flush=True)
        return {}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def in_turns(section: str, name: str, columns: list[str], directory: str, rounds: int) -> dict[str, list[Any]]:
    """Measure one model on several systems, one after another, as often as asked; check that they agree."""
    left_out = SECTIONS[section][name].without
    answers: dict[str, list[dict[str, Any]]] = {s: [] for s in columns}
    for _ in range(rounds):
        for system in columns:
            plain = system.removesuffix(TRUSTED)
            limited = plain == LIMIT and not SECTIONS[section][name].limit
            # A system that failed once is not run again.
            if plain in left_out or limited or answers[system] == [{}]:
                continue
            answers[system].append(measure(section, name, system, directory))
    check_agreement(name, answers)
    return answers


def run_section(choice: Choice) -> Table:
    """Measure kernels and models."""
    columns = choice.columns(*OURS, *PEERS, "numpy", LIMIT)
    table = Table("run: milliseconds a call", ["", *columns, "ratio"])
    with tempfile.TemporaryDirectory() as directory:
        for name, model in choice.models("run").items():
            systems = [s for s in columns if s != "numpy" or not model.slopes]
            answers = in_turns("run", name, systems, directory, choice.rounds)
            seconds = {s: median_of(a, "seconds") for s, a in answers.items()}
            peers = [v for s, v in seconds.items() if not s.startswith("treadle-") and not math.isnan(v)]
            best = seconds.get(LIMIT, math.nan)
            best = best if not math.isnan(best) else min(peers, default=math.nan)
            cells = [show(seconds.get(s, math.nan), 1e3, 4) for s in columns]
            table.rows.append([model.title, *cells, show(seconds.get("treadle-C", math.nan) / best, 1, 2)])
            print(f"  {' | '.join(table.rows[-1])}", flush=True)
    return table


def jax_section(choice: Choice) -> Table:
    """Measure mode JAX beside JAX by hand."""
    columns = [f"{ends}: {system}" for ends in ("NumPy", "own") for system in ("treadle", "by hand", "ratio")]
    table = Table("jax: microseconds a call, beside JAX by hand", ["", *columns])
    with tempfile.TemporaryDirectory() as directory:
        for name in beside_jax.NAMES:
            if choice.cases and name not in choice.cases:
                continue
            seconds = measure("jax", name, str(choice.rounds), directory)
            row = [beside_jax.title_of(name)]
            for ends in beside_jax.ENDS:
                ours, theirs = (seconds.get(f"{s} {ends}", math.nan) for s in (beside_jax.TREADLE, beside_jax.JAX))
                row += [show(ours, 1e6, 1), show(theirs, 1e6, 1), show(ours / theirs, 1, 2)]
            table.rows.append(row)
            print(f"  {' | '.join(row)}", flush=True)
    return table


def by_rounds(section: str, name: str, systems: list[str], directory: str, rounds: int) -> dict[str, dict[str, float]]:
    """Measure one case on several systems, in turns; return the median of a call, and the first results' seconds.

    The first process of a system finds its compile directory empty (``cold``); ``warm`` is the median of the others.
    """
    answers: dict[str, list[dict[str, Any]]] = {s: [] for s in systems}
    for _ in range(rounds):
        for system, runs in answers.items():
            # A system that failed once is not run again.
            if runs != [{}]:
                runs.append(measure(section, name, system, directory))
    check_agreement(name, answers)
    return {
        s: {
            "seconds": median_of(a, "seconds"),
            "cold": median_of(a[:1], "first"),
            "warm": median_of(a[1:], "first"),
            "peak": median_of(a, "peak_mib"),
        }
        for s, a in answers.items()
    }


def random_section(choice: Choice) -> Table:
    """Measure draws of random numbers."""
    names = [s for s in random_numbers.columns() if not choice.systems or s in choice.systems]
    table = Table("random: milliseconds a draw", ["", *names, "ratio"])
    with tempfile.TemporaryDirectory() as directory:
        for name, draw in random_numbers.DRAWS.items():
            if choice.cases and name not in choice.cases:
                continue
            medians = by_rounds("random", name, names, directory, choice.rounds)
            seconds = {s: m["seconds"] for s, m in medians.items()}
            ratio = seconds.get("numpy", math.nan) / seconds.get("treadle-C portable", math.nan)
            table.rows.append([draw.title, *(show(seconds[s], 1e3, 3) for s in names), show(ratio, 1, 2)])
            print(f"  {' | '.join(table.rows[-1])}", flush=True)
    return table


def loops_section(choice: Choice) -> Table:
    """Measure loops: a call, and how long a first process takes to its first result."""
    names = [s for s in loops.columns() if not choice.systems or s in choice.systems]
    table = Table("loops: milliseconds a call (seconds to the first result, cold / warm)", ["", *names, "ratio"])
    with tempfile.TemporaryDirectory() as directory:
        for name, case in loops.CASES.items():
            if choice.cases and name not in choice.cases:
                continue
            medians = by_rounds("loops", name, names, directory, choice.rounds)
            peers = [m["seconds"] for s, m in medians.items() if not s.startswith("treadle-")]
            best = min((v for v in peers if not math.isnan(v)), default=math.nan)
            cells = [
                f"{show(m['seconds'], 1e3, 4)} ({show(m['cold'], 1, 2)} / {show(m['warm'], 1, 2)})"
                for m in map(medians.__getitem__, names)
            ]
            ratio = medians.get("treadle-C", {}).get("seconds", math.nan) / best
            table.rows.append([case.title, *cells, show(ratio, 1, 2)])
            print(f"  {' | '.join(table.rows[-1])}", flush=True)
    return table


def torch_section(choice: Choice) -> Table:
    """Measure mode PYTORCH beside PyTorch by hand: a call, a first process's first result, memory."""
    names = [s for s in torch_tables.columns() if not choice.systems or s in choice.systems]
    table = Table("torch: milliseconds a call (seconds to the first result, cold / warm; MiB)", ["", *names, "ratio"])
    for name, case in torch_tables.CASES.items():
        if choice.cases and name not in choice.cases:
            continue
        at_once = {torch_tables.COMPILED, torch_tables.HAND_COMPILED}
        systems = [s for s in names if case.compiled or s not in at_once]
        with tempfile.TemporaryDirectory() as directory:
            medians = by_rounds("torch", name, systems, directory, choice.rounds)
        cells = [
            f"{show(m['seconds'], 1e3, 4)} ({show(m['cold'], 1, 2)} / {show(m['warm'], 1, 2)}; {show(m['peak'], 1, 1)})"
            if (m := medians.get(s))
            else "-"
            for s in names
        ]
        ours, theirs = (
            medians.get(s, {}).get("seconds", math.nan) for s in (torch_tables.TENSORS, torch_tables.BY_HAND)
        )
        table.rows.append([case.title, *cells, show(ours / theirs, 1, 2)])
        print(f"  {' | '.join(table.rows[-1])}", flush=True)
    return table


def call_section(choice: Choice) -> Table:
    """Measure what a call costs that computes next to nothing."""
    pairs = choice.columns("treadle-C", "treadle-C-plain", "treadle-NUMBA", "pytensor-C", "pytensor-NUMBA")
    single = choice.columns("jax", "numpy")
    table = Table("call: microseconds a call, checks on / off", ["", *pairs, *single])
    with tempfile.TemporaryDirectory() as directory:
        for name, model in choice.models("call").items():
            systems = [s + end for s in pairs for end in ("", TRUSTED)] + single
            answers = in_turns("call", name, systems, directory, choice.rounds)
            times = {s: show(median_of(a, "seconds"), 1e6, 2) for s, a in answers.items()}
            cells = [f"{times[s]} / {times[s + TRUSTED]}" for s in pairs]
            table.rows.append([model.title, *cells, *(times[s] for s in single)])
    return table


def compile_section(choice: Choice) -> Table:
    """Measure the time from a fresh process to the first result, with an empty compile directory and a filled one."""
    columns = choice.columns("treadle-C", WITH_WHEEL, "treadle-NUMBA", "treadle-JAX", *PEERS)
    table = Table("compile: fresh process to first result, seconds, cold / warm", ["", *columns])
    for name, model in choice.models("compile").items():
        colds: dict[str, list[Any]] = {s: [] for s in columns}
        warms: dict[str, list[Any]] = {s: [] for s in columns}
        for _ in range(choice.rounds):
            for system in columns:
                if system in model.without or colds[system] == [{}]:
                    continue
                with tempfile.TemporaryDirectory() as directory:
                    colds[system].append(measure("compile", name, system, directory))
                    if colds[system][-1]:
                        warms[system].append(measure("compile", name, system, directory))
        check_agreement(name, colds)
        cells = [
            f"{show(median_of(colds[s], 'first'), 1, 2)} / {show(median_of(warms[s], 'first'), 1, 2)}" for s in columns
        ]
        table.rows.append([model.title, *cells])
        print(f"  {' | '.join(table.rows[-1])}", flush=True)
    return table


def first_section(choice: Choice) -> Table:
    """Measure the time to the first result of another function in a running process."""
    names = choice.columns(*OURS, "treadle-JAX", "jax")
    table = Table("first: another function's first result in a running process, seconds", ["", *names])
    with tempfile.TemporaryDirectory() as directory:
        for name, model in first.MODELS.items():
            if choice.cases and name not in choice.cases:
                continue
            answers: dict[str, list[dict[str, Any]]] = {s: [] for s in names}
            # The first round leaves what functions share; it does not count.
            for _ in range(choice.rounds + 1):
                for system, runs in answers.items():
                    runs.append(measure("first", name, system, directory))
                    first.clear(directory)
            check_agreement(name, answers)
            seconds, used = ({s: median_of(a[1:], key) for s, a in answers.items()} for key in ("seconds", "used"))
            cells = [f"{show(seconds[s], 1, 3)} ({show(used[s], 1, 3)})" for s in names]
            table.rows.append([model.title, *cells])
            print(f"  {' | '.join(table.rows[-1])}", flush=True)
    return table


def tiers_section(choice: Choice) -> Table:
    """Measure the time from a fresh process to the first result, on the mode's backend and with tiers."""
    names = [s for s in tiers.columns() if not choice.systems or s in choice.systems]
    table = Table("tiers: fresh process to first result, seconds", ["", *names])
    for name, model in tiers.MODELS.items():
        if choice.cases and name not in choice.cases:
            continue
        answers: dict[str, list[dict[str, Any]]] = {s: [] for s in names}
        for _ in range(choice.rounds):
            for system, runs in answers.items():
                with tempfile.TemporaryDirectory() as directory:
                    runs.append(measure("tiers", name, system, directory))
        check_agreement(name, answers)
        cells = [show(median_of(runs, "first"), 1, 2) for runs in answers.values()]
        ready = [show(median_of(runs, "ready"), 1, 2) for runs in answers.values()]
        tiered = [f" ({seconds})" if s.endswith(tiers.SUFFIX) else "" for s, seconds in zip(names, ready, strict=True)]
        table.rows.append([model.title, *map("".join, zip(cells, tiered, strict=True))])
        print(f"  {' | '.join(table.rows[-1])}", flush=True)
    return table


def import_section(choice: Choice) -> Table:
    """Measure imports as whole processes, over a process that imports nothing."""
    statements = {
        "treadle.graph": "import treadle.graph",
        "numpy": "import numpy",
        "treadle.tensor and treadle.compile": "import numpy, treadle.tensor, treadle.compile",
        "jax": "import jax",
        "torch": "import torch",
    }
    times: dict[str, list[float]] = {name: [] for name in ("bare", *statements)}
    for _ in range(3 * choice.rounds):
        for name, statement in {"bare": "pass", **statements}.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=False, stderr=subprocess.DEVNULL)
            times[name].append(time.perf_counter() - start)
    bare = statistics.median(times["bare"])
    table = Table("import: seconds over a bare interpreter", ["", "seconds"])
    for name in statements:
        table.rows.append([name, f"{statistics.median(times[name]) - bare:.3f}"])
    return table


def rewrite_section(choice: Choice) -> Table:
    """Measure all rewrites of models, beside PyTensor's where it is installed, and of synthetic graphs of any size."""
    columns = ["", "nodes", "treadle ms", "treadle ms per node", "PyTensor ms", "PyTensor ms per node", "ratio"]
    table = Table(
        "rewrite: FAST_RUN's rewrites, CPU time without code generation (PyTensor's without a C compiler)", columns
    )
    peer = [] if "pytensor" in missing() else ["pytensor"]
    for name, model in MODELS.items():
        answers: dict[str, list[dict[str, Any]]] = {s: [] for s in ("treadle", *peer)}
        for _ in range(choice.rounds):
            for system, runs in answers.items():
                runs.append(measure("rewrite", name, system, ""))
        check_agreement(name, answers)
        table.rows.append(_rewrite_row(model.title, answers["treadle"], answers.get("pytensor", [])))
    for kind in ("elementwise", "gradient"):
        first = math.nan
        for nodes in (1_000, 3_000, 10_000, 30_000, 100_000):
            runs = [
                measure("rewrite", f"{kind}:{nodes}", "treadle", "")
                for _ in range(choice.rounds if nodes <= 10_000 else 1)
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


def memory_section(choice: Choice) -> Table:
    """Measure the peak of memory during a call above arguments and results."""
    columns = choice.columns(*OURS, "treadle-JAX", *PEERS, "numpy")
    table = Table("memory: peak during a call above arguments and results, MiB", ["", *columns])
    with tempfile.TemporaryDirectory() as directory:
        for name, model in choice.models("memory").items():
            systems = [s for s in columns if s != "numpy" or not model.slopes]
            answers = in_turns("memory", name, systems, directory, choice.rounds)
            peaks = {s: median_of(a, "peak_mib") for s, a in answers.items()}
            table.rows.append([model.title, *(show(max(peaks.get(s, math.nan), 0.0), 1, 1) for s in columns)])
    return table


SECTIONS_BY_NAME = {
    "import": import_section,
    "compile": compile_section,
    "first": first_section,
    "tiers": tiers_section,
    "call": call_section,
    "run": run_section,
    "random": random_section,
    "jax": jax_section,
    "loops": loops_section,
    "torch": torch_section,
    "rewrite": rewrite_section,
    "memory": memory_section,
}


def tables(names: list[str], choice: Choice) -> list[Table]:
    """Run the sections asked for."""
    absent = missing()
    done = []
    for name in names:
        print(f"measuring {name} ...", flush=True)
        table = SECTIONS_BY_NAME[name](choice)
        table.notes = [NOTES[name]] if name in NOTES else []
        if absent and name in {"compile", "call", "run", "random", "memory"}:
            table.notes.append(f"Not installed, so left out: {', '.join(absent)}.")
        done.append(table)
        print(table.text(), flush=True)
    return done


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
    parser.add_argument("--rounds", type=int, default=3, help="how often each system is measured, in turns")
    parser.add_argument("--cases", default="", help="names of models, separated by commas; all if none")
    parser.add_argument(
        "--systems", default="", help="names of systems, separated by commas; all that are there if none"
    )
    options = parser.parse_args()
    unknown = set(options.sections) - set(NAMES)
    if unknown:
        parser.error(f"unknown section {', '.join(sorted(unknown))}; choose from {', '.join(NAMES)}")
    cases, chosen = (tuple(x for x in text.split(",") if x) for text in (options.cases, options.systems))
    choice = Choice(options.rounds, cases, chosen)
    texts = {t.text().split(":")[0]: t.text() for t in tables(options.sections or list(NAMES), choice)}
    if cases or chosen:
        print("Only a part was measured: docs/benchmarks.md stays as it is.")
        return 0
    PAGE.write_text(page({**kept_sections(), **texts}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
