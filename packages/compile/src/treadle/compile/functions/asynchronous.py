"""Calls whose results come later: ``f.async_call``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from treadle.config import lazy_module, new_lock
from treadle.graph import tree_map

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent import futures

    from treadle.compile.functions.function import Function
    from treadle.graph import Value
else:
    futures = lazy_module("concurrent.futures")


class AsyncCalls:
    """Makes the calls of one function, in the order in which they were asked for.

    Where the backend returns before it has computed, a call is begun at once, and a thread waits for its results;
    elsewhere the thread makes the call.

    Parameters
    ----------
    function
        The function.
    begin
        The same on a program that returns before it has computed, with all results in the backend's own form; None
        where there is none.
    """

    __slots__ = ("_begin", "_lock", "_pid", "_pool", "_program", "_results")

    def __init__(self, function: Function, begin: Function | None) -> None:
        self._begin = begin
        self._program = function.program
        spec = function.maker.specification
        native = function.maker.native_outputs
        # The types of the results that are to be host values, None for the others; how the results come.
        kinds = [None if k in native else out.variable.type for k, out in enumerate(spec.outputs)]
        self._results = kinds, spec.single, spec.keys
        self._lock = new_lock()
        self._pool: futures.ThreadPoolExecutor | None = None
        self._pid = 0

    def __call__(
        self, call: Callable[..., Value], args: Sequence[Value], kwargs: Mapping[str, Value]
    ) -> futures.Future[Any]:
        """Return the future of a call; `call` is what makes it in a thread."""
        if self._begin is None:
            args, kwargs = tree_map(_copied, (list(args), dict(kwargs)))
            return self._threads().submit(call, *args, **kwargs)
        try:
            begun = self._begin(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the future's to tell
            failed: futures.Future[Any] = futures.Future()
            failed.set_exception(error)
            return failed
        return self._threads().submit(self._finished, begun)

    def _threads(self) -> futures.ThreadPoolExecutor:
        with self._lock:
            # A forked child has no thread of its parent's.
            if self._pool is None or self._pid != os.getpid():
                self._pool, self._pid = futures.ThreadPoolExecutor(1, thread_name_prefix="treadle-call"), os.getpid()
            return self._pool

    def _finished(self, begun: Value) -> Value:
        """Return the results of a call that was begun, once they have been computed."""
        kinds, single, keys = self._results
        values = [begun] if single else list(begun.values()) if isinstance(begun, dict) else list(begun)
        self._program.wait(values)
        values = [
            value if kind is None else self._program.fetch(value, kind)
            for value, kind in zip(values, kinds, strict=True)
        ]
        if single:
            return values[0]
        return values if keys is None else dict(zip(keys, values, strict=True))


def _copied(value: Value) -> Value:
    """Return a copy of an array, which the caller may change before the call is made; anything else as it is."""
    return value.copy() if hasattr(type(value), "__array_interface__") else value
