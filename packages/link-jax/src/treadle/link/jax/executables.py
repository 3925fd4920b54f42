"""Compiled forms of one function, by the shapes of its arguments: in memory, and in the compile cache."""

from __future__ import annotations

import io
import os
import pickle
import re
import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import jax
import numpy as np
from jax import stages
from jax.experimental import serialize_executable

from treadle.cache import LIBRARIES, Cache, default_cache, digest
from treadle.config import new_lock, span
from treadle.graph import early_nodes, foreign_code
from treadle.link.jax.options import JAX_LIBRARIES
from treadle.link.jax.table import Array

if TYPE_CHECKING:
    from treadle.link.jax.tracing import Outcome

Shapes = tuple[tuple[int, ...], ...]
# The values that a form is compiled for, and the shapes.
Key = tuple[tuple[bytes, ...], Shapes]


# XLA may keep a wider float where a narrower one is asked for; a cast then does not round.
_COMPILER_OPTIONS = {"xla_allow_excess_precision": False}
_CALLED = re.compile(r"custom_call\s*@(\w+)|call_target_name\s*=\s*\"(\w+)\"")
_LAPACK = "lapack_"


class ExecutableCache:
    """Where the compiled forms of one program are kept between processes."""

    def __init__(self, token: str | None = None) -> None:
        # What tells the program from all others.
        self.token = secrets.token_hex(32) if token is None else token
        self._cache: Cache = default_cache()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the token; the compile directory is that of the process that loads it."""
        return ExecutableCache, (self.token,)

    def _key(self, about: Key) -> str:
        device = jax.devices()[0]
        # Such as the precision of matrix products, which the user may set from one call to the next.
        settings = [f"{name} {getattr(jax.config, name, value)!r}" for name, value in sorted(jax.config.values.items())]
        flags = os.environ.get("XLA_FLAGS", "")
        return digest("jax executable", self.token, device.platform, device.device_kind, repr(about), flags, *settings)

    def find(self, about: Key) -> Callable[..., Outcome] | None:
        """Return the compiled form for values and shapes, if it was kept; damaged ones count as missing."""
        payload = self._cache.get(self._key(about))
        if payload is None:
            return None
        try:
            libraries, data = pickle.loads(payload)
            if libraries:
                _initialise_lapack()
            executable: Callable[..., Outcome] = serialize_executable.deserialize_and_load(*data)
        except Exception:  # noqa: BLE001 - whatever JAX finds wrong with it, the form is compiled anew
            return None
        return executable

    def put(self, about: Key, lowered: stages.Lowered, compiled: stages.Compiled) -> None:
        """Keep a compiled form, unless it calls libraries that are not known to be there when it is loaded."""
        called = {a or b for a, b in _CALLED.findall(lowered.as_text())}
        if any(not name.startswith(_LAPACK) for name in called):
            return
        try:
            data = serialize_executable.serialize(compiled)
            payload = io.BytesIO()
            pickle.dump((bool(called), data), payload)
        except Exception:  # noqa: BLE001 - what cannot be written is compiled again in another process
            return
        self._cache.put(self._key(about), payload.getvalue(), {"backend": "jax", "shapes": repr(about[1])})


def _initialise_lapack() -> None:
    """Let JAX find LAPACK's functions: compiled code calls them through pointers that are empty before."""
    from jaxlib import lapack

    lapack.prepare_lapack_call("potrf", np.dtype("float64"))  # type: ignore[no-untyped-call]  # JAX does not say


def _direct(executable: Callable[..., Outcome]) -> Callable[..., Outcome]:
    """Return what a compiled form calls, once it has been called; itself where JAX has it under no such name."""
    direct: Callable[..., Outcome] | None = getattr(executable, "_call", None)
    return executable if direct is None else direct


class Executables:
    """One function of arrays, compiled for each combination of shapes that it meets.

    Attributes
    ----------
    arguments
        Further arguments of compiled forms, which are always the same.
    only
        The compiled form of the only shapes met so far; None where there were others. It refuses other shapes.
    """

    __slots__ = ("_by_shapes", "_cache", "_jitted", "_lock", "_traceable", "_values", "arguments", "only")

    def __init__(
        self,
        traceable: Callable[[], Callable[..., Outcome]],
        arguments: Sequence[jax.Array],
        values: tuple[bytes, ...],
        cache: Callable[[], ExecutableCache | None],
    ) -> None:
        # Returns the function to compile; it is called when something has to be compiled.
        self._traceable = traceable
        self.arguments = tuple(arguments)
        # What the function was made for, in the program's own terms: part of what its forms are kept under.
        self._values = values
        # Returns where they are kept, or None.
        self._cache = cache
        self._by_shapes: dict[Shapes, Callable[..., Outcome]] = {}
        self.only: Callable[..., Outcome] | None = None
        self._jitted: stages.Wrapped | None = None
        self._lock = new_lock()

    def __call__(self, *args: Array) -> Outcome:
        """Compute."""
        if self.only is not None:
            try:
                return self.only(*args, *self.arguments)
            except (TypeError, ValueError):
                # Other shapes, devices or layouts than those that it was compiled for.
                pass
        shapes = tuple([x.shape for x in args])
        executable = self._by_shapes.get(shapes)
        if executable is None:
            executable = self._make(shapes, args)
        try:
            outcome: Outcome = executable(*args, *self.arguments)
        except (TypeError, ValueError):
            # Arrays of other devices or layouts than those that it was compiled for.
            outcome = self._jit()(*args, *self.arguments)
        if self.only is executable:
            self.only = _direct(executable)
        return outcome

    def _make(self, shapes: Shapes, args: Sequence[Array]) -> Callable[..., Outcome]:
        with self._lock:
            executable = self._by_shapes.get(shapes)
            if executable is None:
                executable = self._by_shapes[shapes] = self._stored_or_compiled(shapes, args)
                self.only = executable if len(self._by_shapes) == 1 else None
        return executable

    def _stored_or_compiled(self, shapes: Shapes, args: Sequence[Array]) -> Callable[..., Outcome]:
        cache = self._cache()
        about = (self._values, shapes)
        stored = None if cache is None else cache.find(about)
        if stored is not None:
            return stored
        with early_nodes() as early:
            lowered = self._jit().lower(*args, *self.arguments)
        with span("compiler"):
            compiled = lowered.compile()
        # What a user's op computed while the graph was traced is in the form, and may be another in another process.
        if cache is not None and foreign_code(early, (*LIBRARIES, *JAX_LIBRARIES)) is None:
            cache.put(about, lowered, compiled)
        return compiled

    def _jit(self) -> stages.Wrapped:
        if self._jitted is None:
            self._jitted = jax.jit(self._traceable(), compiler_options=_COMPILER_OPTIONS)
        return self._jitted
