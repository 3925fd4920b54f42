"""Processes that are killed in the middle of their work."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def in_child(work: Callable[[], object]) -> int:
    """Run something in a forked process; return its exit status, negative for a signal."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(60)
            status = 0 if work() is not False else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Killer:
    """Kills the process at its n-th step that touches a folder: an open, a rename, a half-written file."""

    def __init__(self, folder: Path, steps: int) -> None:
        self.folder = str(folder)
        self.left = steps

    def step(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(self, event: str, args: tuple[Any, ...]) -> None:
        if event.partition(".")[0] in {"open", "os", "shutil", "tempfile"} and any(
            isinstance(arg, str) and arg.startswith(self.folder) for arg in args
        ):
            self.step()

    def install(self) -> None:
        sys.addaudithook(self.audit)
        opened = os.fdopen

        def half(*args: Any, **kwargs: Any) -> Any:
            file = opened(*args, **kwargs)
            write = file.write

            class Halves:
                def write(self, data: bytes) -> int:
                    middle = len(data) // 2
                    done = write(data[:middle])
                    file.flush()
                    killer.step()
                    return int(done + write(data[middle:]))

                def __enter__(self) -> "Halves":
                    return self

                def __exit__(self, *error: object) -> None:
                    file.close()

            return Halves()

        killer = self
        os.fdopen = half  # in a child that ends soon
