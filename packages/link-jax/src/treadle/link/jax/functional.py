"""jax_function: a graph as a function of JAX arrays, for JAX's own transformations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax

from treadle.graph import FunctionGraph, GraphTypeError, NodeTypeError, Variable
from treadle.link.jax.linker import JAXLinker
from treadle.link.jax.op_derivatives import TracedGraph
from treadle.link.jax.table import Array
from treadle.link.vm import Program


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
    A generator is passed, and returned, as the state of a portable one (``PortableGenerator(seed).state``).
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

    JAX is told the derivatives that ops have in treadle, in both modes and of any order. It differentiates loops by
    itself, and has no reverse mode for those that a condition ends: ``jax.jacfwd`` and ``jax.jvp`` take them, or a
    function of `treadle.tensor.grad` of the expression. Searches of roots and minima are such loops in compiled
    functions; of a graph of the expression itself they have both modes.

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
    return _FunctionOfArrays(_graph_of(source))


class _FunctionOfArrays:
    """What `jax_function` returns. A pickle holds the graph."""

    def __init__(self, graph: FunctionGraph) -> None:
        self._graph = graph
        self._traced = TracedGraph(graph)
        self.__name__ = "jax_function"

    def __reduce__(self) -> tuple[object, ...]:
        return _FunctionOfArrays, (self._graph,)

    def __call__(self, *args: Any) -> tuple[jax.Array, ...]:
        inputs = self._traced.inputs
        if len(args) != len(inputs):
            named = ", ".join(f"{var}: {var.type}" for var in inputs)
            msg = (
                f"jax_function: the graph has {len(inputs)} inputs, shared variables among them, got {len(args)} "
                f"arguments. Pass one for each of ({named})."
            )
            raise GraphTypeError(msg)
        try:
            return self._traced(*args)
        except Exception as error:
            _refuse_symbolic_lengths(inputs, args, error)
            raise


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
