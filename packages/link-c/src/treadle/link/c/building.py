"""Building the library of a program: its text is compiled, in shares where that pays, and helpers are linked to it."""

from __future__ import annotations

import contextvars
import threading
from typing import TYPE_CHECKING

from treadle.config import span
from treadle.link.c.errors import CompileError, HelperError
from treadle.link.c.objects import OBJECTS
from treadle.link.c.support.prebuilt import PREBUILT
from treadle.link.c.text.division import MACRO, RUNS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from treadle.link.c.objects import Source
    from treadle.link.c.toolchain import Toolchain


def program_key(toolchain: Toolchain, chosen: Toolchain, source: Source) -> str:
    """Return the cache key of a program's library."""
    return chosen.key("\n".join([source.text, *OBJECTS.keys(toolchain, source)]))


def program_library(toolchain: Toolchain, chosen: Toolchain, source: Source) -> Path:
    """Return a program's library, from the cache or newly compiled.

    The `toolchain` compiles helpers; the `chosen` one, which may have more flags, compiles what is the program's own.

    Raises
    ------
    CompileError
        If the compiler does not take it; `HelperError` for helpers.
    """

    def build(file: Path, target: Path) -> None:
        archives = PREBUILT.archives(toolchain, source.helpers, lambda name: source.object_text([name]))
        try:
            _build(toolchain, chosen, source, file, target, archives)
        except CompileError as error:
            if not archives or not error.at_linking:
                raise
            # It may be the archives, whose objects are another compiler's, that this linker does not take.
            _build(toolchain, chosen, source, file, target, {})
            PREBUILT.refuse_archives()

    return chosen.kept(program_key(toolchain, chosen, source), source.text, build)


def _build(
    toolchain: Toolchain, chosen: Toolchain, source: Source, file: Path, target: Path, archives: Mapping[str, Path]
) -> None:
    """Build a library from the file with a program's text; archives are given by the names of helpers in them."""
    objects, missing = OBJECTS.find(toolchain, source, archives)
    # Of an archive the linker takes what the objects before it lack.
    last = dict.fromkeys(archives.values())
    divided = MACRO in source.text
    if not divided and not missing:
        chosen.compile(file, target, *objects, *last)
        return
    with span("compiler"):
        objects += _compile_at_once(toolchain, chosen, source, file, RUNS if divided else 1, missing)
        chosen.link(file, target, [*dict.fromkeys(objects), *last])


def _compile_at_once(
    toolchain: Toolchain, chosen: Toolchain, source: Source, file: Path, shares: int, missing: Sequence[str]
) -> list[Path]:
    """Compile a program's shares, and the helpers that no object has, by parallel runs; return the objects."""
    objects = [file.with_suffix(f".{share}.o") for share in range(shares)]

    def share_of(share: int) -> Callable[[], None]:
        macros = [f"-D{MACRO}={share}"] if shares > 1 else []
        return lambda: chosen.compile_object(file, objects[share], *macros)

    tasks = [share_of(share) for share in range(shares)]
    if missing:
        tasks.append(lambda: objects.extend(OBJECTS.supply(toolchain, source, missing)))
    failures: list[BaseException] = []

    def run(task: Callable[[], None]) -> None:
        try:
            task()
        except BaseException as error:  # noqa: BLE001 - raised below, in the thread that asked
            failures.append(error)

    further = [threading.Thread(target=contextvars.copy_context().run, args=(run, task)) for task in tasks[1:]]
    for thread in further:
        thread.start()
    run(tasks[0])
    for thread in further:
        thread.join()
    if failures:
        raise next((each for each in failures if not isinstance(each, HelperError)), failures[0])
    return objects
