"""The quick way to call a program: compiled code at once, and nothing in Python that it would find out itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from treadle.config import new_lock
from treadle.link.jax.processes import HOME
from treadle.link.jax.programs.executables import Executables, Form
from treadle.link.jax.programs.ownership import owned, settled
from treadle.link.jax.table import Flag
from treadle.link.vm import Later

if TYPE_CHECKING:
    from treadle.link.jax.programs.tracing import Outcome

# Puts a value for "64-bit dtypes are on" in place of the calling thread's own, and returns that: what the context
# manager jax.enable_x64 does, in a tenth of its time.
swap_x64: Callable[[object], object] = jax.enable_x64.swap_local


# After so many calls that fitted the form of the call before not, nothing is expected of the next one any more.
MOST_MISSES = 16


class ArrayClass:
    """The class that JAX's arrays have, which JAX does not name: `jax.Array` is an abstract one, and slow to ask."""

    __slots__ = ("_found", "_lock")

    def __init__(self) -> None:
        self._found: type[Array] | None = None
        self._lock = new_lock()

    def __call__(self) -> type[Array]:
        """Return the class."""
        if self._found is None:
            with self._lock:
                self._found = type(jax.device_put(np.zeros((), "bool")))
        return self._found


array_class = ArrayClass()


def reference_counts(values: Sequence[object], places: Sequence[int]) -> list[int]:
    """Return how many references there are to the values at some places."""
    return [getrefcount(values[i]) for i in places]


class OwnReferences:
    """How many references there are to a value that only its cell holds, where `_taking_over` counts them."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count: int | None = None

    def __call__(self) -> int:
        """Return the number; it is found out by such a call, since it depends on the version of Python."""
        if self._count is None:
            cell = Later.of(object())

            def taking_over(args: Sequence[object]) -> int:
                return reference_counts(args, (0,))[0]

            def called(*args: object) -> int:
                return taking_over(args)

            def caller() -> int:
                value = cell.get()
                return called(value)

            self._count = caller()
        return self._count


own_references = OwnReferences()


def quick_caller(
    forms: Executables,
    native: Sequence[bool],
    single: bool,
    fallback: Callable[..., object],
    write: Callable[[Sequence[Array]], None] | None = None,
) -> Callable[..., object]:
    """Return a function that calls the compiled form that was right the last time.

    It looks at the classes of the arguments; their shapes and dtypes compiled code looks at. What does not fit, and
    everything after a failure, it leaves to `fallback`. So it does with forms whose results take over the memory of
    arguments, without `write`, which puts new values into their cells.
    """
    arrays, host, constants = frozenset((np.ndarray, array_class())), np.ndarray, forms.arguments
    none_native, all_native = not any(native), all(native)
    form: Form | None = None
    misses = 0

    def other(*args: Array | np.ndarray) -> object:
        nonlocal form, misses
        result = fallback(*args)
        form, misses = forms.latest if misses < MOST_MISSES else None, misses + 1
        return result

    def call(*args: Array | np.ndarray, **kw: object) -> object:
        kinds = {*map(type, args)}
        if kw:
            return fallback(*args, **kw)
        if form is None or not kinds <= arrays or HOME.is_forked:
            return other(*args)
        if form.donated:
            if write is None or host in kinds:
                return fallback(*args)
            values: Sequence[Array] | None = _taking_over(form, args, constants, write)
            return other(*args) if values is None else settled((), values, native)
        failed: Flag = None
        # What is 64 bits wide already stays that.
        before = swap_x64(True) if host in kinds else None
        try:
            values, failed, _ = form.call(*args, *constants)
        except Exception:  # noqa: BLE001 - whatever it is, the fallback meets it again, and explains it
            values = None
        finally:
            if before is not None:
                swap_x64(before)
        if values is None or (failed is not None and np.asarray(failed)):
            return other(*args)
        if none_native:
            return owned(values[0]) if single else [owned(x) for x in values]
        if all_native and host not in kinds:
            return values[0] if single else list(values)
        results = settled(args, values, native)
        return results[0] if single else results

    return call


def _taking_over(
    form: Form, args: Sequence[Any], constants: Sequence[Array], write: Callable[[Sequence[Array]], None]
) -> Sequence[Array] | None:
    """Return the results of a form that take over the memory of arguments; None if it failed and took nothing.

    It has new values written at once: the old ones are gone then, whatever interrupts the rest of the call. What
    somebody else holds too is copied before.
    """
    most = own_references()
    counts = dict(zip(form.donated, reference_counts(args, form.donated), strict=True))
    given = [(jnp.array(x) if counts.get(i, 0) > most else x,) for i, x in enumerate(args)]
    done: list[Outcome] = []
    try:
        # Nothing can interrupt this between the call and the note of its results.
        done.extend(map(form.call, *given, *((c,) for c in constants)))
        write(done[0][0])
    except BaseException as error:
        if done:
            write(done[0][0])
            raise
        if not isinstance(error, Exception) or any(x.is_deleted() for (x,) in given):
            raise
    return done[0][0] if done else None
