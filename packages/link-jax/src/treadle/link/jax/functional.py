"""jax_function: a graph as a function of JAX arrays, for JAX's own transformations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from treadle.graph import FunctionGraph, GraphTypeError, NodeTypeError, NodeValueError, Variable
from treadle.link.jax.casting import convert
from treadle.link.jax.linker import JAXLinker
from treadle.link.jax.programs.program import JaxProgram
from treadle.link.jax.programs.staging import stage_graph
from treadle.link.jax.scalars import IS_DIFFERENTIATED
from treadle.link.jax.table import Array
from treadle.link.vm import Program
from treadle.tensor import TensorType


def jax_function(source: FunctionGraph | Program | HasProgram) -> Callable[..., tuple[jax.Array, ...]]:
    """Return a graph as a function of JAX arrays, to be passed to ``jax.jit``, ``jax.grad``, ``jax.vmap`` and others.

    Parameters
    ----------
    source
        A graph; or a function compiled in mode JAX, or its program (``function.vm``), which give its rewritten graph.
        A function has what this returns as its attribute ``jax_function``.

    Returns
    -------
    A function of an array for each input of the graph, with shared variables after the explicit inputs
    (``function.get_shared()``), that returns a tuple of an array for each output, new values of shared variables last.
    It is not compiled: each call runs the graph with ``jax.numpy``, or is traced. Arguments are converted to the dtypes
    of the inputs, in 64-bit mode, but not to another kind of numbers that lacks theirs (complex to real, float to
    integer).

    Raises
    ------
    LoweringError
        If nodes cannot be lowered; all are listed.
    GraphTypeError
        If the source is something else, or the function writes new values of shared variables into old ones.

    Notes
    -----
    Checks of values, such as those of `Assert` and of positions, do not raise: traced code cannot. A call raises where
    an argument's rank or lengths are not those of the input, or where a shape depends on the value of an argument that
    is being traced; such an argument is passed from outside of the transformation, as a number. Lengths that
    ``jax.export`` leaves open may pass through elementwise functions, sums, products, joins and sorting, but not into
    arithmetic: of a mean, a slice or zeros of such a length the call raises.

    JAX has no reverse mode for loops that a condition ends, and so neither for searches of roots and minima, which are
    such loops: ``jax.jacfwd`` and ``jax.jvp`` take them, or a function of `treadle.tensor.grad` of the expression.

    Gradients are computed after the call: they are in double precision only where JAX's 64-bit mode is on around all
    of it (``jax.enable_x64``).

    Examples
    --------
    >>> import jax
    >>> import treadle.tensor as tt
    >>> from treadle.graph import FunctionGraph
    >>> x = tt.dvector("x")
    >>> density = jax_function(FunctionGraph([x], [-(x**2).sum() / 2]))
    >>> with jax.enable_x64(True):
    ...     jax.grad(lambda x: density(x)[0])(jax.numpy.array([1.0, 2.0])).tolist()
    [-1.0, -2.0]
    """
    graph = _graph_of(source)
    staged = stage_graph(JAXLinker().expanded(graph))
    by_value = frozenset(staged.by_value)
    inputs: Sequence[Variable] = staged.inputs
    constants = tuple(c.data for c in staged.arguments)

    def run(*args: Any) -> tuple[jax.Array, ...]:
        if len(args) != len(inputs):
            msg = f"jax_function: the graph has {len(inputs)} inputs, got {len(args)} arguments. Pass one for each."
            raise GraphTypeError(msg)
        with jax.enable_x64(True):
            values = {inputs[i]: _value(inputs[i], args[i]) for i in by_value}
            taken = [_taken(var, x) for var, x in zip(inputs, args, strict=True)]
            traced = staged.traceable(values, [])
            before = IS_DIFFERENTIATED.set(True)
            try:
                return traced(*taken, *map(jnp.asarray, constants))[0]
            except Exception as error:
                _refuse_symbolic_lengths(inputs, taken, error)
                raise
            finally:
                IS_DIFFERENTIATED.reset(before)

    return run


class HasProgram(Protocol):
    """A compiled function."""

    @property
    def vm(self) -> Program:
        """The program."""


def _graph_of(source: object) -> FunctionGraph:
    source = getattr(source, "vm", source)
    if isinstance(source, FunctionGraph):
        return source
    if isinstance(source, Program) and source.writes is None:
        if isinstance(source, JaxProgram):
            return source.fgraph
        linker, graph = source.whole or (None, None)
        if isinstance(linker, JAXLinker) and graph is not None:
            return graph.get()
    if isinstance(source, Program) and source.writes is not None:
        msg = (
            "jax_function: the function writes into shared variables, which traced code cannot. Compile it with the "
            "new values as outputs."
        )
        raise GraphTypeError(msg)
    msg = (
        f"jax_function: a graph is needed, or a function compiled in mode JAX, got a "
        f"{type(source).__name__}. Compile the function in mode JAX, or pass a FunctionGraph."
    )
    raise GraphTypeError(msg)


def _taken(var: Variable, value: Any) -> Array:
    """Return an argument as an array of the input's type."""
    kind = var.type
    if not isinstance(kind, TensorType):
        return value  # type: ignore[no-any-return]  # values of other types are passed on as they are
    array = jnp.asarray(value)
    fits = array.ndim == kind.ndim and all(n in (None, m) for n, m in zip(kind.shape, array.shape, strict=True))
    if not fits:
        msg = f"jax_function: input {var} is of type {kind}, got an array of shape {array.shape}. Reshape it."
        raise NodeValueError(msg)
    if _rank_of(array.dtype) > _rank_of(kind.numpy_dtype):
        msg = (
            f"jax_function: input {var} is of type {kind}, got an array of {array.dtype}, of which a part would "
            "be lost. Convert it before."
        )
        raise NodeTypeError(msg)
    return convert(array, kind.dtype)


def _rank_of(dtype: np.dtype) -> int:
    """Return which kind of numbers a dtype has: each can hold those before."""
    kinds = (jnp.bool_, jnp.integer, jnp.floating, jnp.complexfloating)
    return next((at for at, kind in enumerate(kinds) if jnp.issubdtype(dtype, kind)), len(kinds))


def _refuse_symbolic_lengths(inputs: Sequence[Variable], args: Sequence[Array], error: Exception) -> None:
    """Raise an error of the user's where a trace failed for lengths that `jax.export` has left open."""
    for var, x in zip(inputs, args, strict=True):
        if any(not isinstance(n, int) for n in getattr(x, "shape", ())):
            msg = (
                f"jax_function: input {var} has the symbolic shape {x.shape}, which leaves open what the graph needs "
                f"to know ({(str(error).strip().splitlines() or [type(error).__name__])[0]}). Give jax.export "
                "constraints that decide it, or export the function for each length."
            )
            raise NodeTypeError(msg) from error


def _value(var: Variable, value: Any) -> np.ndarray:
    """Return an argument that decides a shape, as a NumPy array."""
    if isinstance(value, jax.core.Tracer):
        msg = (
            f"jax_function: a shape depends on the value of input {var}, which is traced. Pass it as a number from "
            "outside of what JAX transforms (jax.jit: static_argnums)."
        )
        raise NodeTypeError(msg)
    return np.asarray(value, var.type.dtype)  # type: ignore[attr-defined]  # a tensor
