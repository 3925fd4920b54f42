"""What the cache must not do to folders and files of others, and what it must not trust."""

import os
import socket
import stat
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cache.killing import in_child
from treadle.cache import Cache, CacheWarning, digest
from treadle.config import Config, OptionValueError, TreadleError, config

KEY = digest("some", b"parts")
PAYLOAD = bytes(range(256)) * 8
NOBODY = 54321

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other users")


def write_file(path: Path) -> None:
    path.write_bytes(PAYLOAD)


def state_of(folder: Path) -> list[tuple[str, int, int, int, int]]:
    """Return all that is in a folder, with modes, owners, sizes and times."""
    status = {path: path.lstat() for path in (folder, *folder.rglob("*"))}
    return sorted((str(p), s.st_mode, s.st_uid, s.st_size, s.st_mtime_ns) for p, s in status.items())


PROGRAM = """
import numpy as np
import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
x = tt.dvector("x")
config.nocleanup = True
print(function([x], tt.exp(x) * 2, mode="CVM")(np.zeros(2)))
with config.change_flags(gcc__cxxflags="-Werror -nosuchflag"):
    try:
        function([x], tt.exp(x) * 3, mode="C")
    except Exception as error:
        print(type(error).__name__)
"""


def run_program(folder: Path, tmp_path: Path) -> "subprocess.CompletedProcess[str]":
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return subprocess.run(
        [sys.executable, str(file)],
        env={**os.environ, "TREADLE_FLAGS": f"compiledir={folder}"},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )


@pytest.mark.parametrize("kind", ["open to all", pytest.param("another's", marks=as_root)])
def test_refused_directory_gets_no_byte_and_one_warning_at_the_users_line(tmp_path: Path, kind: str) -> None:
    victim = tmp_path / "precious"
    victim.write_text("precious")
    folder = tmp_path / "refused"
    folder.mkdir()
    (folder / "last-lookup.json").symlink_to(victim)
    folder.chmod(0o1777 if kind == "open to all" else 0o755)
    if kind == "another's":
        os.chown(folder, NOBODY, NOBODY)
    before = state_of(folder)
    done = run_program(folder, tmp_path)
    assert done.stdout == "[2. 2.]\nCompileError\n", done.stderr
    assert state_of(folder) == before
    assert victim.read_text() == "precious"
    assert done.stderr.count("CacheWarning") == 1
    assert "program.py:8: CacheWarning" in done.stderr


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o700])
def test_mode_of_a_folder_that_was_there_stays(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    Cache(tmp_path).put(KEY, PAYLOAD)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == mode
    assert Cache(tmp_path).get(KEY) == PAYLOAD


@pytest.mark.parametrize("name", ["compiledir", "base_compiledir"])
def test_empty_directory_is_refused_by_name(name: str) -> None:
    with pytest.raises(TreadleError, match=f"{name}.*not empty"), config.change_flags(**{name: ""}):
        pass
    with pytest.raises(OptionValueError, match=f"{name}.*not empty"):
        _ = Config(environ={"TREADLE_FLAGS": f"{name}="}).compiledir


THEIRS = ("12/notes.txt", "12/mine.entry", "12/.make-it/x", "inductor/x", "support/x", "notes", "ab/x.lock")


@pytest.mark.parametrize("action", ["clear", "purge"])
def test_files_of_the_users_stay_whatever_they_are_called(tmp_path: Path, action: str) -> None:
    names = (*THEIRS, f"{KEY[:2]}/{KEY}.txt", f"{'12' * 32}.entry", f"12/{'12' * 32}.entry")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("mine")
    before = state_of(tmp_path)
    cache = Cache(tmp_path)
    cache.put(KEY, PAYLOAD)
    cache.materialise(KEY, ".so", write_file)
    assert cache.guest("inductor") is None
    getattr(cache, action)()
    assert not list(tmp_path.rglob("*.so"))
    cache.purge()
    assert [line[:4] for line in state_of(tmp_path)] == [line[:4] for line in before]


def test_purge_removes_all_that_the_cache_made_in_a_folder_of_the_users(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for part in range(20):
        cache.put(digest(str(part)), PAYLOAD)
    guest = cache.guest("inductor")
    assert guest is not None
    (guest / "inside").mkdir()
    cache.note("last-lookup.json", b"{}")
    Cache(tmp_path / "support").materialise(KEY, ".so", write_file)
    cache.purge()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("linked", ["folder", "entry", "file"])
def test_links_inside_are_not_followed(tmp_path: Path, linked: str) -> None:
    other = Cache(tmp_path / "other")
    other.put(KEY, PAYLOAD)
    file = other.materialise(KEY, ".so", write_file)
    cache = Cache(tmp_path / "cache")
    assert cache.persistent
    shard = cache.directory / KEY[:2]
    if linked == "folder":
        shard.symlink_to(tmp_path / "other" / KEY[:2])
    else:
        shard.mkdir()
        name = f"{KEY}.entry" if linked == "entry" else file.name
        (shard / name).symlink_to(tmp_path / "other" / KEY[:2] / name)
    before = state_of(tmp_path / "other")
    assert cache.get(KEY) is None
    assert cache.file(KEY, ".so") is None
    if linked == "folder":
        with pytest.warns(CacheWarning, match="it is no folder"):
            cache.put(KEY, b"new")
    else:
        cache.put(KEY, b"new")
    assert cache.get(KEY) == b"new"
    cache.purge()
    assert state_of(tmp_path / "other") == before


# Shared folders


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    folder = tmp_path / "above" / "filled"
    folder.parent.mkdir()
    cache = Cache(folder)
    cache.put(KEY, PAYLOAD)
    cache.materialise(KEY, ".so", write_file)
    return folder


def shared_values(tmp_path: Path, filled: Path) -> tuple[bytes | None, Path | None]:
    worker = Cache(tmp_path / "own", shared=[filled])
    return worker.get(KEY), worker.file(KEY, ".so")


@pytest.mark.parametrize("place", ["..", ".", "shard", "files"])
@pytest.mark.parametrize("bits", [0o020, 0o002])
def test_shared_folder_that_others_can_write_is_reported_once_and_not_read(
    tmp_path: Path, filled: Path, place: str, bits: int
) -> None:
    assert None not in shared_values(tmp_path, filled)
    shard = filled / KEY[:2]
    places = {
        "..": [filled.parent],
        ".": [filled],
        "shard": [shard],
        "files": [p for p in shard.iterdir() if p.is_file()],
    }
    for path in places[place]:
        path.chmod(path.stat().st_mode | bits)
    with pytest.warns(CacheWarning, match="other than its owner can write") as caught:
        assert shared_values(tmp_path, filled) == (None, None)
    assert len(caught) == 1


@as_root
@pytest.mark.parametrize("place", ["..", "shard", "files"])
def test_shared_folder_of_another_user_is_not_read(tmp_path: Path, filled: Path, place: str) -> None:
    shard = filled / KEY[:2]
    for path in {"..": [filled.parent], "shard": [shard], "files": list(shard.iterdir())}[place]:
        os.chown(path, NOBODY, NOBODY)
    with pytest.warns(CacheWarning, match=f"belongs to user {NOBODY}"):
        assert shared_values(tmp_path, filled) == (None, None)


def test_shared_folder_behind_a_link_is_judged_by_where_it_is(tmp_path: Path, filled: Path) -> None:
    (tmp_path / "link").symlink_to(filled)
    assert None not in shared_values(tmp_path, tmp_path / "link")
    filled.parent.chmod(0o777)
    with pytest.warns(CacheWarning, match="other than its owner can write"):
        assert shared_values(tmp_path, tmp_path / "link") == (None, None)


# Other things in the place of files


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(path.parent)  # paths of sockets are short
        try:
            listener.bind(path.name)
        finally:
            os.chdir(here)


def make_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 42)


THINGS: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "folder": lambda path: path.mkdir(),
    "full folder": lambda path: (path / "inside").mkdir(parents=True),
    "socket": make_socket,
    "dangling link": lambda path: path.symlink_to(path.parent / "nowhere"),
    "link to itself": lambda path: path.symlink_to(path),
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "unreadable": lambda path: path.touch(mode=0),
    "empty": lambda path: path.touch(),
}


@pytest.mark.parametrize("thing", [*THINGS, "huge"])
@pytest.mark.parametrize("place", ["entry", "file", "lock", "claim", "shard", "note"])
def test_cache_works_whatever_stands_in_the_place_of_a_file(tmp_path: Path, place: str, thing: str) -> None:
    file = Cache(tmp_path / "cache").materialise(KEY, ".so", write_file)
    shard = file.parent
    file.unlink()
    names = {"entry": f"{KEY}.entry", "file": file.name, "lock": f"{KEY}.lock", "claim": f"{KEY}.claim", "shard": ""}
    path = shard.parent / "last-lookup.json" if place == "note" else shard / names[place]
    if place == "shard":
        (shard / ".treadle").rmdir()
        shard.rmdir()
    if thing == "huge":
        make_huge(path)
    else:
        THINGS[thing](path)

    def work() -> bool:
        cache = Cache(tmp_path / "cache", wait=0.05, timeout=5)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results = cache.get_or_create(KEY, lambda: PAYLOAD), cache.materialise(KEY, ".so", write_file).read_bytes()
            cache.note("last-lookup.json", b"{}")
            again = cache.get(KEY)
            for action in (cache.list, cache.verify, cache.clear, cache.purge):
                action()
        return results == (PAYLOAD, PAYLOAD) and again == PAYLOAD and len(caught) <= 1

    assert in_child(work) == 0


# Users


@as_root
def test_unprivileged_user_has_a_cache_of_the_users_own(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    for parent in (tmp_path, *tmp_path.parents[:3]):
        parent.chmod(parent.stat().st_mode | 0o055)

    def work() -> bool:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        first = Cache(home / ".treadle" / "x").get_or_create(KEY, lambda: PAYLOAD)
        return first == PAYLOAD and Cache(home / ".treadle" / "x").get(KEY) == PAYLOAD

    assert in_child(work) == 0
    assert (home / ".treadle" / "x").stat().st_uid == NOBODY


def test_directory_whose_name_is_not_text_means_memory(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    cache = Cache(folder)
    with pytest.warns(CacheWarning, match="cannot be used"):
        assert cache.get_or_create(KEY, lambda: PAYLOAD) == PAYLOAD
    assert cache.materialise(KEY, ".so", write_file).read_bytes() == PAYLOAD
    assert not folder.exists()
