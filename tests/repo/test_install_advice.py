"""No advice installs a package by its bare name: the public index has other people's under some of ours."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repo.tree import ROOT
from treadle.config import BACKEND_REQUIREMENTS, install_advice

SOURCES = sorted(ROOT.glob("packages/*/src/**/*.py"))
PAGES = [*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md", *sorted(ROOT.glob("packages/*/README.md"))]
COMMANDS = ("pip install", "pip3 install", "uv add", "uv pip", "pipx install")


def texts(path: Path) -> Iterator[str]:
    """Yield the texts of a program, and the lines of a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from text.splitlines()
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("paths", [SOURCES, PAGES], ids=["messages", "pages"])
def test_commands_that_install_say_where_the_wheels_are(paths: list[Path]) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {text.strip()[:100]}"
        for path in paths
        for text in texts(path)
        for command in COMMANDS
        if command in text and "--find-links" not in text.partition(command)[2][:40]
    ]
    assert wrong == []


@pytest.mark.parametrize("requirement", sorted(set(BACKEND_REQUIREMENTS.values())))
def test_advice_names_the_folder_and_the_page_that_says_how_to_make_it(requirement: str) -> None:
    advice = install_advice(requirement)
    assert advice.startswith(f"pip install --find-links DIR '{requirement}', where DIR is the folder")
    assert "### Installing them elsewhere" in (ROOT / "README.md").read_text(encoding="utf-8")
