"""Every call of the file system fails once, and from some call on for good, whatever the directory held before.

The long form is run by hand, with the environment variables TREADLE_FAULTS (how many) and TREADLE_SEED.
"""

import os
import random
import shutil
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import treadle.tensor as tt
from tests.cache.injecting import ERRORS, Injector
from treadle.cache import Cache, digest
from treadle.compile import function
from treadle.compile.stored.programs import FUNCTIONS
from treadle.config import config

KEY = digest("some", b"parts")
PAYLOAD = bytes(range(256)) * 8
STARTS = ("cold", "warm", "damaged", "concurrent")


def write_file(path: Path) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT), "wb") as file:
        file.write(PAYLOAD)


def use(folder: Path) -> None:
    """Use every operation of a cache; fail if something is wrong."""
    cache = Cache(folder, wait=0.01, timeout=5)
    assert cache.get_or_create(KEY, lambda: PAYLOAD) == PAYLOAD
    assert cache.get(KEY) in {PAYLOAD, None}  # a kept file may be unreadable
    path = cache.materialise(KEY, ".so", write_file)
    assert path.name.startswith(KEY)
    cache.note("last-lookup.json", b"{}")
    for action in (cache.list, cache.verify, lambda: cache.guest("inductor"), cache.clear, cache.purge):
        action()


def use_concurrently(folder: Path) -> None:
    """Use a cache while a thread does; the thread's warnings count as well."""
    other = threading.Thread(target=Cache(folder).get_or_create, args=(KEY, lambda: PAYLOAD))
    other.start()
    use(folder)
    other.join()


def damage(folder: Path, chance: random.Random) -> None:
    """Cut, change, lengthen, remove or exchange some files."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = bytearray(path.read_bytes())
        kind = chance.randrange(7)
        if kind == 0:
            del data[chance.randrange(len(data) + 1) :]
        elif kind == 1 and data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        elif kind == 2:
            data += chance.randbytes(chance.randrange(1, 100))
        elif kind == 3:
            data[:] = chance.randbytes(chance.randrange(300))
        path.unlink()
        if kind < 5:
            path.write_bytes(data)
        elif kind == 5:
            path.mkdir()


def began(folder: Path, start: str, filled: Path, chance: random.Random) -> Path:
    """Make a directory as it is when a process starts."""
    shutil.rmtree(folder, ignore_errors=True)
    if start != "cold":
        shutil.copytree(filled, folder)
    if start == "damaged":
        damage(folder, chance)
    return folder


def checked(work: Callable[[], None], injector: Injector, told_at_most: int = 1) -> int:
    """Run something under faults; return how many there were."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with injector.installed():
            work()
    assert len(caught) <= told_at_most, [str(warning.message) for warning in caught]
    return injector.faults


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    cache = Cache(tmp_path / "filled")
    cache.put(KEY, PAYLOAD)
    cache.materialise(KEY, ".so", write_file)
    return tmp_path / "filled"


def faults(folder: Path, filled: Path, chance: random.Random, steps: range) -> Iterator[int]:
    """Yield the number of faults of each run."""
    for start in STARTS:
        for lasting in (False, True):
            for error in ERRORS:
                for at in steps:
                    place = began(folder / "cache", start, filled, chance)
                    injector = Injector(place, at, error, lasting=lasting)
                    concurrent = start == "concurrent"
                    work = use_concurrently if concurrent else use
                    if concurrent:
                        shutil.rmtree(place)
                    count = checked(lambda place=place, work=work: work(place), injector, 2 if concurrent else 1)  # type: ignore[misc]
                    yield count
                    if not count:
                        break


def test_every_call_that_fails_costs_at_most_a_warning(tmp_path: Path, filled: Path) -> None:
    chance = random.Random(1)
    assert sum(faults(tmp_path, filled, chance, range(1, 200, 23))) > 200


@pytest.mark.slow
def test_thousands_of_failing_calls(tmp_path: Path, filled: Path) -> None:
    chance = random.Random(int(os.environ.get("TREADLE_SEED", "1")))
    wanted, total = int(os.environ.get("TREADLE_FAULTS", "2000")), 0
    while total < wanted:
        first = chance.randrange(1, 8)
        total += sum(faults(tmp_path, filled, chance, range(first, 400, chance.randrange(1, 12))))
    print(f"{total} faults")  # noqa: T201 - the count is what the long form is run for


def make_function(folder: Path) -> None:
    FUNCTIONS.forget()
    with config.change_flags(compiledir=str(folder)):
        x = tt.dvector("x")
        assert np.array_equal(function([x], x * 2 + 1, mode="VM")(np.arange(3.0)), [1, 3, 5])


@pytest.mark.parametrize("start", ["cold", "warm", "damaged"])
def test_function_is_right_whichever_call_fails(tmp_path: Path, start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from treadle.cache import cache as cache_module

    make_function(tmp_path / "filled")
    chance = random.Random(2)
    for at in range(1, 60, 7):
        for error in ERRORS:
            # As in a new process, which has no cache object yet.
            monkeypatch.setattr(cache_module, "_CACHES", cache_module._CachesByDirectory())
            place = began(tmp_path / "cache", start, tmp_path / "filled", chance)
            injector = Injector(place, at, error, lasting=bool(at % 2))
            checked(lambda place=place: make_function(place), injector)  # type: ignore[misc]
