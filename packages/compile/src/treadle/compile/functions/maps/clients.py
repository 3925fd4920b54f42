"""Clients of ``f.map``: executors, pools, Dask, joblib, and those that other packages register.

A client is recognised by its class, named by its package and its own name, ``"joblib.Parallel"``, so that no library is
imported: a client of the class comes from a program that has done so. What has a method ``submit`` that returns futures
is taken for an executor.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections import OrderedDict
from itertools import islice
from queue import SimpleQueue
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from treadle.compile.errors import ClientError, FunctionTypeError
from treadle.config import discover, new_lock, text_of
from treadle.graph import DuplicateRegistrationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from treadle.compile.functions.maps.parcels import Parcel
    from treadle.compile.functions.maps.tasks import Chunk, Outcome
    from treadle.graph import Value

    Run = Callable[[Sequence[Parcel], Chunk], Outcome]

__all__ = ["Engine", "register_client"]

GROUP = "treadle.clients"
# How many chunks a pool that takes none back is given for each worker.
_AHEAD = 2
# How many functions stay with the workers of a Dask cluster between calls.
_MOST_SENT = 32


class Engine(ABC):
    """How the tasks of ``f.map`` run on one kind of client. Derive a class, and register it (`register_client`).

    Parameters
    ----------
    client
        The client.

    Attributes
    ----------
    shares_memory
        Whether workers are threads of this process: functions are then used as they are.
    shares_files
        Whether workers run on this machine: functions then travel in a temporary file, which each worker reads once. In
        place of that, they go with every chunk of tasks.
    by_value
        Whether workers lack the main program, so that its functions travel as code.

    Raises
    ------
    ClientError
        If the client cannot be used.
    """

    shares_memory: bool = False
    shares_files: bool = False
    by_value: bool = False

    def __init__(self, client: Value) -> None:
        self.client = client

    @abstractmethod
    def workers(self) -> int:
        """Return how many chunks can run at the same time."""

    @abstractmethod
    def outcomes(self, run: Run, parcels: Sequence[Parcel], chunks: Sequence[Chunk]) -> Iterator[Outcome]:
        """Yield ``run(parcels, chunk)`` of each chunk, in their order; all of these can be pickled.

        When the iterator is closed early, because a task has failed, chunks that have not begun are to be given up.
        """


class Here(Engine):
    """Runs tasks in this process, one after the other."""

    shares_memory = True

    def workers(self) -> int:
        """Return 1."""
        return 1

    def outcomes(self, run: Run, parcels: Sequence[Parcel], chunks: Sequence[Chunk]) -> Iterator[Outcome]:
        """Run the chunks."""
        return (run(parcels, chunk) for chunk in chunks)


class ExecutorEngine(Engine):
    """Whatever has ``submit(function, *args)`` that returns futures, as executors of ``concurrent.futures`` do."""

    def workers(self) -> int:
        """Return the size of the pool, or the number of processors where it does not say."""
        return int(getattr(self.client, "_max_workers", None) or os.cpu_count() or 1)

    def outcomes(self, run: Run, parcels: Sequence[Parcel], chunks: Sequence[Chunk]) -> Iterator[Outcome]:
        """Submit all chunks, and wait for one after the other."""
        futures: list[Any] = []
        try:
            try:
                futures.extend(self.client.submit(run, parcels, chunk) for chunk in chunks)
            except RuntimeError as error:  # what executors that are shut down raise
                raise _refused(self.client, error) from error
            for future in futures:
                yield future.result()
        finally:
            for future in futures:
                future.cancel()


class ThreadEngine(ExecutorEngine):
    """``concurrent.futures.ThreadPoolExecutor``."""

    shares_memory = True


class ProcessEngine(ExecutorEngine):
    """``concurrent.futures.ProcessPoolExecutor``."""

    shares_files = True


class PoolEngine(Engine):
    """``multiprocessing.Pool``."""

    shares_files = True

    def workers(self) -> int:
        """Return the size of the pool."""
        return int(getattr(self.client, "_processes", None) or os.cpu_count() or 1)

    def outcomes(self, run: Run, parcels: Sequence[Parcel], chunks: Sequence[Chunk]) -> Iterator[Outcome]:
        """Submit some chunks for each worker, another one whenever one is done, and yield them in order.

        What a pool was given cannot be taken back: it gets no more than keeps its workers busy.
        """
        done: SimpleQueue[int] = SimpleQueue()
        pending: dict[int, Any] = {}

        def submit(at: int) -> None:
            def note(_: object) -> None:
                done.put(at)

            try:
                pending[at] = self.client.apply_async(run, (parcels, chunks[at]), callback=note, error_callback=note)
            except ValueError as error:  # a pool that is closed
                raise _refused(self.client, error) from error

        waiting = iter(range(len(chunks)))
        for at in islice(waiting, _AHEAD * self.workers()):
            submit(at)
        ready: set[int] = set()
        for k in range(len(chunks)):
            while k not in ready:
                ready.add(done.get())
                for at in islice(waiting, 1):
                    submit(at)
            yield pending.pop(k).get()


class ThreadPoolEngine(PoolEngine):
    """``multiprocessing.pool.ThreadPool``."""

    shares_memory = True


class JoblibEngine(Engine):
    """``joblib.Parallel``, whatever its backend."""

    shares_files = True
    by_value = True

    def __init__(self, client: Value) -> None:
        super().__init__(client)
        self.shares_memory = bool(getattr(getattr(client, "_backend", None), "supports_sharedmem", False))

    def workers(self) -> int:
        """Return ``n_jobs``, counted down from the number of processors where it is negative."""
        jobs = getattr(self.client, "n_jobs", None) or 1
        return int(jobs) if jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(jobs))

    def outcomes(self, run: Run, parcels: Sequence[Parcel], chunks: Sequence[Chunk]) -> Iterator[Outcome]:
        """Run all chunks by one call, which does them all, also when a task fails; it may return them as they come."""
        calls: Any = ((run, (parcels, chunk), {}) for chunk in chunks)  # what joblib.delayed makes
        yield from sorted(self.client(calls), key=_first)


def _first(outcome: Outcome) -> int:
    return outcome.first


class Scattered:
    """What clusters of Dask hold, by client: futures of parcels, for each of the functions that were used last."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._futures: dict[Any, OrderedDict[str, dict[str, Any]]] = {}

    def send(self, client: Value, parcels: Sequence[Parcel]) -> list[Value]:
        """Return futures of parcels that all workers have: of a function, and of the values that it keeps."""
        with self._lock:
            # Futures refer to their client, so that it does not go by itself.
            for known in [known for known in self._futures if known.status == "closed"]:
                del self._futures[known]
            held = self._futures.setdefault(client, OrderedDict())
            before = held.pop(parcels[0].key, {})
            wanted = {parcel.key: parcel for parcel in parcels}
            futures = {key: before[key] for key in wanted if key in before and before[key].status == "finished"}
            new = [key for key in wanted if key not in futures]
            if new:
                futures |= zip(
                    new, client.scatter([wanted[key] for key in new], broadcast=True, hash=False), strict=True
                )
            held[parcels[0].key] = futures
            if len(held) > _MOST_SENT:
                held.popitem(last=False)
            return [futures[parcel.key] for parcel in parcels]


SCATTERED = Scattered()


class DaskEngine(Engine):
    """``dask.distributed.Client``: a function and its values are scattered to all workers once."""

    by_value = True

    def __init__(self, client: Value) -> None:
        super().__init__(client)
        if getattr(client, "asynchronous", False):
            msg = (
                "f.map: client: an asynchronous Client of Dask cannot be waited for. Make one without "
                "asynchronous=True, and call f.map in a thread (asyncio.to_thread)."
            )
            raise ClientError(msg)
        if client.status != "running":
            msg = f"f.map: client: the Client of Dask is {client.status}. Make a new one."
            raise ClientError(msg)

    def workers(self) -> int:
        """Return the number of threads of all workers."""
        return max(1, sum(map(int, self.client.nthreads().values())))

    def outcomes(self, run: Run, parcels: Sequence[Parcel], chunks: Sequence[Chunk]) -> Iterator[Outcome]:
        """Scatter the parcels, submit all chunks, and wait for one after the other."""
        # A cluster that starts workers when there is work has none yet to scatter to.
        sent = SCATTERED.send(self.client, parcels) if self.client.nthreads() else parcels
        futures = [self.client.submit(_run_scattered, run, chunk, *sent, pure=False) for chunk in chunks]
        try:
            for future in futures:
                yield future.result()
        finally:
            self.client.cancel([future for future in futures if not future.done()])


def _run_scattered(run: Run, chunk: Chunk, *parcels: Parcel) -> Outcome:
    return run(parcels, chunk)


def _refused(client: object, error: Exception) -> ClientError:
    return ClientError(
        f"f.map: client: {text_of(client)} takes no work ({text_of(error, str)}). Call f.map while it is open; make "
        "another one if its workers are gone."
    )


_KNOWN: Mapping[str, type[Engine]] = MappingProxyType(
    {
        "concurrent.Executor": ExecutorEngine,
        "concurrent.InterpreterPoolExecutor": ExecutorEngine,
        "concurrent.ProcessPoolExecutor": ProcessEngine,
        "concurrent.ThreadPoolExecutor": ThreadEngine,
        "distributed.Client": DaskEngine,
        "joblib.Parallel": JoblibEngine,
        "multiprocessing.Pool": PoolEngine,
        "multiprocessing.ThreadPool": ThreadPoolEngine,
    }
)


def _name_of(kind: type) -> str:
    """Return a class's package and name."""
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


class Clients:
    """Engines by class of client: those that are registered, those of entry points, those that are known here."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._registered: dict[type | str, type[Engine]] = {}

    def add(self, kind: type | str, engine: type[Engine], replace: bool = False) -> None:
        """Use an engine for clients of a class (see `register_client`)."""
        named = isinstance(kind, str) and "." in kind and all(part.isidentifier() for part in kind.split("."))
        if not (named or isinstance(kind, type)) or not (isinstance(engine, type) and issubclass(engine, Engine)):
            msg = (
                "register_client: a class, or its package and name as in 'joblib.Parallel', and a class derived from "
                f"Engine are needed, got {text_of(kind)} and {text_of(engine)}."
            )
            raise FunctionTypeError(msg)
        key = f"{kind.partition('.')[0]}.{kind.rpartition('.')[2]}" if isinstance(kind, str) else kind
        name = _name_of(key) if isinstance(key, type) else key
        is_taken = name in _KNOWN or name in discover(GROUP)
        with self._lock:
            if not replace and (is_taken or {key, name} & self._registered.keys()):
                msg = (
                    f"register_client: {text_of(kind)} has an engine. Pass replace=True to put another one in "
                    "its place."
                )
                raise DuplicateRegistrationError(msg)
            self._registered = {**self._registered, key: engine}

    def engine_of(self, client: object) -> Engine:
        """Return the engine of a client; that of this process for None.

        Raises
        ------
        ClientError
            If it is no client.
        """
        if client is None:
            return Here(None)
        for base in type(client).__mro__:
            engine = self._of_class(base)
            if engine is not None:
                return engine(client)
        if not isinstance(client, type) and callable(getattr(client, "submit", None)):
            return ExecutorEngine(client)
        msg = f"f.map: client: an executor or another client is needed, {_why_none(client)}"
        raise ClientError(msg)

    def _of_class(self, kind: type) -> type[Engine] | None:
        name = _name_of(kind)
        for key in (kind, name):
            if key in self._registered:
                return self._registered[key]
        if name == "builtins.object":
            return None
        entry = discover(GROUP).get(name)
        if entry is None:
            return _KNOWN.get(name)
        engine: object = entry.load()
        if not (isinstance(engine, type) and issubclass(engine, Engine)):
            msg = (
                f"client {name}: entry point {entry.value} of {entry.distribution} must be a class derived from "
                f"Engine, got {text_of(engine)}."
            )
            raise FunctionTypeError(msg)
        return engine


def _why_none(client: object) -> str:
    """Return what was given in place of a client, and what to give."""
    choice = "concurrent.futures.ProcessPoolExecutor(), dask.distributed.Client() or joblib.Parallel(n_jobs=-1)"
    if isinstance(client, int):
        return f"got the number {client}. Make the workers: concurrent.futures.ProcessPoolExecutor({client})."
    if isinstance(client, type):
        return f"got the class {client.__name__}. Make one: {client.__name__}(...)."
    module = sys.modules.get("joblib")
    if module is not None and client is module:
        return "got the module joblib. Pass joblib.Parallel(n_jobs=-1)."
    return f"got {text_of(client)}. Pass {choice}, or None for this process; register_client adds others."


CLIENTS = Clients()

_Kind = TypeVar("_Kind", bound=type[Engine])


def register_client(
    kind: type | str, engine: _Kind | None = None, *, replace: bool = False
) -> Callable[[_Kind], _Kind] | _Kind:
    """Say how ``f.map`` runs tasks on clients of a class.

    Packages may publish theirs as entry points of the group ``treadle.clients``, each named ``package.Class``.

    Parameters
    ----------
    kind
        The class, or its package and name, ``"ray.Pool"``, wherever in the package it stands: it need not be imported.
        Clients of derived classes are used alike, unless they have an engine of their own.
    engine
        A class derived from `Engine`, called with the client. A decorator is returned where it is left out.
    replace
        Whether it may take the place of another engine.

    Raises
    ------
    DuplicateRegistrationError
        If the class has one.
    FunctionTypeError
        If it is no class, or the engine no `Engine`.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> from treadle.compile import Engine, function, register_client
    >>> class Loop:
    ...     pass
    >>> @register_client(Loop)
    ... class LoopEngine(Engine):
    ...     shares_memory = True
    ...     def workers(self):
    ...         return 1
    ...     def outcomes(self, run, parcels, chunks):
    ...         for chunk in chunks:
    ...             yield run(parcels, chunk)
    >>> x = tt.dscalar("x")
    >>> [float(y) for y in function([x], x**2, mode="VM").map([1.0, 2.0, 3.0], client=Loop())]
    [1.0, 4.0, 9.0]
    """
    if engine is None:

        def decorate(cls: _Kind) -> _Kind:
            CLIENTS.add(kind, cls, replace)
            return cls

        return decorate
    CLIENTS.add(kind, engine, replace)
    return engine
