"""What docs/pymc.md shows runs, each program in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.repo.test_blocks import NEEDS_PYMC, languages, pages
from tests.repo.tree import ROOT
from tools.release.follow import program

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.pymc
PAGES = [page for page in pages() if NEEDS_PYMC in languages(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_that_need_pymc_run(page: Path, tmp_path: Path) -> None:
    file = tmp_path / "blocks.py"
    file.write_text(program(page.read_text(encoding="utf-8"), NEEDS_PYMC), encoding="utf-8")
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_script_runs_on_treadle_by_one_word_of_the_command_line(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import pymc, pytensor\nprint(pymc.__version__, pytensor.shared.__module__)\n", encoding="utf-8")
    command = [sys.executable, "-W", "ignore", "-m", "treadle.as_pytensor", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert " treadle." in done.stdout


def test_the_example_fits_on_treadle() -> None:
    script = ROOT / "examples/pymc_radon.py"
    command = [sys.executable, "-W", "ignore", "-m", "treadle.as_pytensor", str(script), "--fit", "--draws", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
