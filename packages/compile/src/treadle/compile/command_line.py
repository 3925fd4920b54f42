"""The ``treadle`` command."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from treadle.compile.cli import cache, rewrites
from treadle.compile.mode.backends import BACKENDS
from treadle.config import EntryPointLoadError, OptionSourceError, OptionValueError, UnknownOptionError, config

if TYPE_CHECKING:
    from collections.abc import Sequence


def _parser() -> argparse.ArgumentParser:
    text = "Look after treadle's cache, options, backends and rewrites."
    parser = argparse.ArgumentParser(prog="treadle", description=text)
    commands = parser.add_subparsers(dest="command", required=True)
    cache.add_parser(commands)
    commands.add_parser("backends", help="which backends are installed, and whether they work here")
    options = commands.add_parser(
        "config", aliases=["options"], help="every option with its value, where that came from, default and meaning"
    )
    rewrites.add_parser(commands)
    options.add_argument("names", nargs="*", metavar="NAME", help="an option, a section, or the beginning of a name")
    return parser


def _show_backends(console: Console) -> int:
    table = Table("backend", "mode", "state")
    for name in BACKENDS.names():
        try:
            backend = BACKENDS.load(name)
        except EntryPointLoadError as error:
            table.add_row(name, name.upper(), str(error))
            continue
        if backend is not None:
            table.add_row(name, name.upper(), backend.unavailable() or "works")
    console.print(table)
    return 0


def _show_options(console: Console, names: Sequence[str]) -> int:
    try:
        text = config.describe(*names)
    except (OptionSourceError, OptionValueError, UnknownOptionError) as error:
        sys.stderr.write(f"treadle config: {error}\n")
        return 2
    console.print(text, markup=False, highlight=False, soft_wrap=True)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    given = _parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    console = Console()
    if given.command == "cache":
        return cache.run(console, given)
    if given.command == "rewrites":
        return rewrites.run(console, given)
    if given.command == "backends":
        return _show_backends(console)
    return _show_options(console, given.names)
