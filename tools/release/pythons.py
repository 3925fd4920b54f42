"""The interpreters of this machine."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# The versions that a release is tried on.
VERSIONS = ("3.11", "3.12", "3.13")
_PROBE = "import ensurepip, platform, venv; print(platform.python_version())"


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python of a version such as ``3.13``."""

    version: str
    path: Path
    full_version: str

    def __str__(self) -> str:
        """Say which it is, without the place that it lies in."""
        return f"Python {self.full_version}"


def find(version: str) -> Interpreter | None:
    """Find a Python of `version`, such as ``3.13``, on the PATH or among pyenv's; None where there is none."""
    for path in _candidates(version):
        full_version = _version_of(path)
        if full_version is not None and full_version.startswith(f"{version}."):
            return Interpreter(version, path, full_version)
    return None


def _candidates(version: str) -> Iterator[Path]:
    """Yield the files that may be it; shims of pyenv may be there without running."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = Path(folder) / f"python{version}"
        if folder and path.is_file():
            yield path
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    yield from sorted(versions.glob(f"{version}*/bin/python{version}"), key=_numbers, reverse=True)


def _numbers(path: Path) -> list[int]:
    """Return the numbers of a version in pyenv's name of its folder."""
    return [int(number) for number in re.findall(r"\d+", path.parent.parent.name)]


def _version_of(path: Path) -> str | None:
    """Ask an interpreter for its version; None where it does not run, or has neither venv nor pip."""
    try:
        done = subprocess.run([path, "-I", "-c", _PROBE], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
