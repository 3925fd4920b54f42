"""Prebuilt helpers and libraries are used where they fit; whatever does not is compiled as if it were not there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.cache import digest
from treadle.config import config
from treadle.link.c import linking
from treadle.link.c.runtime import Library
from treadle.link.c.support import prebuilt as module
from treadle.link.c.support.levels import LEVELS, processor_level
from treadle.link.c.support.libraries import SupportLibraries
from treadle.link.c.support.library_sources import EXTENSION_LIBRARY, POOL_LIBRARY
from treadle.link.c.support.prebuilt import INDEX, MANIFEST, Prebuilt, library_key
from treadle.link.c.toolchain import Toolchain, find_toolchain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Commands = list[list[str]]
    Link = Callable[[Sequence[Any], Sequence[Any]], Any]

PROGRAM = """
import numpy as np
import treadle.tensor as tt
from treadle.compile import function

x = tt.dvector("x")
f = function([x], x * 2, mode="C")
print(type(f.__call__).__name__, f(np.arange(3.0)))
"""
LIBRARIES = (POOL_LIBRARY, EXTENSION_LIBRARY)


def archives(commands: Commands) -> set[str]:
    """Return the archives that were linked, as LEVEL/NAME."""
    names = [Path(part) for command in commands for part in command if part.endswith(".a")]
    return {f"{name.parent.name}/{name.name}" for name in names}


def compiled(commands: Commands) -> int:
    """Return how many objects of helpers were compiled."""
    return sum("/support/" in command[command.index("-o") + 1] for command in commands)


def doubled(link: Link) -> Any:
    x = tt.dvector("x")
    result = link([x], [x * 2])(np.arange(3.0))[0]
    assert result.tolist() == [0, 2, 4]
    return result


def toolchain_here() -> Toolchain:
    toolchain = find_toolchain()
    assert isinstance(toolchain, Toolchain)
    return toolchain


def test_first_process_compiles_its_program_alone_and_calls_by_the_extension(folder: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    about = site / "ready-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "ready.py").write_text(f"FOLDER = {str(folder)!r}\n")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: ready\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[treadle.link.c.prebuilt]\nready = ready:FOLDER\n")
    place = tmp_path / "compiled"
    flags = f"base_compiledir={place},compiler_verbose=True"
    path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    env = {**os.environ, "TREADLE_FLAGS": flags, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "Caller [0. 2. 4.]\n"
    (command,) = done.stderr.splitlines()
    assert str(folder / processor_level()) in command
    assert not list(place.rglob("support/*/*"))


@pytest.mark.usefixtures("prebuilt")
def test_helpers_that_are_not_there_are_compiled_beside_those_that_are(link: Link, commands: Commands) -> None:
    x = tt.dvector("x")
    doubled(link)
    assert compiled(commands) == 0
    assert len(archives(commands)) == 1
    commands.clear()
    summed, most = link([x], [tt.cumsum(x * 2), tt.argmax(x)])(np.arange(3.0))
    assert (summed.tolist(), int(most)) == ([0, 2, 6], 2)
    assert compiled(commands) == 1
    assert len(archives(commands)) == 1


def test_program_with_helpers_of_the_lowest_level_gives_the_same_bits(
    prebuilt: Prebuilt, link: Link, commands: Commands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    x, m = tt.dvector("x"), tt.dmatrix("m")
    rng = np.random.default_rng(3)
    values = rng.normal(size=(50, 30)), rng.normal(size=30)
    results = []
    lowest = LEVELS[os.uname().machine][-1].name
    for name, level in (("own", processor_level()), ("lowest", lowest), ("none", "")):
        monkeypatch.setattr(module, "processor_level", lambda level=level: level)
        commands.clear()
        with config.change_flags(base_compiledir=str(tmp_path / name)):
            results.append(link([m, x], [(m * x).sum(axis=1), tt.dot(m, x), x * 2])(*values))
        assert archives(commands) == ({f"{level}/0.a"} if level else set())
        assert compiled(commands) == (0 if level else 1)
    assert prebuilt.folders
    for result in results[1:]:
        assert all(a.tobytes() == b.tobytes() for a, b in zip(results[0], result, strict=True))


@pytest.mark.usefixtures("prebuilt")
def test_helper_with_another_text_is_compiled(link: Link, commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    find = Library.find

    def changed(self: Library, name: str) -> tuple[str, str] | None:
        found = find(self, name)
        return found and (found[0], found[1].replace("{\n", "{\n  /* newer */\n", 1))

    monkeypatch.setattr(Library, "find", changed)
    monkeypatch.setattr(linking, "_library", linking._library.__wrapped__)
    doubled(link)
    assert archives(commands) == set()
    assert compiled(commands) == 1


@pytest.mark.usefixtures("prebuilt")
@pytest.mark.parametrize(
    "flags",
    [
        {"gcc__cxxflags": "-O2"},
        {"gcc__cxxflags": "-march=x86-64-v3" if os.uname().machine == "x86_64" else "-march=armv8.1-a"},
        {"cmodule__debug": True},
        {"cmodule__remove_gxx_opt": True},
        {"c__support_libraries": False},
    ],
    ids=str,
)
def test_other_options_use_nothing_prebuilt(link: Link, commands: Commands, flags: dict[str, object]) -> None:
    with config.change_flags(**flags):
        doubled(link)
    assert archives(commands) == set()
    assert compiled(commands) == 1


@pytest.mark.usefixtures("prebuilt")
@pytest.mark.parametrize("library", ["glibc 2.1", "musl 9.0", ""])
def test_what_was_built_with_a_newer_c_library_is_not_used(
    link: Link, commands: Commands, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setattr(module, "c_library", lambda: library)
    doubled(link)
    assert archives(commands) == set()


def test_libraries_for_another_python_or_numpy_are_not_found(prebuilt: Prebuilt) -> None:
    assert all(prebuilt.library(library_key(source.text, source.interfaces)) for source in LIBRARIES)
    python, numpy = EXTENSION_LIBRARY.interfaces
    for interfaces in ((".cpython-39-x86_64-linux-gnu.so", numpy), (python, "NumPy 1")):
        assert prebuilt.library(library_key(EXTENSION_LIBRARY.text, interfaces)) is None
    assert prebuilt.library(library_key(POOL_LIBRARY.text + " ", ())) is None


# Damaged files


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def _turn(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def _remove(file: Path) -> None:
    file.unlink()


def _replace(file: Path) -> None:
    file.write_text('{"format": 1, "levels": 3, "0.a": []}')


@pytest.mark.usefixtures("prebuilt")
@pytest.mark.parametrize("harm", [_cut, _turn, _remove, _replace], ids=lambda f: f.__name__)
def test_damaged_archive_is_ignored(link: Link, commands: Commands, folder: Path, harm: Callable[[Path], None]) -> None:
    harm(folder / processor_level() / "0.a")
    doubled(link)
    assert archives(commands) == set()
    assert compiled(commands) == 1


@pytest.mark.usefixtures("prebuilt")
@pytest.mark.parametrize("harm", [_cut, _remove, _replace], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", [MANIFEST, INDEX])
def test_damaged_list_is_ignored(
    link: Link, commands: Commands, folder: Path, harm: Callable[[Path], None], name: str
) -> None:
    harm(folder / name if name == MANIFEST else folder / processor_level() / name)
    doubled(link)
    assert archives(commands) == set()


@pytest.mark.parametrize("harm", [_cut, _turn, _remove], ids=lambda f: f.__name__)
def test_damaged_library_is_compiled_instead(
    prebuilt: Prebuilt, folder: Path, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    for file in folder.glob("*.so"):
        harm(file)
    assert prebuilt.folders
    support = SupportLibraries()
    with config.change_flags(base_compiledir=str(tmp_path / "compiled")):
        support.begin(toolchain_here())
        assert support.wait(60)
    assert support.extension is not None
    assert str(support.extension.__file__).startswith(str(tmp_path / "compiled"))


@pytest.mark.usefixtures("prebuilt")
def test_library_that_cannot_be_loaded_is_compiled_instead(folder: Path, tmp_path: Path) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    for about in manifest["libraries"].values():
        (folder / about["file"]).write_bytes(b"not a library")
        about["digest"] = digest(b"not a library")
    (folder / MANIFEST).write_text(json.dumps(manifest))
    support = SupportLibraries()
    with config.change_flags(base_compiledir=str(tmp_path / "compiled")):
        support.begin(toolchain_here())
        assert support.wait(60)
    assert support.extension is not None


def test_archive_that_the_linker_does_not_take_is_left_aside(
    prebuilt: Prebuilt, link: Link, commands: Commands, folder: Path
) -> None:
    index = folder / processor_level() / INDEX
    archives_listed = json.loads(index.read_text())
    (folder / processor_level() / "0.a").write_bytes(b"an archive of another kind")
    archives_listed["0.a"]["digest"] = digest(b"an archive of another kind")
    index.write_text(json.dumps(archives_listed))
    doubled(link)
    assert archives(commands) == {f"{processor_level()}/0.a"}
    commands.clear()
    x = tt.dvector("x")
    assert link([x], [x - 3])(np.ones(1))[0].tolist() == [-2]
    assert compiled(commands) == 0
    assert archives(commands) == set()
    assert commands
    assert "the linker" in prebuilt.about(toolchain_here())


def test_error_of_the_users_flags_is_told_and_does_not_turn_archives_away(
    prebuilt: Prebuilt, link: Link, commands: Commands
) -> None:
    with config.change_flags(blas__ldflags="-lno_such_library_at_all"), pytest.raises(Exception, match="no_such"):
        doubled(link)
    commands.clear()
    doubled(link)
    assert len(archives(commands)) == 1
    assert prebuilt.folders


# Threads, words


@pytest.mark.usefixtures("prebuilt")
def test_threads_link_at_the_same_time(link: Link, commands: Commands) -> None:
    wrong: list[object] = []
    barrier = threading.Barrier(4)

    def work(k: int) -> None:
        x = tt.dvector("x")
        barrier.wait()
        result = link([x], [(x + 1, x - 1, x / 2, x * x)[k]])(np.full(2, 4.0))[0].tolist()
        if result != [(5, 3, 2, 16)[k]] * 2:
            wrong.append(result)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert compiled(commands) == 0


@pytest.mark.usefixtures("prebuilt")
def test_forked_child_links_with_what_its_parent_has_read(link: Link, commands: Commands) -> None:
    doubled(link)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            commands.clear()
            x = tt.dvector("x")
            right = link([x], [x - 7])(np.ones(1))[0].tolist() == [-6]
            status = 0 if right and len(archives(commands)) == 1 and compiled(commands) == 0 else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_words_say_what_there_is_and_whether_it_is_used(
    prebuilt: Prebuilt, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolchain = toolchain_here()
    index = json.loads((folder / processor_level() / INDEX).read_text())
    count = sum(len(each["helpers"]) for each in index.values())
    assert prebuilt.about(toolchain) == f"{count} helper functions for {processor_level()} from a-distribution"
    assert "these flags" in prebuilt.about(toolchain.extended(["-O3"], ()))
    with config.change_flags(c__support_libraries=False):
        assert "turned off by option c__support_libraries" in prebuilt.about(toolchain)
    assert Prebuilt(list).about(toolchain) == "nothing is installed"
    monkeypatch.setattr(module, "c_library", lambda: "glibc 2.1")
    assert "another system or C library" in Prebuilt(lambda: [module.Folder(folder)]).about(toolchain)


def test_package_of_a_checkout_brings_nothing() -> None:
    from treadle.link.c_support import FOLDER

    assert FOLDER.parent.is_dir()
    assert module.Folder(FOLDER).manifest == {} or (FOLDER / MANIFEST).exists()
