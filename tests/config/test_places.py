"""Which code belongs to treadle, to Python, or to the user."""

import subprocess
import sys
from pathlib import Path

import pytest

import treadle.graph
import treadle.tensor
from treadle.config import (
    Config,
    is_foreign_file,
    is_installed_file,
    is_library_file,
    is_own_file,
    is_own_module,
    warn_user,
)
from treadle.graph.diagnostics.provenance import is_user_file


def test_packages_of_others_under_the_name_are_not_treadles() -> None:
    assert is_own_module("treadle.graph.op")
    assert is_own_module("treadle.link.vm")
    for other in ("treadle.contrib.lib", "treadle.link.acme", "treadle.graphs", "treadle", "mytreadle.graph", None, 5):
        assert not is_own_module(other)


@pytest.mark.parametrize(
    "folder",
    [
        "treadle",
        "src/treadle",
        "site-packages/work",
        "dist-packages",
        "with space",
        "Größe",
        "a.b..c",
        "x/src/treadle/graph",
    ],
)
def test_file_of_the_user_is_the_users_whatever_its_folder_is_called(tmp_path: Path, folder: str) -> None:
    file = str(tmp_path / folder / "model.py")
    assert is_user_file(file)
    assert not any(test(file) for test in (is_foreign_file, is_own_file, is_installed_file, is_library_file))


def test_installed_package_is_one_below_a_folder_that_python_searches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "lib" / "site-packages"
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    assert is_installed_file(str(site / "acme" / "model.py"))
    assert not is_installed_file(str(tmp_path / "lib" / "model.py"))
    assert is_installed_file(pytest.__file__)
    assert is_foreign_file(pytest.__file__)


def test_file_is_known_through_links(tmp_path: Path) -> None:
    package = Path(treadle.graph.__file__).parent
    (tmp_path / "link").symlink_to(package)
    assert is_own_file(str(tmp_path / "link" / "op.py"))
    assert is_foreign_file(str(tmp_path / "link" / "op.py"))


def test_modules_that_other_distributions_bring_into_a_package_are_its_own() -> None:
    from treadle.tensor.signal import convolution

    assert not Path(convolution.__file__).is_relative_to(Path(treadle.tensor.__file__).parent)
    assert is_own_file(convolution.__file__)


def test_only_files_of_python_itself_are_library_files() -> None:
    assert is_library_file(subprocess.__file__)
    assert is_foreign_file(subprocess.__file__)
    assert not is_library_file(pytest.__file__)
    assert not is_library_file(f"{Path(subprocess.__file__).parent}-more/model.py")


def test_namespace_without_a_name_reads_and_sets_options() -> None:
    space: dict[str, object] = {"config": Config(environ={})}
    exec("with config.change_flags(floatX='float32'):\n    floatx = config.floatX", space)
    assert space["floatx"] == "float32"
    assert "__name__" not in space


def test_warning_points_at_the_caller_outside_treadle() -> None:
    with pytest.warns(UserWarning, match="told") as caught:
        warn_user("told", UserWarning)
    assert caught[0].filename == __file__


PROGRAM = """
import treadle.tensor as tt
x = tt.dvector("x")
y = x + 1
print(y.owner.user_line)
"""


@pytest.mark.parametrize("folder", ["treadle", "site-packages/mine", "a folder/ünï.cödé"])
def test_line_of_a_program_is_found_in_any_folder(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir(parents=True)
    file = tmp_path / folder / "model.py"
    file.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout == 'model.py:4 "y = x + 1"\n'
