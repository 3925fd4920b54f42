"""The ``treadle`` command."""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from treadle.compile.cli import cache, completion, doctor, explain, rewrites
from treadle.compile.cli.parsing import Parser
from treadle.compile.mode.backends import BACKENDS
from treadle.config import DISTRIBUTIONS, EntryPointLoadError, TreadleError, config

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_STATUSES = (
    "Exit status: 0 if all is well; 1 if something that was looked at is at fault (doctor, cache verify); 2 if the "
    "call, a setting or a file is wrong."
)


def _parser() -> Parser:
    text = "Look after treadle's cache, options, backends and rewrites, and find out what is wrong."
    parser = Parser(prog="treadle", description=text, epilog=_STATUSES)
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
    explain.add_parser(commands)
    completion.add_parser(commands)
    options.add_argument("names", nargs="*", metavar="NAME", help="an option, a section, or the beginning of a name")
    options.add_argument("--json", action="store_true", help="as JSON, for programs")
    return parser


def _show_versions(console: Console) -> int:
    for name in DISTRIBUTIONS:
        try:
            number = version(name)
        except PackageNotFoundError:
            number = "not installed"
        console.print(f"{name} {number}", markup=False, highlight=False)
    return 0


def _show_options(console: Console, names: Sequence[str], as_json: bool) -> int:
    text = config.describe(*names)  # refuses names that nothing fits
    if not as_json:
        console.print(text, markup=False, highlight=False, soft_wrap=True)
        return 0
    prefixes = tuple(name.replace(".", "__") for name in names) or ("",)
    rows = [
        {
            "name": option.name,
            "value": _plain(config.snapshot()[option.name]),
            "source": config.source(option.name),
            "owner": option.owner,
            "allowed": option.kind.allowed,
            "doc": " ".join(option.doc.split()),
        }
        for option in config.options()
        if option.name.startswith(prefixes)
    ]
    sys.stdout.write(json.dumps(rows, indent=2) + "\n")
    return 0


def _plain(value: object) -> object:
    """Return a value as JSON has it: as text where it is neither a number, a text nor None."""
    return value if isinstance(value, bool | int | float | str | None) else str(value)


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
    if arguments.command == "explain":
        return explain.run(console, arguments)
    if arguments.command == "completion":
        return completion.run(_parser(), arguments.shell)
    return _show_options(console, arguments.names, arguments.json)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 1 for a fault that was looked for, 2 where the call is wrong."""
    parser = _parser()
    parsed = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    console = Console()
    if parsed.version:
        return _show_versions(console)
    if parsed.command is None:
        parser.error("a command is needed: cache, backends, config, rewrites, doctor, explain or completion")
    try:
        config.snapshot()  # reports wrong settings from outside first, whatever the command needs
        return _run(console, parsed)
    except TreadleError as error:
        sys.stderr.write(f"treadle {parsed.command}: {error}\n")
        return 2
    except BrokenPipeError:  # whoever reads the output has had enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
