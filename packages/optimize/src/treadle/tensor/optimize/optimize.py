"""Minima and roots of expressions, and fixed points of functions, as expressions.

They are differentiated by the implicit function theorem (see `treadle.tensor.optimize.implicit`). Minima and roots are
searched for by SciPy, in Python, with the expression and its derivatives compiled by the function's own backend; by
loops of ops on JAX and PyTorch, and wherever else no Python runs: in programs of C alone, in the steps of compiled
loops. A mode takes these loops in place of SciPy if it includes the tag ``search_as_loop``.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treadle.config import lazy_module, text_of
from treadle.graph import (
    DrivesInnerGraph,
    FrozenFunctionGraph,
    GraphTypeError,
    Variable,
    ancestors,
    as_flag,
    composed,
    graph_replace,
)
from treadle.tensor.arguments.values import as_items, check_flags
from treadle.tensor.differentiation.jacobians import jacobian
from treadle.tensor.errors import ArgumentError, DtypeError, ShapeError, TensorTypeError
from treadle.tensor.gradients.gradient import grad
from treadle.tensor.optimize.fixed_points import FixedPoint, fixed_point
from treadle.tensor.optimize.implicit import ImplicitSolution, flat, parts, problem
from treadle.tensor.optimize.search_loops import METHODS, as_loop, refusal
from treadle.tensor.shapes.shape import lengths, reshape
from treadle.tensor.types.conversion import as_tensor_variable, tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scipy import optimize

    from treadle.graph import Apply, Cell, Compute, Linked, Value
    from treadle.tensor.variables.variable import TensorLike, TensorVariable
else:
    optimize = lazy_module("scipy.optimize")

__all__ = ["FixedPoint", "Optimum", "fixed_point", "minimize", "minimize_scalar", "root", "root_scalar"]


class Optimum(ImplicitSolution, DrivesInnerGraph):
    """Where an expression has a minimum, or is zero, near a start; and whether the search succeeded.

    SciPy searches, in Python; the inner graph is compiled by the backend of the function. Backends whose programs call
    no Python search by loops of ops: see `treadle.tensor.optimize.search_loops`.

    Parameters
    ----------
    fgraph
        Inputs are those of the op; outputs the expression and, where SciPy is to get them, its first and second
        derivatives by the first input.
    search
        Name of the function of `scipy.optimize`: ``minimize``, ``minimize_scalar``, ``root`` or ``root_scalar``.
    method
        Its method.
    options
        Pairs of its other keyword arguments.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("fgraph", "search", "method", "options")

    def __init__(
        self, fgraph: FrozenFunctionGraph, search: str, method: str, options: tuple[tuple[str, object], ...]
    ) -> None:
        super().__init__(fgraph)
        self.search = search
        self.method = method
        self.options = options
        self._linked: Linked | None = None

    @property
    def fn(self) -> Compute:
        """The inner graph as a function: as a linker compiled it, else the Python VM at the first use."""
        return super().fn if self._linked is None else self._linked.program

    def with_program(self, linked: Linked) -> Optimum:
        """Return the op with a function of the inner graph that a linker made."""
        new = copy(self)
        new._linked = linked
        return new

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Run SciPy's search from the start."""
        start, *rest = inputs
        evaluate = _Evaluation(self.fn, np.asarray(start), rest)
        outcome = getattr(self, f"_{self.search}")(evaluate, dict(self.options))
        solution, success = outcome
        output_storage[0][0] = np.asarray(solution, start.dtype).reshape(np.shape(start))
        output_storage[1][0] = np.asarray(bool(success))

    def _minimize(self, evaluate: _Evaluation, options: dict[str, Any]) -> tuple[object, object]:
        derivatives = dict(zip(("jac", "hess"), self._derivatives(evaluate, 1, 2), strict=False))
        outcome = optimize.minimize(evaluate.output(0, 0), evaluate.start, method=self.method, **derivatives, **options)
        return outcome.x, outcome.success

    def _minimize_scalar(self, evaluate: _Evaluation, options: dict[str, Any]) -> tuple[object, object]:
        outcome = optimize.minimize_scalar(evaluate.output(0, 0), method=self.method, **options)
        return outcome.x, outcome.success

    def _root(self, evaluate: _Evaluation, options: dict[str, Any]) -> tuple[object, object]:
        derivatives = dict(zip(("jac",), self._derivatives(evaluate, 2), strict=False))
        outcome = optimize.root(evaluate.output(0, 1), evaluate.start, method=self.method, **derivatives, **options)
        return outcome.x, outcome.success

    def _root_scalar(self, evaluate: _Evaluation, options: dict[str, Any]) -> tuple[object, object]:
        derivatives = dict(zip(("fprime", "fprime2"), self._derivatives(evaluate, 0, 0), strict=False))
        start = {} if "bracket" in options else {"x0": float(evaluate.start[0])}
        value = evaluate.output(0, 0)
        if "bracket" in options and not np.prod([np.sign(value(end)) for end in options["bracket"]]) <= 0:
            return np.nan, False  # SciPy raises an error
        outcome = optimize.root_scalar(value, method=self.method, **start, **derivatives, **options)
        return outcome.root, outcome.converged

    def _derivatives(self, evaluate: _Evaluation, *ranks: int) -> list[Callable[[object], Any]]:
        count = len(self.fgraph.outputs) - 1
        return [evaluate.output(k, rank) for k, rank in enumerate(ranks[:count], 1)]

    def decompose(self, *inputs: Variable) -> list[Variable] | None:
        """Return the search as loops of ops, or None if its method has no such form."""
        options = dict(self.options)
        if refusal(self.search, self.method, options):
            return None
        return as_loop(self.search, self.method, options, self.written, inputs)

    def refusal(self) -> tuple[str, str]:
        """Return why the search cannot run without Python, and what to do."""
        methods = ", ".join(METHODS[self.search])
        why = refusal(self.search, self.method, dict(self.options))
        return why, f"take one of the methods {methods} with their own options"

    def residual(self) -> TensorVariable:
        """Return what is zero at the solution, of the shape of x."""
        f = tensors(self.written.outputs)[0]
        slope: TensorVariable = f
        if self.search.startswith("minimize"):
            slope = grad(f, self.written.inputs[0], add_names=False, disconnected_inputs="ignore")
        return slope

    def __str__(self) -> str:
        """Show the search and the method."""
        return f"Optimum{{{self.search}, method={self.method}}}"


class _Evaluation:
    """The expression and its derivatives as SciPy calls them: with flat float64 arrays, each point computed once."""

    def __init__(self, fn: Compute, start: np.ndarray, rest: Sequence[Value]) -> None:
        self._fn = fn
        self._shape, self._dtype = start.shape, start.dtype
        self._rest = rest
        self._at: np.ndarray | None = None
        self._outputs: Sequence[Any] = ()
        self.start = start.reshape(-1).astype("float64")

    def output(self, number: int, rank: int) -> Callable[[object], Any]:
        """Return a function that gives an output at a point, with a flat dimension of x for each of its rank."""

        def compute(point: object) -> Any:
            x = np.array(point, "float64").reshape(-1)
            if self._at is None or not np.array_equal(self._at, x):
                self._outputs = self._fn(x.reshape(self._shape).astype(self._dtype), *self._rest)
                self._at = x
            value = np.array(self._outputs[number], "float64")
            return value.reshape((x.size,) * rank) if rank else float(value.reshape(()))

        return compute


# The methods of SciPy's functions, in lower case.
_METHODS = {
    "minimize": (
        "nelder-mead", "powell", "cg", "bfgs", "newton-cg", "l-bfgs-b", "tnc", "cobyla", "cobyqa", "slsqp",
        "trust-constr", "dogleg", "trust-ncg", "trust-exact", "trust-krylov",
    ),
    "minimize_scalar": ("brent", "bounded", "golden"),
    "root": (
        "hybr", "lm", "broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden", "excitingmixing", "krylov",
        "df-sane",
    ),
    "root_scalar": ("bisect", "brentq", "brenth", "ridder", "toms748", "newton", "secant", "halley"),
}  # fmt: skip


def _searched(name: str, x: object, rank: int | None, expressions: Sequence[TensorVariable]) -> TensorVariable:
    """Return the variable of a search, checked."""
    if not isinstance(x, Variable) or not isinstance(x.type, TensorType):
        msg = f"{name}: a tensor variable of the expression is needed, got {text_of(x)}. Pass the variable itself."
        raise GraphTypeError(msg)
    (var,) = tensors((x,))
    if var.type.numpy_dtype.kind != "f":
        msg = f"{name}: the variable must be of a float dtype, got {var} of type {var.type}. Cast it first."
        raise DtypeError(msg)
    if rank is not None and var.ndim != rank:
        msg = f"{name}: the variable must be a scalar, got {var} of type {var.type}. Use {name.partition('_')[0]}."
        raise ShapeError(msg)
    if not any(var is ancestor for ancestor in ancestors(expressions)):
        msg = f"{name}: {', '.join(map(str, expressions))} does not depend on {var}. Pass what it depends on."
        raise TensorTypeError(msg)
    return var


def _scalar(name: str, expression: TensorLike) -> TensorVariable:
    var = as_tensor_variable(expression)
    if var.ndim or var.type.numpy_dtype.kind != "f":
        msg = f"{name}: a float scalar is needed, got {var} of type {var.type}. Take its sum, or cast it."
        raise ShapeError(msg) if var.ndim else DtypeError(msg)
    return var


def _optimum(
    search: str,
    expression: TensorVariable,
    x: TensorVariable,
    derivatives: Sequence[Variable],
    method: object,
    kwargs: Mapping[str, object] | None,
) -> tuple[TensorVariable, TensorVariable]:
    if not isinstance(method, str):
        msg = f"{search}: method must be a name of SciPy's, got {text_of(method)}. Pass one."
        raise TensorTypeError(msg)
    if method.lower() not in _METHODS[search]:
        msg = f"{search}: method must be one of {', '.join(_METHODS[search])}, got {text_of(method)}. Pass one of them."
        raise ArgumentError(msg)
    graph, rest = problem(expression, x, derivatives)
    options = {} if kwargs is None else kwargs
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        msg = f"{search}: optimizer_kwargs must be a mapping of names to values, got {text_of(kwargs)}. Pass a dict."
        raise TensorTypeError(msg)
    parameters = inspect.signature(getattr(optimize, search)).parameters if options else {}
    unknown = [name for name in options if name not in parameters]
    if unknown:
        msg = f"{search}: optimizer_kwargs must be SciPy's arguments, got {text_of(unknown[0])}. Leave it out."
        raise ArgumentError(msg)
    op = Optimum(graph, search, method, tuple(sorted(options.items())))
    solution, success = tensors(op(x, *rest, return_list=True))
    return solution, success


@composed
def minimize_scalar(
    objective: TensorLike, x: Variable, method: str = "brent", optimizer_kwargs: Mapping[str, object] | None = None
) -> tuple[TensorVariable, TensorVariable]:
    """Return where a scalar expression of a scalar variable has a minimum (as scipy.optimize.minimize_scalar).

    Parameters
    ----------
    objective
        A float scalar.
    x
        The variable that it is minimal in, a float scalar.
    method
        As SciPy names it.
    optimizer_kwargs
        Other keyword arguments for SciPy, such as ``bounds`` or ``options``.

    Returns
    -------
    The solution, and whether the search succeeded: one that fails raises nothing. Gradients flow to what else
    the objective depends on.

    Examples
    --------
    >>> x = tt.dscalar("x")
    >>> tt.optimize.minimize_scalar((x - 3) ** 2, x)[0].eval({x: 0.0}).round(6)
    np.float64(3.0)
    """
    cost = _scalar("minimize_scalar", objective)
    return _optimum("minimize_scalar", cost, _searched("minimize_scalar", x, 0, [cost]), (), method, optimizer_kwargs)


@composed
def minimize(
    objective: TensorLike,
    x: Variable,
    method: str = "BFGS",
    jac: bool = True,
    hess: bool = False,
    use_vectorized_jac: bool = True,
    optimizer_kwargs: Mapping[str, object] | None = None,
) -> tuple[TensorVariable, TensorVariable]:
    """Return where a scalar expression has a minimum (as scipy.optimize.minimize).

    Parameters
    ----------
    objective
        A float scalar.
    x
        The variable that it is minimal in, a float tensor of any rank; its value is where the search starts.
    method
        As SciPy names it.
    jac, hess
        Whether SciPy gets the gradient, and the matrix of second derivatives.
    use_vectorized_jac
        Without effect: derivatives of all elements are always one batch.
    optimizer_kwargs
        Other keyword arguments for SciPy, such as ``bounds``, ``tol`` or ``options``.

    Returns
    -------
    The solution, and whether the search succeeded: one that fails raises nothing. Gradients flow to what else
    the objective depends on.

    Examples
    --------
    >>> from treadle.tensor import dscalar, dvector, grad
    >>> from treadle.tensor.optimize.optimize import minimize
    >>> x, a = dvector("x"), dscalar("a")
    >>> best, success = minimize(((x - a) ** 2).sum(), x)
    >>> grad(best.sum(), a).eval({x: [0.0, 9.0], a: 3.0}).round(6)
    np.float64(2.0)
    """
    check_flags("minimize", use_vectorized_jac=use_vectorized_jac)
    cost = _scalar("minimize", objective)
    var = _searched("minimize", x, None, [cost])
    derivatives: list[Variable] = []
    if as_flag("minimize: jac", jac) or hess:
        derivatives.append(grad(cost, var, add_names=False))
    if as_flag("minimize: hess", hess):
        derivatives.append(jacobian(derivatives[0], var, disconnected_inputs="ignore"))
    return _optimum("minimize", cost, var, derivatives, method, optimizer_kwargs)


@composed
def root_scalar(
    equation: TensorLike,
    variable: Variable,
    method: str = "secant",
    jac: bool = False,
    hess: bool = False,
    optimizer_kwargs: Mapping[str, object] | None = None,
) -> tuple[TensorVariable, TensorVariable]:
    """Return where a scalar expression of a scalar variable is zero (as scipy.optimize.root_scalar).

    Parameters
    ----------
    equation
        A float scalar.
    variable
        The variable, a float scalar; its value is where the search starts.
    method
        As SciPy names it.
    jac, hess
        Whether SciPy gets the first, and the second derivative.
    optimizer_kwargs
        Other keyword arguments for SciPy, such as ``bracket``.

    Returns
    -------
    The solution, and whether the search succeeded: one that fails raises nothing. Gradients flow to what else
    the equation depends on.

    Examples
    --------
    >>> x = tt.dscalar("x")
    >>> tt.optimize.root_scalar(x**2 - 4, x)[0].eval({x: 1.0}).round(6)
    np.float64(2.0)
    """
    zero = _scalar("root_scalar", equation)
    var = _searched("root_scalar", variable, 0, [zero])
    derivatives: list[Variable] = []
    if as_flag("root_scalar: jac", jac) or hess:
        derivatives.append(grad(zero, var, add_names=False))
    if as_flag("root_scalar: hess", hess):
        derivatives.append(grad(derivatives[0], var, add_names=False, disconnected_inputs="ignore"))
    return _optimum("root_scalar", zero, var, derivatives, method, optimizer_kwargs)


@composed
def root(
    equations: Any,
    variables: Any,
    method: str = "hybr",
    jac: bool = True,
    use_vectorized_jac: bool = True,
    optimizer_kwargs: Mapping[str, object] | None = None,
) -> tuple[Any, TensorVariable]:
    """Return where expressions are zero (as scipy.optimize.root).

    Parameters
    ----------
    equations
        A float tensor of as many elements as the variable, or a list of tensors that have as many elements together
        as the variables.
    variables
        A float tensor, whose value is where the search starts; or a list of them.
    method
        As SciPy names it.
    jac
        Whether SciPy gets the matrix of derivatives.
    use_vectorized_jac
        Without effect: derivatives of all elements are always one batch.
    optimizer_kwargs
        Other keyword arguments for SciPy, such as ``tol``.

    Returns
    -------
    The solution, in the form of `variables`, and whether the search succeeded. Gradients flow to what else the
    equations depend on.

    Examples
    --------
    >>> x = tt.dvector("x")
    >>> tt.optimize.root(x**2 - 4, x)[0].eval({x: [1.0]}).round(6)
    array([2.])
    """
    check_flags("root", use_vectorized_jac=use_vectorized_jac)
    expressions = as_items("root: equations", equations) if isinstance(equations, list | tuple) else [equations]
    pieces = [as_tensor_variable(e) for e in expressions]
    zero = pieces[0] if len(pieces) == 1 else flat(pieces)
    if not isinstance(variables, list | tuple):
        return _root(zero, _searched("root", variables, None, [zero]), method, jac, optimizer_kwargs)
    unknowns = [_searched("root", x, None, [zero]) for x in as_items("root: variables", variables)]
    # One vector takes the place of all variables.
    start = flat(unknowns)
    x = start.type.make_variable("x")
    (zero,) = tensors(graph_replace([zero], dict(zip(unknowns, parts(x, unknowns), strict=True)), strict=False))
    solution, success = _root(zero, x, method, jac, optimizer_kwargs, start)
    return type(variables)(parts(solution, unknowns)), success


def _root(
    zero: TensorVariable,
    x: TensorVariable,
    method: str,
    jac: bool,
    kwargs: Mapping[str, object] | None,
    start: TensorVariable | None = None,
) -> tuple[TensorVariable, TensorVariable]:
    if zero.type.numpy_dtype.kind != "f":
        msg = f"root: the equations must be of a float dtype, got {zero} of type {zero.type}. Cast them."
        raise DtypeError(msg)
    if zero.ndim != x.ndim:
        zero = reshape(zero, lengths(x), ndim=x.ndim)
    derivatives = [jacobian(zero, x, disconnected_inputs="ignore")] if as_flag("root: jac", jac) else []
    solution, success = _optimum("root", zero, x, derivatives, method, kwargs)
    if start is not None:
        solution, success = tensors(graph_replace([solution, success], {x: start}, strict=False))
    return solution, success
