"""The rules that JAX shares with other libraries (`treadle.tensor.ArrayRules`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from treadle.graph import Constant
from treadle.link.jax.casting import convert
from treadle.link.jax.lower.reductions.reduction import total
from treadle.link.jax.open_lengths import as_length, has_open
from treadle.link.jax.table import JAX, Checked, Flag, Function, Lowered, Results
from treadle.tensor import Alloc, ArrayRules, Join, LinearRecurrence, TensorNode, TensorVariable, enter_array_rules


class _Functions:
    """JAX's functions by the standard's names: those of lax where they trace faster."""

    permute_dims = staticmethod(lax.transpose)
    squeeze = staticmethod(lax.squeeze)
    expand_dims = staticmethod(lax.expand_dims)
    reshape = staticmethod(lax.reshape)
    broadcast_to = staticmethod(jnp.broadcast_to)
    concat = staticmethod(jnp.concatenate)
    stack = staticmethod(jnp.stack)
    any = staticmethod(jnp.any)
    logical_not = staticmethod(jnp.logical_not)
    argmax = staticmethod(jnp.argmax)
    argmin = staticmethod(jnp.argmin)

    @staticmethod
    def diagonal(x: jax.Array, offset: int, axis1: int, axis2: int) -> jax.Array:
        """Return diagonals, whose length JAX's function compares lengths for: those left open are taken by position."""
        if not has_open(x.shape):
            diagonals: jax.Array = jnp.diagonal(x, offset, axis1, axis2)
            return diagonals
        down, right = max(-offset, 0), max(offset, 0)
        matrices = jnp.moveaxis(x, (axis1, axis2), (0, 1))
        rows, columns = matrices.shape[:2]
        at = jnp.arange(jax.core.max_dim(jax.core.min_dim(rows - down, columns - right), 0))
        found: jax.Array = jnp.moveaxis(matrices[at + down, at + right], 0, -1)
        return found


class _Rules(ArrayRules):
    """The rules, with what differs on JAX. Lengths are NumPy's numbers."""

    def converter(self, source: str, target: str) -> Callable[[jax.Array], jax.Array]:
        return partial(convert, dtype=target)

    def lengths(self, values: Sequence[np.ndarray]) -> tuple[int, ...]:
        return tuple(map(as_length, values))

    def total(self, x: jax.Array, axes: tuple[int, ...], dtype: str) -> jax.Array:
        return total(x, axes)

    def join(self, op: Join, node: TensorNode) -> Lowered:
        """Lower to a concatenation, or to padding, in a third of the time, where arrays of one number stand at ends."""
        joined: Callable[..., jax.Array] = super().join(op, node)
        dtype = node.outputs[0].type.dtype
        fills = [filled_with(x) for x in node.inputs]
        number = next((fill for fill in (fills[0], fills[-1]) if fill is not None), None)
        if number is None:
            return joined
        same = [fill is not None and fill.astype(dtype).tobytes() == number.astype(dtype).tobytes() for fill in fills]
        if all(same):
            return joined
        first, last = same.index(False), len(same) - same[::-1].index(False)
        between: Any = op.make_node(*node.inputs[first:last])
        middle = super().join(op, between)

        def run(*xs: jax.Array) -> jax.Array:
            others = {(*x.shape[: op.axis], *x.shape[op.axis + 1 :]) for x in xs}
            if any(map(has_open, others)) or len(others) > 1:
                return joined(*xs)
            low, high = (sum(x.shape[op.axis] for x in part) for part in (xs[:first], xs[last:]))
            y = convert(middle(*xs[first:last]), dtype)
            return lax.pad(
                y, number.astype(dtype), [(low, high, 0) if d == op.axis else (0, 0, 0) for d in range(y.ndim)]
            )

        return run

    def checked(self, run: Callable[..., tuple[Flag, Results]]) -> Function:
        def flagged(*values: jax.Array) -> Checked[Results]:
            failed, results = run(*values)
            return Checked(results, failed)

        return flagged


def filled_with(x: TensorVariable) -> np.ndarray | None:
    """Return the number that an array holds throughout, if that is known."""
    made_by = x.owner
    if made_by is None or not isinstance(made_by.op, Alloc) or not isinstance(made_by.inputs[0], Constant):
        return None
    data: np.ndarray = made_by.inputs[0].data
    return data.reshape(()) if data.size == 1 else None


_RULES = _Rules(_Functions)
# A linear recurrence is an associative scan there.
enter_array_rules(JAX, lambda: _RULES, LinearRecurrence)
