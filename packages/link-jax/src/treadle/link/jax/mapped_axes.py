"""Along which axes of `jax.shard_map` values differ from device to device, which JAX keeps in their types.

What a loop carries, and what the branches of a choice result in, must have one such type. A value that is the same on
all devices is marked as one that differs where another one does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

# A tree of arrays.
State = TypeVar("State")


def is_mapped() -> bool:
    """Whether the code that is being traced is mapped over devices."""
    return bool(jax.sharding.get_abstract_mesh().manual_axes)


def varying_axes(x: Any) -> frozenset[str]:
    """Return the axes along which an array differs, or one that is described; none where JAX does not keep them."""
    kind: Any = x if hasattr(x, "manual_axis_type") else jax.typeof(x)
    axes: frozenset[str] = frozenset() if kind.manual_axis_type is None else kind.manual_axis_type.varying
    return axes


def varying(x: jax.Array, axes: frozenset[str]) -> jax.Array:
    """Return an array as one that differs along some axes too."""
    further = axes - varying_axes(x)
    marked: jax.Array = lax.pcast(x, tuple(sorted(further)), to="varying") if further else x
    return marked


def carried(step: Callable[[State], State], state: State) -> State:
    """Return what a loop starts with as what its steps make of it: with values that differ wherever these do."""
    while is_mapped():
        after = jax.eval_shape(step, state)
        marked = jax.tree.map(lambda x, y: varying(x, varying_axes(y)), state, after)
        if jax.tree.all(jax.tree.map(lambda x, y: varying_axes(x) == varying_axes(y), state, marked)):
            break
        state = marked
    return state


def while_loop(goes_on: Callable[[State], jax.Array], step: Callable[[State], State], start: State) -> State:
    """Return what `lax.while_loop` ends with, wherever it is traced."""
    end: State = lax.while_loop(goes_on, step, carried(step, start))
    return end


def fori_loop(count: int, step: Callable[[jax.Array, State], State], start: State) -> State:
    """Return what `lax.fori_loop` ends with, wherever it is traced, counting from 0."""
    end: State = lax.fori_loop(0, count, step, carried(lambda state: step(jnp.asarray(0), state), start))
    return end
