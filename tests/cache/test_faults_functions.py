"""Faults while functions go through the cache: kills, races, damage, failing compilers."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.cache.killing import Killer, in_child
from treadle.cache import Cache, default_cache
from treadle.compile import Function, FunctionMaker, function
from treadle.compile.stored import key as cache_key
from treadle.compile.stored.programs import FUNCTIONS, FunctionCache, FunctionCounts
from treadle.config import TreadleError, config

X = np.linspace(-1, 1, 7)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A compile directory of the test's own, with nothing in memory."""
    FUNCTIONS.forget()
    with config.change_flags(base_compiledir=str(tmp_path / "compiled")):
        yield default_cache().directory
    FUNCTIONS.forget()


def make(mode: str = "VM", factor: float = 2.0) -> Function:
    x = tt.dvector("x")
    return function([x], [tt.exp(x) * factor, (x * x).sum()], mode=mode)


def is_right(f: Function, factor: float = 2.0) -> bool:
    first, second = f(X)
    return np.allclose(first, np.exp(X) * factor) and np.allclose(second, (X * X).sum())


def counted(work: Any) -> FunctionCounts:
    """Return what the cache of functions did while something ran."""
    before = FUNCTIONS.counts
    work()
    after = FUNCTIONS.counts
    names = FunctionCounts.__dataclass_fields__
    return FunctionCounts(**{name: getattr(after, name) - getattr(before, name) for name in names})


def entry_in(folder: Path) -> Path:
    """Return the largest entry, which is the function's."""
    return max(folder.rglob("*.entry"), key=lambda path: path.stat().st_size)


@pytest.mark.parametrize("mode", ["VM", pytest.param("C", marks=pytest.mark.slow)])
def test_process_killed_at_any_step_of_keeping_a_function_does_no_harm(folder: Path, mode: str) -> None:
    make(mode)  # so that the children import nothing
    status, steps = -signal.SIGKILL, 0
    while status == -signal.SIGKILL:
        steps += 1
        shutil.rmtree(folder, ignore_errors=True)
        FUNCTIONS.forget()

        def work(step: int = steps) -> bool:
            Killer(folder, step).install()
            return is_right(make(mode))

        status = in_child(work)
        assert is_right(make(mode))
        FUNCTIONS.forget()
        assert counted(lambda: make(mode)).loaded == 1
        assert {info.kind for info in Cache(folder).verify()} <= {"leftover"}
    assert status == 0
    assert steps > 8


RACE = """
import json, os, sys, time
from pathlib import Path
import numpy as np
import treadle.tensor as tt
from treadle.compile import function
from treadle.compile.stored.programs import FUNCTIONS
folder, count = Path(sys.argv[1]), int(sys.argv[2])
x = tt.dvector("x")
# So that what follows is imported, and known which functions on vectors there are.
function([x], tt.tanh(x), mode="C")(np.ones(2))
FUNCTIONS.forget()
before = FUNCTIONS.counts
print(len(list((folder / "compiled").rglob("*.so"))))
children = []
for index in range(count):
    child = os.fork()
    if child == 0:
        (folder / f"ready{index}").touch()
        while not (folder / "go").exists():
            time.sleep(0.0005)
        x, y = tt.dvector("x"), tt.dmatrix("y")
        h = tt.tanh(tt.dot(y, x))
        f = function([x, y], [h, tt.grad(h.sum(), x)], mode="C")
        value = [v.tolist() for v in f(np.arange(3.0), np.ones((2, 3)))]
        after = FUNCTIONS.counts
        told = {"value": value, "made": after.made - before.made, "loaded": after.loaded - before.loaded}
        (folder / f"told{index}").write_text(json.dumps(told))
        os._exit(0)
    children.append(child)
while not all((folder / f"ready{index}").exists() for index in range(count)):
    time.sleep(0.001)
(folder / "go").touch()
assert all(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 for child in children)
"""


@pytest.mark.parametrize("count", [2, 16])
def test_processes_that_make_one_function_at_once_compile_it_once(tmp_path: Path, count: int) -> None:
    flags = f"base_compiledir={tmp_path / 'compiled'},c__support_libraries=False"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RACE, str(tmp_path), str(count)],
        env={**os.environ, "TREADLE_FLAGS": flags},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    reports = [json.loads((tmp_path / f"told{index}").read_text()) for index in range(count)]
    assert sum(t["made"] for t in reports) == 1
    assert sum(t["loaded"] for t in reports) == count - 1
    assert all(t["value"] == reports[0]["value"] for t in reports)
    assert len(list((tmp_path / "compiled").rglob("*.so"))) == int(done.stdout) + 1


@pytest.mark.parametrize("different", [False, True])
def test_threads_that_make_functions_at_once_get_the_right_ones(folder: Path, different: bool) -> None:
    barrier = threading.Barrier(12, timeout=120)
    right: list[bool] = []

    def work(index: int) -> None:
        factor = float(index + 2) if different else 2.0
        barrier.wait()
        with config.change_flags(base_compiledir=str(folder.parent)):
            right.append(is_right(make("CVM", factor), factor))

    def all_of_them() -> None:
        threads = [threading.Thread(target=work, args=(index,)) for index in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    counts = counted(all_of_them)
    assert right == [True] * 12
    assert counts.made == (12 if different else 1)
    assert counts.loaded + counts.shared == (0 if different else 11)


@pytest.mark.parametrize("mode", ["C", "NUMBA", "JAX"])
def test_damaged_entry_of_a_function_is_made_again(folder: Path, mode: str) -> None:
    assert is_right(make(mode))
    entries = list(folder.rglob("*.entry"))
    assert entries
    for path in entries:
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])
    FUNCTIONS.forget()
    counts = counted(lambda: is_right(make(mode)))
    assert (counts.made, counts.loaded) == (1, 0)
    assert is_right(make(mode))


def test_entry_of_a_function_cut_anywhere_is_made_again(folder: Path) -> None:
    make()
    path = entry_in(folder)
    data = path.read_bytes()
    for length in (*range(0, 200, 20), *range(200, len(data), len(data) // 10), len(data) - 1):
        path.write_bytes(data[:length])
        FUNCTIONS.forget()
        assert counted(lambda: is_right(make())).made == 1
    path.write_bytes(data)
    FUNCTIONS.forget()
    assert counted(lambda: is_right(make())).loaded == 1


def test_entry_that_contradicts_its_key_is_made_again(folder: Path) -> None:
    """Its checksum matches: it might have been written by a version that forgot to change its key."""
    make()
    key = entry_in(folder).stem
    for payload in (b"", b"\0" * 8, (3).to_bytes(8, "little") + b"abcdef", (1 << 60).to_bytes(8, "little")):
        default_cache().put(key, payload)
        FUNCTIONS.forget()
        assert counted(lambda: is_right(make())).made == 1


@pytest.mark.parametrize("changed", ["processor", "version of Python", "format"])
def test_entry_of_another_machine_or_version_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    make()
    FUNCTIONS.forget()
    if changed == "processor":
        monkeypatch.setattr(cache_key, "processor", lambda: "another")
    elif changed == "format":
        monkeypatch.setattr(cache_key, "FORMAT", "another")
    else:
        monkeypatch.setattr(sys, "version", "another")
    assert counted(lambda: is_right(make())).made == 1
    assert len(list(folder.rglob("*.entry"))) == 2


def test_directory_removed_between_functions_is_filled_again(folder: Path) -> None:
    assert is_right(make("C"))
    shutil.rmtree(folder)
    assert is_right(make("C"))  # the loaded library is used, though its file is gone
    FUNCTIONS.forget()
    assert counted(lambda: is_right(make("C"))).made == 1
    FUNCTIONS.forget()
    assert counted(lambda: is_right(make("C"))).loaded == 1


JUNK = 'for word; do [ "$before" = -o ] && printf junk > "$word"; before=$word; done; exit 0'


@pytest.mark.parametrize("script", ["exit 1", "kill -9 $$", "sleep 60", "exit 0", JUNK])
def test_after_a_compiler_that_fails_the_function_is_made_by_one_that_works(
    folder: Path, tmp_path: Path, script: str
) -> None:
    broken = tmp_path / "broken cc"
    broken.write_text(f"#!/bin/sh\n{script}\n")
    broken.chmod(0o755)
    with config.change_flags(cxx=str(broken), gcc__timeout=0.5), pytest.raises(TreadleError, match="c: "):
        make("C", 3.5)
    assert is_right(make("C", 3.5), 3.5)
    assert {info.kind for info in Cache(folder).verify()} <= {"leftover"}


@pytest.mark.documents("option:cache__programs")
def test_programs_in_memory_are_bounded(folder: Path) -> None:
    with config.change_flags(cache__programs=2):
        for factor in (1.5, 2.5, 3.5):
            make(factor=factor)
        assert counted(lambda: make(factor=3.5)).shared == 1
        assert counted(lambda: make(factor=1.5)).loaded == 1
    with config.change_flags(cache__programs=0):
        make(factor=4.5)
        assert counted(lambda: make(factor=4.5)).loaded == 1
    del folder


def test_functions_of_equal_graphs_share_a_program_and_keep_their_own_lines_and_state(folder: Path) -> None:
    del folder
    x, z = tt.dvector("x"), tt.dvector("z")
    first = function([x, z], x * z, mode="C")
    a, b = tt.dvector("a"), tt.dvector("b")
    product = a * b  # the second one's line
    second = function([a, b], product, mode="C")
    assert FUNCTIONS.counts.shared
    for f, text in ((first, "function([x, z], x * z"), (second, "the second one's line")):
        with pytest.raises(ValueError, match="broadcast") as caught:
            f(np.ones(2), np.ones(3))
        assert text in str(caught.value)
    assert [v.name for v in second.maker.fgraph.inputs] == ["a", "b"]


def test_subclass_that_links_differently_is_not_loaded_as_its_base_is(folder: Path) -> None:
    """Its programs are its own: those of its base must not take their place."""
    del folder
    from treadle.link.vm import Backend
    from treadle.surface.thunks import VMLinker

    linked = []

    class Own(VMLinker):
        def link(self, fgraph: Any, native_outputs: frozenset[int] = frozenset()) -> Any:
            linked.append(fgraph)
            return super().link(fgraph, native_outputs)

    from treadle.compile import Mode

    mode = Mode(Backend("own", Own), "fast_run")
    x = tt.dvector("x")
    for _ in range(2):
        assert counted(lambda: FunctionMaker([x], [x + 1], mode=mode).create()).unkept == 1
    assert len(linked) == 2


def test_caches_of_functions_do_not_mix_directories(tmp_path: Path) -> None:
    cache = FunctionCache()
    maker = FunctionMaker([x := tt.dvector("x")], [x * 3], mode="VM")
    for name in "ab":
        with config.change_flags(base_compiledir=str(tmp_path / name)):
            cache.find_or_make(maker)
    assert (cache.counts.made, cache.counts.shared) == (2, 0)
