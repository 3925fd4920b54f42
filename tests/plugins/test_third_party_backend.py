"""A third party's backend: built, installed, found by its entry point, and held to the same contract as ours."""

import ast
import os
from pathlib import Path

import pytest

from tests.plugins.installation import install, run_with_plugin

FOLDER = Path(__file__).parent / "tape"
SUITE = """
from treadle.testing import contract_tests

TestContract = contract_tests("tape")
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(FOLDER, tmp_path_factory.mktemp("plugin"))


def test_mode_of_the_backend_exists_once_it_is_installed(installed: Path, tmp_path: Path) -> None:
    program = """
import numpy as np
import treadle.tensor as tt
from treadle.compile import function, predefined_modes

x = tt.dvector("x")
f = function([x], tt.sum(tt.exp(x) * 2), mode="TAPE")
print("TAPE" in predefined_modes, type(f.program).__name__, float(f(np.zeros(3))))
"""
    assert run_with_plugin(installed, "-c", program, cwd=tmp_path).split() == ["True", "TapeProgram", "6.0"]


def test_mode_of_the_backend_does_not_exist_here() -> None:
    from treadle.compile import predefined_modes

    assert "TAPE" not in predefined_modes


def test_backend_keeps_the_contract(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "test_tape.py").write_text(SUITE)
    printed = run_with_plugin(
        installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", tmp_path, tmp_path,
        "-k", "float64 and values", cwd=tmp_path,
    )  # fmt: skip
    summary = printed.strip().splitlines()[-1]
    assert " passed, " in summary, summary
    assert "failed" not in summary, summary
    assert "skipped" not in summary, summary


def test_op_without_a_lowering_is_listed_with_the_line(installed: Path, tmp_path: Path) -> None:
    script = tmp_path / "model.py"
    script.write_text("""
from treadle import tensor as tt
from treadle.compile import function
from treadle.graph import Apply, LoweringError, Op


class Strange(Op):
    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0]


x = tt.dvector("x")
try:
    function([x], Strange()(x) + 1, mode="TAPE")
except LoweringError as error:
    print(error)
""")
    printed = run_with_plugin(installed, script, cwd=tmp_path)
    assert "tape: no lowering for" in printed
    assert "Strange of Vector(float64, shape=(?,)), built at model.py:" in printed


def test_ops_that_decompose_need_no_rule(installed: Path, tmp_path: Path) -> None:
    program = """
import numpy as np
import treadle.tensor as tt
from treadle.compile import function
from treadle_tape.backend import TAPE

x = tt.dmatrix("x")
outputs = [tt.softmax(x, 1), tt.log_softmax(x, 0), tt.logsumexp(x, (0, 1)), tt.logsumexp(x, 0)]
on_tape, on_vm = (function([x], outputs, mode=mode) for mode in ("TAPE", "VM"))
for value in (np.array([[1.0, -2.0], [800.0, np.inf]]), np.full((2, 2), -np.inf), np.zeros((0, 3))):
    for result, wanted in zip(on_tape(value), on_vm(value), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-14)
print(any(TAPE.find(op) for op in (tt.Softmax((0,)), tt.LogSoftmax((0,)), tt.LogSumExp((0,)), tt.Peak((0,)))))
"""
    assert run_with_plugin(installed, "-c", program, cwd=tmp_path).strip() == "False"


def test_functions_with_a_body_need_no_rule(installed: Path, tmp_path: Path) -> None:
    program = """
import numpy as np
import treadle.tensor as tt
from treadle.compile import function

bodied = [op for op in map(tt.SCALAR_OPS.__getitem__, tt.SCALAR_OPS.names()) if op.body is not None]
inputs = [tt.dvector(name) for name in "xyz"]
outputs = [tt.Elemwise(op)(*inputs[: op.nin]) for op in bodied]
values = [np.array([0.25, 0.5, 0.75]), np.array([0.5, 0.25, 0.125]), np.array([0.9, 0.8, 0.7])]
on_tape, on_vm = (function(inputs, outputs, mode=mode, on_unused_input="ignore") for mode in ("TAPE", "VM"))
used = {node.op.scalar_op for node in on_tape.program.fgraph.apply_nodes if isinstance(node.op, tt.Elemwise)}
for result, wanted in zip(on_tape(*values), on_vm(*values), strict=True):
    np.testing.assert_allclose(result, wanted, rtol=1e-13)
print(len(bodied) > 10, len(used & set(bodied)))
"""
    assert run_with_plugin(installed, "-c", program, cwd=tmp_path).split() == ["True", "0"]


def test_backend_imports_public_names_only() -> None:
    public = {"treadle", "treadle.graph", "treadle.link.vm", "treadle.tensor"}
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("treadle"):
                assert node.module in public
                assert not any(alias.name.startswith("_") for alias in node.names)
            elif isinstance(node, ast.Import):
                assert not any(alias.name.startswith("treadle") for alias in node.names)


def test_no_package_of_ours_names_the_backend() -> None:
    packages = Path(__file__).parent.parent.parent / "packages"
    for path in [*packages.rglob("*.py"), *packages.rglob("pyproject.toml")]:
        assert "treadle_tape" not in path.read_text(encoding="utf-8")
