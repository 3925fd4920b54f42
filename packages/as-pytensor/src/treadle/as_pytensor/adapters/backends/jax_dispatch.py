"""``pytensor.link.jax.dispatch``: what ops are on JAX."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from treadle.as_pytensor.adapters.backends.registration import Function, Registered, Rule
from treadle.config import config
from treadle.link.jax import JAX, SCALARS, jax_function

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from treadle.graph import Apply, FunctionGraph, Op
    from treadle.tensor import ScalarOp

# As PyTensor has it: what is traced outside of treadle's programs is of the precision of floatX.
jax.config.update("jax_enable_x64", config.floatX == "float64")  # type: ignore[no-untyped-call]  # it has no types


class _OnJAX(Registered):
    def lowering(self, rule: Rule) -> Function:
        def lower(op: Op, node: Apply) -> Function:
            function = rule(op, node=node)

            def run(*values: object) -> object:
                results = function(*values)
                return tuple(map(jnp.asarray, results)) if isinstance(results, tuple | list) else jnp.asarray(results)

            return run

        return lower

    def register_scalar(self, op_type: type, rule: Rule) -> None:
        def find(scalar_op: ScalarOp, kind: str) -> Function:
            del kind
            return rule(scalar_op, node=None)  # type: ignore[arg-type]  # a rule may take scalar ops, without a node

        SCALARS.find_by(op_type, find)

    def of_graph(self, fgraph: FunctionGraph) -> Function:
        return jax_function(fgraph)


jax_funcify = _OnJAX("jax_funcify", JAX)


@singledispatch
def jax_typify(data: object, dtype: DTypeLike | None = None, **kwargs: object) -> object:
    """Return a value as JAX takes it."""
    del kwargs
    return data if dtype is None else jnp.array(data, dtype=dtype)  # type: ignore[arg-type]  # JAX takes what NumPy does


@jax_typify.register(np.ndarray)
def _array(data: np.ndarray, dtype: DTypeLike | None = None, **kwargs: object) -> object:
    del kwargs
    return jnp.array(data, dtype=dtype) if data.ndim else data.item()  # type: ignore[arg-type]  # JAX takes what NumPy does
