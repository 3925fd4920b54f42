"""``treadle cache``: what the compile cache holds, whether it is undamaged, and why a function was not in it."""

from __future__ import annotations

import json
import math
import os
import pickle
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle.cache import default_cache
from treadle.compile.functions.maker import FunctionMaker
from treadle.compile.stored.code_text import UndigestibleError
from treadle.compile.stored.key import key_of
from treadle.compile.stored.programs import LAST_LOOKUP
from treadle.config import config

if TYPE_CHECKING:
    import argparse
    from argparse import _SubParsersAction
    from collections.abc import Iterable, Mapping

    from rich.console import Console

    from treadle.cache import Cache, EntryInfo
    from treadle.compile.cli.parsing import Parser

_KEY = re.compile(r"[0-9a-f]{64}")
_ACTIONS = {
    "list": "every entry, the last used at the end: key, kind, bytes, last use, and what it was made for",
    "clear": "remove all entries",
    "purge": "remove all entries, and what killed processes left behind; no process may be compiling",
    "verify": "check every entry against its checksum; exit status 1 if one is damaged",
    "directory": "print the compile directory",
}
# Values of parts are cut to this length.
_LONGEST = 70
_MOST_SHOWN = 12


def add_parser(commands: _SubParsersAction[Parser]) -> None:
    """Add the sub-command to a parser's sub-commands."""
    cache = commands.add_parser("cache", help="the compile cache")
    actions = cache.add_subparsers(dest="action", required=True)
    for name, text in _ACTIONS.items():
        action = actions.add_parser(name, help=text)
        if name in {"list", "verify"}:
            action.add_argument("--json", action="store_true", help="as JSON, for programs")
    explain = actions.add_parser("explain", help="what makes up a key, and why a look-up found nothing")
    explain.add_argument(
        "key",
        nargs="?",
        metavar="KEY | FILE",
        help="key of an entry, or, with --trust, file of a pickled function",
    )
    explain.add_argument(
        "--trust", action="store_true", help="load FILE, which may run any code in it: only for files of your own"
    )
    explain.add_argument("--last", action="store_true", help="explain the last look-up of the process that ended last")


def run(console: Console, arguments: argparse.Namespace) -> int:
    """Run the sub-command; return its exit status."""
    cache = default_cache()
    if arguments.action == "explain":
        return _explain(console, cache, arguments.key, arguments.last, arguments.trust)
    fault = "" if arguments.action == "directory" else _fault(cache, changes=arguments.action in {"clear", "purge"})
    if fault:
        sys.stderr.write(f"treadle cache {arguments.action}: {fault}\n")
        return 2
    if arguments.action == "verify":
        return _verify(console, cache, arguments.json)
    if arguments.action == "list" and arguments.json:
        _write_json(cache.list())
    elif arguments.action == "list":
        for info in sorted(cache.list(), key=lambda info: (info.used or math.inf, info.key)):
            _say(console, _line(info))
        _say(console, f"{cache.directory}: {_total(cache)}")
    elif arguments.action == "clear":
        _say(console, f"{cache.clear()} entries removed")
    elif arguments.action == "purge":
        _say(console, f"{cache.purge()} files removed")
    else:
        _say(console, str(cache.directory))
    return 0


def _fault(cache: Cache, *, changes: bool) -> str:
    """Return why the compile directory cannot be read, or changed, an empty string if it can."""
    cure = "The option base_compiledir names another folder."
    try:
        os.scandir(cache.directory).close()
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{cache.directory} cannot be read ({error.strerror}). {cure}"
    return f"{cache.directory} cannot be changed by this user. {cure}" if changes and not _is_writable(cache) else ""


def _is_writable(cache: Cache) -> bool:
    return os.access(cache.directory, os.W_OK)


def _write_json(infos: Iterable[EntryInfo]) -> None:
    rows = [
        {
            "key": info.key,
            "kind": info.kind,
            "bytes": info.size,
            "used": info.used or None,
            "fault": info.fault or None,
            "about": {name: value for name, value in sorted(info.meta.items()) if name != "parts"},
        }
        for info in infos
    ]
    sys.stdout.write(json.dumps(rows, indent=2) + "\n")


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _refuse(text: str) -> int:
    """Print why something cannot be explained, and return the exit status."""
    sys.stderr.write(f"cache explain: {text}\n")
    return 2


def _total(cache: Cache) -> str:
    infos = cache.list()
    return f"{len(infos)} entries, {sum(info.size for info in infos)} bytes"


def _line(info: EntryInfo) -> str:
    used = time.strftime("%Y-%m-%d %H:%M", time.localtime(info.used)) if info.used else "this process"
    about = " ".join(f"{name}={value}" for name, value in sorted(info.meta.items()) if name != "parts" and value)
    return f"{info.key}  {info.kind:<7} {info.size:>9}  {used}  {info.fault or about}".rstrip()


def _verify(console: Console, cache: Cache, as_json: bool) -> int:
    faults = cache.verify()
    damaged = sum(info.kind != "leftover" for info in faults)
    if as_json:
        _write_json(faults)
        return 1 if damaged else 0
    for info in faults:
        _say(console, info.fault)
    _say(console, f"{cache.directory}: {_total(cache)}, {damaged} damaged")
    return 1 if damaged else 0


# Explaining


def _explain(console: Console, cache: Cache, subject: str | None, last: bool, trust: bool) -> int:
    if last:
        return _explain_last(console, cache)
    if subject is None:
        return _refuse("the key of an entry is needed, or a file, or --last; `treadle cache list` shows the keys")
    if _KEY.fullmatch(subject):
        _say(console, cache.explain(subject))
        entry = next((info for info in cache.list() if info.key == subject and "parts" in info.meta), None)
        if entry is not None:
            _show_parts(console, _parts(entry))
        return 0
    if not trust:
        return _refuse(
            f"{subject!r} is no key. A file of a pickled function is read with --trust only: loading it may run any "
            "code in it"
        )
    try:
        return _explain_file(console, cache, Path(subject))
    except Exception as error:  # noqa: BLE001 - a file may hold anything, and what is loaded raise anything
        return _refuse(f"{subject} is neither a key nor the file of a pickled function: {error}")


def _explain_last(console: Console, cache: Cache) -> int:
    try:
        about = json.loads((cache.directory / LAST_LOOKUP).read_text("utf-8"))
    except (OSError, ValueError):
        return _refuse(f"no process has looked a function up in {cache.directory} so far")
    function = f" ({about['function']})" if about.get("function") else ""
    reason = f": {about['reason']}" if about.get("reason") else ""
    _say(console, f"the last function{function}: {_OUTCOMES.get(about.get('outcome', ''), 'unknown')}{reason}")
    if "key" in about:
        _say(console, f"key {about['key']}")
        _compare(console, cache, about["key"], about["parts"])
    return 0


_OUTCOMES = {
    "hit": "a hit, its program was loaded from the cache",
    "shared": "its program is that of another function of the process",
    "made": "a miss, its program was made and kept",
    "miss": "a miss, since the entry could not be used",
    "not kept": "not kept in the cache",
}


def _explain_file(console: Console, cache: Cache, file: Path) -> int:
    with file.open("rb") as opened:
        loaded = _MakerReader(opened).load()
    items = loaded if isinstance(loaded, list | tuple) else [loaded]
    makers = [maker for maker in (getattr(x, "maker", x) for x in items) if isinstance(maker, FunctionMaker)]
    if not makers:
        return _refuse(f"{file} holds no function")
    for maker in makers:
        with config.using(maker.options):
            try:
                key = key_of(maker)
            except UndigestibleError as error:
                _say(console, f"{maker.name or 'function'}: {error}")
                continue
        _say(console, f"{maker.name or 'function'}: key {key.text}")
        _say(console, cache.explain(key.text))
        _compare(console, cache, key.text, key.parts)
    return 0


class _MakerReader(pickle.Unpickler):
    """Loads pickled functions as their makers, which compiles nothing."""

    _begun = False

    def find_class(self, module: str, name: str) -> Any:
        """Return what a pickle names; in place of what restores a function, a function that returns its maker.

        The pickle of a function, or of several, names that first: nothing of another pickle is run.
        """
        if module == "treadle.compile.functions.function" and name == "_restore":
            self._begun = True
            return lambda maker, *_: maker
        if not self._begun:
            msg = f"it begins with {module}.{name}"
            raise pickle.UnpicklingError(msg)
        return super().find_class(module, name)


def _parts(info: EntryInfo) -> dict[str, str]:
    parts: dict[str, str] = json.loads(info.meta["parts"])
    return parts


def _compare(console: Console, cache: Cache, key: str, parts: Mapping[str, str]) -> None:
    """Print in which parts the key differs from the nearest other entry, and all parts."""
    entries = [info for info in cache.list() if info.key != key and "parts" in info.meta]
    if entries:
        nearest = min(entries, key=lambda info: _distance(parts, _parts(info)))
        nearest_parts = _parts(nearest)
        different = _different(parts, nearest_parts)
        _say(console, f"the nearest other entry is {nearest.key}, which differs in {len(different)} parts:")
        for name in different[:_MOST_SHOWN]:
            _say(console, f"  {name}: {_short(nearest_parts.get(name))} there, {_short(parts.get(name))} here")
    else:
        _say(console, "there is no other entry to compare with")
    _show_parts(console, parts)


def _different(parts: Mapping[str, str], others: Mapping[str, str]) -> list[str]:
    return [name for name in sorted({*parts, *others}) if parts.get(name) != others.get(name)]


def _distance(parts: Mapping[str, str], others: Mapping[str, str]) -> tuple[bool, int]:
    """Return how far apart two keys are: those of one graph are nearer than any others."""
    return parts.get("graph") != others.get("graph"), len(_different(parts, others))


def _short(value: str | None) -> str:
    if value is None:
        return "nothing"
    text = " ".join(value.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _show_parts(console: Console, parts: Mapping[str, str]) -> None:
    _say(console, "the key is made of:")
    for name, value in sorted(parts.items()):
        _say(console, f"  {name}: {_short(value)}")
