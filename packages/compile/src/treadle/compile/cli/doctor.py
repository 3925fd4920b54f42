"""``treadle doctor``: what is installed, whether it works here, and the cure for what does not."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import tempfile
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rich.table import Table
from rich.text import Text

from treadle.cache import default_cache
from treadle.compile.errors import UnknownNameError
from treadle.compile.functions.facade import function
from treadle.compile.mode.backends import BACKENDS
from treadle.config import EntryPointLoadError, discover, installed_version, usable_processors

if TYPE_CHECKING:
    import argparse
    from argparse import _SubParsersAction
    from collections.abc import Callable, Iterable, Iterator

    from rich.console import Console

    from treadle.compile.cli.parsing import Parser
    from treadle.link.vm import Backend

# Small graphs with known values, as `treadle.tensor.library.self_test` has them.
GROUP = "treadle.self_tests"
# Less room than this on the disk of the compile directory is told.
_ROOM = 1 << 30


class Finding(NamedTuple):
    """What was looked at, how it is, and what is to be said of it."""

    subject: str
    state: Literal["ok", "absent", "fault"]
    text: str


def add_parser(commands: _SubParsersAction[Parser]) -> None:
    """Add the sub-command to a parser's sub-commands."""
    text = "what is installed, whether each backend computes right here, and the cure for what does not"
    doctor = commands.add_parser("doctor", help=text)
    doctor.add_argument("backends", nargs="*", metavar="BACKEND", help="backends to try, all by default")
    doctor.add_argument("--json", action="store_true", help="as JSON, for programs")


def run(console: Console, arguments: argparse.Namespace) -> int:
    """Run the sub-command; return its exit status: 1 if there is a fault.

    Raises
    ------
    UnknownNameError
        If a backend that was asked for is not installed.
    """
    known = BACKENDS.names()
    backends = [name.lower() for name in arguments.backends]
    for name in backends:
        if name not in known:
            msg = f"no backend has the name {name!r}. The installed ones are {', '.join(known)}."
            raise UnknownNameError(msg)
    findings = list(examine(backends or known))
    if arguments.json:
        sys.stdout.write(json.dumps([finding._asdict() for finding in findings], indent=2) + "\n")
    else:
        table = Table("what", "state")
        table.add_column("", overflow="fold")
        for finding in findings:
            table.add_row(finding.subject, finding.state, Text(finding.text))
        console.print(table)
    return 1 if any(finding.state == "fault" for finding in findings) else 0


def examine(backends: Iterable[str]) -> Iterator[Finding]:
    """Yield what is found of the machine, the compile directory and backends."""
    versions = ", ".join(f"{name} {installed_version(name)}" for name in ("numpy", "scipy"))
    yield Finding("Python", "ok", f"{platform.python_version()}, {versions}, {platform.machine()} {sys.platform}")
    yield _processors()
    yield from _cache()
    for name in backends:
        yield _backend(name)


def _processors() -> Finding:
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    limits = [f"{name}={os.environ[name]}" for name in names if name in os.environ]
    return Finding("processors", "ok", ", ".join([f"{usable_processors()} usable of {os.cpu_count()}", *limits]))


def _cache() -> Iterator[Finding]:
    """Yield whether compiled programs can be kept, and whether those that are kept are undamaged."""
    cache = default_cache()
    subject = "compile directory"
    try:
        cache.directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache.directory):
            room = shutil.disk_usage(cache.directory).free
    except OSError as error:
        cure = "Set the option base_compiledir to a folder that this user can write"
        yield Finding(subject, "fault", f"{cache.directory} cannot be written ({error.strerror}). {cure}.")
        return
    infos = cache.list()
    text = f"{cache.directory}: {len(infos)} entries, {sum(info.size for info in infos)} bytes"
    if room < _ROOM:
        yield Finding(subject, "fault", f"{text}; {room} bytes are free on its disk. Make room: treadle cache clear.")
        return
    damaged = [info for info in cache.verify() if info.kind != "leftover"]
    if damaged:
        yield Finding(subject, "fault", f"{text}; {len(damaged)} damaged: {damaged[0].fault}. Run treadle cache clear.")
        return
    yield Finding(subject, "ok", text)


def _backend(name: str) -> Finding:
    """Return whether a backend works, by trying it."""
    subject = f"backend {name}"
    try:
        backend = BACKENDS.load(name)
    except EntryPointLoadError as error:
        return Finding(subject, "fault", str(error))
    reason = "it declares nothing." if backend is None else backend.unavailable()
    if backend is None or reason:
        return Finding(subject, "absent", str(reason))
    for test in discover(GROUP).values():
        for case in test.load()():
            fault = _tried(case, name)
            if fault:
                return Finding(subject, "fault", f"{case[0]}: {fault}")
    return Finding(subject, "ok", "; ".join(f"{key}: {value}" for key, value in _about(backend).items()))


def _about(backend: Backend) -> dict[str, str]:
    versions = {library: str(installed_version(library)) for library in backend.libraries}
    return {"mode": backend.name.upper(), **versions, **backend.about()}


def _tried(case: Any, name: str) -> str | None:
    """Return what is wrong with a backend's values of a graph, None if they are right."""
    _, inputs, outputs, values, expected = case
    try:
        compiled: Callable[..., Any] = function(inputs, outputs, mode=name.upper())
        results = compiled(*values)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is wrong
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    for out, result, value in zip(outputs, results, expected, strict=True):
        if not out.type.values_eq_approx(result, out.type.filter(value)):
            return f"got {result}, not {value}"
    return None
