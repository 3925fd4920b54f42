"""A release without its last step: build, look through, install, test and follow the pages."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tools.environment import WHEELHOUSE
from tools.release import archives, suites
from tools.release.environments import ROOT, CommandError, Environment, run, say, uv, wheelhouses
from tools.release.follow import blocks
from tools.release.workspace import Changes, outermost_package, required

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tools.release.pythons import Interpreter
    from tools.release.workspace import Project

DIST = ROOT / "dist" / "release"
RECORD = ROOT / "dist" / "release.json"
# What tests of full suites import besides; quick ones do with the first.
LIBRARIES = ("pytest", "pytest-xdist", "hypothesis", "cloudpickle", "mpmath")
MORE_LIBRARIES = (
    *LIBRARIES,
    "array-api-strict",
    "distributed",
    "ipython",
    "joblib",
    "netron",
    "pandas",
    "polars",
    "pyarrow",
    "xarray",
)
# Run in an environment: import our modules, see where they lie, and load what entry points name.
PROBE = """\
import importlib, importlib.metadata, json, sys, sysconfig
from pathlib import Path

modules, names, missing = json.loads(sys.argv[1])
site = Path(sysconfig.get_path("purelib")).resolve()
for name in modules:
    file = getattr(importlib.import_module(name), "__file__", None)
    if file is not None and not Path(file).resolve().is_relative_to(site):
        print(f"{name} comes from {file}, not from the environment")
for name in names:
    for entry in importlib.metadata.distribution(name).entry_points:
        try:
            entry.load()
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in missing:
                print(f"the entry point {entry.name} of {entry.group} does not load: {error}")
        except (ImportError, AttributeError) as error:
            print(f"the entry point {entry.name} of {entry.group} does not load: {error}")
"""


@dataclass(slots=True)
class Report:
    """What was done, how long it took, and what is wrong."""

    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    times: list[tuple[str, float]] = field(default_factory=list)

    def add(self, subject: str, faults: Iterable[str]) -> None:
        """Note faults of something, and say them at once."""
        for fault in faults:
            self.faults.append(f"{subject}: {fault}")
            say(f"FAULT {self.faults[-1]}")

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Say what begins, and how long it took; a command that fails in it is a fault."""
        say(title)
        began = time.monotonic()
        try:
            yield
        except CommandError as error:
            self.add(title, [str(error)])
        self.times.append((title, time.monotonic() - began))

    def lines(self) -> Iterator[str]:
        """Yield the report as text."""
        yield "What was done:"
        for title, seconds in self.times:
            yield f"  {seconds:7.1f} s  {title}"
        yield f"  {sum(seconds for _, seconds in self.times):7.1f} s  in all"
        for heading, entries in (("Notes:", self.notes), ("Faults:", self.faults)):
            if entries:
                yield heading
                yield from (f"  {entry}" for entry in entries)
        yield "No faults." if not self.faults else f"{len(self.faults)} faults."


@dataclass(frozen=True, slots=True)
class DryRun:
    """What to do, to which distributions, on which Pythons."""

    projects: Sequence[Project]  # all, in order of dependency
    chosen: Sequence[Project]  # those that are looked through and tested
    interpreters: Sequence[Interpreter]
    quick: bool = False
    pages_only: bool = False
    torch: bool = True
    jobs: int = 2

    def run(self, report: Report) -> None:
        """Do it all."""
        self.build(report)
        if not self.pages_only:
            self.look_through(report)
        # Outside of the checkout. An environment takes gigabytes: each is removed before the next is made.
        with tempfile.TemporaryDirectory(prefix="treadle-release-") as folder:
            for interpreter in self.interpreters:
                self.try_on(interpreter, Path(folder) / interpreter.version, report)
                shutil.rmtree(Path(folder) / interpreter.version, ignore_errors=True)

    @property
    def left_out(self) -> list[str]:
        """Third parties that are not installed."""
        return [] if self.torch else ["torch"]

    # ------------------------------------------------------------ archives

    def build(self, report: Report) -> None:
        """Build wheel and source archive of each from the checkout, and a wheel from each source archive."""
        shutil.rmtree(DIST, ignore_errors=True)
        (DIST / "again").mkdir(parents=True)
        with report.step(f"Build {len(self.projects)} wheels and source archives, in order of dependency"):
            for project in self.projects:
                _build("--wheel", "--sdist", project.folder, out=DIST)
                if project in self.chosen:
                    _build("--wheel", DIST / f"{project.stem}.tar.gz", out=DIST / "again")

    def look_through(self, report: Report) -> None:
        """Look through what was built, and the lists of changes."""
        licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
        workspace = archives.Workspace(self.projects, licence)
        with report.step("Look through the archives"):
            for project in self.chosen:
                wheel, again = DIST / f"{project.stem}-py3-none-any.whl", DIST / "again"
                source = DIST / f"{project.stem}.tar.gz"
                if not wheel.is_file() or not source.is_file():
                    report.add(project.name, [f"there is no {wheel.name} or no {source.name}"])
                    continue
                report.add(wheel.name, archives.wheel_faults(project, wheel, workspace))
                report.add(source.name, archives.source_faults(project, source, workspace))
                report.add(source.name, archives.wheel_differences(wheel, again / wheel.name))
                changes = Changes.read(project.folder / "CHANGELOG.md")
                report.add(project.name, changes.faults(project.version))
        if importlib.util.find_spec("twine") is None:
            report.notes.append("twine is not installed: its check of the metadata was left out, packaging's was made")
        else:
            with report.step("Ask twine"):
                run([sys.executable, "-m", "twine", "check", "--strict", *map(str, DIST.glob("*.*"))])

    # ------------------------------------------------------------ environments

    def try_on(self, interpreter: Interpreter, folder: Path, report: Report) -> None:
        """Install on one Python, run the tests of each, and follow the pages."""
        environment = Environment(interpreter, folder / "everything")
        before = len(report.faults)
        with report.step(f"{interpreter}: install everything"):
            # uv's usual cache keeps wheels by name: it would install those that an earlier run built.
            environment = Environment.make(interpreter, environment.folder, folder / "cache")
            environment.install(*self._requirements(), dist=DIST, without=self.left_out)
            self._compare(environment, report)
        if len(report.faults) > before:
            return
        with report.step(f"{interpreter}: import every public module, and load every entry point"):
            report.add(str(interpreter), self._probed(environment))
        if not self.pages_only:
            if not self.quick:
                self._install_each(interpreter, folder, report)
            self._test(environment, folder / "tests", report)
        self._follow(environment, folder, report)

    def _requirements(self) -> list[str]:
        """List all distributions with all of their extras, and what their tests import."""
        ours = [
            f"{project.name}{'[' + ','.join(project.extras) + ']' if project.extras else ''}=={project.version}"
            for project in self.projects
        ]
        return [*ours, *(LIBRARIES if self.quick or self.pages_only else MORE_LIBRARIES)]

    def _compare(self, environment: Environment, report: Report) -> None:
        """Compare what is installed with the wheels."""
        site = Path(run([environment.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip())
        for project in self.projects:
            wheel = DIST / f"{project.stem}-py3-none-any.whl"
            subject = f"{wheel.name} on {environment.interpreter}"
            report.add(subject, archives.installed_differences(project, wheel, site))

    def _probed(self, environment: Environment) -> list[str]:
        """Return what is wrong with the installed distributions."""
        modules = [module for project in self.projects for module in project.modules]
        return _probe(environment, modules, [project.name for project in self.projects], self.left_out)

    def _install_each(self, interpreter: Interpreter, folder: Path, report: Report) -> None:
        """Install each distribution with what it says that it needs and nothing else, and import it."""
        with report.step(f"{interpreter}: install each of {len(self.chosen)} alone"):
            for project in self.chosen:
                try:
                    environment = Environment.make(interpreter, folder / "alone", folder / "cache")
                    environment.install(f"{project.name}=={project.version}", dist=DIST, without=self.left_out)
                    packages = {name for each in required(project, self.projects) for name in each.packages}
                    modules = [module for module in project.modules if outermost_package(module) in packages]
                    found = _probe(environment, modules)
                except CommandError as error:
                    found = [str(error)]
                report.add(f"{project.name} alone on {interpreter}", found)

    def _test(self, environment: Environment, folder: Path, report: Report) -> None:
        """Run the tests of each chosen distribution against what is installed."""
        suites.prepare(folder)
        for project in self.chosen:
            suite = suites.SUITES[project.name]
            if suite.needs_torch and not self.torch:
                note = f"{project.name}: its tests need PyTorch, which was left out"
                report.notes += [note] if note not in report.notes else []
                continue
            with report.step(f"{environment.interpreter}: tests of {project.name}"):
                failure = suites.run_suite(
                    environment, folder, suite, quick=self.quick, torch=self.torch, jobs=self.jobs
                )
                if failure is not None:
                    report.add(f"tests of {project.name} on {environment.interpreter}", [failure])

    def _follow(self, environment: Environment, folder: Path, report: Report) -> None:
        """Follow the pages word for word, each in an empty folder of its own."""
        script = Path(__file__).with_name("follow.py")
        # What a page installs comes from the wheelhouse: pip needs no index for it.
        places = " ".join(str(place) for place in wheelhouses(environment.interpreter.version))
        variables = environment.variables() | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": places}
        for page in pages():
            empty = folder / "pages" / page.stem
            empty.mkdir(parents=True)
            with report.step(f"{environment.interpreter}: follow {page.relative_to(ROOT).as_posix()}"):
                variables["TREADLE_FLAGS"] = f"base_compiledir={folder / 'compiled'}"
                said = run([environment.python, "-P", script, page, "--wheels", DIST], empty, **variables)
                left_out = [line for line in said.splitlines() if ": left out, " in line]
                report.notes += [note for note in left_out if note not in report.notes]


def pages() -> list[Path]:
    """List the pages that are followed word for word."""
    every = [ROOT / "README.md", *sorted(ROOT.glob("docs/start/*.md")), *sorted(ROOT.glob("docs/tutorial/*.md"))]
    return [page for page in every if any(blocks(page.read_text(encoding="utf-8")))]


def _probe(
    environment: Environment, modules: Sequence[str], names: Sequence[str] = (), missing: Sequence[str] = ()
) -> list[str]:
    """Import modules and load the entry points of distributions in an environment; return what is wrong."""
    argument = json.dumps([list(modules), list(names), list(missing)])
    return run([environment.python, "-I", "-c", PROBE, argument], environment.folder).splitlines()


def _build(*arguments: str | Path, out: Path) -> None:
    """Build with uv, without a network."""
    uv("build", "--no-index", "--find-links", WHEELHOUSE, "--no-create-gitignore", "--out-dir", out, *arguments)


def write_record(dry_run: DryRun, report: Report) -> None:
    """Write down for which commit, archives and Pythons there were no faults."""
    commit = run(["git", "rev-parse", "HEAD"]).strip()
    content = {
        "commit": commit,
        "clean": not run(["git", "status", "--porcelain"]).strip(),
        "whole": dry_run.torch and len(dry_run.chosen) == len(dry_run.projects),
        "pythons": [interpreter.version for interpreter in dry_run.interpreters],
        "faults": report.faults,
        "archives": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(DIST.glob("*.*"))},
    }
    RECORD.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
