"""Loops in their plain form: a function of the carry, called once to build the body (as in JAX's lax)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import text_of
from treadle.graph import (
    Constant,
    GraphTypeError,
    GraphValueError,
    Variable,
    as_flag,
    check_name,
    composed,
    tree_flatten,
    tree_leaves,
    truncated_graph_inputs,
)
from treadle.tensor.arguments.values import as_callable, known_integer
from treadle.tensor.elementwise.arithmetic import add, maximum
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.logic import invert
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.loops.loops import ENDLESS
from treadle.tensor.loops.parts import LoopParts
from treadle.tensor.shapes.shape import LENGTH, lengths
from treadle.tensor.types.conversion import as_tensor_variable, constant
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from treadle.graph import TreeForm
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["fori_loop", "scan_with_carry", "while_loop"]

# A variable or value, or a container of such trees (see `treadle.graph.tree_flatten`); None holds nothing.
Tree = Any


def filled(tree: Tree, leaves: Iterable[Any]) -> Tree:
    """Return a tree of the same form with other leaves."""
    return tree_flatten(tree)[1].fill(leaves)


def _shown_form(form: TreeForm) -> Any:
    """Return the form of a tree as messages show it."""
    if form.cls is None:
        return "leaf"
    if form.cls is type(None):
        return None
    parts = [_shown_form(part) for part in form.parts]
    if issubclass(form.cls, list | tuple):
        return parts
    return dict(zip(form.static if issubclass(form.cls, dict) else form.entries, parts, strict=True))


def as_carry(value: Any, beside: Sequence[Variable] = ()) -> Variable:
    """Return a variable for what a carry starts with; values of other types than tensors must be variables.

    Python numbers take on the dtype of the floats next to them.
    """
    if isinstance(value, Variable):
        return value
    dtype = number_dtype(value, beside) if type(value) in {bool, int, float, complex} else None
    return as_tensor_variable(value, dtype=dtype)


def _starts(values: Sequence[Any], beside: Sequence[Variable] = ()) -> list[Variable]:
    operands = [*beside, *(x for x in values if isinstance(x, Variable))]
    return [as_carry(x, operands) for x in values]


def close(parts: LoopParts) -> None:
    """Make what the body takes from outside, and what does not depend on its inputs, inputs of the loop."""
    own = parts.inputs
    known = set(own)
    for var in truncated_graph_inputs(parts.outputs, own):
        if var not in known and not isinstance(var, Constant):
            parts.add_given(var, var.type.make_variable(var.name))
    parts.replace(dict(zip(parts.givens, parts.constants, strict=True)))


def _adapt_carries(parts: LoopParts, values: Sequence[Any], subject: str) -> bool:
    """Fit Python numbers that carries start with to the dtypes that steps make; say whether one has changed."""
    changed = False
    for j, value in enumerate(values):
        start, new = parts.starts[j], parts.new_carries[j]
        old, stepped = start.type, new.type
        if not isinstance(old, TensorType) or not isinstance(stepped, TensorType):
            continue
        if old.ndim == stepped.ndim and old.dtype == stepped.dtype:
            continue
        if isinstance(value, bool | int | float | complex) and old.dtype != stepped.dtype and old.ndim == stepped.ndim:
            wide = stepped.dtype
            if old.numpy_dtype.kind in "biu" and stepped.numpy_dtype.kind == "f":
                # This float has its width from the integer's dtype only, which means nothing here.
                wide = number_dtype(float(value.real), [*parts.sequences, *parts.starts])
            parts.starts[j] = constant(value, dtype=wide)
            changed = True
            continue
        msg = (
            f"{subject}: the carry {start} of type {old} becomes {new} of type {stepped} in a step. "
            "Start with a value of the dtype and rank that steps make, or cast what they make."
        )
        raise TensorTypeError(msg)
    return changed


def _fitting(subject: str, before: Tree, after: Tree) -> list[Any]:
    """Return the new carries, of the form of the old ones."""
    form = tree_flatten(before)[1]
    given = tree_leaves(after)  # refuses one that is nested without end
    try:
        given = form.leaves(after, subject)
    except GraphTypeError:
        msg = (
            f"{subject}: the function must return the carry in the form in which it takes it, {_shown_form(form)}, got "
            f"{text_of(after)}. Return as many values, nested in the same way."
        )
        raise GraphTypeError(msg) from None
    return [as_carry(x) for x in given]


@composed
def while_loop(
    cond: Callable[[Tree], TensorLike], body: Callable[[Tree], Tree], init: Tree, name: str | None = None
) -> Tree:
    """Repeat a step while a condition holds; return the last carry (as jax.lax.while_loop).

    Parameters
    ----------
    cond
        Takes the carry, returns a scalar: whether to make another step.
    body
        Takes the carry, returns the next one, of the same form, ranks and dtypes.
    init
        The first carry: a variable or value, or a tree of them (see `treadle.graph.tree_flatten`), nested as you like.
    name
        Shown when printed and in errors.

    Returns
    -------
    The last carry, in the form of `init`. It is differentiable in either mode: for the gradient, the loop runs a second
    time, now with a known number of steps, and keeps the carry of each.

    Raises
    ------
    GraphTypeError
        If `body` returns a carry of another form, or `cond` no scalar.
    TensorTypeError
        If a carry changes its rank or dtype in a step.

    Examples
    --------
    >>> from treadle.tensor import dscalar, while_loop
    >>> x = dscalar("x")
    >>> float(while_loop(lambda y: y < 100, lambda y: 2 * y, x).eval({x: 3.0}))
    192.0
    """
    as_callable("while_loop: cond", cond)
    as_callable("while_loop: body", body)
    check_name("while_loop", name)
    values = tree_leaves(init)
    starts = _starts(values)

    def tested(carry: Tree) -> TensorVariable:
        truth = as_tensor_variable(cond(carry))
        if truth.type.numpy_dtype.kind in "fc":
            msg = (
                f"while_loop: the condition must be true or false, got {truth} of type {truth.type}. Compare it with "
                "something."
            )
            raise GraphTypeError(msg)
        if truth.ndim:
            msg = (
                f"while_loop: the condition must be a scalar, got {truth} of type {truth.type}. Reduce it with all or "
                "any."
            )
            raise GraphTypeError(msg)
        return cast(truth, "bool")

    while True:
        first = tested(filled(init, starts))
        parts = LoopParts(switch(first, ENDLESS, 0), name=name)
        carries = [x.type.make_variable(getattr(x, "name", None)) for x in starts]
        after = _fitting("while_loop", init, body(filled(init, carries)))
        for start, carry, new in zip(starts, carries, after, strict=True):
            parts.add_carry(start, carry, new)
        if not _adapt_carries(parts, values, "while_loop"):
            break
        starts = parts.starts
    parts.until = invert(tested(filled(init, parts.new_carries)))
    close(parts)
    parts.widen()
    return filled(init, parts.apply().carries)


@composed
def fori_loop(
    lower: TensorLike, upper: TensorLike, body: Callable[[TensorVariable, Tree], Tree], init: Tree,
    name: str | None = None,
) -> Tree:  # fmt: skip
    """Call a function for each integer of a range, with the carry; return the last one (as jax.lax.fori_loop).

    Parameters
    ----------
    lower, upper
        The range: integers or integer scalars. It is empty if `upper` is not larger.
    body
        Takes the number, an int64 scalar, and the carry; returns the next carry, of the same form, ranks and dtypes.
    init, name
        As for `while_loop`.

    Returns
    -------
    The last carry, in the form of `init`.

    Raises
    ------
    GraphTypeError
        If `body` returns a carry of another form.
    TensorTypeError
        If a carry changes its rank or dtype in a step, or a bound is not an integer scalar.

    Examples
    --------
    >>> from treadle.tensor import dscalar, fori_loop
    >>> x = dscalar("x")
    >>> float(fori_loop(0, 3, lambda i, total: total + x * i, 0.0).eval({x: 2.0}))
    6.0
    """
    as_callable("fori_loop: body", body)
    first, last = _bound(lower), _bound(upper)
    low, high = known_integer(lower), known_integer(upper)
    steps = maximum(last - first, 0) if low is None or high is None else constant(max(high - low, 0), dtype=LENGTH)

    def step(carry: Tree, row: Tree) -> tuple[Tree, Tree]:
        del row
        at, tree = carry
        return (add(at, 1), body(at, tree)), None

    return _built("fori_loop", step, (first, init), None, steps, name)[0][1]


def _bound(value: TensorLike) -> TensorVariable:
    var = as_tensor_variable(value)
    if var.ndim or var.type.numpy_dtype.kind not in "biu":
        msg = f"fori_loop: a bound must be an integer scalar, got {var} of type {var.type}. Pass an integer."
        raise TensorTypeError(msg)
    return cast(var, LENGTH)


@composed
def scan_with_carry(
    fn: Callable[[Tree, Tree], tuple[Tree, Tree]], init: Tree, xs: Tree = None, length: TensorLike | None = None,
    reverse: bool = False, name: str | None = None, recomputes: bool = False,
) -> tuple[Tree, Tree]:  # fmt: skip
    """Call a function for each row of sequences, with the carry; stack what else it returns (as jax.lax.scan).

    Parameters
    ----------
    fn
        Takes the carry and a row of each sequence, returns the next carry, of the same form, ranks and dtypes, and
        what to stack: a tree of tensors, or None.
    init
        The first carry: a variable or value, or a tree of them (see `treadle.graph.tree_flatten`), nested as you like.
    xs
        Tensors in the same way; the first dimension is that of the steps. None for no sequences.
    length
        The number of steps, needed without sequences. It may not be larger than they are long.
    reverse
        Whether to begin with the last row; results are stacked in the order of the rows all the same.
    name
        Shown when printed and in errors.
    recomputes
        Whether the gradient computes again what a step computed from its carry, which is all that is kept of it: less
        memory for more time (as `fn` under jax.checkpoint). See `scan_checkpoints` for keeping few carries.

    Returns
    -------
    The last carry, in the form of `init`, and the stacked results, in the form of what `fn` returns.

    Raises
    ------
    GraphTypeError, GraphValueError
        If `fn` does not return a pair, or a carry of another form; if there are neither sequences nor a length.
    ShapeError
        If a sequence is a scalar, or sequences are known to differ in length.
    TensorTypeError
        If a carry changes its rank or dtype in a step.

    Examples
    --------
    >>> from treadle.tensor import dvector, scan_with_carry
    >>> x = dvector("x")
    >>> total, sums = scan_with_carry(lambda total, row: (total + row, total + row), 0.0, x)
    >>> sums.eval({x: [1.0, 2.0, 3.0]}).tolist()
    [1.0, 3.0, 6.0]
    """
    as_callable("scan_with_carry: fn", fn)
    sequences = [as_tensor_variable(x) for x in tree_leaves(xs)]
    for x in sequences:
        if x.ndim == 0:
            msg = f"scan_with_carry: a sequence needs a first dimension, got {x} of type {x.type}. Pass a vector."
            raise ShapeError(msg)
    known = {x.type.shape[0] for x in sequences} - {None}
    if len(known) > 1:
        msg = f"scan_with_carry: sequences must have one length, got {sorted(known)}. Cut the longer ones."  # type: ignore[type-var]
        raise ShapeError(msg)
    if length is not None:
        steps: Any = as_tensor_variable(length)
    elif sequences:
        fixed = next((x for x in sequences if x.type.shape[0] is not None), sequences[0])
        steps = lengths(fixed)[0]
    else:
        msg = "scan_with_carry: the number of steps is not known. Pass sequences, or length."
        raise GraphValueError(msg)
    backwards = as_flag("scan_with_carry: reverse", reverse)
    if sequences and (length is not None or backwards):
        sequences = [x[:steps] for x in sequences]
    if backwards:
        sequences = [x[::-1] for x in sequences]
    last, stacked = _built("scan_with_carry", fn, init, filled(xs, sequences), steps, name, recomputes)
    return last, filled(stacked, [x[::-1] for x in tree_leaves(stacked)]) if backwards else stacked


def _built(
    subject: str, fn: Callable[[Tree, Tree], Any], init: Tree, xs: Tree, steps: Any, name: str | None,
    recomputes: bool = False,
) -> tuple[Tree, Tree]:  # fmt: skip
    """Return the last carry and the stacked results of a loop."""
    check_name(subject, name)
    as_flag(f"{subject}: recomputes", recomputes)
    values = tree_leaves(init)
    starts = _starts(values, tree_leaves(xs))
    while True:
        parts = LoopParts(steps, name=name, recomputes=recomputes)
        for x in tree_leaves(xs):
            parts.add_sequence(x, TensorType(x.dtype, x.type.shape[1:]).make_variable(x.name))
        carries = [x.type.make_variable(getattr(x, "name", None)) for x in starts]
        returned = fn(filled(init, carries), filled(xs, parts.rows_in))
        if not isinstance(returned, tuple | list) or len(returned) != 2:
            msg = f"{subject}: the function must return a carry and what to stack, got {text_of(returned)}. Return two."
            raise GraphTypeError(msg)
        after = _fitting(subject, init, returned[0])
        for start, carry, new in zip(starts, carries, after, strict=True):
            parts.add_carry(start, carry, new)
        if not _adapt_carries(parts, values, subject):
            break
        starts = parts.starts
    # Each row is a result of its own, even where two are the same variable.
    parts.rows_out = [as_tensor_variable(y) for y in tree_leaves(returned[1])]
    close(parts)
    parts.widen()
    loop = parts.apply()
    return filled(init, loop.carries), filled(returned[1], loop.stacked)


def number_dtype(number: complex, beside: Iterable[Variable]) -> str:
    """Return the dtype that a Python number starts a state with: for floats, that of the floats beside it.

    Where all floats given to a loop are float32, a state that starts from 0.0 is float32 too.
    """
    plain = constant(number).type.numpy_dtype
    kinds = [x.type.numpy_dtype for x in beside if isinstance(x.type, TensorType)]
    # The dtype of the real and imaginary part, for complex ones.
    floats = [np.empty(0, dtype).real.dtype for dtype in kinds if dtype.kind in "fc"]
    if plain.kind not in "fc" or not floats:
        return plain.name
    return np.result_type(*floats, *(["complex64"] if plain.kind == "c" else [])).name
