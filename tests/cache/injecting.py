"""Calls of the file system that fail: the n-th one, or all from the n-th on."""

import builtins
import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ERRORS = (errno.EACCES, errno.ENOSPC, errno.EIO, errno.EROFS, errno.ENOENT, errno.EFBIG)
_BY_PATH = (
    *("open", "stat", "lstat", "mkdir", "rename", "replace", "unlink", "remove", "rmdir", "listdir", "scandir"),
    *("utime", "chmod", "access", "readlink", "link", "symlink"),
)


class Injector:
    """Lets calls below a folder fail.

    Attributes
    ----------
    calls
        How many calls there were.
    faults
        How many of them failed.
    """

    def __init__(self, folder: Path, at: int, error: int, *, lasting: bool) -> None:
        self._folder = str(folder)
        self._at = at
        self._error = error
        self._lasting = lasting
        self._handles: set[int] = set()
        self.calls = 0
        self.faults = 0

    def _step(self, path: object, error: int | None = None) -> None:
        error = self._error if error is None else error
        self.calls += 1
        if self.calls == self._at or (self._lasting and self.calls > self._at):
            self.faults += 1
            raise OSError(error, os.strerror(error), str(path))

    def _concerns(self, args: tuple[Any, ...], named: dict[str, Any]) -> bool:
        first = args[0] if args else None
        if isinstance(first, int):
            return first in self._handles
        text = os.fspath(first) if isinstance(first, str | os.PathLike) else ""
        return str(text).startswith(self._folder) or named.get("dir_fd") in self._handles

    def _wrapped(self, call: Callable[..., Any], *, opens: bool, by_name: bool) -> Callable[..., Any]:
        def wrapper(*args: Any, **named: Any) -> Any:
            concerned = self._concerns(args, named) and not (by_name and isinstance(args[0], int))
            if concerned:
                self._step(args[0])
            result = call(*args, **named)
            if opens:  # numbers of closed files are used again
                (self._handles.add if concerned else self._handles.discard)(result)
            return result

        return wrapper

    def _fdopen(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(handle: int, *args: Any, **named: Any) -> Any:
            file = call(handle, *args, **named)
            if handle not in self._handles:
                return file
            return _Failing(file, self._step)

        return wrapper

    def _closed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(handle: int) -> None:
            self._handles.discard(handle)
            call(handle)

        return wrapper

    @contextmanager
    def installed(self) -> Iterator["Injector"]:
        """Let calls fail while the block runs."""
        plain = {(os, name): getattr(os, name) for name in (*_BY_PATH, "fstat", "fdopen", "close")}
        plain |= {(module, "open"): open for module in (builtins, io)}
        try:
            for (module, name), call in plain.items():
                if name == "fdopen":
                    setattr(module, name, self._fdopen(call))
                elif name == "close":
                    setattr(module, name, self._closed(call))
                else:
                    setattr(
                        module,
                        name,
                        self._wrapped(call, opens=module is os and name == "open", by_name=module is not os),
                    )
            # Checks by which functions the system is asked still recognize them.
            os.supports_dir_fd.add(os.open)
            yield self
        finally:
            for (module, name), call in plain.items():
                setattr(module, name, call)


class _Failing:
    """A file whose writing, and whose closing, may fail."""

    def __init__(self, file: Any, step: Callable[[object, int], None]) -> None:
        self._file = file
        self._step = step

    def write(self, data: bytes) -> int:
        self._step("write", errno.ENOSPC)
        return int(self._file.write(data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> "_Failing":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        if error[0] is None:
            self._step("close", errno.ENOSPC)
