"""Every block of Python in the README files and the pages runs, those of one file in order as one program.

Blocks that begin with ```` ```python pymc ```` need PyMC: tests/pymc runs them, where it is installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from tests.repo.tree import ROOT
from tools.release.follow import blocks, program, sessions
from treadle.compile import BACKENDS
from treadle.config import config

if TYPE_CHECKING:
    from pathlib import Path

GUIDE = {"start", "guide", "explanation"}
NEEDS_PYMC = "python pymc"
LANGUAGES = {"c", "ini", "pycon", "python", "sh", "text", "toml"}


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted(ROOT.glob("packages/*/README.md")), *sorted(ROOT.glob("docs/**/*.md"))]


def languages(page: Path) -> set[str]:
    """Return the languages of a page's blocks."""
    return {language for language, _, _ in blocks(page.read_text(encoding="utf-8"))}


def test_every_block_says_its_language() -> None:
    known = LANGUAGES | {NEEDS_PYMC}
    assert {page.name: unknown for page in pages() if (unknown := languages(page) - known)} == {}


def shown(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [p for p in pages() if "python" in languages(p)], ids=shown)
def test_blocks_of_python_run(page: Path, tmp_path: Path) -> None:
    backend = BACKENDS.load("c")
    assert backend is not None
    file = tmp_path / page.with_suffix(".py").name
    text = program(page.read_text(encoding="utf-8"))
    file.write_text(text if backend.unavailable() is None else text.replace('mode="C"', 'mode="VM"'), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(file)],
        env={**os.environ, "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


def has_sessions(page: Path) -> bool:
    """Whether a page has sessions that run here: test_pages runs those of docs/errors, whose messages it compares."""
    return page.parent.name != "errors" and "pycon" in languages(page)


def of_site(page: Path) -> bool:
    """Whether a page is one of the guide: its sessions give the same in every mode, and are run in a cheap one."""
    return page.is_relative_to(ROOT / "docs") and page.relative_to(ROOT / "docs").parts[0] in GUIDE


@pytest.mark.parametrize("page", [p for p in pages() if has_sessions(p)], ids=shown)
def test_sessions_give_what_they_show(page: Path) -> None:
    with config.change_flags(mode="VM") if of_site(page) else nullcontext():
        attempted, failed = sessions(page)
    assert attempted > 0
    assert failed == 0, "what differs was printed"
