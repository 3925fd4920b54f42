"""wrap_jax: a JAX function as an op, with JAX's own derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from treadle.graph import Apply, Variable
from treadle.link.jax.casting import convert
from treadle.link.jax.processes import HOME
from treadle.link.jax.table import JAX
from treadle.tensor import ExternalOp, TensorType, wrap_external

Arrays = tuple[jax.Array, ...]


class JAXOp(ExternalOp[jax.Array]):
    """An op that calls a JAX function; `wrap_jax` makes it.

    Mode JAX compiles the function with the rest of the graph. Elsewhere it is a step in Python that calls the function
    compiled by ``jax.jit``; modes C, NUMBA and PYTORCH refuse it.
    """

    library = "jax"

    otypes: Sequence[TensorType]

    def call(self, *arrays: NDArray[Any]) -> list[NDArray[Any]]:
        """Call the function, compiled.

        Raises
        ------
        ForkedProcessError
            In a forked child of the process that uses JAX.
        """
        HOME.enter()
        with jax.enable_x64(True):
            return [np.array(x) for x in self._compiled(*arrays)]

    @cached_property
    def _compiled(self) -> Callable[..., Arrays]:
        return jax.jit(self.function)

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is compiled."""
        return {k: v for k, v in super().__getstate__().items() if k != "_compiled"}

    @staticmethod
    def vjp(function: Callable[..., Arrays], primals: Sequence[jax.Array], cotangents: Sequence[jax.Array]) -> Arrays:
        """Return the gradients, of which JAX's are the conjugates."""
        outputs, pull = jax.vjp(function, *primals)
        seeds = tuple(jnp.conj(jnp.asarray(ct, dtype=out.dtype)) for ct, out in zip(cotangents, outputs, strict=True))
        return tuple(jnp.conj(gradient) for gradient in pull(seeds))

    @staticmethod
    def batch(
        function: Callable[..., Sequence[jax.Array]], batched: Sequence[bool]
    ) -> Callable[..., Sequence[jax.Array]]:
        """Return ``jax.vmap`` of the function."""
        return jax.vmap(function, in_axes=[0 if along else None for along in batched])

    @staticmethod
    def evaluate(function: Callable[..., object], types: Sequence[TensorType]) -> object:
        """Trace the function, in 64-bit mode."""
        described: Callable[..., jax.ShapeDtypeStruct] = jax.ShapeDtypeStruct
        with jax.enable_x64(True):
            return jax.eval_shape(function, *[described(t.shape, t.numpy_dtype) for t in types])

    @staticmethod
    def flatten(value: object) -> tuple[list[object], jax.tree_util.PyTreeDef]:
        """Return the leaves of a tree of JAX's, to which classes may be registered."""
        return jax.tree_util.tree_flatten(value, is_leaf=lambda x: isinstance(x, Variable))


@JAX.register(JAXOp)
def lower_jax_op(op: JAXOp, node: Apply) -> Callable[..., Arrays]:
    """Lower to the function itself."""
    del node

    def run(*arrays: jax.Array) -> Arrays:
        return tuple(convert(jnp.asarray(x), t.dtype) for x, t in zip(op.function(*arrays), op.otypes, strict=True))

    return run


def wrap_jax(jax_function: Callable[..., object] | None = None, *, allow_eval: bool = True) -> Any:
    """Return a function of variables that applies a JAX function as an op; also a decorator.

    Arguments may be nested lists, tuples and dictionaries; the variables among them become inputs of the op, and
    everything else is passed on as it is. Results may be nested too, and hold arrays only.

    Parameters
    ----------
    jax_function
        The function.
    allow_eval
        Whether the function may be traced several times for input lengths that are not known, to find out what is
        known of the results. If not, such inputs are an error.

    Returns
    -------
    A function that returns what `jax_function` does, with variables in place of arrays.

    Notes
    -----
    The types of the results come from tracing the function (``jax.eval_shape``, in 64-bit mode); gradients, of any
    order, from ``jax.vjp``. The op pickles if the function does.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from treadle.link.jax import wrap_jax
    >>> from treadle.tensor import dvector, grad
    >>> @wrap_jax
    ... def total(x):
    ...     return jnp.sum(jnp.sin(x))
    >>> x = dvector("x")
    >>> grad(total(x), x).eval({x: [0.0]}).tolist()
    [1.0]
    """
    return wrap_external(JAXOp, jax_function, allow_eval=allow_eval)
