"""./dev new-op: its skeleton fits the sources, and fails only where something is to be filled in."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repo.tree import ROOT

PACKAGES = ("packages/tensor", "packages/link-testing")


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([*(str(cwd / package / "src") for package in PACKAGES), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(
        [sys.executable, *command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("arguments", "call", "files"),
    [
        (("cumulated", "--family", "reduction"), "tt.cumulated(tt.dvector())", 2),
        (("softest", "--family", "normalization"), "tt.softest(tt.dvector())", 3),
        (("first_factor", "--family", "cholesky"), "tt.first_factor(tt.dmatrix())", 3),
        (("running_range", "--family", "accumulation"), "tt.running_range(tt.dvector())", 3),
        (("applied_twice", "--family", "from_graph"), "tt.applied_twice(tt.dvector())", 3),
        (("sorted_along", "--room", "sorting"), "tt.sorted_along(tt.dvector())", 5),
        (("airy", "--family", "gamma_functions", "--elementwise"), "tt.airy([1.0]).eval()", 3),
        (("versine", "--family", "trigonometric", "--elementwise"), "tt.versine([1.0]).eval()", 2),
        (("fresnel", "--family", "waves", "--elementwise"), "tt.fresnel([1.0]).eval()", 5),
    ],
)
def test_a_skeleton_fits_and_says_what_is_missing(
    tmp_path: Path, arguments: tuple[str, ...], call: str, files: int
) -> None:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    made = run("-m", "tools.new_op", *arguments, "--root", tmp_path, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    changed = made.stdout.split()
    assert len(changed) == files
    for check in (("check", "--no-cache"), ("format", "--no-cache", "--check")):
        done = run("-m", "ruff", *check, *changed, cwd=tmp_path)
        assert done.returncode == 0, done.stdout
    name = arguments[0]
    told = run("-c", f"import treadle.tensor as tt, treadle.testing; print(tt.{name}); {call}", cwd=tmp_path)
    assert told.stdout, told.stderr
    assert "NotImplementedError" in told.stderr
    assert "fill in" in told.stderr


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
    ],
)
def test_a_name_or_family_that_does_not_fit_is_refused(arguments: tuple[str, ...], reason: str, tmp_path: Path) -> None:
    source = tmp_path / "packages/tensor/src/treadle/tensor"
    shutil.copytree(ROOT / "packages/tensor/src/treadle/tensor", source, ignore=shutil.ignore_patterns("__pycache__"))
    done = run("-m", "tools.new_op", *arguments, "--root", tmp_path, cwd=tmp_path)
    assert done.returncode == 2
    assert reason in " ".join(done.stderr.split())
