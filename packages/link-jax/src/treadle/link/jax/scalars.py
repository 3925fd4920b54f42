"""The table of functions of JAX arrays for scalar ops."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeAlias

import jax

from treadle.graph import Apply
from treadle.link.jax.table import Checked, Lowered
from treadle.tensor import ScalarTable

# Takes JAX arrays of one shape and of the dtypes computed with (float32 in place of float16).
ScalarFunction: TypeAlias = "Callable[..., jax.Array | Checked[jax.Array]]"


def _of_ufunc(name: str, kind: str) -> ScalarFunction | None:
    """Return the function of jax.numpy that has a ufunc's name."""
    import jax.numpy as jnp

    del kind
    return getattr(jnp, name, None)


# The kind is that of the first operand's dtype.
SCALARS: ScalarTable[ScalarFunction] = ScalarTable("jax", "treadle.link.jax.lower.elementwise.scalar", _of_ufunc)

# Where JAX may differentiate what is traced, in a `jax_function`, and has to know derivatives: lowers a node of which
# it is told the derivative as a whole, and returns None for others. None elsewhere, since all this takes time.
DERIVATIVES: ContextVar[Callable[[Apply], Lowered | None] | None] = ContextVar("derivatives", default=None)
