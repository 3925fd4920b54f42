"""Environments for the wheels: made and filled by uv without an index, from files that pip has brought.

The lock has wheels for one Python only. For another, pip downloads them once, at the locked versions, into a folder of
the wheelhouse for that Python.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from tools import environment
from tools.lockfile import Locked, locked_packages
from tools.release.pythons import Interpreter
from tools.release.workspace import projects

ROOT = environment.ROOT
# Variables that would let the checkout's own packages, its options or another environment in.
_DROPPED = {
    *("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV"),
    *("TREADLE_FLAGS", "TREADLERC", "TREADLE_AS_PYTENSOR"),
}


class CommandError(Exception):
    """A command failed; the message holds what it printed."""


def say(text: str) -> None:
    """Tell the user, on the error stream, what is happening."""
    print(f"release: {text}", file=sys.stderr, flush=True)


def clean(**variables: str) -> dict[str, str]:
    """Return the process environment with `variables`, without those that let the checkout or its options in."""
    return {name: value for name, value in os.environ.items() if name not in _DROPPED} | variables


def run(command: Sequence[str | Path], cwd: Path = ROOT, **variables: str) -> str:
    """Run a command and return what it printed.

    Raises
    ------
    CommandError
        If it fails, with all that it printed.
    """
    done = subprocess.run(
        command, cwd=cwd, env=clean(**variables), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        msg = f"{' '.join(map(str, command))} ended with {done.returncode}:\n{(done.stdout + done.stderr).strip()}"
        raise CommandError(msg)
    return done.stdout


def uv(*arguments: str | Path, cwd: Path = ROOT) -> str:
    """Run uv, which has no network and no index here."""
    return run([sys.executable, "-m", "uv", "--quiet", "--offline", *arguments], cwd)


def wheelhouses(version: str) -> list[Path]:
    """List the folders with files for a Python of `version`."""
    return [environment.WHEELHOUSE, environment.WHEELHOUSE / version]


def locked_versions() -> AbstractContextManager[str]:
    """Yield the path of a file that holds all packages at the versions of the lock, PyTorch too."""
    settings = environment.root_pyproject()
    packages = locked_packages(environment.LOCK, sorted(settings["dependency-groups"]))
    return environment.constraints([*packages, Locked("torch", settings["tool"]["treadle"]["torch"], ())])


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment of one of the interpreters."""

    interpreter: Interpreter
    folder: Path
    cache: Path | None = None  # of uv; the user's where nothing is said

    @classmethod
    def make(cls, interpreter: Interpreter, folder: Path, cache: Path | None = None) -> Environment:
        """Make an empty one in `folder`, in the place of one that is there."""
        uv("venv", "--clear", "--no-project", "--python", interpreter.path, folder)
        return cls(interpreter, folder, cache)

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def variables(self) -> dict[str, str]:
        """Return what an activated environment sets."""
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
        return {"PATH": path, "VIRTUAL_ENV": str(self.folder)}

    def install(self, *requirements: str, dist: Path | None = None, without: Sequence[str] = ()) -> None:
        """Install requirements from the wheelhouse, and wheels of ours from `dist`; `without` names what is left out.

        Where a file is missing, pip downloads all that third parties bring, and it is tried again.
        """
        try:
            self._install(requirements, dist, without)
        except CommandError:
            self._download(self._third_parties(requirements, dist, without))
            self._install(requirements, dist, without)

    def _install(self, requirements: Sequence[str], dist: Path | None, without: Sequence[str]) -> None:
        places = [*wheelhouses(self.interpreter.version), *([dist] if dist else [])]
        found = [argument for place in places if place.is_dir() for argument in ("--find-links", str(place))]
        with tempfile.TemporaryDirectory() as folder, locked_versions() as pins:
            excluded = Path(folder) / "excluded.txt"
            excluded.write_text("".join(f"{name}\n" for name in without), encoding="utf-8")
            flags = ("--no-index", "--only-binary", ":all:", "--constraints", pins, "--excludes", excluded)
            cache = ("--cache-dir", self.cache) if self.cache else ()
            # The workspace's own settings leave PyTorch out, which is not meant here.
            uv("pip", "install", "--no-config", *cache, "--python", self.python, *flags, *found, *requirements)

    def _third_parties(self, requirements: Sequence[str], dist: Path | None, without: Sequence[str]) -> list[str]:
        """List what to download: what our packages need of third parties, and what is asked for of these."""
        wanted = set(requirements)
        if dist:
            wanted.update(entry for project in projects(ROOT) for entry in project.declared_requirements)
        left_out = {project.name for project in projects(ROOT)} | set(without)
        return sorted(entry for entry in wanted if environment.requirement_name(entry) not in left_out)

    def _download(self, requirements: Sequence[str]) -> None:
        """Download wheels for this interpreter, with its pip, what is there already left alone."""
        target = environment.WHEELHOUSE / self.interpreter.version
        say(f"Downloading what {self.interpreter} needs with pip into {environment.WHEELHOUSE.name}/{target.name}.")
        target.mkdir(parents=True, exist_ok=True)
        flags = ["--only-binary", ":all:", "--dest", str(target)]
        found = [flag for place in wheelhouses(self.interpreter.version) for flag in ("--find-links", str(place))]
        with locked_versions() as pins:
            pip = (self.interpreter.path, "-m", "pip", "--disable-pip-version-check", "--no-input")
            run([*pip, "download", *flags, *found, "-c", pins, *requirements])

    def install_workspace(self) -> None:
        """Install the workspace's packages as links to their sources; what they require is there."""
        editable = [argument for member in environment.members() for argument in ("--editable", str(member))]
        found = [flag for place in wheelhouses(self.interpreter.version) for flag in ("--find-links", str(place))]
        uv("pip", "install", "--python", self.python, "--no-index", "--no-deps", *found, *editable)
