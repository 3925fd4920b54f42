"""Fixed points of functions as expressions, differentiated by the implicit function theorem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from treadle.config import text_of
from treadle.graph import (
    DisconnectedType,
    FrozenFunctionGraph,
    FunctionGraph,
    GraphTypeError,
    GraphValueError,
    Variable,
    compile_inner,
    composed,
    graph_replace,
)
from treadle.tensor.arguments.values import as_callable, as_items, as_number
from treadle.tensor.elementwise.arithmetic import add, sub
from treadle.tensor.errors import DtypeError, ShapeError
from treadle.tensor.gradients.derivatives import pullback
from treadle.tensor.gradients.forward_mode import jvp
from treadle.tensor.optimize.implicit import ImplicitSolution, flat, parts, problem
from treadle.tensor.optimize.search_loops import iterated
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.types.conversion import as_tensor_variable, tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply, Cell, Value
    from treadle.tensor.variables.variable import TensorVariable


class FixedPoint(ImplicitSolution):
    """A fixed point of a function, found by calling it again and again; and whether it was found.

    It is a loop on every backend. Derivatives come from iterations of the same kind where the function is iterated
    plainly, which converge where that did, and from linear systems otherwise.

    Parameters
    ----------
    fgraph
        Inputs are those of the op, the output the function of the first.
    tol, maxiter, method
        As for `fixed_point`.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("fgraph", "tol", "maxiter", "method")

    def __init__(self, fgraph: FrozenFunctionGraph, tol: float, maxiter: int, method: str) -> None:
        super().__init__(fgraph)
        self.tol = tol
        self.maxiter = maxiter
        self.method = method

    def decompose(self, *inputs: Variable) -> list[Variable]:
        """Return the loop."""
        return iterated(self.fgraph, inputs, self.tol, self.maxiter, accelerated=self.method == "del2")

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Run the loop."""
        run = self.__dict__.get("_loop")
        if run is None:
            inner = [x.type.make_variable() for x in node.inputs]
            run = self.__dict__["_loop"] = compile_inner(FunctionGraph(inner, self.decompose(*inner), clone=False))
        for cell, value in zip(output_storage, run(*inputs), strict=True):
            cell[0] = value

    def __getstate__(self) -> dict[str, object]:
        """Leave out the compiled loop."""
        state: dict[str, object] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_loop"}

    def residual(self) -> TensorVariable:
        """Return x - f(x)."""
        return sub(*tensors((self.written.inputs[0], self.written.outputs[0])))

    def _weight(
        self, at: dict[Variable, Variable], outputs: Sequence[TensorVariable], cotangent: TensorVariable
    ) -> TensorVariable:
        """Return the w for which w = cotangent + w times the slope of the function."""
        if self.method != "iteration":
            return super()._weight(at, outputs, cotangent)
        x, image = tensors((self.written.inputs[0], self.written.outputs[0]))
        seed = image.type.make_variable("weight")
        back: Variable = pullback(image, x, seed, disconnected_inputs="ignore")
        return self._summed(seed, back, at, cotangent)

    def _moved(
        self, at: dict[Variable, Variable], outputs: Sequence[TensorVariable], move: TensorVariable
    ) -> TensorVariable:
        """Return the d for which d = move + the slope of the function times d."""
        if self.method != "iteration":
            return super()._moved(at, outputs, move)
        x, image = tensors((self.written.inputs[0], self.written.outputs[0]))
        seed = x.type.make_variable("move")
        (ahead,) = jvp([image], [x], [seed])
        if ahead is None or isinstance(ahead.type, DisconnectedType):
            return move
        return self._summed(seed, ahead, at, move)

    def _summed(
        self, seed: Variable, image: Variable, at: dict[Variable, Variable], first: TensorVariable
    ) -> TensorVariable:
        """Return the sum of all repeated images of a start under a linear function, itself a fixed point."""
        (there,) = tensors(graph_replace([image], at, strict=False))
        graph, rest = problem(add(first, there), seed, ())
        op = FixedPoint(graph, self.tol, self.maxiter, self.method)
        return tensors(op(zeros_like(first), *rest, return_list=True))[0]

    def __str__(self) -> str:
        """Show the method."""
        return f"FixedPoint{{method={self.method}}}"


@composed
def fixed_point(
    fn: Callable[..., Any], x0: Any, tol: float | None = None, maxiter: int = 500, method: str = "iteration"
) -> tuple[Any, TensorVariable]:
    """Return a fixed point of a function, near a start (as scipy.optimize.fixed_point).

    Parameters
    ----------
    fn
        Takes a tensor and returns one of its shape; or takes as many as `x0` has, and returns as many in a list or
        tuple. It is called once, to build the graph; what else it uses are parameters of the solution.
    x0
        The start: a float tensor, or a list or tuple of them.
    tol
        The relative change of every element in the last step may be no larger; the absolute one where an element is 0.
        1e-8 if None, or four times what the dtype can tell apart if that is more.
    maxiter
        The largest number of steps.
    method
        ``iteration`` calls the function again and again. ``del2`` extrapolates from two calls, each element by itself
        (Steffensen's method with Aitken's extrapolation): fewer steps for a scalar, and points that plain iteration
        moves away from.

    Returns
    -------
    The solution, in the form of `x0`, and whether it was found. Gradients flow to the function's parameters, by the
    implicit function theorem: nothing of the iteration is kept for them. None flows to `x0`.

    Raises
    ------
    DtypeError
        If `x0` is not of a float dtype.
    GraphValueError
        If the method is not known, or `tol` or `maxiter` is not positive.
    ShapeError, GraphTypeError
        If the function returns something of another rank or dtype than it takes, or another number of tensors.

    Examples
    --------
    >>> from treadle.tensor import cos, dscalar, grad
    >>> from treadle.tensor.optimize.optimize import fixed_point
    >>> a = dscalar("a")
    >>> x, found = fixed_point(lambda x: cos(a * x), 1.0)
    >>> float(x.eval({a: 1.0}).round(6)), float(grad(x, a).eval({a: 1.0}).round(6))
    (0.739085, -0.297474)
    """
    if not isinstance(method, str) or method not in {"iteration", "del2"}:
        msg = f"fixed_point: the method must be iteration or del2, got {text_of(method)}."
        raise GraphValueError(msg)
    small = None if tol is None else as_number("fixed_point: tol", tol)
    if isinstance(maxiter, bool) or not isinstance(maxiter, int) or maxiter < 1 or (small is not None and small <= 0):
        msg = f"fixed_point: tol and maxiter must be positive, got tol={text_of(tol)} and maxiter={text_of(maxiter)}."
        raise GraphValueError(msg)
    as_callable("fixed_point: fn", fn)
    several = isinstance(x0, list | tuple)
    starts = [as_tensor_variable(x) for x in (as_items("fixed_point: x0", x0) if several else [x0])]
    if not starts:
        msg = f"fixed_point: x0 must be a tensor or several, got {text_of(x0)}. Pass the start."
        raise GraphValueError(msg)
    wrong = next((x for x in starts if x.type.numpy_dtype.kind != "f"), None)
    if wrong is not None:
        msg = f"fixed_point: x0 must be of a float dtype, got {wrong} of type {wrong.type}. Cast it."
        raise DtypeError(msg)
    arguments = [x.type.make_variable(x.name) for x in starts]
    returned = fn(*arguments)
    items = list(returned) if isinstance(returned, list | tuple) else [returned]
    if len(items) != len(arguments):
        msg = f"fixed_point: the function takes {len(arguments)} tensors and returns {len(items)}. Return one for each."
        raise GraphTypeError(msg)
    images = [as_tensor_variable(x) for x in items]
    for old, new in zip(arguments, images, strict=True):
        if new.ndim != old.ndim or new.dtype != old.dtype:
            msg = (
                f"fixed_point: the function takes {old} of type {old.type} and returns {new} of type {new.type}. "
                "Return the same rank and dtype."
            )
            raise ShapeError(msg) if new.ndim != old.ndim else GraphTypeError(msg)
        if any(None not in {n, m} and n != m for n, m in zip(old.type.shape, new.type.shape, strict=True)):
            msg = f"fixed_point: the function takes the shape {old.type.shape} and returns {new.type.shape}."
            raise ShapeError(msg)
    if several:
        start = flat(starts)
        x = start.type.make_variable("x")
        wide = dict(zip(arguments, parts(x, starts), strict=True))
        image = flat(tensors(graph_replace(images, wide, strict=False)))
    else:
        start, x, image = starts[0], tensors(arguments)[0], images[0]
    graph, rest = problem(image, x, ())
    op = FixedPoint(graph, 1e-8 if tol is None else float(tol), maxiter, method)
    solution, success = tensors(op(start, *rest, return_list=True))
    return (type(x0)(parts(solution, starts)) if several else solution), success
