"""Softmax and its kin on JAX, by the formulas of the ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from treadle.link.jax.casting import convert, widened
from treadle.link.jax.table import JAX
from treadle.tensor import LogSoftmax, LogSumExp, Softmax

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply


def _shifted(x: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """Return x minus its largest element along the axes, and that element; an infinite one is not taken out."""
    top = jnp.max(x, axis=axes, keepdims=True, initial=-np.inf)
    top = jnp.where(jnp.isfinite(top), top, 0)
    return x - top, top


def _exponentials(shifted: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    e = jnp.exp(shifted)
    return e, jnp.sum(e, axis=axes, keepdims=True)


@JAX.register(Softmax)
def softmax(op: Softmax, node: Apply) -> Callable[..., Any]:
    """Lower to exponentials over their sum."""
    del node

    def run(x: Any) -> Any:
        e, whole = _exponentials(_shifted(widened(x), op.axes)[0], op.axes)
        return convert(e / whole, x.dtype)

    return run


@JAX.register(LogSoftmax)
def log_softmax(op: LogSoftmax, node: Apply) -> Callable[..., Any]:
    """Lower to x minus the logarithm of the sum of exponentials."""
    del node

    def run(x: Any) -> Any:
        shifted, _ = _shifted(widened(x), op.axes)
        return convert(shifted - jnp.log(_exponentials(shifted, op.axes)[1]), x.dtype)

    return run


@JAX.register(LogSumExp)
def log_sum_exp(op: LogSumExp, node: Apply) -> Callable[..., Any]:
    """Lower to the logarithm of the sum of exponentials."""
    del node

    def run(x: Any) -> Any:
        shifted, top = _shifted(widened(x), op.axes)
        whole = jnp.log(_exponentials(shifted, op.axes)[1]) + top
        return convert(jnp.squeeze(whole, op.axes), x.dtype)

    return run
