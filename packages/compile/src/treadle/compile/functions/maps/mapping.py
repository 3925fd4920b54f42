"""``f.map``: a function called for many arguments, here or by the workers of a client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NoReturn, cast

from treadle.compile.errors import CallError, ClientError, FunctionValueError, TaskError
from treadle.compile.functions.locking import under_locks
from treadle.compile.functions.maps.clients import CLIENTS
from treadle.compile.functions.maps.parcels import FILES, PARCELS, Parcel, value_parcel
from treadle.compile.functions.maps.tasks import Chunk, describe, read_task, run_chunk
from treadle.config import dataclass, text_of
from treadle.graph import Type, Variable, as_count, as_flag

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from treadle.compile.functions.function import Function
    from treadle.compile.functions.maps.clients import Engine
    from treadle.compile.functions.maps.tasks import Arguments, Outcome
    from treadle.graph import Container, Value

# So many chunks for each worker, where nobody says how large they are: workers that are done early take another one.
_CHUNKS_EACH = 4
_MOST_TASKS = 2**62


def map_function(
    function: Function, values: object, client: object, chunk_size: object, discard_updates: object
) -> list[Value]:
    """Call a function for each of many tasks; see `Function.map`."""
    engine = CLIENTS.engine_of(client)
    size = None if chunk_size is None else as_count("f.map: chunk_size", chunk_size, least=1, most=_MOST_TASKS)
    discards = as_flag("f.map: discard_updates", discard_updates)
    tasks = [read_task(function, item, index) for index, item in enumerate(_listed(values))]
    if not discards:
        _check_updates(function)
    if not tasks:
        return []
    if size is None:
        pieces = 1 if client is None else _CHUNKS_EACH * engine.workers()
        size = -(-len(tasks) // pieces)
    start = _Start.of(function, len(tasks))
    try:
        return _results(function, engine, start.kept, start.chunks(tasks, size), len(tasks))
    except BaseException:
        start.take_back()
        raise


def _listed(values: object) -> Iterable[object]:
    is_text = isinstance(values, str | bytes)
    if is_text or isinstance(values, Mapping | Variable) or not isinstance(values, Iterable):
        msg = (
            f"f.map: values: a list with an item for each task is needed, got {text_of(values)}. For a function "
            "without arguments give as many empty tuples as there are tasks: [()] * n."
        )
        raise CallError(msg)
    try:
        return list(cast("Iterable[object]", values))
    except TypeError as error:  # such as of an array without dimensions
        msg = f"f.map: values: a list with an item for each task is needed, got {text_of(values)} ({error})."
        raise CallError(msg) from error


# What the function keeps


def _check_updates(function: Function) -> None:
    """Refuse updates of anything but generators: what tasks write is not brought back."""
    spec = function.maker.specification
    written = {cell for cell, _ in spec.updates if _is_alike_for_all(cell)}
    if not written:
        return
    names = [str(item.variable) for item in spec.inputs if item.container in written]
    names += [str(s) for s in spec.state() if s.container in written]
    msg = (
        f"{function.signature.title} of f.map: the function updates {', '.join(dict.fromkeys(names))}, and updates "
        "that tasks make are not brought back. Make the new values outputs; or pass discard_updates=True, where each "
        "task is to begin with the values of now."
    )
    raise FunctionValueError(msg)


def _kind(cell: Container) -> Type:
    return cell.type.carrier() or cell.type


def _is_alike_for_all(cell: Container) -> bool:
    """Whether all tasks begin with the value of a cell, rather than each with one of its own."""
    return _kind(cell).spawned is Type.spawned


@dataclass(frozen=True, slots=True)
class _Start:
    """What the tasks of one call of ``f.map`` begin with.

    Attributes
    ----------
    kept
        The values that the function keeps, by position; None in place of generators that have spawned.
    spawned
        The generators of the tasks, by the position of the one that they come from.
    moved
        The cells of generators that have spawned, each with its value before and after.
    """

    kept: list[Value]
    spawned: dict[int, list[Value]]
    moved: list[tuple[Container, Value, Value]]

    @classmethod
    def of(cls, function: Function, count: int) -> _Start:
        """Return what the function keeps at this moment; let the generators that it moves on spawn one for each task.

        Raises
        ------
        FunctionValueError
            If a generator cannot spawn. All are then as they were.
        """
        spec = function.maker.specification
        cells = spec.kept_cells()
        written = {cell for cell, _ in spec.updates}

        def begin() -> _Start:
            values = {cell: cell.read_host() for cell in cells}
            families = {
                cell: _spawned(cell, value, count)
                for cell, value in values.items()
                if cell in written and value is not None and not _is_alike_for_all(cell)
            }
            for cell, (after, _) in families.items():
                cell.write(after)
            return cls(
                kept=[None if cell in families else values[cell] for cell in cells],
                spawned={k: families[cell][1] for k, cell in enumerate(cells) if cell in families},
                moved=[(cell, values[cell], after) for cell, (after, _) in families.items()],
            )

        return under_locks(cells, begin)

    def chunks(self, tasks: Sequence[Arguments], size: int) -> list[Chunk]:
        """Return the tasks in chunks, each task with its generators."""
        starts = [{k: family[at] for k, family in self.spawned.items()} for at in range(len(tasks))]
        return [
            Chunk(first, tuple(tasks[first : first + size]), tuple(starts[first : first + size]))
            for first in range(0, len(tasks), size)
        ]

    def take_back(self) -> None:
        """Put generators back to where they were, those that nobody has used since."""
        for cell, before, after in self.moved:
            cell.change(partial(_unless_changed, before, after))


def _unless_changed(before: Value, after: Value, now: Value) -> Value:
    return before if now is after else now


def _spawned(cell: Container, value: Value, count: int) -> tuple[Value, list[Value]]:
    """Return a generator after it spawned one for each task, and these."""
    try:
        return cast("tuple[Value, list[Value]]", _kind(cell).spawned(value, count))
    except TypeError as error:
        msg = (
            f"f.map: {cell.name or 'the generator'} cannot give each task a generator of its own "
            f"({error}). Set one that numpy.random.default_rng(seed) makes, or a PortableGenerator."
        )
        raise FunctionValueError(msg) from error


# The run


def _results(
    function: Function, engine: Engine, kept: Sequence[Value], chunks: Sequence[Chunk], count: int
) -> list[Value]:
    results: list[Value] = [None] * count
    parcels = _parcels(function, engine, kept)
    if engine.shares_memory or not engine.shares_files:
        _collect(function, engine, parcels, chunks, results)
        return results
    # Workers that see no files of this machine, or come when others have removed them, are sent the pickles.
    unknown = _collect(function, engine, FILES.of(function, parcels), chunks, results)
    _collect(function, engine, parcels, unknown, results)
    FILES.tidy(function, parcels)
    return results


def _collect(
    function: Function,
    engine: Engine,
    parcels: Sequence[Parcel],
    chunks: Sequence[Chunk],
    results: list[Value],
) -> list[Chunk]:
    """Let the engine do chunks, and put their results in their places; return those whose function was not there."""
    unknown: list[Chunk] = []
    if not chunks:
        return unknown
    outcomes = engine.outcomes(run_chunk, parcels, chunks)
    try:
        for chunk in chunks:
            outcome = _next_of(outcomes, chunk, len(results))
            if outcome.is_unknown:
                unknown.append(chunk)
                continue
            done = len(outcome.results)
            results[chunk.first : chunk.first + done] = outcome.results
            if outcome.error is not None and not outcome.is_loaded:
                _fail_to_load(chunk.first, outcome.error)
            if outcome.error is not None:
                _fail(function, len(results), chunk.first + done, chunk.tasks[done], outcome.error)
    finally:
        close = getattr(outcomes, "close", None)
        if close is not None:
            close()
    return unknown


def _next_of(outcomes: Iterator[Outcome], chunk: Chunk, count: int) -> Outcome:
    """Return the outcome of a chunk; what goes wrong outside of tasks is an error that names the chunk."""
    try:
        return next(outcomes)
    except ClientError:
        raise
    except Exception as error:
        last = chunk.first + len(chunk.tasks) - 1
        which = f"task {last}" if last == chunk.first else f"tasks {chunk.first} to {last}"
        lost = (
            f"f.map: {which} of {count}: the client returned no result, but {type(error).__name__}: "
            f"{text_of(error, str).rstrip('.')}. Look at the workers' own messages: a worker may have run out of "
            "memory, or its arguments or results may be such that pickle refuses them."
        )
        failure = TaskError(lost)
        failure.index = chunk.first
        raise failure from error


def _parcels(function: Function, engine: Engine, kept: Sequence[Value]) -> list[Parcel]:
    """Return the function and the values that it keeps, with their pickles unless the workers are in this process."""
    if engine.shares_memory:
        return [Parcel("", live=function), *(Parcel("", live=value) for value in kept)]
    return [PARCELS.of_function(function, engine.by_value), *(value_parcel(v, engine.by_value) for v in kept)]


def _fail(function: Function, count: int, index: int, arguments: Arguments, error: Exception) -> NoReturn:
    msg = (
        f"f.map: task {index} of {count} ({describe(function, arguments)}) failed with {type(error).__name__}: "
        f"{text_of(error, str)}"
    )
    failure = TaskError(msg)
    failure.index = index
    raise failure from error


def _fail_to_load(index: int, error: Exception) -> NoReturn:
    msg = (
        f"f.map: a worker cannot load the function: {type(error).__name__}: {text_of(error, str)}. Workers need the "
        "packages and modules that it was made with; what a notebook or the main program defines belongs into a module."
    )
    failure = TaskError(msg)
    failure.index = index
    raise failure from error
