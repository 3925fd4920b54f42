"""Programs that an earlier process compiled, and the imports that loading them needs."""

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
from treadle.compile.stored.programs import FUNCTIONS

x = tt.dmatrix("x")
y = tt.tanh(tt.dot(x, x.T)).sum(axis=0)[:2]
f = function([x], y, mode="C")
assert np.allclose(f(np.zeros((3, 3))), 0)
print(json.dumps([FUNCTIONS.counts.loaded, [name for name in sys.modules if name.startswith("treadle.link.c.")]]))
"""
WRITERS = {"lower", "runtime", "kernel", "unit", "expression", "linking"}


def run(directory: Path) -> tuple[int, set[str]]:
    """Make the function in a new process; return how many programs it loaded, and what of `WRITERS` it imported."""
    env = {**os.environ, "TREADLE_FLAGS": f"base_compiledir={directory}"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
    loaded, modules = json.loads(done.stdout)
    return loaded, {part for name in modules for part in name.split(".")[3:5]} & WRITERS


def test_loading_a_program_imports_nothing_of_what_writes_c(tmp_path: Path) -> None:
    assert run(tmp_path) == (0, WRITERS)
    assert run(tmp_path) == (1, set())
