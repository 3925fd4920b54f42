"""Minima and roots on JAX: loops of ops, where the method has such a form."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from treadle import tensor
from treadle.graph import Unsupported
from treadle.link.jax.table import JAX

if TYPE_CHECKING:
    from treadle.graph import Apply


@JAX.register(tensor.optimize.Optimum)
def refuse(op: tensor.optimize.Optimum, node: Apply) -> NoReturn:
    """Refuse a search that only SciPy has; any other is decomposed.

    Raises
    ------
    Unsupported
        Always, with the methods that have another form.
    """
    del node
    raise Unsupported(*op.refusal())
