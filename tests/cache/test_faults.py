"""Faults of a cache: its processes killed, its disk full, its files damaged, its directory removed."""

import errno
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cache.killing import Killer, in_child
from treadle.cache import Cache, CacheWarning, digest
from treadle.cache import claims as claims_module
from treadle.cache import directory as directory_module
from treadle.cache import shared as shared_module
from treadle.cache import store as store_module
from treadle.cache.entry import VERSION, pack
from treadle.config import config

KEY = digest("some", b"parts")
PAYLOAD = bytes(range(256)) * 8
NOBODY = 54321


def write_file(path: Path) -> None:
    path.write_bytes(PAYLOAD)


def make_both(folder: Path) -> tuple[bytes, bytes]:
    """Return an entry and a materialised file of a cache, made if they are missing."""
    cache = Cache(folder, wait=0.05, timeout=60)
    return cache.get_or_create(KEY, lambda: PAYLOAD), cache.materialise(KEY, ".so", write_file).read_bytes()


def killed_at(step: int, folder: Path) -> int:
    def work() -> None:
        Killer(folder, step).install()
        make_both(folder)

    return in_child(work)


def test_process_killed_at_any_step_of_writing_leaves_nothing_wrong(tmp_path: Path) -> None:
    steps = 0
    status = -signal.SIGKILL
    while status == -signal.SIGKILL:
        steps += 1
        folder = tmp_path / str(steps)
        status = killed_at(steps, folder)
        assert make_both(folder) == (PAYLOAD, PAYLOAD)
        reopened = Cache(folder)
        assert [info.fault for info in reopened.list()] == ["", ""]
        assert {info.kind for info in reopened.verify()} <= {"leftover"}
    assert status == 0
    assert steps > 15  # there are about twenty


def test_what_killed_processes_left_goes_after_a_day(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    for step in range(1, 30):
        if killed_at(step, folder) == 0:
            break
        shutil.rmtree(folder / KEY[:2] / f"{KEY}.entry", ignore_errors=True)
        for path in folder.glob("??/*.entry"):
            path.unlink()
    left = [info.fault.partition(": ")[0] for info in Cache(folder).verify()]
    assert left
    old = time.time() - 3 * 24 * 60 * 60
    for name in left:
        os.utime(name, (old, old))
    (folder / "size").unlink()  # as long ago
    Cache(folder).put(digest("first write of a day"), b"")
    assert Cache(folder).verify() == ()


# The disk


def can_mount() -> bool:
    """Whether this process may mount a file system of its own."""
    if os.geteuid() != 0 or shutil.which("mount") is None or shutil.which("unshare") is None:
        return False
    command = ["unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


FULL = """
import sys, warnings
from pathlib import Path
from treadle.cache import Cache, CacheWarning, digest
folder = Path(sys.argv[1])
(folder / "in the way").write_bytes(bytes(int(sys.argv[2])))
cache = Cache(folder / "cache")
payload = bytes(100_000)
def make(path):
    path.write_bytes(payload)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    assert cache.get_or_create(digest("a"), lambda: payload) == payload
    assert cache.materialise(digest("b"), ".so", make).read_bytes() == payload
    assert cache.get(digest("a")) == payload
    assert cache.materialise(digest("b"), ".so", None).read_bytes() == payload
assert [w.category for w in told] == [CacheWarning], told
assert cache.verify() == () or {info.kind for info in cache.verify()} == {"leftover"}
print("done")
"""


@pytest.mark.parametrize("kind", ["tmpfs", "limit"] if can_mount() else ["limit"])
def test_full_disk_costs_one_warning_and_nothing_is_lost(tmp_path: Path, kind: str) -> None:
    if kind == "tmpfs":
        shell = f'mount -t tmpfs -o size=128k tmpfs "{tmp_path}" && exec "$0" "$@"'
        command = ["unshare", "-m", "sh", "-c", shell, sys.executable, "-c", FULL, str(tmp_path), "60000"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    else:
        # A limit on the size of files that the process writes stands in for a full disk.
        temporary = f"tempfile.tempdir = {str(tmp_path / 'elsewhere')!r}"
        (tmp_path / "elsewhere").mkdir()
        limited = FULL.replace(
            "def make(path):\n    path.write_bytes(payload)",
            "import os, resource, signal, tempfile\n"
            f"{temporary}\n"
            "def make(path):\n"
            f"    if not str(path).startswith({str(tmp_path / 'elsewhere')!r}):\n"
            "        raise OSError(28, 'No space left on device')\n"
            "    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
            "    path.write_bytes(payload)\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 200_000))",
        )
        command = [sys.executable, "-c", limited, str(tmp_path), "100"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr


def test_maker_that_fails_on_a_roomy_disk_is_not_called_again(tmp_path: Path) -> None:
    calls = []

    def fail(path: Path) -> None:
        calls.append(path)
        raise OSError(errno.ENOENT, "no compiler")

    with pytest.raises(OSError, match="no compiler"):
        Cache(tmp_path / "cache").materialise(KEY, ".so", fail)
    assert len(calls) == 1


def test_directory_that_cannot_be_written_serves_from_memory(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    os.chmod(tmp_path, 0o755)  # noqa: PTH101 - another user must get at the folder
    os.chmod(folder, 0o555)  # noqa: PTH101

    def work() -> bool:
        if os.geteuid() == 0:  # root ignores file modes
            os.chown(folder, NOBODY, NOBODY)
            os.setuid(NOBODY)
            os.chmod(folder, 0o555)  # noqa: PTH101
        cache = Cache(folder / "inside")
        with pytest.warns(CacheWarning, match="Permission denied"):
            first = cache.get_or_create(KEY, lambda: PAYLOAD)
        return first == PAYLOAD and cache.get(KEY) == PAYLOAD and not cache.persistent

    for parent in tmp_path.parents[:3]:
        os.chmod(parent, parent.stat().st_mode | 0o055)  # noqa: PTH101
    assert in_child(work) == 0
    os.chmod(folder, 0o755)  # noqa: PTH101


def test_directory_removed_while_running_is_made_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put(KEY, PAYLOAD)
    path = cache.materialise(KEY, ".so", write_file)
    shutil.rmtree(tmp_path / "cache")
    assert cache.get(KEY) is None
    assert cache.get_or_create(KEY, lambda: b"anew") == b"anew"
    assert cache.materialise(KEY, ".so", write_file) == path
    assert stat.S_IMODE(cache.directory.stat().st_mode) == 0o700
    assert Cache(tmp_path / "cache").get(KEY) == b"anew"


def other_file_system() -> Path:
    shared = Path("/dev/shm")
    return shared if shared.is_dir() and os.access(shared, os.W_OK) else Path(tempfile.gettempdir())


def test_directory_may_be_on_another_file_system(tmp_path: Path) -> None:
    folder = other_file_system() / f"treadle-test-{os.getpid()}"
    try:
        assert make_both(folder) == (PAYLOAD, PAYLOAD)
        link = tmp_path / "link"
        link.symlink_to(folder)
        assert Cache(link).get(KEY) == PAYLOAD
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("name", ["with spaces", "Größe 漢字 🙂", "quote'and\"double", "line\nbreak"])
def test_path_may_hold_any_characters(tmp_path: Path, name: str) -> None:
    assert make_both(tmp_path / name) == (PAYLOAD, PAYLOAD)
    assert make_both(tmp_path / name) == (PAYLOAD, PAYLOAD)


# Damage


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[tuple[Path, bytes]]:
    """An entry's file and its bytes."""
    cache = Cache(tmp_path / "cache")
    cache.put(KEY, b"payload", {"op": "add"})
    path = cache.directory / KEY[:2] / f"{KEY}.entry"
    return iter([(path, path.read_bytes())])


def is_miss(path: Path, data: bytes) -> bool:
    path.write_bytes(data)
    return Cache(path.parent.parent).get(KEY) is None


def test_entry_cut_at_any_length_is_a_miss(stored: Iterator[tuple[Path, bytes]]) -> None:
    path, data = next(stored)
    assert all(is_miss(path, data[:length]) for length in range(len(data)))
    assert not is_miss(path, data)


def test_entry_with_any_bit_flipped_is_a_miss(stored: Iterator[tuple[Path, bytes]]) -> None:
    path, data = next(stored)
    for at in range(len(data)):
        for bit in range(8):
            assert is_miss(path, data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]), (at, bit)


def test_entry_of_another_version_is_a_miss(stored: Iterator[tuple[Path, bytes]]) -> None:
    path, data = next(stored)
    for version in (VERSION + 1, VERSION - 1, 0xFFFF):
        assert is_miss(path, data[:8] + version.to_bytes(2, "little") + data[10:])


def test_file_cut_or_changed_is_made_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    path = cache.materialise(KEY, ".so", write_file)
    for damaged in (PAYLOAD[:-1], b"", PAYLOAD + b"x", b"\x01" + PAYLOAD[1:]):
        path.write_bytes(damaged)
        assert [info.kind for info in Cache(cache.directory).verify()] == [".so"]
        assert Cache(cache.directory).materialise(KEY, ".so", write_file).read_bytes() == PAYLOAD
    assert cache.verify() == ()


# Owners


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Give a path to another user and return the user's number; without the right to, become another user instead."""
    if os.geteuid() == 0:
        for each in (path, *path.rglob("*")):
            os.chown(each, NOBODY, NOBODY)
        return NOBODY
    me = os.geteuid()
    for module in (directory_module, store_module, shared_module):
        monkeypatch.setattr(module, "current_user", lambda: me + 1)
    return me


def test_directory_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Cache(tmp_path / "cache").put(KEY, PAYLOAD)
    owner = give_away(tmp_path / "cache", monkeypatch)
    cache = Cache(tmp_path / "cache")
    with pytest.warns(CacheWarning, match=f"belongs to user {owner}"):
        assert cache.get(KEY) is None


def test_entry_of_another_user_is_a_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path / "cache")
    file = cache.materialise(KEY, ".so", write_file)
    cache.put(KEY, PAYLOAD)
    for path in (file, file.parent / f"{KEY}.entry"):
        give_away(path, monkeypatch)
    assert cache.get(KEY) is None
    assert cache.file(KEY, ".so") is None


# Read-only folders


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A cache with an entry and a file, which nobody writes to any more."""
    folder = tmp_path / "filled"
    make_both(folder)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    return folder


def state_of(folder: Path) -> list[tuple[str, int, int]]:
    return sorted((str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in (folder, *folder.rglob("*")))


def test_shared_folder_is_read_and_never_written(tmp_path: Path, filled: Path) -> None:
    before = state_of(filled)
    worker = Cache(tmp_path / "own", shared=[filled])
    assert worker.get_or_create(KEY, lambda: b"never") == PAYLOAD
    assert worker.materialise(KEY, ".so", lambda _: None).parent.parent == filled
    worker.put(digest("worker's own"), b"mine")
    worker.clear()
    assert worker.get(KEY) == PAYLOAD
    assert state_of(filled) == before
    assert worker.statistics.made == 0


def test_shared_folder_serves_a_worker_without_a_directory(tmp_path: Path, filled: Path) -> None:
    (tmp_path / "own").write_text("in the way")
    worker = Cache(tmp_path / "own", shared=[filled])
    with pytest.warns(CacheWarning):
        assert worker.get(KEY) == PAYLOAD


def test_damage_in_a_shared_folder_is_a_miss_and_stays_there(tmp_path: Path, filled: Path) -> None:
    entry, file = filled / KEY[:2] / f"{KEY}.entry", next(filled.glob("??/*.so"))
    for path in (entry, file):
        path.chmod(0o644)
        path.write_bytes(path.read_bytes()[:-1])
        path.chmod(0o444)
    before = state_of(filled)
    worker = Cache(tmp_path / "own", shared=[filled])
    assert worker.get_or_create(KEY, lambda: b"anew") == b"anew"
    assert worker.materialise(KEY, ".so", write_file).parent.parent == tmp_path / "own"
    assert state_of(filled) == before


def test_shared_folder_that_others_may_write_is_not_read(tmp_path: Path, filled: Path) -> None:
    filled.chmod(0o777)
    worker = Cache(tmp_path / "own", shared=[filled, tmp_path / "absent"])
    with pytest.warns(CacheWarning) as caught:
        assert [worker.get(KEY) for _ in range(2)] == [None, None]
    assert len(caught) == 2
    assert "other than its owner can write" in str(caught[0].message)


def test_shared_folder_of_another_user_needs_trust(
    tmp_path: Path, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = give_away(filled, monkeypatch)
    worker = Cache(tmp_path / "own", shared=[filled])
    with pytest.warns(CacheWarning, match=f"belongs to user {owner}.*cache__trust_shared"):
        assert worker.get(KEY) is None
    with config.change_flags(cache__trust_shared=True):
        assert worker.get(KEY) == PAYLOAD


def test_shared_folders_are_named_by_the_option(tmp_path: Path, filled: Path) -> None:
    worker = Cache(tmp_path / "own")
    with config.change_flags(cache__shared=f"{filled}{os.pathsep}"):
        assert worker.get(KEY) == PAYLOAD
    assert worker.get(KEY) is None


# Clocks


class Clock:
    """A settable clock that only the cache uses."""

    def __init__(self) -> None:
        self.shift = 0.0

    def time(self) -> float:
        return time.time() + self.shift

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake_clock = Clock()
    for module in (store_module, claims_module):
        monkeypatch.setattr(module, "time", fake_clock)
    return fake_clock


@pytest.mark.parametrize("years", [-30, 30])
def test_entries_survive_a_clock_that_jumps_and_back(tmp_path: Path, clock: Clock, years: float) -> None:
    make_both(tmp_path / "cache")
    clock.shift = years * 365 * 86400.0
    assert make_both(tmp_path / "cache") == (PAYLOAD, PAYLOAD)
    clock.shift = 0.0
    assert make_both(tmp_path / "cache") == (PAYLOAD, PAYLOAD)
    assert Cache(tmp_path / "cache").verify() == ()


HOLD = """
import sys, time
from pathlib import Path
from treadle.cache import Cache
def make():
    Path(sys.argv[1], "holding").touch()
    time.sleep(600)
Cache(Path(sys.argv[1]) / "cache", timeout=10000).get_or_create(sys.argv[2], make)
"""


def test_stopped_holder_is_given_up_though_its_stamp_lies_in_the_future(tmp_path: Path, clock: Clock) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path), KEY])
    try:
        while not (tmp_path / "holding").exists():
            assert holder.poll() is None
            time.sleep(0.002)
        holder.send_signal(signal.SIGSTOP)
        clock.shift = -10 * 365 * 86400.0
        cache = Cache(tmp_path / "cache", wait=10000, timeout=0.3)
        assert cache.get_or_create(KEY, lambda: PAYLOAD) == PAYLOAD
    finally:
        holder.kill()
        holder.wait()


# Commands on a damaged cache


def test_purge_removes_what_everybody_left(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    make_both(folder)
    (folder / KEY[:2] / ".write-left").write_bytes(b"half")
    (folder / KEY[:2] / ".make-left").mkdir()
    (folder / "inductor" / "inside").mkdir(parents=True)
    (folder / "last-lookup.json").write_text("{}")
    Cache(folder).purge()
    assert not folder.exists()


def test_purge_leaves_what_is_not_the_caches(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    make_both(folder)
    (folder / "notes").write_text("mine")
    Cache(folder).purge()
    assert [path.name for path in folder.iterdir()] == ["notes"]


def test_entry_written_for_another_key_is_damaged(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put(KEY, b"")
    (cache.directory / KEY[:2] / f"{KEY}.entry").write_bytes(pack(digest("another"), PAYLOAD, {}))
    assert "checksum" in cache.verify()[0].fault
    assert cache.get(KEY) is None


def test_limits_of_this_process_are_as_before() -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
