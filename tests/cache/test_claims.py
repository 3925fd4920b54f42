"""One maker per key: threads, processes, and claims whose holder has ended."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from treadle.cache import Cache, digest

KEY = digest("raced")

RACER = """
import sys, time
from pathlib import Path
from treadle.cache import Cache
folder, key, mode = sys.argv[1:4]
cache = Cache(Path(folder) / "cache", wait=0.05, timeout=60)
Path(folder, f"ready-{mode}").touch()
while not Path(folder, "go").exists():
    time.sleep(0.001)
def make():
    with Path(folder, "made").open("a") as log:
        log.write(mode)
    time.sleep(0.3)
    return b"payload"
def make_file(path):
    path.write_bytes(make())
if sys.argv[4] == "file":
    assert cache.materialise(key, ".so", make_file).read_bytes() == b"payload"
else:
    assert cache.get_or_create(key, make) == b"payload"
"""

HOLDER = """
import sys, time
from pathlib import Path
from treadle.cache import Cache
folder, key = sys.argv[1:3]
def make():
    Path(folder, "holding").touch()
    time.sleep(600)
Cache(Path(folder) / "cache", timeout=float(sys.argv[3])).get_or_create(key, make)
"""


def wait_for(path: Path) -> None:
    until = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < until
        time.sleep(0.001)


@pytest.mark.documents("P20")
@pytest.mark.parametrize("kind", ["entry", "file"])
def test_two_processes_make_one_entry_once(tmp_path: Path, kind: str) -> None:
    command = [sys.executable, "-c", RACER, str(tmp_path), KEY]
    racers = [subprocess.Popen([*command, name, kind]) for name in "ab"]
    for name in "ab":
        wait_for(tmp_path / f"ready-{name}")
    (tmp_path / "go").touch()
    assert [racer.wait(60) for racer in racers] == [0, 0]
    assert len((tmp_path / "made").read_text()) == 1


@pytest.mark.parametrize("usable", [True, False])
@pytest.mark.filterwarnings("ignore::treadle.cache.CacheWarning")
def test_threads_make_one_entry_once(tmp_path: Path, usable: bool) -> None:
    folder = tmp_path / "cache"
    if not usable:
        folder.write_text("in the way")
    cache = Cache(folder, wait=0.05)
    barrier = threading.Barrier(8, timeout=60)
    calls: list[int] = []
    results: list[bytes] = []

    def make() -> bytes:
        calls.append(1)
        time.sleep(0.05)
        return b"payload"

    def work() -> None:
        barrier.wait()
        results.append(cache.get_or_create(KEY, make))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (results, calls) == ([b"payload"] * 8, [1])
    assert (cache.statistics.made, cache.statistics.puts) == (1, 1)


def test_different_keys_are_made_side_by_side(cache: Cache) -> None:
    barrier = threading.Barrier(2, timeout=60)  # both makers have to be inside at once

    def make() -> bytes:
        barrier.wait()
        return b"payload"

    keys = [digest(str(index)) for index in range(2)]
    threads = [threading.Thread(target=cache.get_or_create, args=(key, make)) for key in keys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [cache.get(key) for key in keys] == [b"payload"] * 2


def test_waiter_makes_the_entry_after_another_maker_failed(cache: Cache) -> None:
    inside, go = threading.Event(), threading.Event()
    errors: list[str] = []

    def fail() -> bytes:
        inside.set()
        go.wait(60)
        msg = "no compiler"
        raise RuntimeError(msg)

    def first() -> None:
        try:
            cache.get_or_create(KEY, fail)
        except RuntimeError as error:
            errors.append(str(error))

    results: list[bytes] = []
    threads = [
        threading.Thread(target=first),
        threading.Thread(target=lambda: results.append(cache.get_or_create(KEY, lambda: b"payload"))),
    ]
    threads[0].start()
    inside.wait(60)
    threads[1].start()
    go.set()
    for thread in threads:
        thread.join()
    assert (errors, results) == (["no compiler"], [b"payload"])


def start_holder(tmp_path: Path, timeout: float) -> subprocess.Popen[bytes]:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path), KEY, str(timeout)])
    wait_for(tmp_path / "holding")
    return holder


def test_claim_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    holder = start_holder(tmp_path, 10000)
    holder.kill()
    holder.wait()
    cache = Cache(tmp_path / "cache", wait=10000, timeout=10000)  # no attempt after the first, no expiry
    assert cache.get_or_create(KEY, lambda: b"payload") == b"payload"


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="the system cannot stop a process")
def test_claim_that_is_not_refreshed_is_taken_over(tmp_path: Path) -> None:
    holder = start_holder(tmp_path, 10000)
    try:
        holder.send_signal(signal.SIGSTOP)
        cache = Cache(tmp_path / "cache", wait=10000, timeout=0.2)
        assert cache.get_or_create(KEY, lambda: b"payload") == b"payload"
        assert cache.statistics.made == 1
    finally:
        holder.kill()
        holder.wait()


def test_claim_that_is_refreshed_is_not_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "cache"
    held, done, refreshed = threading.Event(), threading.Event(), threading.Semaphore(0)
    touch = os.utime

    def note(path: Path, **options: Any) -> None:
        touch(path, **options)
        if path.suffix == ".claim":
            refreshed.release()

    monkeypatch.setattr("treadle.cache.claims.os.utime", note)
    seen: list[bool] = []

    def make() -> bytes:
        held.set()
        done.wait(60)
        return b"first"

    # Two objects of one directory share no claims within a process: they compete as two processes do.
    first, second = Cache(folder, timeout=1), Cache(folder, wait=0.01, timeout=1)
    threads = [threading.Thread(target=first.get_or_create, args=(KEY, make))]
    threads[0].start()
    held.wait(60)

    def take() -> None:
        seen.append(second.get_or_create(KEY, lambda: b"second") == b"first")

    threads.append(threading.Thread(target=take))
    threads[1].start()
    # A claim lives twice as long as the interval between refreshes.
    assert all(refreshed.acquire(timeout=60) for _ in range(3))
    assert seen == []
    done.set()
    for thread in threads:
        thread.join()
    assert seen == [True]


def test_waiter_uses_the_entry_while_the_claim_is_still_held(cache: Cache) -> None:
    cache.put(digest("other"), b"")
    folder = cache.directory / KEY[:2]
    folder.mkdir(exist_ok=True)
    slow = Cache(cache.directory, wait=10000, timeout=10000)
    results: list[bytes] = []
    with FileLock(folder / f"{KEY}.lock"):
        thread = threading.Thread(target=lambda: results.append(slow.get_or_create(KEY, lambda: b"mine")))
        thread.start()
        cache.put(KEY, b"winner's")
        thread.join(60)
    assert results == [b"winner's"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_child_of_a_fork_does_not_wait_for_claims_of_threads_it_lacks(cache: Cache) -> None:
    import warnings

    inside, go = threading.Event(), threading.Event()

    def make() -> bytes:
        inside.set()
        go.wait(60)
        return b"payload"

    # In memory no other process takes part, so the thread's claim is all that could block.
    (cache.directory).write_text("in the way")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        thread = threading.Thread(target=cache.get_or_create, args=(KEY, make))
        thread.start()
        inside.wait(60)
        child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if cache.get_or_create(KEY, lambda: b"child") == b"child" else 1)
    _, status = os.waitpid(child, 0)
    go.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0


def test_filelock_is_imported_only_for_a_miss(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from treadle.cache import Cache, digest\n"
        f"cache = Cache({str(tmp_path / 'cache')!r}); key = digest('x')\n"
        "cache.put(key, b'x'); cache.get_or_create(key, None)\n"
        "print('filelock' in sys.modules)\n"
        "cache.get_or_create(digest('y'), lambda: b'y')\n"
        "print('filelock' in sys.modules, 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["False", "True", "False"], "")
