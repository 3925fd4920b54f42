"""Functions with custom derivatives: custom_vjp and custom_jvp, as users of JAX write them."""

from __future__ import annotations

from dataclasses import field
from functools import update_wrapper
from inspect import signature
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from treadle.config import dataclass, text_of
from treadle.graph import (
    Constant,
    DisconnectedType,
    GraphTypeError,
    GraphValueError,
    MethodNotDefinedError,
    SharedVariable,
    Variable,
    composed,
    graph_inputs,
    graph_replace,
    tree_flatten,
    tree_leaves,
)
from treadle.tensor.embedding.from_graph import OpFromGraph
from treadle.tensor.gradients.reverse_mode import gradients_of_parts
from treadle.tensor.loops.plain import filled
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.types.conversion import as_tensor_variable, is_smooth

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.tensor.loops.plain import Tree
    from treadle.tensor.ops.tensor_op import Derivatives, Variables
    from treadle.tensor.variables.variable import TensorVariable

__all__ = ["custom_jvp", "custom_vjp"]

R = TypeVar("R")
Rule = TypeVar("Rule", bound="Callable[..., object]")
Terms = list["Variable | None"]


@dataclass(frozen=True)
class _Call:
    """A call apart from its variables.

    `form` and `result` are the arguments to differentiate by and the result, with the position of a variable at each
    leaf; `fixed` holds the other arguments by position.
    """

    name: str
    form: Tree
    result: Tree
    fixed: tuple[tuple[int, object], ...]

    @property
    def values(self) -> list[object]:
        """The other arguments."""
        return [value for _, value in self.fixed]

    def arguments(self, inputs: Sequence[Variable]) -> list[Tree]:
        """Return all arguments, given the variables."""
        trees: list[Tree] = list(filled(self.form, inputs))
        for at, value in self.fixed:
            trees.insert(at, value)
        return trees

    def terms(self, form: Tree, tree: Tree, what: str) -> Terms:
        """Return the variables of what a rule returned, in the form of arguments or result; None for nothing."""
        try:
            terms = tree_flatten(form)[1].leaves(tree, what, optional=True)
        except GraphTypeError:
            msg = (
                f"{self.name}: the {what} must have the form {form}, a number for each tensor, got {text_of(tree)}. "
                "Return one term for each, or None where there is none."
            )
            raise GraphTypeError(msg) from None
        return [x if x is None or isinstance(x, Variable) else as_tensor_variable(x) for x in terms]


@dataclass(frozen=True)
class _BackwardRule:
    """The gradient of a function with custom_vjp."""

    call: _Call
    fwd: Callable[..., object]
    bwd: Callable[..., object]

    def __call__(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Terms:
        call = self.call
        pair = self.fwd(*call.arguments(inputs))
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            msg = f"{call.name}: fwd must return the result and what bwd needs, got {text_of(pair)}. Return a pair."
            raise GraphTypeError(msg)
        gradients = self.bwd(*call.values, pair[1], filled(call.result, _or_zeros(outputs, cotangents)))
        if isinstance(gradients, Variable) and len(call.form) == 1:
            gradients = (gradients,)
        return call.terms(call.form, gradients, "gradient that bwd returned")


@dataclass(frozen=True)
class _ForwardRule:
    """The directional derivative of a function with custom_jvp."""

    call: _Call
    jvp: Callable[..., object]

    def __call__(self, inputs: Variables, outputs: Variables, tangents: Derivatives) -> Terms:
        call = self.call
        moves = filled(call.form, _or_zeros(inputs, tangents))
        pair = self.jvp(*call.values, filled(call.form, inputs), moves)
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            msg = f"{call.name}: the rule must return the result and how it moves, got {text_of(pair)}. Return a pair."
            raise GraphTypeError(msg)
        return call.terms(call.result, pair[1], "derivative that the rule returned")


@dataclass(frozen=True)
class _TransposedRule:
    """The gradient of a function with custom_jvp: the transpose of its directional derivative, which is linear."""

    forward: _ForwardRule

    def __call__(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Terms:
        moves = {x: x.type.make_variable() for x in inputs if is_smooth(x)}
        pushed = self.forward(inputs, outputs, [moves.get(x) for x in inputs])
        seeds: dict[Variable, Any] = {}
        for term, cotangent in zip(pushed, cotangents, strict=True):
            if term is not None and not isinstance(cotangent.type, DisconnectedType):
                seeds[term] = seeds[term] + cotangent if term in seeds else cotangent
        if not seeds or not moves:
            return [None for _ in inputs]
        slopes: Sequence[Variable] = gradients_of_parts(
            seeds, list(moves.values()), disconnected_inputs="ignore",
            return_disconnected="disconnected", null_gradients="return", add_names=False,
        )  # fmt: skip
        # Their values do not depend on the directions.
        still: dict[Variable, Variable] = {move: zeros_like(x) for x, move in moves.items()}
        by_input = dict(zip(moves, (graph_replace(s, still, strict=False) for s in slopes), strict=True))
        return [by_input.get(x) for x in inputs]


def _or_zeros(variables: Sequence[Variable], directions: Sequence[Variable | None]) -> list[Variable]:
    """Return directions, or cotangents, and zeros where there are none."""
    return [
        zeros_like(x) if t is None or isinstance(t.type, DisconnectedType) else t
        for x, t in zip(variables, directions, strict=True)
    ]


@dataclass(eq=False)
class _WithRule(Generic[R]):
    """A function that becomes one node of the graph, with the user's derivatives."""

    fun: Callable[..., R]
    nondiff_argnums: Sequence[int] = ()
    __name__: str = field(init=False, default="function")

    def __post_init__(self) -> None:
        function: object = self.fun
        if not callable(function):
            msg = f"{type(self).__name__}: a function is needed, got {text_of(function)}. Use it as a decorator."
            raise GraphTypeError(msg)
        update_wrapper(self, self.fun)

    def rules(self, call: _Call) -> dict[str, Any]:
        """Return the derivatives of a call, as `OpFromGraph` takes them."""
        raise NotImplementedError

    @composed
    def __call__(self, *args: object, **kwargs: object) -> R:
        """Apply the function: its graph becomes one node."""
        bound = signature(self.fun).bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = list(bound.args)
        if bound.kwargs:
            msg = f"{self.__name__}: keyword-only arguments have no derivative here, got {', '.join(bound.kwargs)}."
            raise GraphValueError(msg)
        wrong = [at for at in self.nondiff_argnums if not -len(arguments) <= at < len(arguments)]
        if wrong:
            msg = f"{self.__name__}: nondiff_argnums names argument {wrong[0]}, and there are {len(arguments)}."
            raise GraphValueError(msg)
        places = sorted(at % len(arguments) for at in self.nondiff_argnums)
        fixed = tuple((at, arguments[at]) for at in places)
        trees = tuple(x for at, x in enumerate(arguments) if at not in places)
        leaves = [x if isinstance(x, Variable) else as_tensor_variable(x) for x in tree_leaves(trees)]
        inner = [x.type.make_variable(x.name) for x in leaves]
        form = filled(trees, range(len(leaves)))
        returned = self.fun(*_Call(self.__name__, form, None, fixed).arguments(inner))
        outs = [x if isinstance(x, Variable) else as_tensor_variable(x) for x in tree_leaves(returned)]
        self._check(outs, inner)
        call = _Call(self.__name__, form, filled(returned, range(len(outs))), fixed)
        op = OpFromGraph(inner, outs, name=self.__name__, **self.rules(call))
        result: R = filled(returned, op(*leaves, return_list=True))
        return result

    def _check(self, outs: Sequence[Variable], inner: Sequence[Variable]) -> None:
        known = set(inner)
        for var in graph_inputs(outs):
            if var not in known and not isinstance(var, Constant | SharedVariable):
                msg = (
                    f"{self.__name__}: the function uses {var} of type {var.type}, which is none of its arguments, so "
                    "that its derivative is not known. Pass it as an argument."
                )
                raise GraphValueError(msg)


class custom_vjp(_WithRule[R]):  # noqa: N801 - the name that users know
    """Give a function a custom gradient (as jax.custom_vjp).

    A call is one node, which rewriting replaces by the function's graph late; until then, and in batches, the gradient
    is the one given. Forward mode takes it too, through two pullbacks.

    Parameters
    ----------
    fun
        Takes and returns tensors, or tuples, lists and dictionaries of them.
    nondiff_argnums
        Positions of arguments that are not tensors, such as functions and options.

    Examples
    --------
    >>> from treadle.tensor import clip, custom_vjp, dscalar, grad
    >>> @custom_vjp
    ... def clipped(x):
    ...     return clip(x, -1, 1)
    >>> clipped.defvjp(lambda x: (clipped(x), None), lambda kept, ct: (ct,))
    >>> x = dscalar("x")
    >>> float(grad(clipped(x) * 3, x).eval({x: 9.0}))
    3.0
    """

    _fwd: Callable[..., object] | None = None
    _bwd: Callable[..., object] | None = None

    def defvjp(self, fwd: Callable[..., object], bwd: Callable[..., object]) -> None:
        """Give the gradient.

        Parameters
        ----------
        fwd
            Takes what the function takes, returns its result and whatever `bwd` needs.
        bwd
            Takes the arguments at `nondiff_argnums`, what `fwd` returned second, and the gradient by the result, in the
            form of the result; returns a tuple of gradients by the other arguments, in their form, None for none.
        """
        self._fwd, self._bwd = fwd, bwd

    def rules(self, call: _Call) -> dict[str, Any]:
        """Return the derivatives of a call, as `OpFromGraph` takes them."""
        if self._fwd is None or self._bwd is None:
            msg = f"{self.__name__}: no derivative is given. Call {self.__name__}.defvjp(fwd, bwd) first."
            raise MethodNotDefinedError(msg)
        return {"pullback": _BackwardRule(call, self._fwd, self._bwd)}


@dataclass(frozen=True)
class _SumOfRules:
    """The rule of `custom_jvp.defjvps`: a sum over arguments."""

    fun: Callable[..., object]
    rules: tuple[Callable[..., TensorVariable] | None, ...]

    def __call__(self, *arguments: Any) -> tuple[object, TensorVariable | None]:
        *fixed, primals, tangents = arguments
        out = self.fun(*fixed, *primals)
        total: TensorVariable | None = None
        for rule, move in zip(self.rules, tangents, strict=True):
            if rule is not None:
                term = rule(*fixed, move, out, *primals)
                total = term if total is None else total + term
        return out, total


class custom_jvp(_WithRule[R]):  # noqa: N801 - the name that users know
    """Give a function a custom directional derivative (as jax.custom_jvp); the gradient is its transpose.

    Parameters
    ----------
    fun, nondiff_argnums
        As for `custom_vjp`.

    Examples
    --------
    >>> from treadle.tensor import custom_jvp, dscalar, grad, log1p, exp, sigmoid
    >>> @custom_jvp
    ... def softplus(x):
    ...     return log1p(exp(x))
    >>> rule = softplus.defjvp(lambda primals, tangents: (softplus(*primals), sigmoid(primals[0]) * tangents[0]))
    >>> x = dscalar("x")
    >>> float(grad(softplus(x), x).eval({x: 1000.0}))
    1.0
    """

    _jvp: Callable[..., object] | None = None

    def defjvp(self, jvp: Rule) -> Rule:
        """Give the derivative; it may be used as a decorator.

        Parameters
        ----------
        jvp
            Takes the arguments at `nondiff_argnums`, a tuple of the others, and a tuple of how these move, zeros where
            they do not; returns the result and how it moves. It must be linear in the latter.
        """
        self._jvp = jvp
        return jvp

    def defjvps(self, *jvps: Callable[..., TensorVariable] | None) -> None:
        """Give the derivative by each argument: ``jvp(tangent, result, *arguments)``, or None where it is zero."""
        self._jvp = _SumOfRules(self, jvps)

    def rules(self, call: _Call) -> dict[str, Any]:
        """Return the derivatives of a call, as `OpFromGraph` takes them."""
        if self._jvp is None:
            msg = f"{self.__name__}: no derivative is given. Call {self.__name__}.defjvp(rule) first."
            raise MethodNotDefinedError(msg)
        forward = _ForwardRule(call, self._jvp)
        return {"pushforward_with_outputs": forward, "pullback": _TransposedRule(forward)}
