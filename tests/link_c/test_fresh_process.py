"""What the first function of a process imports and starts: nothing for ops that its graph does not have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# Says what was imported and how often a compiler was started, for a function of an expression.
PROGRAM = """
import json, sys
runs = []
sys.addaudithook(lambda event, arguments: runs.append(event) if event == "subprocess.Popen" else None)
import numpy as np
import treadle.compile
import treadle.tensor as tt
x = tt.{kind}("x")
treadle.compile.function([x], {expression}, mode="C")(np.eye(3)[{index}])
print(json.dumps([sorted(name for name in sys.modules if name.startswith("treadle.")), len(runs)]))
"""
# Where ops, rules and lowerings of packages beside `treadle.tensor` stand.
_OF_OTHERS = (
    "treadle.tensor.linalg.", "treadle.tensor.optimize", "treadle.tensor.random.", "treadle.tensor.signal",
    "treadle.sparse.", "treadle.surface.values",
)  # fmt: skip
# What rules about ops of `treadle.tensor` import of these, and what declares rules about ops that nobody has imported.
_DECLARATIONS = {
    "treadle.sparse.names",
    "treadle.sparse.rules",
    "treadle.tensor.linalg.lazy",
    "treadle.tensor.linalg.rules",
    "treadle.tensor.linalg.rules.building",
    "treadle.tensor.linalg.rules.kronecker_products",
    "treadle.tensor.linalg.rules.loops",
    "treadle.tensor.linalg.rules.of_tensors",
    "treadle.tensor.linalg.rules.products",
    "treadle.tensor.random.consumer",
    "treadle.tensor.random.densities",
    "treadle.tensor.random.densities.attributes",
    "treadle.tensor.random.densities.names",
    "treadle.tensor.random.rules",
}


def first_function(expression: str, folder: Path, ndim: int = 2) -> tuple[set[str], int]:
    """Return the modules of ours that a new process has imported for a function, and its runs of the compiler."""
    environment = {**os.environ, "TREADLE_FLAGS": f"base_compiledir={folder},c__support_libraries=False"}
    kind, index = ("dvector", "0") if ndim == 1 else ("dmatrix", "...")
    program = PROGRAM.format(expression=expression, kind=kind, index=index)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not done.returncode, done.stderr
    answer: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return set(answer[0]), answer[1]


def test_ops_of_other_packages_are_not_imported_for_a_graph_without_them(tmp_path: Path) -> None:
    modules, _ = first_function("2 * x", tmp_path)
    assert not modules & {"treadle.kernels.checking", "treadle.kernels.tree"}
    assert {name for name in modules if name.startswith(_OF_OTHERS)} <= _DECLARATIONS


@pytest.mark.parametrize(
    ("expression", "module"),
    [
        ("tt.linalg.det(x)", "treadle.tensor.linalg.rules.of_ops"),
        ("tt.linalg.det(x)", "treadle.tensor.linalg.lower.kernels"),
        ("tt.fft.fft(x)", "treadle.tensor.signal.lower.kernels"),
        ("x + tt.random.normal(size=(3,), rng=tt.random.default_rng(1))", "treadle.tensor.random.lower.kernels"),
    ],
)
def test_rules_and_lowerings_are_loaded_where_a_graph_has_the_ops(expression: str, module: str, tmp_path: Path) -> None:
    assert module in first_function(expression, tmp_path)[0]


def test_later_programs_of_a_machine_are_one_run_of_the_compiler_and_a_known_one_none(tmp_path: Path) -> None:
    # The helpers, the program, and linking both, unless the helpers are there when the program is compiled.
    assert first_function("2 * x", tmp_path, ndim=1)[1] in {2, 3}
    # The helpers are there, for another program too.
    assert first_function("3 * x + 1", tmp_path, ndim=1)[1] == 1
    assert first_function("3 * x + 1", tmp_path, ndim=1)[1] == 0
