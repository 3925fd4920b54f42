"""The table of functions of JAX arrays for scalar ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import jax
import numpy as np

from treadle.graph import Unsupported
from treadle.link.jax.table import Checked
from treadle.tensor import ScalarOp, ScalarTable

# Takes JAX arrays of one shape and of the dtypes computed with (float32 in place of float16).
ScalarFunction: TypeAlias = "Callable[..., jax.Array | Checked[jax.Array]]"


def _of_ufunc(name: str, kind: str) -> ScalarFunction | None:
    """Return the function of jax.numpy that has a ufunc's name."""
    import jax.numpy as jnp

    del kind
    return getattr(jnp, name, None)


# The kind is that of the first operand's dtype.
SCALARS: ScalarTable[ScalarFunction] = ScalarTable("jax", "treadle.link.jax.lower.elementwise.scalar", _of_ufunc)


def takes(scalar_op: ScalarOp, loops: Sequence[str]) -> bool:
    """Whether there is a function for a scalar op, for operands converted to some dtypes."""
    return SCALARS.find(scalar_op, np.dtype(loops[0]).kind) is not None


def scalar_function(scalar_op: ScalarOp, loops: Sequence[str], out: str) -> ScalarFunction:
    """Return a scalar op as a function of JAX arrays of one shape, or refuse it.

    Operands are converted to the dtypes of `loops`, the result to that of `out`. float16 is computed in float32 and
    rounded, as NumPy does.
    """
    from treadle.link.jax.casting import convert

    function = SCALARS.find(scalar_op, np.dtype(loops[0]).kind)
    if function is None:
        msg = (
            f"the scalar op {scalar_op.name!r} is no ufunc of jax.numpy; "
            "register a function for it in treadle.link.jax.SCALARS"
        )
        raise Unsupported(msg)
    wide = ["float32" if d == "float16" else d for d in loops]

    def run(*args: jax.Array) -> jax.Array | Checked[jax.Array]:
        operands = [convert(convert(x, d), w) for x, d, w in zip(args, loops, wide, strict=True)]
        result = function(*operands)
        if isinstance(result, Checked):
            return Checked(convert(result.value, out), result.failed)
        converted: jax.Array = convert(result, out)
        return converted

    return run
