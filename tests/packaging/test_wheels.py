"""The wheels, installed the way README says, are ours and work."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tools.release.archives import Workspace, wheel_faults
from tools.release.environments import clean
from tools.release.workspace import Project, projects

ROOT = Path(__file__).resolve().parent.parent.parent
OURS = {
    *("config", "compile", "compile-cache", "graph-core", "rewrite", "tensor", "linalg", "neural", "optimize"),
    *("kernel-language", "random", "signal", "sparse-tensors", "link-numba", "pytensor-surface"),
}
# numpy, scipy, opt_einsum, numba, filelock and rich, and what these require.
THIRD_PARTIES = {
    "filelock", "llvmlite", "markdown-it-py", "mdurl", "numba", "numpy", "opt_einsum", "pygments", "rich", "scipy",
}  # fmt: skip
PROGRAM = """
import numpy as np
import treadle.tensor as tt
from treadle.compile import function

x = tt.vector("x", dtype="float64")
f = function([x], tt.sum(tt.exp(x) * 2), mode="NUMBA")
print(float(f(np.array([0.0, 1.0, 2.0]))))
"""

pytestmark = pytest.mark.packaging


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, env=clean(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build every wheel of the workspace."""
    target = tmp_path_factory.mktemp("dist")
    build = ("build", "--offline", "--no-index", "--all-packages", "--wheel", "--out-dir", target)
    run(sys.executable, "-m", "uv", *build, cwd=ROOT)
    return target


class Installed:
    """A fresh virtual environment with one of our packages, and all it needs, installed by pip."""

    def __init__(self, folder: Path, dist: Path, requirement: str) -> None:
        self.folder = folder
        self.dist = dist
        venv.create(folder / "venv", with_pip=True)
        self.python = next(path for path in folder.glob("venv/*/python*") if path.stem == "python")
        # The index stays reachable: pip must choose ours although other projects there have these names.
        places = ("--find-links", dist, "--find-links", ROOT / "wheelhouse", "--retries", "1", "--only-binary", ":all:")
        self.pip("install", *places, requirement)

    def pip(self, *arguments: str | Path) -> str:
        return run(self.python, "-m", "pip", "--disable-pip-version-check", *arguments, cwd=self.folder)

    def names(self) -> set[str]:
        listed = json.loads(self.pip("list", "--format", "json"))
        return {entry["name"].lower() for entry in listed} - {"pip", "setuptools"}

    def metadata(self, name: str) -> str:
        """Return the metadata of an installed package."""
        program = "import importlib.metadata as m, sys; print(m.distribution(sys.argv[1]).read_text('METADATA'))"
        return run(self.python, "-c", program, name, cwd=self.folder)


@pytest.fixture(scope="module")
def numba_system(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("numba"), dist, "compile[numba]")


def test_every_distribution_becomes_a_wheel_of_its_own_portion(dist: Path) -> None:
    wheels = {path.name.split("-")[0].replace("_", "-") for path in dist.glob("*.whl")}
    assert wheels == {path.parent.name for path in ROOT.glob("packages/*/pyproject.toml")}


@pytest.mark.parametrize("project", projects(ROOT), ids=lambda project: project.name)
def test_a_wheel_holds_what_it_should(dist: Path, project: Project) -> None:
    workspace = Workspace(projects(ROOT), (ROOT / "LICENSE").read_text(encoding="utf-8"))
    assert list(wheel_faults(project, dist / f"{project.stem}-py3-none-any.whl", workspace)) == []


def test_only_our_packages_and_known_third_parties_come_in(numba_system: Installed) -> None:
    assert numba_system.names() == OURS | THIRD_PARTIES


def test_names_that_other_projects_have_too_are_ours(numba_system: Installed) -> None:
    for name in sorted(OURS):
        assert "Author: The treadle developers" in numba_system.metadata(name)


def test_a_function_runs_in_mode_numba(numba_system: Installed) -> None:
    value = float(run(numba_system.python, "-W", "error", "-c", PROGRAM, cwd=numba_system.folder))
    assert value == pytest.approx(2 * (1 + math.e + math.e**2), rel=1e-12)


def test_graph_core_alone_brings_no_third_party_package(dist: Path, tmp_path: Path) -> None:
    system = Installed(tmp_path, dist, "graph-core")
    assert system.names() == {"config", "graph-core"}
    run(system.python, "-c", "import treadle.graph, treadle.link.vm", cwd=tmp_path)
    shown = run(system.python, "-W", "error", ROOT / "examples" / "reuse_graph_core.py", cwd=tmp_path)
    assert shown.endswith("The answer:\n  Cruz tea\n  Cruz rice\n  Dina salt\n")


def test_environment_variable_puts_treadle_in_the_place_of_pytensor(numba_system: Installed) -> None:
    wheel = next(numba_system.dist.glob("as_pytensor-*.whl"))
    numba_system.pip("install", "--no-deps", wheel)
    try:
        command = (numba_system.python, "-W", "error", "-c", "import pytensor; print(type(pytensor).__name__)")
        told = []
        for flag in ("1", "0"):
            env = {**clean(), "TREADLE_AS_PYTENSOR": flag}
            folder = numba_system.folder
            told.append(subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False))
        assert told[0].stdout == "ForwardingModule\n", told[0].stderr
        assert "No module named 'pytensor'" in told[1].stderr
    finally:
        numba_system.pip("uninstall", "--yes", "as-pytensor")
