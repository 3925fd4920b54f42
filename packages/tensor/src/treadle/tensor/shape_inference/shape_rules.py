"""Lengths that scalars, slices and the shapes of ops stand for: what `SymbolicShapes` looks into."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from treadle.config import config
from treadle.graph import Constant, IfElse, Op, ShapeInferenceError, Variable, call_infer_shape
from treadle.tensor.control.assertion import NOT_NEGATIVE
from treadle.tensor.elementwise.arithmetic import add, mul
from treadle.tensor.elementwise.cast import CASTS
from treadle.tensor.elementwise.comparison import ge
from treadle.tensor.indexing.expressions import At, Span, Symbolic
from treadle.tensor.indexing.indexing import Subtensor
from treadle.tensor.shapes.dimshuffle import DimShuffle
from treadle.tensor.shapes.shape import LENGTH, Shape, ShapeI, as_lengths, lengths
from treadle.tensor.types.conversion import tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from treadle.graph import Apply
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes

    Inferred = Sequence[Length | None]

# Scalars made of more sums and products than this are not looked into.
MOST_SCALARS = 32

_CAST_TO_LENGTH = CASTS[LENGTH]


# Scalars


def stripped(var: Variable) -> tuple[Variable, bool]:
    """Return a scalar without casts to int64 and dimshuffles; and whether there were any."""
    first = var
    while var.owner is not None and (var.owner.op is _CAST_TO_LENGTH or isinstance(var.owner.op, DimShuffle)):
        if var.owner.op is _CAST_TO_LENGTH and getattr(var.owner.inputs[0].type, "dtype", "uint64") == "uint64":
            break
        var = var.owner.inputs[0]
    return var, var is not first


def scalar_tree(var: Variable) -> tuple[list[Variable], list[Variable]]:
    """Return the sums and products that a scalar is made of, each after its operands, and the leaves below them."""
    order: list[Variable] = []
    leaves: list[Variable] = []
    stack = [stripped(var)[0]]
    seen: set[Variable] = set()
    while stack:
        current = stack.pop()
        if current in seen:
            continue
        seen.add(current)
        node = current.owner
        if node is not None and (node.op is add or node.op is mul) and len(seen) <= MOST_SCALARS and _is_int64(node):
            order.append(current)
            stack.extend(stripped(x)[0] for x in node.inputs)
        else:
            leaves.append(current)
    return _sorted_tree(order), leaves


def _is_int64(node: Apply) -> bool:
    return all(x.dtype == LENGTH and all(n == 1 for n in x.type.shape) for x in tensors((*node.inputs, *node.outputs)))


def _sorted_tree(order: list[Variable]) -> list[Variable]:
    """Return variables each after those it needs among them."""
    inside, done, result = set(order), set[Any](), []
    stack = list(order)
    while stack:
        current: Any = stack[-1]
        waiting = [y for y in (stripped(x)[0] for x in current.owner.inputs) if y in inside and y not in done]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        if current not in done:
            done.add(current)
            result.append(current)
    return result


def measured(var: Variable) -> tuple[Variable, int] | None:
    """Return the variable and dimension whose length a scalar is, or None."""
    node = var.owner
    if node is None:
        return None
    if isinstance(node.op, ShapeI):
        return node.inputs[0], node.op.axis
    if isinstance(node.op, Subtensor) and len(node.op.entries) == 1 and isinstance(node.op.entries[0], At):
        source, at = node.inputs[0].owner, node.op.entries[0].value
        if source is not None and isinstance(source.op, Shape) and isinstance(at, int):
            x = source.inputs[0]
            ndim = getattr(x.type, "ndim", 0)
            return x, at % ndim if ndim else at
    return None


def below_check(var: Variable) -> Variable | None:
    """Return the length that a check of non-negative lengths passes on, or None if a scalar is not such a check."""
    if var.owner is None or var.owner.op != NOT_NEGATIVE or len(var.owner.inputs) != 2:
        return None
    length, condition = var.owner.inputs
    about = condition.owner
    # What was a check of a part of the length is not a check of the length itself.
    is_own = about is not None and about.op is ge and about.inputs[0] is length
    return length if is_own else None


def _asked_by(scalars: Sequence[Variable]) -> list[Variable]:
    """Return the variables whose lengths the scalars are made of."""
    asked = []
    for scalar in scalars:
        waiting = scalar_tree(scalar)[1]
        while waiting:
            leaf = waiting.pop()
            source, below = measured(leaf), below_check(leaf)
            if source is not None:
                asked.append(source[0])
            elif below is not None:
                waiting += scalar_tree(below)[1]
    return asked


def needed_by(var: Variable, shapes: SymbolicShapes) -> Sequence[Variable]:
    """Return the variables whose lengths must be known before those of a variable."""
    kind = var.type
    node = var.owner
    if node is None or None not in getattr(kind, "shape", ()):
        return ()
    op = node.op
    if rule_of(op) is not None:
        inputs = node.inputs[getattr(op, "shape_inputs", slice(None))]
        scalars = [x for x in inputs if getattr(x.type, "ndim", 1) == 0]
        return [*(x for x in inputs if getattr(x.type, "ndim", 0)), *_asked_by(scalars)]
    if type(op).infer_shape is Op.infer_shape:
        return ()
    # What an op's own infer_shape says is made once, before it is looked at.
    shape = own_shape(node, var, shapes)
    if shape is None:
        return ()
    return [*(x for x in node.inputs if hasattr(x.type, "ndim")), *(x for x in _asked_by(shape) if x.owner is not node)]


def _bounds(shapes: SymbolicShapes, span: Span, parts: Iterator[Variable]) -> list[Length | None] | None:
    """Return a slice's bounds as lengths; None if one is of a dtype that int64 does not hold."""
    bounds = [next(parts) if isinstance(b, Symbolic) else b for b in (span.start, span.stop, span.step)]
    unknown = [b for b in bounds if isinstance(b, Variable) and not isinstance(b, Constant)]
    if any(b.dtype == "uint64" for b in tensors(unknown)):
        return None
    return [None if b is None else shapes.fixed(b) if isinstance(b, int) else shapes.of_scalar(b) for b in bounds]


def slice_of(shapes: SymbolicShapes, span: Span, n: Length, parts: Iterator[Variable]) -> Length | None:
    """Return the length of a slice of a dimension."""
    bounds = _bounds(shapes, span, parts)
    if span.is_full:
        return n
    if bounds is None:
        return None
    start, stop, step = bounds
    stride = 1 if step is None else shapes.value(step)
    from_first = start is None or shapes.value(start) == 0
    if stride == 1 and from_first and (stop is None or n in {stop, shapes.atom("given", stop)}):
        return n
    if stride == -1 and start is None and stop is None:
        return n
    if stop is not None and shapes.value(stop) == 0 and from_first and stride is not None and stride > 0:
        return shapes.fixed(0)
    known = shapes.value(n)
    values = [None if b is None else shapes.value(b) for b in bounds]
    if known is not None and all(b is None or v is not None for b, v in zip(bounds, values, strict=True)):
        return shapes.fixed(len(range(*slice(*values).indices(known))))
    return shapes.atom("slice", n, start, stop, step)


def _chosen(node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
    op: Any = node.op
    at = node.outputs.index(out)
    first, second = (shapes.of(x) for x in (node.inputs[1 + at], node.inputs[1 + op.n_outs + at]))
    return [a if a == b else None for a, b in zip(first, second, strict=True)]


def _shape_of(var: Variable) -> tuple[Any, ...] | None:
    """Return the lengths of an input as scalars, None where it has none."""
    # Types of values that are no tensors may say how their lengths are read.
    read = getattr(var.type, "lengths_of", None)
    if read is not None:
        return tuple(read(var))
    return tuple(lengths(var)) if hasattr(var.type, "ndim") else None


def own_shape(node: Apply, out: Variable, shapes: SymbolicShapes) -> list[Variable] | None:
    """Return the shape of an output as an op's own infer_shape gives it, as scalars; made once for each node."""
    known = shapes.own_shapes.get(node)
    if known is None:
        input_shapes = [_shape_of(x) for x in node.inputs]
        try:
            known = call_infer_shape(node.op.infer_shape, shapes.fgraph, node, input_shapes)
        except Exception as error:  # noqa: BLE001 - anyone's op may raise anything; on_shape_error decides
            _failed_shape(node, error)
        shapes.own_shapes[node] = known = () if known is None else known
    if not known:
        return None
    shape = known[node.outputs.index(out)]
    return None if shape is None else list[Any](as_lengths("infer_shape", list(shape)))


def _failed_shape(node: Apply, error: Exception) -> None:
    """Deal with a failure of an op's infer_shape as the option on_shape_error says; the shape stays unknown."""
    msg = (
        f"{node.op}: infer_shape failed{node.where()} ({type(error).__name__}: {error}). Correct it; the shape is "
        "computed from the value meanwhile."
    )
    if config.on_shape_error == "raise":
        raise ShapeInferenceError(msg) from error
    warnings.warn(msg, UserWarning, stacklevel=2)


def inferred(shapes: SymbolicShapes, node: Apply, out: Variable) -> Inferred:
    """Return what an op's own infer_shape says."""
    scalars = None if type(node.op).infer_shape is Op.infer_shape else own_shape(node, out, shapes)
    if scalars is None:
        return [None] * tensors((out,))[0].ndim
    return [_as_length(shapes, node, n) for n in scalars]


def _as_length(shapes: SymbolicShapes, node: Apply, scalar: Variable) -> Length | None:
    """Return a scalar as a length that may be computed whenever the node's inputs are at hand.

    None where it is read off the node's own result: nothing more is known of it.
    """
    leaves = scalar_tree(scalar)[1]
    if any(x.owner is node for x in _asked_by([scalar])):
        return None
    if all(isinstance(leaf, Constant) or measured(leaf) is not None for leaf in leaves):
        return shapes.of_scalar(scalar)
    return shapes.atom("made", scalar, *node.inputs)


def rule_of(op: Op) -> Callable[[Apply, Variable, SymbolicShapes], Sequence[Length | None]] | None:
    """Return what gives the lengths of an op's result: None if at most its infer_shape knows."""
    # Choices are an op of the graph package, which knows no shapes.
    return _chosen if isinstance(op, IfElse) else getattr(op, "symbolic_shape", None)
