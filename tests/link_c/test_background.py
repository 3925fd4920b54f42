"""What the C backend compiles in the background ends with the process, and leaves nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import pathlib, sys, threading
import treadle.tensor as tt
from treadle.compile import function
x = tt.dvector("x")
assert function([x], 2 * x, mode="C")([1.0]).tolist() == [2.0]
log = pathlib.Path(sys.argv[1])
for _ in range(6000):
    if log.exists() and log.read_text():
        break
    threading.Event().wait(0.005)
"""


def test_process_that_ends_kills_the_compiler_of_support_libraries(tmp_path: Path) -> None:
    compiler, log, kept = tmp_path / "cc", tmp_path / "started", tmp_path / "kept"
    # It never ends compiling the helper extension, which is the one text that has an entry point for Python.
    compiler.write_text(
        '#!/bin/sh\nfor each in "$@"; do case "$each" in *.c) if grep -q PyInit "$each"; then '
        f'echo $$ > {log}; exec sleep 600; fi;; esac; done\nexec gcc "$@"\n'
    )
    compiler.chmod(0o755)
    flags = f"{os.environ.get('TREADLE_FLAGS', '')},base_compiledir={kept},cxx={compiler},c__support_libraries=True"
    environment = {**os.environ, "TREADLE_FLAGS": flags.lstrip(",")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(log)],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    with pytest.raises(ProcessLookupError):
        os.kill(int(log.read_text()), 0)
    assert [path.name for path in kept.rglob("*") if path.name.startswith((".make-", ".write-"))] == []
