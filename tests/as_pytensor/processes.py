"""Programs that run in processes of their own: taking PyTensor's place changes a process for good."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str, cwd: Path | None = None, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python with some arguments; `path` is a folder that modules are found in."""
    env = {**os.environ} if path is None else {**os.environ, "PYTHONPATH": str(path)}
    env.pop("TREADLE_AS_PYTENSOR", None)
    command = (sys.executable, *arguments)
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def printed(code: str, **options: Any) -> str:
    """Return what a program prints; it must end without an error."""
    done = run("-c", code, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def values(code: str) -> dict[str, Any]:
    """Return the dictionary ``values`` of a program that imports pytensor."""
    start = "import treadle.as_pytensor\ntreadle.as_pytensor.install()\nvalues = {}\n"
    result: dict[str, Any] = json.loads(printed(f"{start}{code}\nimport json\nprint(json.dumps(values))"))
    return result
