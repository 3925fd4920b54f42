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


LOADING = """
import pathlib, sys, threading
import numpy as np
import treadle.tensor as tt
from treadle.compile import function
from treadle.link.c.background import BACKGROUND
begun, runs = [], []
start = BACKGROUND.start
BACKGROUND.start = lambda work, name, *rest: (begun.append((name, len(runs))), start(work, name, *rest))[1]
x, y = tt.dmatrices("x", "y")
for expression in (x + y, x @ y, y @ x):
    runs.append(function([x, y], expression, mode="C")(np.eye(2), np.ones((2, 2))).tolist())
assert runs == [[[2.0, 1.0], [1.0, 2.0]], [[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]
assert [at for name, at in begun if name == "blas"] == [1], begun
"""


def test_blas_is_loaded_beside_the_compiler_by_the_first_program_that_needs_it(tmp_path: Path) -> None:
    environment = {**os.environ, "TREADLE_FLAGS": f"base_compiledir={tmp_path},c__support_libraries=False"}
    done = subprocess.run(
        [sys.executable, "-c", LOADING], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
