"""The text of functions that hold the locks of cells, and reading several cells at one moment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar, cast

from treadle.graph import CALL_FILE, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from treadle.graph import Compute, Container, Value

# More locks than this are taken together, which then costs less than a block for each.
_MOST_BLOCKS = 8
_LOCKED = re.compile(r" *with (c\d+)\.lock:")
_Result = TypeVar("_Result")
_FREE = "gone.extend(map(release, locks[len(gone):len(taken)]))"


class LockingText:
    """Writes a function that runs a part of its statements under the locks of cells.

    A few locks are taken by a ``with`` each. Many are taken by one call, and released by another: nothing can interrupt
    these between taking a lock and noting that in ``taken``, or between releasing it and noting that in ``gone``.

    Attributes
    ----------
    together
        Whether there are many; then nothing may return from inside but by `leave`.
    """

    def __init__(self, head: str, scope: dict[str, object]) -> None:
        self.scope = scope
        self.depth = self._outside = 2
        self._head = head
        self._lines: list[str] = []
        self.together = False

    def add(self, text: str) -> None:
        """Add a statement."""
        self._lines.append("  " * self.depth + text)

    def enter(self, cells: Iterable[Container]) -> dict[Container, str]:
        """Take the locks of cells, in the order that all calls take them in; return the cells' names."""
        names = {cell: f"c{k}" for k, cell in enumerate(sorted(set(cells), key=lambda cell: cell.order))}
        self.scope |= {name: cell for cell, name in names.items()}
        self._outside = self.depth
        self.together = len(names) > _MOST_BLOCKS
        if self.together:
            locks = tuple(cell.lock for cell in names)
            self.scope |= {"locks": locks, "acquire": type(locks[0]).acquire, "release": type(locks[0]).release}
            self.add("try:")
            self.depth += 1
            self.add("taken.extend(map(acquire, locks))")
            return names
        for name in names.values():
            self.add(f"with {name}.lock:")
            self.depth += 1
        return names

    def leave(self, result: str | None = None) -> None:
        """Release the locks; with a result, return that."""
        # Returning from inside of the blocks leaves no instruction between them outside of a handler.
        if result is not None:
            self.add(f"result = {result}" if self.together else f"return {result}")
        if self.together:
            self.add("gone.extend(map(release, locks))")
        self.depth = self._outside
        if self.together:
            self.add("except BaseException:")
            self.add(f"  {_FREE}")
            self.add("  raise")
            if result is not None:
                self.add("return result")

    def compiled(self, handlers: Sequence[str] = ()) -> Compute:
        """Return the function; `handlers` are lines that handle exceptions."""
        # What comes while an exception passes through the blocks above.
        last = f"    {_FREE}" if self.together else "    settle(error)"
        lines = [self._head, "  taken, gone = [], []"] if self.together else [self._head]
        lines += ["  try:", *self._lines, *handlers, "  except BaseException as error:", last, "    raise"]
        matches = ((at, _LOCKED.fullmatch(line)) for at, line in enumerate(lines, 1))
        self.scope |= {"settle": settle, "places": {at: self.scope[match[1]] for at, match in matches if match}}
        exec(compile("\n".join(lines), CALL_FILE, "exec"), self.scope)
        return cast("Compute", self.scope[self._head.removeprefix("def ").partition("(")[0]])


class Snapshot:
    """The host values that cells have at one moment, pickled along with the cells.

    Cells are pickled one by one, while other threads may call functions that update several of them. When a snapshot
    has been unpickled, or copied, the cells that came with it can be given its values.
    """

    __slots__ = ("_values",)

    def __init__(self, cells: Iterable[Container]) -> None:
        self._values = read_together(cells)

    @property
    def values(self) -> Mapping[Container, object]:
        """The values by cell."""
        return self._values

    def restore(self) -> None:
        """Give the cells these values."""
        for cell, value in self._values.items():
            cell.write(value)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the cells and the values, most of which are pickled with the cells anyway."""
        return _snapshot_of, (list(self._values), list(self._values.values()))


def _snapshot_of(cells: Sequence[Container], values: Sequence[Value]) -> Snapshot:
    snapshot = Snapshot(())
    snapshot._values = dict(zip(cells, values, strict=True))
    return snapshot


def read_together(cells: Iterable[Container]) -> dict[Container, object]:
    """Return the host values that cells have at one moment."""
    text = LockingText("def read():", {})
    names = text.enter(cells)
    text.leave(f"[{', '.join(f'{name}.read_host()' for name in names.values())}]")
    return dict(zip(names, text.compiled()(), strict=True))


def under_locks(cells: Iterable[Container], work: Callable[[], _Result]) -> _Result:
    """Return what `work` returns, called while the locks of cells are held."""
    text = LockingText("def run():", {"work": work})
    text.enter(cells)
    text.leave("work()")
    return cast("_Result", text.compiled()())
