"""Functions that update shared variables: the text that calls compiled code, and puts new values into cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.link.jax.processes import HOME
from treadle.link.jax.programs.array_class import array_class
from treadle.link.jax.programs.calls import kept_arrays, lost, swap_x64, x64_before
from treadle.link.jax.programs.ownership import owned
from treadle.link.vm import OwnReferences

if TYPE_CHECKING:
    from jax import Array

    from treadle.graph import Type
    from treadle.link.jax.programs.calls import Admits, Take
    from treadle.link.vm import UpdatingText


def write_calls(
    text: UpdatingText,
    constants: Sequence[Array],
    kinds: Sequence[Type],
    native: Sequence[bool],
    replaced: Sequence[int],
    count: int,
) -> Take:
    """Add the call of compiled code, with `count` outputs, to a caller's text; return a function that says which it is.

    It is called with arrays of JAX's and NumPy's alone, and where nobody else holds the values that it takes over.
    """
    scope, values = text.scope, text.values
    given = [i for i in range(len(values)) if i not in text.cells]
    scope |= {
        "jax_array": array_class(), "jax_count": getrefcount, "jax_home": HOME, "jax_host": np.ndarray,
        "jax_before": x64_before, "jax_lost": lost, "jax_most": OwnReferences(0)(), "jax_now": (None, None),
        "jax_own": owned, "jax_swap": swap_x64,
        **{f"jax_k{k}": value for k, value in enumerate(constants)},
        **{f"jax_dtype{i}": getattr(kinds[i], "numpy_dtype", None) for i in given},
    }  # fmt: skip
    tests = [
        "jax_run is not None and not jax_home.is_forked",
        # Compiled code would take the bytes of the other order as they are.
        *(f"({values[i]}.__class__ is jax_array or {_is_on_host(values[i], i)})" for i in given),
        *(f"{values[i]}.__class__ is jax_array" for i in text.cells),
        *(f"jax_count({text.cells[i]}) <= jax_most" for i in replaced),
        f"(jax_admits is None or jax_admits({', '.join(values)}))",
    ]
    packed = [*values, *(f"jax_k{k}" for k in range(len(constants)))]
    outputs = ["out"] if count == 1 else [f"out[{k}]" for k in range(count)]
    # Nothing can interrupt this between the call and the last of the writes: they are on one line, and call nothing.
    call = f"out, = map(jax_run, {', '.join(f'({name},)' for name in packed)}); {'; '.join(text.writes(outputs))}"
    results = [out if is_native else f"jax_own({out})" for out, is_native in zip(outputs, native, strict=True)]
    # What becomes NumPy's array is waited for.
    is_kept = given and all(native)
    taken, waits = kept_arrays([values[i] for i in given], "jax_host", outputs[-1]) if is_kept else ([], [])
    on_host = " or ".join(f"{values[i]}.__class__ is jax_host" for i in given)
    lines = [
        "jax_run, jax_admits = jax_now",
        f"if {' and '.join(tests)}:",
        "  out = None",
        *([f"  on_host = {on_host}", "  if on_host:"] if given else []),
        *(f"    {line}" for line in taken),
        *(["    before = jax_before()"] if given else []),
        *(["  try:", "    if on_host: jax_swap(True)", f"    {call}"] if given else [f"  try: {call}"]),
        "  except Exception:",
        # Whatever it is, the program meets it again, and explains it.
        f"    if out is not None or jax_lost(({', '.join(values)},)): raise",
        *(["  finally:", "    if on_host: jax_swap(before)"] if given else []),
        "  if out is not None:",
        *(["    if on_host:"] if waits else []),
        *(f"      {line}" for line in waits),
        f"    return {text.result(results)}",
    ]
    text.lines.extend(lines)

    def take(run: Callable[..., Any] | None, admits: Admits, own: Callable[[Array], np.ndarray]) -> None:
        scope["jax_now"], scope["jax_own"] = (run, admits), own

    return take


def _is_on_host(name: str, at: int) -> str:
    """Return the test of a NumPy array of the input's dtype."""
    return f"{name}.__class__ is jax_host and ({name}.dtype is jax_dtype{at} or {name}.dtype == jax_dtype{at})"
