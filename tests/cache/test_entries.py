"""Keys, entries on disk, and what counts as a miss."""

import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from treadle.cache import Cache, CacheFormatError, CacheKeyError, CacheWarning, Statistics, default_cache, digest, store
from treadle.cache import directory as directory_module
from treadle.cache.entry import VERSION, pack, unpack
from treadle.cache.survey import Seen, SizeNote, survey
from treadle.config import OptionValueError, config

KEY = digest("some", b"parts")
OTHER = digest("other")


def entry_file(cache: Cache, key: str = KEY) -> Path:
    return cache.directory / key[:2] / f"{key}.entry"


def test_digest_tells_sequences_apart() -> None:
    sequences = [("ab",), ("a", "b"), (b"ab",), ("", "ab"), ("ab", ""), (), (b"",), ("",)]
    assert len({digest(*parts) for parts in sequences}) == len(sequences)


def test_digest_is_the_same_in_every_process() -> None:
    assert digest("a", b"b") == "290431972a7ef503f73a27711576973f6e5c3fc19d3f7dc2686d3d2e237b4ea3"


@pytest.mark.parametrize("key", ["", "../../etc", "A" * 64, "a" * 63, KEY + "\n"])
def test_key_that_digest_did_not_make_is_refused(cache: Cache, key: str) -> None:
    for call in (cache.get, cache.explain, lambda key: cache.put(key, b"")):
        with pytest.raises(CacheKeyError, match="hexadecimal"):
            call(key)


def test_payload_comes_back(cache: Cache) -> None:
    assert cache.get(KEY) is None
    cache.put(KEY, b"payload", {"op": "add"})
    assert cache.get(KEY) == b"payload"
    assert cache.statistics == Statistics(hits=1, misses=1, puts=1)


def test_empty_payload_is_a_hit(cache: Cache) -> None:
    cache.put(KEY, b"")
    assert cache.get(KEY) == b""


def test_second_put_replaces_the_first(cache: Cache) -> None:
    cache.put(KEY, b"one")
    cache.put(KEY, b"two")
    assert cache.get(KEY) == b"two"


def test_another_object_finds_the_entry(cache: Cache) -> None:
    cache.put(KEY, b"payload")
    assert Cache(cache.directory).get(KEY) == b"payload"


def test_directory_is_private_and_made_on_first_use(cache: Cache) -> None:
    assert not cache.directory.exists()
    cache.put(KEY, b"payload")
    assert stat.S_IMODE(cache.directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(entry_file(cache).stat().st_mode) == 0o600


def test_open_directory_is_refused_and_stays_as_it_is(cache: Cache) -> None:
    cache.directory.mkdir()
    cache.directory.chmod(0o777)
    with pytest.warns(CacheWarning, match="other users can write to it"):
        cache.put(KEY, b"payload")
    assert cache.get(KEY) == b"payload"
    assert stat.S_IMODE(cache.directory.stat().st_mode) == 0o777
    assert list(cache.directory.iterdir()) == []


def test_nothing_but_the_entry_is_left_after_a_put(cache: Cache) -> None:
    cache.get_or_create(KEY, lambda: b"payload")
    assert sorted(path.name for path in cache.directory.rglob("*") if path.is_file()) == [f"{KEY}.entry", "size"]


def damage_cut(data: bytes) -> bytes:
    return data[:-1]


def damage_flip(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def damage_header(data: bytes) -> bytes:
    return data[:20]


def damage_foreign(data: bytes) -> bytes:
    return b"#!/bin/sh\n" + data


def damage_longer(data: bytes) -> bytes:
    return data + b"x"


def damage_empty(data: bytes) -> bytes:
    return data[:0]


def damage_version(data: bytes) -> bytes:
    return data[:8] + (VERSION + 1).to_bytes(2, "little") + data[10:]


def damage_meta(data: bytes) -> bytes:
    return data.replace(b'"add"', b'"sub"')


DAMAGES = [
    damage_cut,
    damage_flip,
    damage_header,
    damage_foreign,
    damage_longer,
    damage_empty,
    damage_version,
    damage_meta,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_entry_is_a_miss_and_is_made_again(cache: Cache, damage: Callable[[bytes], bytes]) -> None:
    cache.put(KEY, b"payload", {"op": "add"})
    path = entry_file(cache)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.list()[0].fault
    assert "damaged" in cache.explain(KEY)
    assert cache.get(KEY) is None
    assert cache.statistics.damaged == 1
    assert cache.get_or_create(KEY, lambda: b"anew") == b"anew"
    assert cache.get(KEY) == b"anew"


def test_entry_copied_to_another_key_is_a_miss(cache: Cache) -> None:
    cache.put(KEY, b"payload")
    target = entry_file(cache, OTHER)
    target.parent.mkdir()
    target.write_bytes(entry_file(cache).read_bytes())
    assert cache.get(OTHER) is None


def test_folder_in_place_of_an_entry_is_a_miss(cache: Cache) -> None:
    cache.put(OTHER, b"")
    entry_file(cache).mkdir(parents=True)
    assert cache.get(KEY) is None


def test_packed_entry_names_its_fault() -> None:
    data = pack(KEY, b"payload", {"a": "b"})
    assert unpack(KEY, data).meta == {"a": "b"}
    with pytest.raises(CacheFormatError, match="checksum"):
        unpack(OTHER, data)


def test_make_that_raises_leaves_nothing_and_lets_the_next_one_make(cache: Cache) -> None:
    def fail() -> bytes:
        msg = "no compiler"
        raise RuntimeError(msg)

    with pytest.raises(RuntimeError, match="no compiler"):
        cache.get_or_create(KEY, fail)
    assert cache.get_or_create(KEY, lambda: b"payload") == b"payload"
    assert sorted(path.suffix for path in cache.directory.rglob("*") if path.is_file()) == ["", ".entry"]


def test_list_and_explain_describe_entries(cache: Cache) -> None:
    cache.put(KEY, b"payload", {"op": "add"})
    (info,) = cache.list()
    assert (info.key, info.kind, info.meta, info.fault) == (KEY, "entry", {"op": "add"}, "")
    assert info.size == entry_file(cache).stat().st_size
    assert "op add" in cache.explain(KEY)
    assert "A request hits." in cache.explain(KEY)
    assert "never made" in cache.explain(OTHER)


def test_clear_removes_entries_and_keeps_the_directory(cache: Cache) -> None:
    cache.put(KEY, b"payload")
    cache.materialise(KEY, ".txt", Path.touch)
    assert cache.clear() == 2
    assert cache.list() == ()
    assert cache.get(KEY) is None
    assert cache.directory.is_dir()


def test_purge_removes_what_interrupted_processes_left(cache: Cache) -> None:
    cache.put(KEY, b"payload")
    (entry_file(cache).parent / ".write-left").write_text("x")
    (entry_file(cache).parent / f"{KEY}.lock").write_text("")
    assert cache.purge() == 1
    assert not cache.directory.exists()
    cache.put(KEY, b"again")
    assert cache.get(KEY) == b"again"


def test_purge_leaves_files_of_others(cache: Cache) -> None:
    cache.put(KEY, b"payload")
    (cache.directory / "notes.txt").write_text("mine")
    cache.purge()
    assert [path.name for path in cache.directory.iterdir()] == ["notes.txt"]


def use_memory(cache: Cache) -> None:
    cache.put(KEY, b"payload", {"op": "add"})
    cache.put(OTHER, b"other")
    assert cache.get(KEY) == b"payload"
    assert cache.get_or_create(digest("third"), lambda: b"third") == b"third"
    assert not cache.persistent
    assert {info.kind for info in cache.list()} == {"memory"}
    assert "in memory" in cache.explain(KEY)
    assert cache.clear() == 3
    assert cache.get(KEY) is None


def test_unusable_directory_means_memory_with_one_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(CacheWarning, match="option compiledir") as caught:
        use_memory(Cache(tmp_path / "file" / "cache"))
    assert len(caught) == 1


def test_directory_of_another_user_is_refused(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.directory.mkdir()
    owner = cache.directory.stat().st_uid
    monkeypatch.setattr(directory_module, "current_user", lambda: owner + 1)
    with pytest.warns(CacheWarning, match=f"belongs to user {owner}, not to you") as caught:
        use_memory(cache)
    assert len(caught) == 1
    assert list(cache.directory.iterdir()) == []


def test_write_that_fails_later_keeps_the_entry_in_memory(cache: Cache) -> None:
    cache.put(OTHER, b"on disk")
    (cache.directory / KEY[:2]).write_text("in the way of the folder")
    with pytest.warns(CacheWarning, match="cannot be used"):
        cache.put(KEY, b"payload")
    assert (cache.get(KEY), cache.get(OTHER)) == (b"payload", b"on disk")


def test_least_recently_used_entries_go_first(tmp_path: Path) -> None:
    import os

    cache = Cache(tmp_path / "cache", max_bytes=5000)
    hour_ago = time.time() - 3600
    keys = [digest(str(index)) for index in range(5)]
    for age, key in enumerate(keys[:4]):
        cache.put(key, bytes(1000))
        os.utime(entry_file(cache, key), (hour_ago + age, hour_ago + age))
    assert cache.get(keys[0]) is not None  # now the youngest
    cache.put(keys[4], bytes(1000))
    assert [cache.get(key) is not None for key in keys] == [True, False, True, True, True]
    assert cache.statistics.evictions == 1


def test_what_was_just_written_stays_beside_files_of_the_future(tmp_path: Path) -> None:
    import os

    cache = Cache(tmp_path / "cache", max_bytes=1500)
    ahead = time.time() + 3600
    cache.put(OTHER, bytes(1000))
    os.utime(entry_file(cache, OTHER), (ahead, ahead))
    cache.put(KEY, bytes(1000))
    assert (cache.get(KEY), cache.get(OTHER)) == (bytes(1000), None)


def test_a_day_of_processes_looks_through_the_directory_once(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.put(KEY, bytes(1000))
    passes: list[Path] = []

    def counted(root: Path) -> Iterator[Seen]:
        passes.append(root)
        return survey(root)

    monkeypatch.setattr(store, "survey", counted)
    for number in range(5):
        Cache(cache.directory).put(digest(f"process {number}"), bytes(100))
    assert passes == []
    noted = SizeNote(cache.directory).read()
    monkeypatch.undo()
    assert noted == sum(info.size for info in cache.list())
    # A day later, or if the note is damaged, the next process looks.
    for text in ("1000 0\n", "", "nonsense", "5 nan\n", "\xff"):
        (cache.directory / "size").write_text(text, encoding="latin-1")
        Cache(cache.directory).put(digest(text), b"x")
        assert SizeNote(cache.directory).read() == sum(info.size for info in cache.list())


def test_pass_over_the_directory_reads_no_content(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_number(path: Path) -> None:
        path.write_bytes(b"code")

    for number in range(20):
        cache.put(digest(f"entry {number}"), bytes(10))
        cache.materialise(digest(f"file {number}"), ".so", write_number)
    for mark in cache.directory.rglob(".treadle"):
        mark.rmdir()  # as in a directory that was copied
    (cache.directory / "size").unlink()
    read: list[object] = []

    def noted(*arguments: object) -> bool:
        read.append(arguments)
        return False

    for name in ("begins_with", "checksum_of"):
        monkeypatch.setattr(store, name, noted)
    Cache(cache.directory).put(KEY, b"x")
    assert read == []


def test_entry_larger_than_the_limit_still_serves(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", max_bytes=10)
    cache.put(KEY, bytes(1000))
    assert cache.get(KEY) is not None


def test_size_counts_what_was_there_before(tmp_path: Path) -> None:
    first = Cache(tmp_path / "cache")
    for index in range(10):
        first.put(digest(str(index)), bytes(1000))
    Cache(tmp_path / "cache", max_bytes=5000).put(KEY, b"payload")
    assert sum(info.size for info in first.list()) <= 4500


@pytest.mark.documents("P17")
def test_default_cache_follows_the_option(tmp_path: Path) -> None:
    with config.change_flags(compiledir=tmp_path / "a"):
        first = default_cache()
        assert default_cache() is first
        assert first.directory == tmp_path / "a"
    with config.change_flags(base_compiledir=tmp_path, compiledir_format="b-%(python_bitwidth)s-%(numpy_version)s"):
        assert default_cache().directory.parent == tmp_path
        assert default_cache().directory.name.startswith(("b-64-", "b-32-"))


def test_unknown_place_in_the_directory_format_lists_the_known(tmp_path: Path) -> None:
    with (
        config.change_flags(base_compiledir=tmp_path, compiledir_format="%(planet)s"),
        pytest.raises(OptionValueError, match=r"planet.*short_platform"),
    ):
        default_cache()


def test_timeout_is_24_waits() -> None:
    with config.change_flags(compile__wait=2):
        assert config.compile__timeout == 48
