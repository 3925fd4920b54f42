"""Compiled forms of one function, by the shapes of its arguments: in memory, and in the compile cache."""

from __future__ import annotations

import io
import os
import pickle
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import stages
from jax.experimental import serialize_executable

from treadle.cache import LIBRARIES, Cache, default_cache, digest
from treadle.config import dataclass, new_lock, span
from treadle.graph import early_nodes, foreign_code
from treadle.link.jax.errors import CheckFailedError
from treadle.link.jax.options import JAX_LIBRARIES
from treadle.link.jax.placement import automatic_axes, default_device, with_automatic_axes
from treadle.link.jax.programs.bounds import Bounds
from treadle.link.jax.table import Array

if TYPE_CHECKING:
    from treadle.link.jax.programs.tracing import Notes, Outcome

Shapes = tuple[tuple[int, ...], ...]
# Positions of an input and of the output that takes its place after the call.
Replaced = tuple[int, int]
# What a compiled form returns.
Flat: TypeAlias = "jax.Array | tuple[jax.Array, ...]"
# The values that a form is compiled for, the shapes, and what may be replaced.
Key = tuple[tuple[bytes, ...], Shapes, tuple[Replaced, ...]]


# XLA may keep a wider float where a narrower one is asked for; a cast then does not round.
_COMPILER_OPTIONS = {"xla_allow_excess_precision": False}
_CALLED = re.compile(r"custom_call\s*@(\w+)|call_target_name\s*=\s*\"(\w+)\"")
_LAPACK = "lapack_"


@dataclass(frozen=True, slots=True)
class Form:
    """A compiled form: what is called, and the positions of the inputs whose memory its results take over."""

    # Returns the outputs, the flag of invalid values and the rows of assumptions as one tuple: JAX makes that in less
    # time than parts inside of it. Without rows there is no flag where values cannot be invalid. One output alone
    # is returned as it is, which takes a sixth of a microsecond less.
    call: Callable[..., Flat]
    donated: tuple[int, ...] = ()
    # Whether there is more than the outputs: known when it has been called.
    checks: bool = False
    # Whether it was never called.
    is_new: bool = True
    # What integers among arguments must be: callers look before they call.
    bounds: tuple[Bounds, ...] = ()


class ExecutableCache:
    """Where the compiled forms of one program are kept between processes."""

    def __init__(self, token: str | None = None) -> None:
        # What tells the program from all others.
        self.token = secrets.token_hex(32) if token is None else token
        self._cache: Cache = default_cache()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the token; the compile directory is that of the process that loads it."""
        return ExecutableCache, (self.token,)

    def _key(self, about: Key, device: jax.Device) -> str:
        # Such as the precision of matrix products, which the user may set from one call to the next.
        settings = [f"{name} {getattr(jax.config, name, value)!r}" for name, value in sorted(jax.config.values.items())]
        flags = os.environ.get("XLA_FLAGS", "")
        place = (device.platform, device.device_kind)
        return digest(
            "flat jax executable, one output bare, with bounds", self.token, *place, repr(about), flags, *settings
        )

    def find(self, about: Key, device: jax.Device) -> Form | None:
        """Return the form for values and shapes, compiled for a device of this kind, if it was kept.

        Damaged ones count as missing.
        """
        payload = self._cache.get(self._key(about, device))
        if payload is None:
            return None
        try:
            libraries, data, donated, bounds = pickle.loads(payload)
            if libraries:
                _initialise_lapack()
            serialised, inputs, outputs = data
            call = serialize_executable.deserialize_and_load(serialised, inputs, outputs, execution_devices=[device])
        except Exception:  # noqa: BLE001 - whatever JAX finds wrong with it, the form is compiled anew
            return None
        return Form(call, donated, bounds=bounds)

    def put(
        self,
        about: Key,
        device: jax.Device,
        lowered: stages.Lowered,
        compiled: stages.Compiled,
        form: Form,
    ) -> None:
        """Keep a compiled form.

        Not one that calls libraries that are not known to be there when it is loaded, or that runs elsewhere than on
        the device, because its arguments are there.
        """
        called = {a or b for a, b in _CALLED.findall(lowered.as_text())}
        if any(not name.startswith(_LAPACK) for name in called):
            return
        try:
            executable: Any = compiled.runtime_executable()
            if executable.local_devices() != [device]:
                return
            data = serialize_executable.serialize(compiled)
            payload = io.BytesIO()
            pickle.dump((bool(called), data, form.donated, form.bounds), payload)
        except Exception:  # noqa: BLE001 - what cannot be written is compiled again in another process
            return
        self._cache.put(self._key(about, device), payload.getvalue(), {"backend": "jax", "shapes": repr(about[1])})


def _initialise_lapack() -> None:
    """Let JAX find LAPACK's functions: compiled code calls them through pointers that are empty before."""
    from jaxlib import lapack

    lapack.prepare_lapack_call("potrf", np.dtype("float64"))  # type: ignore[no-untyped-call]  # JAX does not say


def _called(form: Form, *, checks: bool) -> Form:
    """Return a form that has been called, with what JAX then calls, where it has that under the name it had."""
    return replace(form, call=getattr(form.call, "_call", None) or form.call, checks=checks, is_new=False)


def copied(x: Array) -> jax.Array:
    """Return an array's copy on its device, or of a NumPy array on JAX's own; nothing is compiled for it."""
    # Of NumPy's memory JAX makes an array without a copy, whatever it is told.
    made: jax.Array = jax.device_put(x.copy() if isinstance(x, np.ndarray) else x, may_alias=False)
    return made


def _flat(function: Callable[..., Outcome]) -> Callable[..., Flat]:
    """Return a function whose results are one tuple, or one array."""

    def run(*args: jax.Array) -> Flat:
        values, failed, rows = function(*args)
        if rows is None:
            return (*values, failed) if failed is not None else values[0] if len(values) == 1 else values
        return (*values, jnp.asarray(False) if failed is None else failed, rows)

    return run


class Executables:
    """One function of arrays, compiled for each combination of shapes that it meets.

    Attributes
    ----------
    arguments
        Further arguments of compiled forms, which are always the same.
    count
        The number of outputs.
    device
        Where forms run; None for wherever their arguments are, or JAX's default.
    replaced
        Inputs whose memory results may take over, and the results; to be set before something is compiled.
    latest
        The compiled form that was called last. It refuses other shapes.
    """

    __slots__ = (
        *(
            "_by_shapes",
            "_cache",
            "_function",
            "_jitted",
            "_notes",
            "_lock",
            "_traceable",
            "_values",
            "arguments",
            "count",
        ),
        *("device", "latest", "replaced"),
    )

    def __init__(
        self,
        traceable: Callable[[Sequence[Replaced], Notes], Callable[..., Outcome]],
        arguments: Sequence[jax.Array],
        values: tuple[bytes, ...],
        cache: Callable[[], ExecutableCache | None],
        count: int,
        device: jax.Device | None = None,
    ) -> None:
        # Returns the function to compile, of what is replaced; it is called when something has to be compiled. Tracing
        # makes the notes.
        self._traceable = traceable
        self.arguments = tuple(arguments)
        self.count = count
        self.device = device
        # What the function was made for, in the program's own terms: part of what its forms are kept under.
        self._values = values
        # Returns where they are kept, or None.
        self._cache = cache
        self._by_shapes: dict[Shapes, Form] = {}
        self.replaced: tuple[Replaced, ...] = ()
        self.latest: Form | None = None
        self._notes: Notes | None = None
        self._function: Callable[..., Flat] | None = None
        self._jitted: stages.Wrapped | None = None
        self._lock = new_lock()

    def __call__(self, *args: Array) -> Outcome:
        """Compute. No argument's memory is taken over."""
        shapes = tuple([x.shape for x in args])
        form = self._by_shapes.get(shapes)
        if form is None:
            form = self._make(shapes, args)
        if not all(args[b.at] is b.latest() or b(args[b.at]) for b in form.bounds):
            msg = "an argument is out of bounds"
            raise CheckFailedError(msg)
        given = [copied(x) if i in form.donated else x for i, x in enumerate(args)] if form.donated else args
        try:
            results = form.call(*given, *self.arguments)
        except (TypeError, ValueError):
            # Arrays of other devices or layouts than those that it was compiled for.
            with automatic_axes():
                results = (self._jit() if self.device is None else form.call)(*self._here(args))
        if not isinstance(results, tuple):
            results = (results,)
        if form.is_new:
            form = self._by_shapes[shapes] = _called(form, checks=len(results) > self.count)
        self.latest = form
        n = self.count
        return results[:n], results[n] if len(results) > n else None, results[n + 1] if len(results) > n + 1 else None

    def _here(self, args: Sequence[Array]) -> list[Array]:
        """Return all arguments, those that are JAX's arrays moved to the device, if there is one."""
        if self.device is None:
            return [*map(with_automatic_axes, args), *self.arguments]
        return [*[jax.device_put(x, self.device) if isinstance(x, jax.Array) else x for x in args], *self.arguments]

    def _make(self, shapes: Shapes, args: Sequence[Array]) -> Form:
        with self._lock:
            form = self._by_shapes.get(shapes)
            if form is None:
                form = self._by_shapes[shapes] = self._stored_or_compiled(shapes, args)
        return form

    def _stored_or_compiled(self, shapes: Shapes, args: Sequence[Array]) -> Form:
        cache = self._cache()
        about = (self._values, shapes, self.replaced)
        place = self.device or default_device()
        stored = None if cache is None else cache.find(about, place)
        if stored is not None:
            return stored
        given = self._here(args)
        with jax.default_device(place), automatic_axes():
            self._noted().reads_all = place.platform == "cpu"
            with early_nodes() as early:
                traced = self._jit().trace(*given)
                made = traced.out_info
                donated = self._donated(args, made if isinstance(made, tuple) else (made,))
                if donated and "_callback[" in str(traced.jaxpr):
                    # Python may raise when the memory is taken over already.
                    donated = ()
                lowered = self._jit(donated).lower(*given) if donated else traced.lower()
            with span("compiler"):
                compiled = lowered.compile()
        form = Form(compiled, donated, bounds=tuple(Bounds(*numbers) for numbers in self._noted().bounds))
        # What a user's op computed while the graph was traced is in the form, and may be another in another process.
        if cache is not None and foreign_code(early, (*LIBRARIES, *JAX_LIBRARIES)) is None:
            cache.put(about, place, lowered, compiled, form)
        return form

    def _donated(self, args: Sequence[Array], results: Sequence[Any]) -> tuple[int, ...]:
        """Return which inputs' memory results take over: where nothing needs the old values any more.

        Where values may turn out to be invalid, the old ones are needed then, unless results are these.
        """
        checks = len(results) > self.count
        kept = self._noted().kept
        pairs = [(i, args[i], results[o]) for i, o in self.replaced if not checks or o in kept]
        return tuple(i for i, x, y in pairs if (x.shape, x.dtype) == (y.shape, y.dtype))

    def _noted(self) -> Notes:
        if self._notes is None:
            # What tracing needs, a program does without that finds its forms in the cache.
            from treadle.link.jax.programs.tracing import Notes

            self._notes = Notes()
        return self._notes

    def _jit(self, donated: tuple[int, ...] = ()) -> stages.Wrapped:
        if self._function is None:
            self._function = _flat(self._traceable(self.replaced, self._noted()))
        if donated:
            return jax.jit(self._function, donate_argnums=donated, compiler_options=_COMPILER_OPTIONS)
        if self._jitted is None:
            self._jitted = jax.jit(self._function, compiler_options=_COMPILER_OPTIONS)
        return self._jitted
