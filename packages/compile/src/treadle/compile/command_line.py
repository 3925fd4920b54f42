"""The ``treadle`` command."""

from __future__ import annotations

import argparse
import json
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from treadle.compile.cli import cache, doctor, rewrites
from treadle.compile.mode.backends import BACKENDS
from treadle.config import DISTRIBUTIONS, EntryPointLoadError, TreadleError, config

if TYPE_CHECKING:
    from collections.abc import Sequence


def _parser() -> argparse.ArgumentParser:
    text = "Look after treadle's cache, options, backends and rewrites, and find out what is wrong."
    parser = argparse.ArgumentParser(prog="treadle", description=text)
    parser.add_argument("--version", action="store_true", help="the version of each of treadle's distributions")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    cache.add_parser(commands)
    backends = commands.add_parser("backends", help="which backends are installed, and whether they work here")
    backends.add_argument("--json", action="store_true", help="as JSON, for programs")
    options = commands.add_parser(
        "config", aliases=["options"], help="every option with its value, where that came from, default and meaning"
    )
    rewrites.add_parser(commands)
    doctor.add_parser(commands)
    options.add_argument("names", nargs="*", metavar="NAME", help="an option, a section, or the beginning of a name")
    return parser


def _show_versions(console: Console) -> int:
    for name in DISTRIBUTIONS:
        try:
            number = version(name)
        except PackageNotFoundError:
            number = "not installed"
        console.print(f"{name} {number}", markup=False, highlight=False)
    return 0


def _states() -> dict[str, str]:
    """Return for each installed backend ``works``, or why it does not."""
    states = {}
    for name in BACKENDS.names():
        try:
            backend = BACKENDS.load(name)
        except EntryPointLoadError as error:
            states[name] = str(error)
            continue
        if backend is not None:
            states[name] = backend.unavailable() or "works"
    return states


def _show_backends(console: Console, as_json: bool) -> int:
    states = _states()
    if as_json:
        rows = [{"backend": name, "mode": name.upper(), "state": state} for name, state in states.items()]
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return 0
    table = Table("backend", "mode", "state")
    for name, state in states.items():
        table.add_row(name, name.upper(), state)
    console.print(table)
    return 0


def _run(console: Console, arguments: argparse.Namespace) -> int:
    if arguments.command == "cache":
        return cache.run(console, arguments)
    if arguments.command == "rewrites":
        return rewrites.run(console, arguments)
    if arguments.command == "doctor":
        return doctor.run(console, arguments)
    if arguments.command == "backends":
        return _show_backends(console, arguments.json)
    console.print(config.describe(*arguments.names), markup=False, highlight=False, soft_wrap=True)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 2 where an argument or an option is wrong."""
    parser = _parser()
    parsed = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    console = Console()
    if parsed.version:
        return _show_versions(console)
    if parsed.command is None:
        parser.error("a command is needed: cache, backends, config, rewrites or doctor")
    try:
        config.snapshot()  # reports wrong settings from outside first, whatever the command needs
        return _run(console, parsed)
    except TreadleError as error:
        sys.stderr.write(f"treadle {parsed.command}: {error}\n")
        return 2
