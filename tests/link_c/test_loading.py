"""Programs that an earlier process compiled: what loading them imports."""

import json
import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import json, sys
import numpy as np
import treadle.tensor as tt
from treadle.compile import function
from treadle.compile.caching import FUNCTIONS

x = tt.dmatrix("x")
y = tt.tanh(tt.dot(x, x.T)).sum(axis=0)[:2]
f = function([x], y, mode="C")
assert np.allclose(f(np.zeros((3, 3))), 0)
print(json.dumps([FUNCTIONS.counts.loaded, [name for name in sys.modules if name.startswith("treadle.link.c.")]]))
"""
WRITERS = ("lower", "runtime", "kernel", "unit", "expression", "linking", "writing")


def run(directory: Path) -> tuple[int, list[str]]:
    """Make the function in a new process; return how many programs it loaded, and the modules of the C backend."""
    env = {**os.environ, "TREADLE_FLAGS": f"base_compiledir={directory}"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
    loaded, modules = json.loads(done.stdout)
    return loaded, modules


def writers(modules: list[str]) -> list[str]:
    """Return those of the modules that write C."""
    return [name for name in modules if name.split(".")[3] in WRITERS]


def test_loading_a_program_imports_nothing_of_what_writes_c(tmp_path: Path) -> None:
    loaded, modules = run(tmp_path)
    assert loaded == 0
    assert {name.split(".")[3] for name in writers(modules)} == set(WRITERS)
    loaded, modules = run(tmp_path)
    assert loaded == 1
    assert writers(modules) == []
