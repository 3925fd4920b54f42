"""Fill the environment that runs this file with the workspace and everything it needs.

./dev calls it with the interpreter of .venv; it needs the standard library and pip only. Wheels are fetched by pip
and installed by uv without an index, because pip is set up on more machines (mirrors, proxies) than uv is.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools.lockfile import Locked, locked_packages

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "uv.lock"
DIGESTS = ROOT / "wheelhouse.sha256"
WHEELHOUSE = ROOT / "wheelhouse"
ARRIVING = WHEELHOUSE / "arriving"
BATCH = 8  # wheels per call of pip: an interruption loses one batch at most
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")


class EnvironmentMakingError(Exception):
    """The environment cannot be made; the message is a sentence for the user."""


class NotOfferedError(EnvironmentMakingError):
    """The package index has no such file for this machine."""


class ConflictError(EnvironmentMakingError):
    """No choice of versions satisfies all requirements and pins."""


def say(text: str) -> None:
    """Tell the user, on the error stream, what is happening."""
    print(f"dev: {text}", file=sys.stderr, flush=True)


def environment_path() -> dict[str, str]:
    """Return the process environment with this interpreter's scripts first on the path."""
    scripts = str(Path(sys.executable).parent)
    return os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}", "VIRTUAL_ENV": sys.prefix}


def run(command: Sequence[str], subject: str) -> None:
    """Run `command`; on failure raise with all of its output.

    Raises
    ------
    NotOfferedError
        If pip found no file for this machine.
    ConflictError
        If pip found no versions that go together.
    EnvironmentMakingError
        If the command failed otherwise.
    """
    done = subprocess.run(command, cwd=ROOT, env=environment_path(), capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    output = (done.stdout + done.stderr).strip()
    msg = f"{subject} failed:\n{output}"
    # pip goes on without an index that it cannot reach, and then reports that the index has no such file.
    if "Retrying (" in output:
        msg += "\nThe package index was out of reach. Run the command again when it is back: what has arrived is kept."
        raise EnvironmentMakingError(msg)
    if "ResolutionImpossible" in output:
        raise ConflictError(msg)
    if "No matching distribution found" in output:
        raise NotOfferedError(msg)
    raise EnvironmentMakingError(msg)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_digests() -> dict[str, str]:
    """Read the committed digests: file name to SHA-256."""
    lines = DIGESTS.read_text(encoding="utf-8").splitlines()
    return {name: value for value, name in (line.split(maxsplit=1) for line in lines if line)}


# ---------------------------------------------------------------- what is needed


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def root_pyproject() -> dict[str, Any]:
    """Read the workspace's pyproject.toml."""
    return read_toml(ROOT / "pyproject.toml")


def members() -> list[Path]:
    """List the folders of the workspace's distributions."""
    return sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))


def declared_requirements(groups: Sequence[str]) -> list[str]:
    """List the third-party requirements of all distributions and of the dependency groups, torch left out."""
    projects = [read_toml(member / "pyproject.toml")["project"] for member in members()]
    ours = {project["name"] for project in projects} | {"torch"}
    declared = root_pyproject()["dependency-groups"]
    wanted = {entry for group in groups for entry in declared[group]}
    wanted.update(entry for project in projects for entry in project["dependencies"])
    return sorted(entry for entry in wanted if requirement_name(entry) not in ours)


def requirement_name(requirement: str) -> str:
    """Return the distribution's name at the start of a requirement."""
    end = next((at for at, sign in enumerate(requirement) if not (sign.isalnum() or sign in "-_.")), len(requirement))
    return requirement[:end].lower()


# ---------------------------------------------------------------- the locked way


def fetch(packages: Sequence[Locked]) -> list[Path]:
    """Bring the locked wheels into the wheelhouse, check each against its committed digest, and return them.

    Raises
    ------
    NotOfferedError
        If a locked file does not exist for this machine.
    EnvironmentMakingError
        If a download failed or a file differs from its digest.
    """
    wheels = {package: package.fitting_wheel() for package in packages}
    unfit = [package.pin for package, wheel in wheels.items() if wheel is None]
    if unfit:
        msg = f"no locked file for this interpreter: {', '.join(unfit)}"
        raise NotOfferedError(msg)
    expected = read_digests()
    paths = {package: WHEELHOUSE / str(wheel) for package, wheel in wheels.items()}
    missing = [package for package, path in paths.items() if not _is_whole(path, expected)]
    if missing:
        say(f"Downloading {len(missing)} of {len(packages)} wheels with pip into {WHEELHOUSE.name}/.")
    for start in range(0, len(missing), BATCH):
        batch = missing[start : start + BATCH]
        say(f"  {', '.join(package.pin for package in batch)}")
        _download(batch, [paths[package] for package in batch], expected)
    return list(paths.values())


def _is_whole(path: Path, expected: dict[str, str]) -> bool:
    return path.is_file() and digest(path) == expected.get(path.name)


def _download(batch: Sequence[Locked], paths: Sequence[Path], expected: dict[str, str]) -> None:
    """Download one batch beside the wheelhouse and move in the files whose digests match."""
    shutil.rmtree(ARRIVING, ignore_errors=True)
    ARRIVING.mkdir(parents=True)
    flags = ("download", "--no-deps", "--only-binary", ":all:", "--dest", str(ARRIVING))
    run([*PIP, *flags, *(package.pin for package in batch)], "The download")
    for path in paths:
        arrived = ARRIVING / path.name
        if not arrived.is_file():
            msg = f"the index offers another file instead of {path.name}"
            raise NotOfferedError(msg)
        if not _is_whole(arrived, expected):
            msg = (
                f"{path.name} is not the file that {DIGESTS.name} describes (damaged on the way, or changed at its "
                "source), so it was not installed. Run the command again; if that does not help, do not trust the file."
            )
            raise EnvironmentMakingError(msg)
        arrived.replace(path)
    shutil.rmtree(ARRIVING)


def sync_locked(packages: Sequence[Locked], groups: Sequence[str]) -> None:
    """Install exactly the locked wheels and the workspace's packages, without an index."""
    wheels = fetch(packages)
    uv = next(wheel for wheel in wheels if wheel.name.startswith("uv-"))
    run([*PIP, "install", "--no-index", "--no-deps", str(uv)], "Installing uv")
    say("Installing the locked packages with uv (no network).")
    chosen = [flag for group in groups for flag in ("--group", group)]
    sources = ("--offline", "--no-index", "--find-links", str(WHEELHOUSE))
    command = ["uv", "sync", "--frozen", "--inexact", "--all-packages", *chosen, *sources, "--link-mode", "copy"]
    run([*command, "--python", sys.executable, "--active"], "uv sync")


# ---------------------------------------------------------------- without the lock's files


def sync_resolved(packages: Sequence[Locked], groups: Sequence[str]) -> None:
    """Install the locked versions as pip finds them for this machine; uv.lock is left alone."""
    requirements = declared_requirements(groups)
    with constraints(packages) as pins:
        try:
            run([*PIP, "install", "--only-binary", ":all:", "-c", pins, *requirements], "Installing with pip")
        except (NotOfferedError, ConflictError):
            say("Not every locked version exists for this machine: taking the newest that the packages allow.")
            run([*PIP, "install", "--only-binary", ":all:", *requirements], "Installing with pip")
    install_workspace()


def install_workspace() -> None:
    """Install the workspace's packages with pip, as links to their sources; what they require is there."""
    editable = [argument for member in members() for argument in ("-e", str(member))]
    flags = ("install", "--no-index", "--no-deps", "--no-build-isolation")
    run([*PIP, *flags, *editable], "Installing the workspace's packages")


@contextmanager
def constraints(packages: Sequence[Locked]) -> Iterator[str]:
    """Yield the path of a pip constraints file that holds `packages` at their locked versions."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "constraints.txt"
        path.write_text("".join(f"{package.pin}\n" for package in packages), encoding="utf-8")
        yield str(path)


# ---------------------------------------------------------------- what depends on the machine


def install_torch(packages: Sequence[Locked]) -> None:
    """Install the pinned PyTorch with pip, held to the locked versions of everything else."""
    pin = f"torch=={root_pyproject()['tool']['treadle']['torch']}"
    say(f"Installing {pin} with pip (the build that pip is set up to find; this can be a large download).")
    with constraints(packages) as pins:
        try:
            run([*PIP, "install", "--only-binary", ":all:", "-c", pins, pin], "Installing PyTorch")
        except NotOfferedError:
            say("There is no such PyTorch for this machine: its backend is left out, everything else works.")


def report_compiler() -> None:
    """Warn where there is no C compiler."""
    if not any(shutil.which(name) for name in (os.environ.get("CC") or "cc", "gcc", "clang")):
        say("No C compiler (cc, gcc or clang) on the PATH: everything but the C backend works.")


def sync(groups: Sequence[str]) -> None:
    """Bring this interpreter's environment in line with uv.lock and the workspace."""
    packages = locked_packages(LOCK, groups)
    try:
        sync_locked(packages, groups)
    except NotOfferedError as problem:
        say(f"The lock is not for this machine: {str(problem).splitlines()[-1]}.")
        say("Installing the same versions with pip instead, as this machine's index offers them.")
        sync_resolved(packages, groups)
    install_torch(packages)
    report_compiler()


# ---------------------------------------------------------------- beside PyMC


def sync_pymc() -> None:
    """Fill this interpreter's environment with PyMC, what its tests need, and the workspace."""
    wanted = root_pyproject()["tool"]["treadle"]["pymc"]
    say(f"Installing {', '.join(wanted)}, and what treadle needs, with pip.")
    run([*PIP, "install", "--only-binary", ":all:", *wanted, *declared_requirements(())], "Installing with pip")
    install_workspace()


# ---------------------------------------------------------------- making the lock


def lock(upgrade: bool) -> None:
    """Write uv.lock and the digests again, from wheels that pip fetches for this interpreter.

    Versions already locked stay, unless `upgrade` is true.

    Raises
    ------
    ConflictError
        If the requirements no longer allow a version that was to stay.
    """
    groups = sorted(root_pyproject()["dependency-groups"])
    kept = [] if upgrade or not LOCK.exists() else locked_packages(LOCK, groups)
    shutil.rmtree(ARRIVING, ignore_errors=True)
    ARRIVING.mkdir(parents=True)
    say("Fetching the wheels of all requirements with pip.")
    flags = ("download", "--only-binary", ":all:", "--find-links", str(WHEELHOUSE), "--dest", str(ARRIVING))
    with constraints(kept) as pins:
        try:
            run([*PIP, *flags, "-c", pins, *declared_requirements(groups)], "The download")
        except ConflictError as problem:
            msg = f"{problem}\nIf a version to keep is in the way, run ./dev lock --upgrade."
            raise ConflictError(msg) from None
    for old in WHEELHOUSE.glob("*.whl"):
        old.unlink()
    for arrived in sorted(ARRIVING.iterdir()):
        arrived.replace(WHEELHOUSE / arrived.name)
    ARRIVING.rmdir()
    uv = next(WHEELHOUSE.glob("uv-*.whl"))
    run([*PIP, "install", "--no-index", "--no-deps", str(uv)], "Installing uv")
    sources = ("--offline", "--no-index", "--find-links", f"./{WHEELHOUSE.name}")
    run(["uv", "lock", *(["--upgrade"] if upgrade else []), *sources, "--python", sys.executable], "uv lock")
    names = sorted(wheel for package in locked_packages(LOCK, groups) for wheel in package.wheels)
    text = "".join(f"{digest(WHEELHOUSE / name)}  {name}\n" for name in names)
    DIGESTS.write_text(text, encoding="utf-8")
    say(f"Locked {len(names)} packages in {LOCK.name} and {DIGESTS.name}.")


def main() -> int:
    """Run the command line: sync [--group NAME]..., pymc, or lock [--upgrade]."""
    parser = argparse.ArgumentParser(description="Fill the environment of ./dev, or make its lock.")
    commands = parser.add_subparsers(dest="command", required=True)
    syncing = commands.add_parser("sync", help="install the locked packages and the workspace")
    syncing.add_argument("--group", action="append", default=[], help="dependency group to install besides")
    commands.add_parser("pymc", help="install PyMC and the workspace, into an environment of Python 3.12 or newer")
    locking = commands.add_parser("lock", help="make uv.lock and wheelhouse.sha256 anew")
    locking.add_argument("--upgrade", action="store_true", help="take newer versions where the requirements allow them")
    options = parser.parse_args()
    try:
        if options.command == "sync":
            sync(options.group)
        elif options.command == "pymc":
            sync_pymc()
        else:
            lock(options.upgrade)
    except EnvironmentMakingError as problem:
        say(str(problem))
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
