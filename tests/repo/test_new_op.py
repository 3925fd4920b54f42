"""./dev new-op: its skeleton fits the sources, and fails only where something is to be filled in."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repo.tree import ROOT
from tools import names

PACKAGES = ("packages/tensor", "packages/link-testing", *("/".join(table.parts[:2]) for table in names.BROUGHT))
# Other files that rules are written into.
CASES = "tests/tensor_rewrites"


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([*(str(cwd / package / "src") for package in PACKAGES), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(
        [sys.executable, *command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def written(checkout: Path, *arguments: str, folders: tuple[str, ...] = PACKAGES) -> list[str]:
    """Copy folders and write a skeleton into the copy, where ruff has nothing to say; return the files that changed."""
    for folder in folders:
        shutil.copytree(ROOT / folder, checkout / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", checkout)
    done = run("-m", "tools.new_op", *arguments, "--root", checkout, cwd=checkout)
    assert done.returncode == 0, done.stderr
    changed = done.stdout.split()
    for check in (("check", "--no-cache"), ("format", "--no-cache", "--check")):
        complaints = run("-m", "ruff", *check, *changed, cwd=checkout)
        assert complaints.returncode == 0, complaints.stdout
    return changed


@pytest.mark.parametrize(
    ("arguments", "call", "files"),
    [
        (("cumulated", "--family", "reduction"), "tt.cumulated(tt.dvector())", 2),
        (("softest", "--family", "normalization"), "tt.softest(tt.dvector())", 3),
        (("first_factor", "--family", "cholesky"), "tt.linalg.first_factor(tt.dmatrix())", 4),
        (("running_range", "--family", "accumulation"), "tt.running_range(tt.dvector())", 3),
        (("applied_twice", "--family", "from_graph"), "tt.applied_twice(tt.dvector())", 3),
        (("sorted_along", "--room", "sorting"), "tt.sorted_along(tt.dvector())", 5),
        (("airy", "--family", "gamma_functions", "--elementwise"), "tt.airy([1.0]).eval()", 3),
        (("versine", "--family", "trigonometric", "--elementwise"), "tt.versine([1.0]).eval()", 2),
        (("fresnel", "--family", "waves", "--elementwise"), "tt.fresnel([1.0]).eval()", 5),
        (("core_factor", "--kind", "matrix", "--family", "svd"), "tt.linalg.core_factor([[1.0]]).eval()", 4),
        (("gap", "--kind", "matrix", "--family", "eigengaps"), "tt.linalg.gap([[1.0]]).eval()", 6),
        (
            ("rayleigh_sum", "--kind", "distribution", "--family", "positive"),
            "tt.random.rayleigh_sum(size=2, rng=tt.random.shared_rng(seed=1)).eval()",
            3,
        ),
    ],
)
def test_a_skeleton_fits_and_says_what_is_missing(
    tmp_path: Path, arguments: tuple[str, ...], call: str, files: int
) -> None:
    assert len(written(tmp_path, *arguments)) == files
    name = arguments[0]
    shown = call.partition("(")[0] if name in call.partition("(")[0] else f"tt.{name}"
    process = run("-c", f"import treadle.tensor as tt, treadle.testing; print({shown}); {call}", cwd=tmp_path)
    assert process.stdout, process.stderr
    assert "NotImplementedError" in process.stderr
    assert "fill in" in process.stderr


def test_a_rule_comes_with_its_case(tmp_path: Path) -> None:
    arguments = ("sum_of_negated", "--kind", "rule", "--family", "reduction", "--op", "Reduction")
    changed = written(tmp_path, *arguments, folders=(*PACKAGES, CASES))
    assert changed == [
        "packages/tensor/src/treadle/tensor/reductions/rules/reduction.py",
        "tests/tensor_rewrites/cases.py",
    ]
    program = "import treadle.tensor as tt; from treadle.rewrite import default_database; "
    program += "print('sum_of_negated' in default_database()); (-tt.dvector()).sum().eval()"
    process = run("-c", program, cwd=tmp_path)
    assert process.stdout.strip() == "True", process.stderr


@pytest.mark.parametrize("backend", ["c", "numba", "jax", "torch"])
def test_a_lowering_stands_in_the_folder_of_its_room(tmp_path: Path, backend: str) -> None:
    folders = ("packages/tensor", f"packages/link-{backend}")
    changed = written(tmp_path, "OpFromGraph", "--kind", "lowering", "--backend", backend, folders=folders)
    lower = f"packages/link-{backend}/src/treadle/link/{backend}/lower/embedding"
    assert sorted(changed) == [f"{lower}/__init__.py", f"{lower}/from_graph.py"]


@pytest.mark.parametrize("backend", ["kernels", "jax"])
def test_a_lowering_for_an_op_of_another_distribution_stands_with_its_room(tmp_path: Path, backend: str) -> None:
    folders = ("packages/tensor", "packages/linalg", "packages/signal", "packages/link-jax")
    changed = written(tmp_path, "Riccati", "--kind", "lowering", "--backend", backend, folders=folders)
    assert changed == [f"packages/linalg/src/treadle/tensor/linalg/lower/{backend}/matrix_equations.py"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("CumSum",), "'CumSum' is no name in lower case"),
        (("lambda",), "'lambda' is no name"),
        (("_hidden",), "'_hidden' is no name"),
        (("fresh", "--family", "../reduction"), "'../reduction' is no name"),
        (("softmax", "--family", "reduction"), "'softmax' is defined already, in packages/tensor/"),
        (("exp", "--family", "exponential", "--elementwise"), "'exp' is defined already"),
        (("fresh", "--family", "exponential"), "'exponential' is a family of elementwise ops"),
        (("fresh", "--family", "reduction", "--elementwise"), "'reduction' is a family of other ops"),
        (("fresh", "--family", "hall"), "a new family needs a room"),
        (
            ("fresh", "--family", "tensor_type", "--room", "types"),
            "'tensor_type' is a module that holds no family of ops",
        ),
        (("fresh", "--family", "copying"), "listed by treadle.graph"),
        (("fresh", "--kind", "matrix", "--family", "reduction"), "'reduction' is no family of ops on matrices"),
        (("fresh", "--kind", "distribution"), "a distribution needs a family"),
        (("gamma", "--kind", "distribution", "--family", "positive"), "'gamma' is defined already"),
        (("fresh", "--kind", "rule", "--family", "reduced"), "a rule needs a family"),
        (("fresh", "--kind", "rule", "--family", "elementwise/cast"), "a rule is about an op"),
        (("Sort", "--kind", "lowering", "--backend", "cuda"), "a lowering needs a backend, got 'cuda'"),
        (("sort", "--kind", "lowering", "--backend", "c"), "a lowering is for an op of treadle.tensor"),
        (("Riccati", "--kind", "lowering", "--backend", "c"), "pass --backend kernels for what C and Numba share"),
    ],
)
def test_a_name_or_family_that_does_not_fit_is_refused(arguments: tuple[str, ...], reason: str, tmp_path: Path) -> None:
    for folder in (f"{package}/src/treadle/tensor" for package in PACKAGES if "link-testing" not in package):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    done = run("-m", "tools.new_op", *arguments, "--root", tmp_path, cwd=tmp_path)
    assert done.returncode == 2
    assert reason in " ".join(done.stderr.split())
