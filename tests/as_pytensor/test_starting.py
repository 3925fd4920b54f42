"""Programs are run as Python runs them, with pytensor as treadle has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.as_pytensor.processes import run

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import sys
import pytensor
print(__name__, type(pytensor).__name__, sys.argv[1:], sys.path[0])
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prog.py").write_text(PROGRAM, encoding="utf-8")
    return tmp_path


def test_script_gets_its_arguments_its_folder_and_its_exit_code(folder: Path) -> None:
    script = folder / "prog.py"
    done = run("-m", "treadle.as_pytensor", str(script), "3", "-x", cwd=folder.parent)
    assert done.stdout == f"__main__ ForwardingModule ['3', '-x'] {folder}\n", done.stderr
    assert done.returncode == 3


def test_module_gets_its_arguments_and_its_exit_code(folder: Path) -> None:
    done = run("-m", "treadle.as_pytensor", "-m", "prog", "0", "y", cwd=folder)
    assert done.stdout.startswith("__main__ ForwardingModule ['0', 'y'] "), done.stderr
    assert done.returncode == 0


def test_code_gets_its_arguments_and_its_exit_code(tmp_path: Path) -> None:
    done = run("-m", "treadle.as_pytensor", "-c", PROGRAM, "4", cwd=tmp_path)
    assert done.stdout == "__main__ ForwardingModule ['4'] \n", done.stderr
    assert done.returncode == 4


def test_error_of_a_program_ends_it(tmp_path: Path) -> None:
    done = run("-m", "treadle.as_pytensor", "-c", "import pytensor; raise KeyError('here')", cwd=tmp_path)
    assert "KeyError: 'here'" in done.stderr
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ((), 2, "usage: python -m treadle.as_pytensor"),
        (("-m",), 2, "usage: python -m treadle.as_pytensor"),
        (("--help",), 0, "usage: python -m treadle.as_pytensor"),
        (("absent.py",), 2, "as_pytensor: there is no script absent.py."),
    ],
)
def test_what_cannot_be_run_is_said(arguments: tuple[str, ...], code: int, text: str, tmp_path: Path) -> None:
    done = run("-m", "treadle.as_pytensor", *arguments, cwd=tmp_path)
    assert text in done.stdout + done.stderr
    assert done.returncode == code


def test_plugin_of_pytest_takes_the_place_before_tests_are_collected(tmp_path: Path) -> None:
    test = "import pytensor.tensor as pt\n\ndef test_it():\n    assert pt.exp(0.0).eval() == 1\n"
    (tmp_path / "test_it.py").write_text(test, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    options = ("-q", "-p", "treadle.as_pytensor.pytest", "-p", "no:cacheprovider")
    done = run("-m", "pytest", *options, "test_it.py", cwd=tmp_path)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
