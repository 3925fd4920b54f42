"""MonitorMode: the mode in which functions call the user's hooks before and after each node."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from treadle.compile.errors import FunctionTypeError
from treadle.compile.mode.mode import Mode
from treadle.config import lazy_module, text_of
from treadle.link.vm import ProgramLinker, link_node_by_node

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply, Cell, Compute, FunctionGraph, Value, printing
    from treadle.link.vm import Program

    Hook = Callable[[FunctionGraph, int, Apply, "MonitoredNode"], Any]
else:
    printing = lazy_module("treadle.graph.printing")


class MonitoredNode:
    """One run of a node, as hooks see it; calling it runs the node.

    `inputs` and `outputs` hold cells, lists of one element. Before the node has run, those of the outputs hold None.
    """

    __slots__ = ("_run", "inputs", "outputs")

    lazy = False

    def __init__(self, run: Compute, values: tuple[Value, ...], count: int) -> None:
        self._run = run
        self.inputs: list[Cell] = [[value] for value in values]
        self.outputs: list[Cell] = [[None] for _ in range(count)]

    def __call__(self) -> None:
        """Run the node on what is in the inputs' cells."""
        answer = self._run(*[cell[0] for cell in self.inputs])
        for cell, value in zip(self.outputs, [answer] if len(self.outputs) == 1 else answer, strict=True):
            cell[0] = value

    @property
    def result(self) -> Value:
        """What is in the outputs' cells: a value, or a tuple of several."""
        if len(self.outputs) == 1:
            return self.outputs[0][0]
        return tuple(cell[0] for cell in self.outputs)


class MonitorLinker(ProgramLinker):
    """Links graphs node by node, with hooks around each; nodes that `linker` refuses run on the Python VM."""

    acts_at_nodes = True

    def __init__(self, linker: ProgramLinker, pre_func: Hook | None, post_func: Hook | None) -> None:
        super().__init__(allow_gc=linker.allow_gc)
        self.linker = linker
        self.pre_func = pre_func
        self.post_func = post_func
        self.required_rewrites = linker.required_rewrites
        self.incompatible_rewrites = linker.incompatible_rewrites

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program that calls the hooks."""
        del native_outputs
        numbers = {node: i for i, node in enumerate(fgraph.toposort())}

        def wrap(node: Apply, run: Compute) -> Compute:
            return self._monitored(fgraph, numbers[node], node, run)

        return link_node_by_node(fgraph, self.linker, wrap, self._frees())

    def _monitored(self, fgraph: FunctionGraph, i: int, node: Apply, run: Compute) -> Compute:
        pre, post, count = self.pre_func, self.post_func, len(node.outputs)

        def monitored(*values: Value) -> Value:
            fn = MonitoredNode(run, values, count)
            if pre is not None:
                pre(fgraph, i, node, fn)
            fn()
            if post is not None:
                post(fgraph, i, node, fn)
            return fn.result

        return monitored


class MonitorMode(Mode):
    """Mode whose functions call hooks before and after each node, on any backend.

    Each node is a program of its own, so that every value can be looked at. Rewrites may hide values: exclude
    ``fusion`` to see each operation, and ``inplace`` to see inputs as they were.

    Parameters
    ----------
    pre_func
        Called before each node as ``pre_func(fgraph, i, node, fn)``: the graph, the node's number and the node, and
        what runs it, whose attributes ``inputs`` and ``outputs`` hold cells, lists of one value. None for nothing.
    post_func
        Called after each node, with the same arguments.
    optimizer, linker
        As for `Mode`; nodes that the linker refuses run in Python.
    name
        Shown in messages.

    Raises
    ------
    FunctionTypeError
        If a hook is not a function.

    Examples
    --------
    >>> from treadle.compile import function
    >>> import treadle.tensor as tt
    >>> def show(fgraph, i, node, fn):
    ...     print(i, [float(cell[0]) for cell in fn.inputs], [float(cell[0]) for cell in fn.outputs])
    >>> x = tt.dscalar("x")
    >>> f = function([x], tt.exp(x), mode=MonitorMode(post_func=show, linker="vm"))
    >>> float(f(0.0))
    0 [0.0] [1.0]
    1.0
    """

    __slots__ = ("post_func", "pre_func")

    pre_func: Hook | None
    post_func: Hook | None

    def __init__(
        self,
        pre_func: Hook | None = None,
        post_func: Hook | None = None,
        optimizer: Any = "default",
        linker: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(linker, optimizer, name="MonitorMode" if name is None else name)
        self._set(pre_func=_hook("pre_func", pre_func), post_func=_hook("post_func", post_func))

    def make_linker(self) -> MonitorLinker:
        """Return a new linker that calls the hooks around the nodes of the mode's own linker."""
        return MonitorLinker(self._own_node_linker(), self.pre_func, self.post_func)


def _hook(name: str, hook: Value) -> Any:
    if hook is not None and not callable(hook):
        msg = f"MonitorMode: {name} must be a function (fgraph, i, node, fn), got {text_of(hook)}."
        raise FunctionTypeError(msg)
    return hook


def detect_nan(fgraph: FunctionGraph, i: int, node: Apply, fn: MonitoredNode) -> None:
    """Print a node that has made NaN, with the graph above it, its inputs and its outputs; a `post_func`.

    Examples
    --------
    >>> from treadle.compile import function
    >>> import treadle.tensor as tt
    >>> x = tt.dscalar("x")
    >>> mode = MonitorMode(post_func=detect_nan, linker="vm").excluding("fusion", "inplace")
    >>> _ = function([x], tt.log(x) * x, mode=mode)(0.0)
    *** NaN detected ***
    ...
    """
    del fgraph, i
    for out, cell in zip(node.outputs, fn.outputs, strict=True):
        if out.type.non_finite(cell[0])[0]:
            write = sys.stdout.write
            write("*** NaN detected ***\n")
            write(f"{str(printing.debugprint(node, file='str')).rstrip()}\n")
            write(f"Inputs : {[cell[0] for cell in fn.inputs]}\n")
            write(f"Outputs: {[cell[0] for cell in fn.outputs]}\n")
            return
