"""The quick way to call a program: compiled code at once, and nothing in Python that it would find out itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import numpy as np
from jax import Array

from treadle.config import new_lock
from treadle.link.jax.executables import Executables
from treadle.link.jax.ownership import owned, settled
from treadle.link.jax.processes import HOME
from treadle.link.jax.table import Flag

# Puts a value for "64-bit dtypes are on" in place of the calling thread's own, and returns that: what the context
# manager jax.enable_x64 does, in a tenth of its time.
swap_x64: Callable[[object], object] = jax.enable_x64.swap_local


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


def quick_caller(
    forms: Executables, native: Sequence[bool], single: bool, fallback: Callable[..., object]
) -> Callable[..., object]:
    """Return a function that calls the only compiled form that there is so far.

    It looks at the classes of the arguments; their shapes and dtypes compiled code looks at. What does not fit, and
    everything after a failure, it leaves to `fallback`.
    """
    arrays, host, constants = frozenset((np.ndarray, array_class())), np.ndarray, forms.arguments
    none_native, all_native = not any(native), all(native)

    def call(*args: Array | np.ndarray, **kw: object) -> object:
        form, kinds = forms.only, {*map(type, args)}
        if form is None or kw or not kinds <= arrays or HOME.is_forked:
            return fallback(*args, **kw)
        failed: Flag = None
        # What is 64 bits wide already stays that.
        before = swap_x64(True) if host in kinds else None
        try:
            values, failed, _ = form(*args, *constants)
        except Exception:  # noqa: BLE001 - whatever it is, the fallback meets it again, and explains it
            values = None
        finally:
            if before is not None:
                swap_x64(before)
        if values is None or (failed is not None and np.asarray(failed)):
            return fallback(*args)
        if none_native:
            return owned(values[0]) if single else [owned(x) for x in values]
        if all_native and host not in kinds:
            return values[0] if single else list(values)
        results = settled(args, values, native)
        return results[0] if single else results

    return call
