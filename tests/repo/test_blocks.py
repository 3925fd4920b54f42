"""Every block of Python in the README files and the pages runs, those of one file in order as one program.

Blocks that begin with ```` ```python pymc ```` need PyMC: tests/pymc runs them, where it is installed.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from tests.repo.tree import ROOT
from treadle.compile import BACKENDS
from treadle.config import config

if TYPE_CHECKING:
    from pathlib import Path

GUIDE = {"start", "guide", "explanation"}
NEEDS_PYMC = "python pymc"
LANGUAGES = {"c", "ini", "pycon", "python", "sh", "text", "toml"}
_FENCE = re.compile(r"^```(\w*(?: pymc)?)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted(ROOT.glob("packages/*/README.md")), *sorted(ROOT.glob("docs/**/*.md"))]


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return language and text of each block of a page."""
    return _FENCE.findall(page.read_text(encoding="utf-8"))


def program(page: Path, language: str = "python") -> str:
    """Return the blocks of Python of a page; each keeps its lines' numbers, so that errors point at the page."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * (text.count("\n") + 1)
    for block in _FENCE.finditer(text):
        if block[1] == language:
            first = text[: block.start(2)].count("\n")
            inside = block[2].splitlines()
            lines[first : first + len(inside)] = inside
    return "\n".join(lines)


def test_every_block_says_its_language() -> None:
    known = LANGUAGES | {NEEDS_PYMC}
    wrong = [(page.name, language) for page in pages() for language, _ in blocks(page) if language not in known]
    assert wrong == []


def shown(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [p for p in pages() if any(name == "python" for name, _ in blocks(p))], ids=shown)
def test_blocks_of_python_run(page: Path, tmp_path: Path) -> None:
    backend = BACKENDS.load("c")
    assert backend is not None
    file = tmp_path / page.with_suffix(".py").name
    text = program(page)
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
    return page.parent.name != "errors" and any(name == "pycon" for name, _ in blocks(page))


def of_site(page: Path) -> bool:
    """Whether a page is one of the guide: its sessions give the same in every mode, and are run in a cheap one."""
    return page.is_relative_to(ROOT / "docs") and page.relative_to(ROOT / "docs").parts[0] in GUIDE


@pytest.mark.parametrize("page", [p for p in pages() if has_sessions(p)], ids=shown)
def test_sessions_give_what_they_show(page: Path) -> None:
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    with config.change_flags(mode="VM") if of_site(page) else nullcontext():
        results = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert results.attempted > 0
    assert results.failed == 0, "what differs was printed"
