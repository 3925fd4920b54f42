"""Functions and values on the way to workers: pickled once, and kept where they arrive.

A function travels apart from the values of its shared variables: its pickle stays the same while these change, so that
a worker that has it once needs the values only.
"""

from __future__ import annotations

import io
import os
import pickle
from collections import OrderedDict
from dataclasses import replace
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, finalize

from treadle.compile.errors import FunctionValueError
from treadle.compile.functions.locking import Snapshot
from treadle.config import dataclass, lazy_module, new_lock, text_of
from treadle.graph import Container

if TYPE_CHECKING:
    import shutil
    import tempfile
    from collections.abc import Sequence

    from treadle.compile.functions.function import Function
    from treadle.graph import Value
else:
    shutil = lazy_module("shutil")
    tempfile = lazy_module("tempfile")

# How many functions a worker keeps: those that it used last.
_MOST_FUNCTIONS = 32


@dataclass(frozen=True, slots=True)
class Parcel:
    """A function, or the values that its shared variables have: what one pickle holds, and where that is.

    Attributes
    ----------
    key
        A digest of the pickle, under which workers keep what it holds.
    data
        The pickle, where it travels with the parcel.
    path
        A file with the pickle, for workers of this machine.
    live
        The thing itself, for workers in this process.
    """

    key: str
    data: bytes | None = None
    path: str | None = None
    live: object = None

    def read(self) -> bytes | None:
        """Return the pickle; None where it did not come along and the file is not there."""
        if self.data is not None or self.path is None:
            return self.data
        try:
            return Path(self.path).read_bytes()
        except FileNotFoundError:
            return None


class _Entry:
    """A function that a worker keeps, the values that came last, by position, and copies that no chunk uses now."""

    __slots__ = ("function", "idle", "values")

    def __init__(self, function: Function) -> None:
        self.function = function
        self.values: dict[int, tuple[str, Value]] = {}
        self.idle: list[Function] = []


class Held(NamedTuple):
    """A function, the values of what it keeps, and copies of it with cells of their own that no chunk uses now."""

    function: Function
    values: tuple[Value, ...]
    idle: list[Function]


class Kept:
    """The functions that this process was sent, by key.

    Attributes
    ----------
    loads
        How many functions were unpickled.
    """

    def __init__(self) -> None:
        self._lock = new_lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self.loads = 0

    def take(self, parcels: Sequence[Parcel]) -> Held | None:
        """Return a function and the values of what it keeps; None where a parcel came without its pickle."""
        function, *values = parcels
        with self._lock:
            entry = self._entries.get(function.key)
            if entry is None:
                data = function.read()
                if data is None:
                    return None
                entry = self._entries[function.key] = _Entry(_loaded(data))
                self.loads += 1
                if len(self._entries) > _MOST_FUNCTIONS:
                    self._entries.popitem(last=False)
            self._entries.move_to_end(function.key)
            for k, parcel in enumerate(values):
                if k not in entry.values or entry.values[k][0] != parcel.key:
                    data = parcel.read()
                    if data is None:
                        return None
                    entry.values[k] = parcel.key, pickle.loads(data)
            return Held(entry.function, tuple(entry.values[k][1] for k in range(len(values))), entry.idle)


KEPT = Kept()


def _loaded(data: bytes) -> Function:
    function: Function | None = pickle.loads(data)
    if function is None:
        msg = (
            "f.map: option unpickle_function is False on the worker, which makes no functions of pickles then. Set it "
            "to True there."
        )
        raise FunctionValueError(msg)
    return function


class Parcels:
    """Parcels of functions that were pickled already, as long as the functions are there and as they were.

    Attributes
    ----------
    dumps
        How many functions were pickled.
    """

    def __init__(self) -> None:
        self._lock = new_lock()
        self._known: WeakKeyDictionary[Function, tuple[tuple[object, ...], Parcel]] = WeakKeyDictionary()
        self.dumps = 0

    def of_function(self, function: Function, by_value: bool) -> Parcel:
        """Return the parcel of a function, without the values of its shared variables.

        Parameters
        ----------
        function
            The function.
        by_value
            Whether Python functions of the main program travel as code (cloudpickle, where it is installed): workers
            do not have that program.
        """
        spec = function.maker.specification
        defaults = tuple(item.container for item in spec.inputs)
        stamp = (by_value, function.name, function.trust_input, *map(id, defaults))
        with self._lock:
            known = self._known.get(function)
            if known is not None and known[0] == stamp:
                return known[1]
            cells = frozenset(s.container for s in spec.state()) - {cell for cell in defaults if cell is not None}
            data = _dumped(function, f"{function.signature.title} of f.map", by_value, cells)
            self.dumps += 1
            parcel = Parcel(_key(data), data)
            self._known[function] = stamp, parcel
            return parcel


PARCELS = Parcels()


def value_parcel(value: Value, by_value: bool) -> Parcel:
    """Return the parcel of a value that a function keeps."""
    data = _dumped(value, "f.map: the value of a shared variable", by_value)
    return Parcel(_key(data), data)


class Files:
    """Parcels as files in a folder for each function, which is removed with the function or at the end."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._folders: WeakKeyDictionary[Function, Path] = WeakKeyDictionary()

    def of(self, function: Function, parcels: Sequence[Parcel]) -> list[Parcel]:
        """Return parcels with a file in place of the pickle; what is there already is not written again."""
        with self._lock:
            folder = self._folders.get(function)
            if folder is None or not folder.is_dir():
                folder = self._folders[function] = Path(tempfile.mkdtemp(prefix="treadle-map-"))
                finalize(function, _remove, folder, os.getpid())
            filed = [replace(parcel, data=None, path=str(folder / parcel.key)) for parcel in parcels]
            for parcel in parcels:
                path = folder / parcel.key
                if not path.exists():
                    part = path.with_suffix(".part")
                    part.write_bytes(parcel.data or b"")
                    part.replace(path)
            return filed

    def tidy(self, function: Function, parcels: Sequence[Parcel]) -> None:
        """Remove what none of these parcels needs."""
        needed = {parcel.key for parcel in parcels}
        with self._lock:
            for path in self._folders[function].glob("*"):
                if path.name not in needed:
                    path.unlink(missing_ok=True)


FILES = Files()


def _remove(folder: Path, process: int) -> None:
    """Remove a folder, unless this is a forked child of the process that it belongs to."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _key(data: bytes) -> str:
    return sha256(data).hexdigest()


def _dumped(what: object, title: str, by_value: bool, cells: frozenset[Container] = frozenset()) -> bytes:
    """Return the pickle of something, without the values of some cells."""
    has_cloudpickle = find_spec("cloudpickle") is not None
    picklers: list[Any] = [pickle.Pickler]
    if has_cloudpickle:
        picklers.insert(0 if by_value else 1, import_module("cloudpickle").Pickler)
    problem: Exception | None = None
    for pickler in picklers:
        try:
            return _dump(what, pickler, cells)
        except Exception as error:  # noqa: BLE001 - pickles of others' objects fail in any way
            problem = problem or error
    advice = "" if has_cloudpickle else ", or install cloudpickle, which pickles functions that no module has"
    msg = (
        f"{title}: cannot be sent to other processes: {text_of(problem, str)}. Define what it refers to in a "
        f"module{advice}."
    )
    raise FunctionValueError(msg) from problem


def _dump(what: object, base: Any, cells: frozenset[Container]) -> bytes:
    class WithoutValues(base):  # type: ignore[misc]  # one of two classes of picklers
        def reducer_override(self, obj: object) -> Any:
            if type(obj) is Container and obj in cells:
                reduced: Any = obj.__reduce__()
                restore, (kind, _, *rules) = reduced
                return restore, (kind, None, *rules)
            if type(obj) is Snapshot and not cells.isdisjoint(obj.values):
                return Snapshot, ((),)
            usual = getattr(super(), "reducer_override", None)
            return NotImplemented if usual is None else usual(obj)

    file = io.BytesIO()
    WithoutValues(file, pickle.HIGHEST_PROTOCOL).dump(what)
    return file.getvalue()
