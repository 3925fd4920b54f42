"""The ``treadle`` command."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from treadle.cache import default_cache
from treadle.compile.backends import BACKENDS
from treadle.config import EntryPointLoadError, config

if TYPE_CHECKING:
    from collections.abc import Sequence


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="treadle", description="Look after treadle's cache, options and backends.")
    commands = parser.add_subparsers(dest="command", required=True)
    cache = commands.add_parser("cache", help="the compile cache")
    cache.add_argument("action", choices=("list", "clear", "purge", "explain", "directory"))
    cache.add_argument("key", nargs="?", help="key of the entry to explain")
    commands.add_parser("backends", help="which backends are installed, and whether they work here")
    options = commands.add_parser("options", help="every option with its value and where that came from")
    options.add_argument("prefix", nargs="?", default="", help="show only options whose names begin so")
    return parser


def _show_cache(console: Console, action: str, key: str | None) -> int:
    cache = default_cache()
    if action == "directory":
        console.print(str(cache.directory))
    elif action == "clear":
        console.print(f"{cache.clear()} entries removed")
    elif action == "purge":
        console.print(f"{cache.purge()} files removed")
    elif action == "explain":
        if key is None:
            console.print("cache explain: the key of an entry is needed; `treadle cache list` shows them")
            return 2
        console.print(cache.explain(key))
    else:
        table = Table("key", "bytes", title=str(cache.directory))
        for entry in cache.list():
            table.add_row(entry.key, str(entry.size))
        console.print(table)
    return 0


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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    given = _parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    console = Console()
    if given.command == "cache":
        return _show_cache(console, given.action, given.key)
    if given.command == "backends":
        return _show_backends(console)
    console.print(config.describe(given.prefix), markup=False, highlight=False)
    return 0
