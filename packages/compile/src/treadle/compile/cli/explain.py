"""``treadle explain``: what an error means, its commonest causes, and the mended programs."""

from __future__ import annotations

import difflib
import json
import sys
from importlib import resources
from typing import TYPE_CHECKING

from rich.markdown import Markdown

from treadle.compile.errors import UnknownNameError

if TYPE_CHECKING:
    import argparse
    from argparse import _SubParsersAction

    from rich.console import Console

    from treadle.compile.cli.parsing import Parser

_PAGES = "explanations"


def add_parser(commands: _SubParsersAction[Parser]) -> None:
    """Add the sub-command to a parser's sub-commands."""
    text = "what an error or a warning means, its commonest causes, and the mended programs"
    explain = commands.add_parser("explain", help=text)
    explain.add_argument(
        "name", nargs="?", metavar="NAME", help="name of the error, such as ShapeError; all if left out"
    )
    explain.add_argument("--json", action="store_true", help="as JSON, for programs")


def names() -> list[str]:
    """Return the names of all errors and warnings that have a page."""
    folder = resources.files("treadle.compile") / _PAGES
    return sorted(page.name.removesuffix(".md") for page in folder.iterdir() if page.name.endswith(".md"))


def page(name: str) -> str:
    """Return the page of an error, as Markdown.

    Raises
    ------
    UnknownNameError
        If there is none of that name.

    Examples
    --------
    >>> page("ShapeError").splitlines()[0]
    '# ShapeError'
    """
    known = names()
    found = next((each for each in known if each.lower() == name.rpartition(".")[2].lower()), None)
    if found is None:
        near = difflib.get_close_matches(name, known, n=3)
        advice = f"Did you mean {' or '.join(near)}?" if near else "`treadle explain` lists all."
        msg = f"no error or warning of treadle's is called {name!r}. {advice}"
        raise UnknownNameError(msg)
    return (resources.files("treadle.compile") / _PAGES / f"{found}.md").read_text(encoding="utf-8")


def _first_sentence(text: str) -> str:
    return text.splitlines()[2]


def run(console: Console, arguments: argparse.Namespace) -> int:
    """Run the sub-command; return its exit status."""
    if arguments.name is None:
        rows = {name: _first_sentence(page(name)) for name in names()}
        if arguments.json:
            sys.stdout.write(json.dumps(rows, indent=2) + "\n")
            return 0
        width = max(map(len, rows))
        for name, text in rows.items():
            console.print(f"{name:<{width}}  {text}", markup=False, highlight=False, soft_wrap=True)
        return 0
    text = page(arguments.name)
    if arguments.json:
        sys.stdout.write(json.dumps({"name": arguments.name, "page": text}, indent=2) + "\n")
    elif console.is_terminal:
        console.print(Markdown(text))
    else:
        sys.stdout.write(text)
    return 0
