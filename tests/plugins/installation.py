"""Build and install a third party's distribution into a folder of its own, and run programs with it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """Run a command that must succeed; return what it prints."""
    environment = {**os.environ, **variables}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install(folder: Path, home: Path) -> Path:
    """Build the wheel of a folder of sources and install it; return where it is."""
    source = home / "source"
    shutil.copytree(folder, source)
    uv = (sys.executable, "-m", "uv", "--offline", "--no-cache")
    run(*uv, "build", "--wheel", "--no-build-isolation", "--out-dir", home / "dist", source, cwd=home)
    (wheel,) = (home / "dist").glob("*.whl")
    target = home / "installed"
    run(*uv, "pip", "install", "--python", sys.executable, "--no-deps", "--target", target, wheel, cwd=home)
    return target


def run_with_plugin(installed: Path, *arguments: str | Path, cwd: Path) -> str:
    """Run Python, warnings as errors, with the packages that are installed in a folder."""
    paths = os.pathsep.join(filter(None, (str(installed), os.environ.get("PYTHONPATH"))))
    return run(sys.executable, "-W", "error", *arguments, cwd=cwd, PYTHONPATH=paths)
