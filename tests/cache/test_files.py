"""Results that have to be files: shared libraries, generated modules."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from treadle.cache import Cache, CacheWarning, digest

KEY = digest("file")


def writer(text: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_text(text)

    return make


def never(path: Path) -> None:
    pytest.fail(f"made again at {path}")


def test_file_is_made_once_with_its_suffix(cache: Cache) -> None:
    path = cache.materialise(KEY, ".so", writer("code"))
    assert (path.read_text(), path.suffix) == ("code", ".so")
    assert cache.materialise(KEY, ".so", never) == path
    assert Cache(cache.directory).materialise(KEY, ".so", never) == path
    assert (cache.statistics.made, cache.statistics.hits, cache.statistics.misses) == (1, 1, 1)


def test_one_key_has_a_file_of_each_suffix(cache: Cache) -> None:
    names = {cache.materialise(KEY, suffix, writer(suffix)).read_text() for suffix in (".py", ".x.py", ".so")}
    assert names == {".py", ".x.py", ".so"}
    assert cache.materialise(KEY, ".py", never).read_text() == ".py"
    assert sorted(info.kind for info in cache.list()) == [".py", ".so", ".x.py"]


def test_file_that_was_changed_is_made_again(cache: Cache) -> None:
    cache.materialise(KEY, ".so", writer("code")).write_text("c0de")
    path = cache.materialise(KEY, ".so", writer("code"))
    assert path.read_text() == "code"
    assert cache.statistics.made == 2


def test_files_beside_the_made_one_are_thrown_away(cache: Cache) -> None:
    def make(path: Path) -> None:
        path.with_suffix(".o").write_text("object")
        path.write_text("library")

    path = cache.materialise(KEY, ".so", make)
    assert sorted(other.name for other in cache.directory.rglob("*") if other.is_file()) == sorted((path.name, "size"))


def test_make_that_writes_nothing_is_an_error_and_leaves_nothing(cache: Cache) -> None:
    with pytest.raises(FileNotFoundError):
        cache.materialise(KEY, ".so", lambda _: None)
    assert [path for path in cache.directory.rglob("*") if path.is_file()] == []
    assert cache.materialise(KEY, ".so", writer("code")).exists()


def test_temporary_files_are_removed_at_exit(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    program = (
        "from treadle.cache import Cache, digest\n"
        f"cache = Cache({str(tmp_path / 'file')!r})\n"
        "path = cache.materialise(digest('x'), '.txt', lambda path: path.touch())\n"
        "assert path.exists()\n"
        "print(path)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith(".txt")
    assert not Path(done.stdout.strip()).parent.exists()


def test_without_a_directory_files_are_temporary_and_private(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = Cache(tmp_path / "file")
    with pytest.warns(CacheWarning):
        path = cache.materialise(KEY, ".so", writer("code"))
    assert cache.materialise(KEY, ".so", never) == path
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_file_that_cannot_be_kept_is_temporary(cache: Cache) -> None:
    assert cache.persistent
    (cache.directory / KEY[:2]).write_text("in the way of the folder")
    with pytest.warns(CacheWarning, match="cannot be used"):
        path = cache.materialise(KEY, ".so", writer("code"))
    assert path.read_text() == "code"
    assert cache.materialise(KEY, ".so", never) == path


def test_files_are_evicted_with_the_entries(tmp_path: Path) -> None:
    import os

    cache = Cache(tmp_path / "cache", max_bytes=1500)
    old = cache.materialise(KEY, ".so", writer("x" * 1000))
    os.utime(old, (1000, 1000))
    cache.put(digest("new"), bytes(1000))
    assert not old.exists()
    assert cache.statistics.evictions == 1
