"""The tasks of ``f.map``: their arguments, in chunks, and how a worker runs them."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from treadle.compile.errors import CallError, TaskError
from treadle.compile.functions.maps.parcels import KEPT, Held
from treadle.config import dataclass, lazy_module, text_of

if TYPE_CHECKING:
    import traceback
    from collections.abc import Sequence

    from treadle.compile.functions.function import Function
    from treadle.compile.functions.maps.parcels import Parcel
    from treadle.graph import Value

    # By position and by name.
    Arguments = tuple[tuple[Value, ...], dict[str, Value]]
else:
    traceback = lazy_module("traceback")

# Characters of an argument in a message.
_LONGEST_ARGUMENT = 60


@dataclass(frozen=True, slots=True)
class Chunk:
    """Tasks that one worker does one after the other.

    Attributes
    ----------
    first
        The number of the first task.
    tasks
        The arguments of each.
    starts
        For each task the values that it alone starts from, by position among all that the function keeps: generators.
    """

    first: int
    tasks: tuple[Arguments, ...]
    starts: tuple[dict[int, Value], ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a chunk.

    Attributes
    ----------
    first
        The number of its first task.
    results
        The results, of the tasks before the one that failed.
    error
        What the next task failed with, or None.
    is_unknown
        Whether nothing was done, because the worker has neither the function nor its pickle.
    is_loaded
        Whether the worker could load the function; otherwise `error` says what hinders it.
    """

    first: int
    results: tuple[Value, ...] = ()
    error: Exception | None = None
    is_unknown: bool = False
    is_loaded: bool = True


def run_chunk(parcels: Sequence[Parcel], chunk: Chunk) -> Outcome:
    """Do the tasks of a chunk, on a worker."""
    live = cast("Function | None", parcels[0].live)
    try:
        held = KEPT.take(parcels) if live is None else Held(live, tuple(parcel.live for parcel in parcels[1:]), [])
    except Exception as error:  # noqa: BLE001 - pickles of others' objects fail in any way
        return Outcome(chunk.first, error=_sendable(error), is_loaded=False)
    if held is None:
        return Outcome(chunk.first, is_unknown=True)
    results: list[Value] = []
    worker = None
    try:
        worker = _Worker(held)
        for (args, kwargs), own in zip(chunk.tasks, chunk.starts, strict=True):
            results.append(worker.call(args, kwargs, own))
    except Exception as error:  # noqa: BLE001 - whatever a task failed with goes back to the caller
        return Outcome(chunk.first, tuple(results), error if live is not None else _sendable(error))
    finally:
        if worker is not None:
            held.idle.append(worker.function)
    return Outcome(chunk.first, tuple(results))


class _Worker:
    """A function with state of its own, put back to where it began before each task."""

    def __init__(self, held: Held) -> None:
        self.values = held.values
        try:
            self.function = held.idle.pop()
        except IndexError:
            self.function = held.function.apart() if held.values else held.function
        self.cells = self.function.maker.specification.kept_cells()
        written = {cell for cell, _ in self.function.maker.specification.updates}
        self.written = [k for k, cell in enumerate(self.cells) if cell in written]
        for cell, value in zip(self.cells, self.values, strict=True):
            cell.write(value)

    def call(self, args: Sequence[Value], kwargs: Mapping[str, Value], own: Mapping[int, Value]) -> Value:
        """Do one task."""
        for k in self.written:
            self.cells[k].write(own.get(k, self.values[k]))
        return self.function(*args, **kwargs)


def _sendable(error: Exception) -> Exception:
    """Return an error that can be pickled, with the lines that it came from on the worker as a note."""
    lines = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
        sent = error
    except Exception:  # noqa: BLE001 - pickles of others' errors fail in any way
        sent = TaskError(f"{type(error).__qualname__}: {error}")
    sent.add_note(f"On the worker:\n{lines}")
    return sent


def read_task(function: Function, item: object, index: int) -> Arguments:
    """Return the arguments of a task: those of a tuple by position, of a dict by name, anything else is the only one.

    Raises
    ------
    CallError
        If they are too many or too few, or have names that the function does not know.
    """
    if function.has_trees and not isinstance(item, tuple):
        msg = (
            f"f.map: task {index}: the arguments of the function are nested, got {text_of(item)}. Give each task a "
            "tuple of its arguments."
        )
        raise CallError(msg)
    args: tuple[Value, ...] = item if isinstance(item, tuple) else () if isinstance(item, Mapping) else (item,)
    kwargs = dict(item) if isinstance(item, Mapping) else {}
    if any(not isinstance(key, str) for key in kwargs) or "output_subset" in kwargs:
        msg = (
            f"f.map: task {index}: a dict must have the names of inputs as keys, got {text_of(list(kwargs))}. To "
            "compute some of the outputs only, compile a function of these."
        )
        raise CallError(msg)
    try:
        function.signature.check_complete(function.signature.match(function.leaves(args), kwargs))
    except CallError as error:
        advice = " For tasks without arguments give empty tuples: [()] * n." if not function.signature.inputs else ""
        msg = f"f.map: task {index}: {error}{advice}"
        raise CallError(msg) from None
    return args, kwargs


def describe(function: Function, arguments: Arguments) -> str:
    """Return the arguments of a task, shortly: arrays by dtype and shape."""
    args, kwargs = arguments
    signature = function.signature
    names = [signature.inputs[i].name or f"argument {i}" for i in signature.open]
    if function.has_trees:
        names = [f"argument {i}" for i in range(len(args))]
    named = [*zip(names, args, strict=False), *kwargs.items()]
    return ", ".join(f"{name}={_short(value)}" for name, value in named) or "no arguments"


def _short(value: Value) -> str:
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, tuple) and shape and dtype is not None:
        return f"{type(value).__name__} of {dtype}, shape {shape}"
    return text_of(value, longest=_LONGEST_ARGUMENT)
