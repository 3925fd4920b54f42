"""jit_function: a graph as a function that other code compiled by Numba calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from treadle.config import config
from treadle.graph import Apply, FunctionGraph, GraphTypeError, Unsupported
from treadle.link.numba.calls import call_jitted
from treadle.link.numba.linker import NumbaLinker, table_of
from treadle.link.numba.program import NumbaProgram
from treadle.link.vm import Program

if TYPE_CHECKING:
    from treadle.graph import Op
    from treadle.link.numba.text.writer import GraphWriter


class SelfContainedLinker(NumbaLinker):
    """Links graphs to Numba as one function, which calls Python for nodes without a rule, in loops too."""

    drives_in_python: ClassVar[bool] = False

    def lowers(self, node: Apply) -> bool:
        """Whether the rules lower a node."""
        return not self.lacks_rule(node) and super().lowers(node)

    def rule(self, node: Apply) -> Callable[..., Any]:
        """Return the rule that writes a node; where there is none, that it is computed in Python."""
        return _write_python_step if self.lacks_rule(node) else super().rule(node)

    def check(self, node: Apply) -> None:
        """Refuse a node whose values cannot be passed to Python, and what `NumbaLinker` refuses of others."""
        if not self.lacks_rule(node):
            super().check(node)
        elif not all(self.holds(v.type) for v in (*node.inputs, *node.outputs)):
            msg = f"{node.op} runs in Python, and has values that are no arrays"
            raise Unsupported(msg)

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> NumbaProgram:
        """Return the program of a graph.

        Raises
        ------
        LoweringError
            If nodes have values that are no arrays, or rules refuse them, or option ``on_python_step`` says that nodes
            without a rule are refused; all are listed.
        """
        fgraph = self.with_states(fgraph)
        order = fgraph.toposort()
        if config.on_python_step == "raise":
            self.table.lower((), self.check, [(node, self._missing(node)) for node in self.without_rule(order)])
        self.tell(order)
        return self.link_whole(fgraph, native_outputs)


def _write_python_step(op: Op, node: Apply, writer: GraphWriter) -> None:
    """Write that Python computes a node."""
    from treadle.link.numba.bridges import python_function

    del op
    call_jitted(writer, node, python_function(node))


class HasProgram(Protocol):
    """A compiled function."""

    @property
    def vm(self) -> Program:
        """The program."""


def jit_function(source: FunctionGraph | Program | HasProgram) -> Callable[..., tuple[Any, ...]]:
    """Return a graph as a function of Numba's, which other functions that Numba compiles may call, and Python too.

    Parameters
    ----------
    source
        A function compiled in mode NUMBA, or its program (``function.vm``), whose machine code is then shared; or a
        graph, which is compiled as it is. A function has what this returns as its attribute ``jit_function``.

    Returns
    -------
    A function, as ``numba.njit`` returns them, of an array for each input of the graph, shared variables among them,
    that returns a tuple of an array for each output, new values of shared variables last. Generators are their states
    (``v.type.state_of(v.get_value())``). It takes arrays of any layout and of dtypes that those of the inputs hold, and
    numbers for rank 0; others are Numba's ``TypingError`` when its caller is compiled. Ops without a rule call Python.

    Raises
    ------
    LoweringError
        If nodes cannot be lowered, and have values that cannot be passed to Python; all are listed.
    GraphTypeError
        If the source is something else, the graph takes or returns something else than arrays that Numba has, or the
        function writes new values of shared variables into old ones.

    Notes
    -----
    It raises the errors of nodes by their kind, and does not say which node it was: the function in mode NUMBA does.
    Signals do not end its loops. It is not kept in the compile cache, but machine code of `source` is. Functions that
    call it are not kept by Numba either: with ``numba.njit(cache=True)`` it says so in a warning, since their machine
    code holds addresses of this process.

    Examples
    --------
    >>> import numba
    >>> import treadle.tensor as tt
    >>> from treadle.compile import function
    >>> x = tt.dvector("x")
    >>> density = jit_function(function([x], [-(x**2).sum() / 2, -x], mode="NUMBA"))
    >>> @numba.njit
    ... def step(x, size):
    ...     value, gradient = density(x)
    ...     return x + size * gradient
    >>> import numpy as np
    >>> step(np.array([1.0, 2.0]), 0.5).tolist()
    [0.5, 1.0]
    """
    from treadle.link.numba.bridges import callable_program

    source = getattr(source, "vm", source)
    if isinstance(source, Program) and source.writes is not None:
        msg = (
            "jit_function: the function writes into shared variables, which stay outside of compiled code. Compile it "
            "with the new values as outputs."
        )
        raise GraphTypeError(msg)
    if isinstance(source, Program) and not isinstance(source, NumbaProgram) and source.whole is not None:
        linker, graph = source.whole
        if isinstance(linker, NumbaLinker):
            source = graph.get()
    if isinstance(source, FunctionGraph):
        source = SelfContainedLinker().link(source)
    if not isinstance(source, NumbaProgram):
        msg = (
            f"jit_function: a graph is needed, or a function compiled in mode NUMBA, got a {type(source).__name__}. "
            "Compile the function in mode NUMBA, or pass a FunctionGraph."
        )
        raise GraphTypeError(msg)
    # Without the text, loops do not look for signals: a signal's error cannot be raised from here.
    recipe = source.recipe
    function: Callable[..., tuple[Any, ...]] = callable_program(source, table_of(recipe.constants, ""))
    return function
