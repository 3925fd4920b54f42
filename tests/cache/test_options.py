"""The options of the cache: their defaults, and the age beyond which entries are not used."""

import os
import time
from pathlib import Path

import pytest

from treadle.cache import Cache, digest
from treadle.cache.options import base_directory
from treadle.config import config

KEY = digest("some")
DAY = 24 * 60 * 60


@pytest.mark.documents("P17")
def test_base_directory_follows_the_rules_of_the_system() -> None:
    assert base_directory({"LOCALAPPDATA": "/data"}, windows=True) == Path("/data/Treadle")
    assert base_directory({}, windows=True) == Path("~/.treadle").expanduser()
    assert base_directory({"LOCALAPPDATA": "/data"}, windows=False) == Path("~/.treadle").expanduser()


def aged_entry(cache: Cache, key: str, days: float) -> Path:
    """Make the files of a key look as if they were last used some days ago."""
    for path in (cache.directory / key[:2]).glob(f"{key}*"):
        os.utime(path, (time.time() - days * DAY,) * 2)
    return cache.directory / key[:2] / f"{key}.entry"


def test_entry_beyond_the_age_is_missing_and_made_again(cache: Cache) -> None:
    cache.put(KEY, b"old")
    path = aged_entry(cache, KEY, 23)
    assert cache.get(KEY) == b"old"  # and is younger from now on
    aged_entry(cache, KEY, 25)
    assert cache.get(KEY) is None
    assert path.exists()
    assert cache.get_or_create(KEY, lambda: b"new") == b"new"
    assert cache.get(KEY) == b"new"


def test_age_is_that_of_the_option(cache: Cache) -> None:
    cache.put(KEY, b"x")
    aged_entry(cache, KEY, 2)
    with config.change_flags(cmodule__age_thresh_use=DAY):
        assert cache.get(KEY) is None
    assert cache.get(KEY) == b"x"


def test_materialised_file_beyond_the_age_is_made_again(cache: Cache) -> None:
    written: list[Path] = []

    def make(path: Path) -> None:
        written.append(path)
        path.write_bytes(b"code")

    cache.materialise(KEY, ".so", make)
    cache.materialise(KEY, ".so", make)
    assert len(written) == 1
    aged_entry(cache, KEY, 25)
    cache.materialise(KEY, ".so", make)
    assert len(written) == 2


def test_entries_a_week_beyond_the_age_are_removed_by_the_first_write_of_a_day(cache: Cache) -> None:
    kept, removed = digest("kept"), digest("removed")
    cache.put(kept, b"x")
    cache.put(removed, b"x")
    places = aged_entry(cache, kept, 30), aged_entry(cache, removed, 32)
    (cache.directory / "size").write_text(f"2 {time.time() - DAY - 1:.0f}\n")
    later = Cache(cache.directory)
    later.put(KEY, b"x")
    assert [place.exists() for place in places] == [True, False]
    assert later.statistics.evictions == 1
