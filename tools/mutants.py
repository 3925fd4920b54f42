"""Mutation testing: ``./dev mutants [--sample N] [--seed S] [--area AREA] [--list] [--page]``.

Plants one change at a time in a rule, a derivative or a lowering, in memory (`tools.mutation`), and runs the tests that
are there for it: a mutant that no test notices is a gap in the tests, or changes nothing. What has run is kept in
``.cache/mutants.jsonl``; the same call goes on where it was stopped. ``--page`` writes docs/mutation.md from it.

The usual tools do not fit: mutmut takes one package in one folder and wraps its functions, whose source goes into our
cache keys; cosmic-ray runs one test command for all modules and writes to the tree. Here every module has tests of its
own, and the files stay as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tools.mutation import VARIABLE, mutations
from treadle.tensor.families import ROOMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / ".cache" / "mutants.jsonl"
PAGE = ROOT / "docs" / "mutation.md"
TENSOR = "packages/tensor/src/treadle/tensor"
# A mutant may make a loop endless.
LONGEST = 900
CONTRACT = "tests/contract/test_contract.py"
# Elementwise kernels: whatever one of these families calls, all call.
SCALAR = ("arithmetic", "comparison", "exponential", "logic", "rounding", "trigonometric")


@dataclass(frozen=True)
class Area:
    """Modules, the part of them that is changed, and the tests of one of them."""

    modules: tuple[str, ...]
    part: str
    tests: Callable[[Path], Sequence[str]]


@dataclass(frozen=True)
class Outcome:
    """The result of the tests for one mutant."""

    area: str
    module: str
    number: int
    line: int
    what: str
    result: str
    seconds: float


def _of_rules(path: Path) -> Sequence[str]:
    del path
    return ["tests/tensor_rewrites"]


def _of_derivatives(path: Path) -> Sequence[str]:
    """Return the tests of the derivatives of a family, or of all families of a room, and of gradients as a whole."""
    family = path.stem.lstrip("_")
    room = path.parts[path.parts.index("tensor", path.parts.index("treadle")) + 1]
    families = [family] if family in ROOMS else [name for name, home in ROOMS.items() if home == room]
    own = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "tests" / "tensor").rglob(f"test_*{family}*.py"))
    general = [f"tests/tensor/test_{name}.py" for name in ("derivatives", "gradient", "forward_mode", "vectorize")]
    chosen = " or ".join([family, *families])
    return [CONTRACT, *own, *general, "-k", f"(vm and ({chosen}) and (first or second or forward)) or not contract"]


def _of_lowerings(path: Path) -> Sequence[str]:
    """Return the contract of a backend for a family, and the backend's own tests of it."""
    inside = path.relative_to(ROOT).parts
    if "lower" in inside:
        backend = inside[inside.index("lower") - 1 if "link" in inside else -2]
    else:
        backend = next(name for name in inside if name.startswith("lower_"))
    # What kernels compute is tried on C.
    backend = {"torch": "pytorch", "kernels": "c", "lower_kernels": "c", "lower_vm": "vm"}.get(backend, backend)
    family = path.stem
    folder = ROOT / "tests" / f"link_{backend.replace('pytorch', 'torch')}"
    own = [str(p.relative_to(ROOT)) for p in sorted(folder.glob(f"test_*{family}*.py"))]
    families = " or ".join(SCALAR if family in {"scalar", "elemwise"} else [family])
    return [CONTRACT, *own, "-k", f"({backend} and ({families})) or not contract"]


AREAS = {
    "rules": Area((f"{TENSOR}/rewrites/**/*.py", "packages/*/src/treadle/tensor/**/rules/*.py"), "", _of_rules),
    "derivatives": Area(("packages/*/src/treadle/tensor/**/*.py",), "derivatives", _of_derivatives),
    "lowerings": Area(
        (
            "packages/link-c/src/treadle/link/c/lower/**/*.py",
            "packages/*/src/treadle/tensor/*/lower/c/*.py",
            "packages/*/src/treadle/tensor/*/lower/kernels/*.py",
            f"{TENSOR}/lower_vm/*.py",
            f"{TENSOR}/lower_kernels/*/*.py",
        ),
        "",
        _of_lowerings,
    ),
}


_WITHOUT_DERIVATIVES = ("rewrites", "rules", "lower", "lower_kernels", "lower_vm", "records", "pytensor-surface")


def _module(path: Path) -> str:
    """Return a file's dotted name."""
    return ".".join(path.with_suffix("").parts[path.parts.index("src") + 1 :])


def _population(area: Area) -> Iterator[tuple[Path, int, int, str]]:
    for pattern in area.modules:
        for path in sorted(ROOT.glob(pattern)):
            others = (
                ()
                if area.part == ""
                else ("rewrites", "rules", "lower", "lower_kernels", "lower_vm", "records", "pytensor-surface")
            )
            if path.stem != "__init__" and not any(name in path.parts for name in others):
                for number, place in enumerate(mutations(path.read_text(encoding="utf-8"), area.part)):
                    yield path, number, place.line, place.what


def sample(name: str, size: int, seed: int) -> list[tuple[Path, int, int, str]]:
    """Return a sample of an area's mutants: the same for the same tree, size and seed."""
    population = list(_population(AREAS[name]))
    return random.Random(f"{name} {seed}").sample(population, min(size, len(population)))


def _run(name: str, path: Path, number: int, line: int, what: str) -> Outcome:
    """Run the tests of one mutant until one fails."""
    area = AREAS[name]
    environment = {**os.environ, VARIABLE: f"{_module(path)}:{number}:{area.part}"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "--no-header",
        "-p",
        "no:cacheprovider",
        "-p",
        "tools.mutation",
    ]
    start = time.monotonic()
    try:
        done = subprocess.run(
            [*command, *area.tests(path)], cwd=ROOT, env=environment, capture_output=True, check=False, timeout=LONGEST
        )
        result = {0: "survived", 5: "untested"}.get(done.returncode, "killed")
    except subprocess.TimeoutExpired:
        result = "timeout"
    seconds = round(time.monotonic() - start, 1)
    return Outcome(name, str(path.relative_to(ROOT)), number, line, what, result, seconds)


def _kept() -> list[Outcome]:
    if not KEPT.exists():
        return []
    return [Outcome(**json.loads(line)) for line in KEPT.read_text(encoding="utf-8").splitlines()]


def _page(outcomes: Sequence[Outcome]) -> str:
    """Return the page: the score by area, and the mutants that no test noticed."""
    lines = [
        "# Mutation testing",
        "",
        "Written by `./dev mutants --page`. One change at a time is made in a rule, a derivative or a lowering (a",
        "comparison, a sign, a number, a condition left out, nothing returned), in memory, and the tests of that",
        "module are run. The changes are drawn by chance from all that are possible. A change that the tests do not",
        "notice is listed below: it is a gap in the tests, or one that makes no difference to any result.",
        "",
        "| area | changes tried | noticed | score |",
        "|---|---:|---:|---:|",
    ]
    for name in AREAS:
        of_area = [outcome for outcome in outcomes if outcome.area == name]
        noticed = sum(outcome.result in {"killed", "timeout"} for outcome in of_area)
        if of_area:
            lines.append(f"| {name} | {len(of_area)} | {noticed} | {noticed / len(of_area):.0%} |")
    lines += ["", "## Not noticed", ""]
    for outcome in outcomes:
        if outcome.result in {"survived", "untested"}:
            what = outcome.what.replace("|", "\\|")
            lines.append(f"- `{outcome.module.rpartition('/tensor/')[2]}:{outcome.line}`: `{what}`")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sample", type=int, default=20, help="mutants of each area")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--area", choices=AREAS, action="append", help="only this area")
    parser.add_argument("--list", action="store_true", help="list the mutants, run nothing")
    parser.add_argument("--page", action="store_true", help="write docs/mutation.md from what has run")
    options = parser.parse_args(arguments)
    if options.page:
        PAGE.write_text(_page(_kept()), encoding="utf-8")
        return 0
    seen = {(outcome.area, outcome.module, outcome.number) for outcome in _kept()}
    for name in options.area or AREAS:
        for path, number, line, what in sample(name, options.sample, options.seed):
            place = f"{path.relative_to(ROOT)}:{line}: {what}"
            if options.list or (name, str(path.relative_to(ROOT)), number) in seen:
                print(f"{name}: {place}")
                continue
            outcome = _run(name, path, number, line, what)
            KEPT.parent.mkdir(exist_ok=True)
            with KEPT.open("a", encoding="utf-8") as kept:
                kept.write(json.dumps(asdict(outcome)) + "\n")
            print(f"{outcome.result} ({outcome.seconds} s): {place}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
