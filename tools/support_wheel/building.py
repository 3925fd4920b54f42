"""Compiling helper functions and support libraries into a folder that the C backend can use, anywhere."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tools.support_wheel.collecting import PLAIN, plain_toolchain
from treadle.cache import digest
from treadle.config import config
from treadle.link.c.support.levels import BASELINES, LEVELS
from treadle.link.c.support.library_sources import EXTENSION_LIBRARY, POOL_LIBRARY, SUFFIX
from treadle.link.c.support.prebuilt import FORMAT, INDEX, MANIFEST, at_level, helper_key, library_key, system
from treadle.link.c.toolchain import c_library

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.support_wheel.collecting import Helpers
    from treadle.link.c.support.library_sources import LibrarySource
    from treadle.link.c.toolchain import Toolchain


class BuildError(Exception):
    """The folder cannot be built; the message is a sentence for the user."""


def levels_here() -> list[str]:
    """Return the names of the levels of this kind of machine.

    Raises
    ------
    BuildError
        If there are none for it.
    """
    machine = platform.machine()
    if machine not in LEVELS:
        msg = f"support wheel: there are no levels for {machine}; there are some for {', '.join(LEVELS)}."
        raise BuildError(msg)
    return [level.name for level in LEVELS[machine]]


def build(folder: Path, helpers: Helpers, levels: Sequence[str]) -> None:
    """Write both support libraries, the helpers for each level, and the manifest into an empty folder.

    Raises
    ------
    BuildError
        If archives call functions that the C library lacks.
    CompileError
        If the compiler does not take a text.
    """
    with config.change_flags(**PLAIN):
        toolchain = plain_toolchain()
        libraries = {}
        for source in (POOL_LIBRARY, EXTENSION_LIBRARY):
            file = _library(folder, source, toolchain)
            about = {"file": file.name, "digest": digest(file.read_bytes())}
            libraries[library_key(source.text, source.interfaces)] = about
        flags = {}
        for level in levels:
            flags[level] = at_level(toolchain, level)
            _level(folder / level, helpers, replace(toolchain, flags=flags[level]))
    manifest = {
        "format": FORMAT,
        "system": system(),
        "c_library": c_library(),
        "libraries": libraries,
        "levels": flags,
    }
    _write(folder / MANIFEST, manifest)


def _library(folder: Path, source: LibrarySource, toolchain: Toolchain) -> Path:
    """Compile a support library."""
    chosen = source.toolchain(toolchain)
    flags = ("-shared", *at_level(chosen, BASELINES[platform.machine()]))
    text, file = folder / f"{source.name}.c", folder / f"{source.name}{SUFFIX}"
    text.write_text(source.text, encoding="utf-8")
    replace(chosen, flags=flags).compile(text, file)
    text.unlink()
    return file


def _level(folder: Path, helpers: Helpers, toolchain: Toolchain) -> None:
    """Compile the helpers with flags for a level, an archive for each text in front of them; write their index."""
    folder.mkdir()
    index = {}
    with TemporaryDirectory() as place, ThreadPoolExecutor(len(os.sched_getaffinity(0))) as workers:
        for number, texts in enumerate(helpers.texts.values()):
            archive = folder / f"{number}.a"
            objects = [Path(place) / f"{number}_{name}.o" for name in texts]

            def compile_(item: tuple[Path, str]) -> None:
                file, text = item
                source = file.with_suffix(".c")
                source.write_text(text, encoding="utf-8")
                toolchain.compile_object(source, file, keep=False)

            list(workers.map(compile_, zip(objects, texts.values(), strict=True)))
            # Without times and owners: the same helpers make the same file.
            _run(_archiver(), "rcsD", archive, *objects)
            _check(archive, toolchain, Path(place))
            keys = sorted(map(helper_key, texts.values()))
            index[archive.name] = {"digest": digest(archive.read_bytes()), "helpers": keys}
    _write(folder / INDEX, index)


def _check(archive: Path, toolchain: Toolchain, place: Path) -> None:
    """See whether programs with all of an archive's objects could be loaded: nothing that they call is missing."""
    whole = ("-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", "-Wl,--no-undefined")
    _run(toolchain.driver, "-shared", "-nostdlib", *whole, *toolchain.libraries, "-lc", "-o", place / "whole.so")


def _archiver() -> str:
    found = shutil.which("ar")
    if found is None:
        msg = "support wheel: there is no ar, which makes archives of objects. Install binutils."
        raise BuildError(msg)
    return found


def _run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr).strip()[-2000:]
        msg = f"support wheel: {' '.join(map(str, command[:4]))} ... failed: {said}"
        raise BuildError(msg)


def _write(file: Path, content: object) -> None:
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
