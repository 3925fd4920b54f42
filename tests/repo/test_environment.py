"""./dev installs only files that are what the committed digests say, and says what stands in the way."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.repo.tree import ROOT
from tools import environment
from tools.environment import ConflictError, EnvironmentMakingError, NotOfferedError
from tools.lockfile import Locked, locked_packages

WHEEL = "loom-1.2-py3-none-any.whl"
LOOM = Locked("loom", "1.2", (WHEEL,))
GOOD = b"the locked file"


class Index:
    """Stands for pip: offers files, and counts the downloads."""

    def __init__(self, offered: dict[str, bytes]) -> None:
        self.offered = offered
        self.downloads = 0

    def run(self, command: Sequence[str], subject: str) -> None:
        """Do what `pip download` does."""
        assert subject == "The download"
        self.downloads += 1
        target = Path(command[command.index("--dest") + 1])
        for name, content in self.offered.items():
            (target / name).write_bytes(content)


@pytest.fixture
def wheelhouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "wheelhouse"
    digests = tmp_path / "wheelhouse.sha256"
    digests.write_text(f"{hashlib.sha256(GOOD).hexdigest()}  {WHEEL}\n", encoding="utf-8")
    monkeypatch.setattr(environment, "WHEELHOUSE", folder)
    monkeypatch.setattr(environment, "ARRIVING", folder / "arriving")
    monkeypatch.setattr(environment, "DIGESTS", digests)
    return folder


def offer(monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]) -> Index:
    index = Index(files)
    monkeypatch.setattr(environment, "run", index.run)
    return index


def test_a_missing_wheel_is_downloaded(wheelhouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, {WHEEL: GOOD})
    assert environment.fetch([LOOM]) == [wheelhouse / WHEEL]
    assert (wheelhouse / WHEEL).read_bytes() == GOOD


def test_a_wheel_that_is_there_is_not_downloaded_again(wheelhouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = offer(monkeypatch, {WHEEL: GOOD})
    environment.fetch([LOOM])
    assert environment.fetch([LOOM]) == [wheelhouse / WHEEL]
    assert index.downloads == 1


def test_a_truncated_wheel_is_downloaded_again(wheelhouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, {WHEEL: GOOD})
    wheelhouse.mkdir()
    (wheelhouse / WHEEL).write_bytes(GOOD[:3])
    environment.fetch([LOOM])
    assert (wheelhouse / WHEEL).read_bytes() == GOOD


def test_a_wheel_with_another_digest_is_refused(wheelhouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, {WHEEL: b"something else"})
    with pytest.raises(EnvironmentMakingError, match=r"is not the file that wheelhouse\.sha256 describes"):
        environment.fetch([LOOM])
    assert not (wheelhouse / WHEEL).exists()


def test_another_file_in_its_place_means_that_the_lock_is_not_for_this_machine(
    wheelhouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, {"loom-1.2-py2-none-any.whl": GOOD})
    with pytest.raises(NotOfferedError, match=r"another file instead of loom-1\.2-py3"):
        environment.fetch([LOOM])
    assert not (wheelhouse / WHEEL).exists()


def test_a_wheel_for_another_python_means_that_the_lock_is_not_for_this_machine(wheelhouse: Path) -> None:
    with pytest.raises(NotOfferedError, match=r"no locked file for this interpreter: loom==1\.2"):
        environment.fetch([Locked("loom", "1.2", ("loom-1.2-cp299-cp299-any.whl",))])
    assert not wheelhouse.exists()


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("ERROR: No matching distribution found for loom", NotOfferedError),
        ("ERROR: ResolutionImpossible", ConflictError),
    ],
)
def test_what_pip_says_decides_the_error(message: str, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=message) as raised:
        environment.run(["sh", "-c", f"echo '{message}' >&2; exit 1"], "Installing")
    assert type(raised.value) is kind


def test_an_index_out_of_reach_is_not_taken_for_one_without_the_file() -> None:
    message = "WARNING: Retrying (Retry(total=0)); ERROR: No matching distribution found for loom"
    with pytest.raises(EnvironmentMakingError, match="out of reach") as raised:
        environment.run(["sh", "-c", f"echo '{message}' >&2; exit 1"], "Installing")
    assert not isinstance(raised.value, NotOfferedError)


def test_peers_of_the_benchmarks_are_needed_only_when_asked_for() -> None:
    without = {package.name for package in locked_packages(ROOT / "uv.lock", ["dev", "demo"])}
    assert {package.name for package in locked_packages(ROOT / "uv.lock", ["dev", "demo", "peers"])} > without
    assert {"numpy", "pytest", "scikit-learn", "uv"} <= without
    assert "pytensor" not in without


def test_requirements_leave_our_packages_and_pytorch_to_others() -> None:
    names = {environment.requirement_name(entry) for entry in environment.declared_requirements(["dev"])}
    assert {"numpy", "jax", "uv_build", "pytest-xdist"} <= names
    assert names & {"torch", "tensor", "compile"} == set()


@pytest.mark.parametrize("path", ["dev", ".ci/run"])
def test_the_scripts_are_executable(path: str) -> None:
    assert os.access(ROOT / path, os.X_OK)


def test_dev_without_a_command_explains_itself() -> None:
    done = subprocess.run([ROOT / "dev"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    commands = re.findall(r"^    (\w+)\) ", (ROOT / "dev").read_text(encoding="utf-8"), re.MULTILINE)
    assert "check" in commands
    assert [command for command in commands if f"\n  {command} " not in done.stderr] == []


def test_dev_refuses_an_interpreter_that_does_not_run(tmp_path: Path) -> None:
    copy = tmp_path / "dev"
    copy.write_bytes((ROOT / "dev").read_bytes())
    inputs = ("uv.lock", "wheelhouse.sha256", "pyproject.toml", "packages/config/pyproject.toml")
    for name in (*inputs, "tools/environment.py", "tools/lockfile.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    variables = os.environ | {"PYTHON": str(tmp_path / "python")}
    done = subprocess.run(["bash", copy, "test"], capture_output=True, text=True, check=False, env=variables)
    assert done.returncode != 0
    assert "does not run as a Python of 3.11 or newer" in done.stderr
