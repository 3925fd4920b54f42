"""Rules for broadcasting, and for summing back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.broadcasting import Alloc, SumTo
from treadle.tensor.dimshuffle import NEW, dimshuffle
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.reduction import Reduction
from treadle.tensor.rewrites.lengths import ONE, LengthTable, table_of
from treadle.tensor.rewrites.patterns import row_name
from treadle.tensor.scalar.cast import second
from treadle.tensor.shape import lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, FunctionGraph, Variable
    from treadle.tensor.rewrites.lengths import Length

RULES = RuleSet("broadcasting", features=(LengthTable,))
BOTH = ("fast_run", "fast_compile")
EARLY_AND_LATE = (Phase.CANONICALIZE, Phase.SPECIALIZE)


@RULES.rule(EARLY_AND_LATE, Alloc, tags=BOTH, needs_graph=True)
def useless_alloc(fgraph: FunctionGraph, node: Apply) -> Variable | None:
    """alloc(x, shape of x) -> x."""
    x, out = node.inputs[0], node.outputs[0]
    table = table_of(fgraph)
    if getattr(x.type, "ndim", -1) != len(node.inputs) - 1 or table.of(x) != table.of(out):
        return None
    return x if out.type.is_super(x.type) else None


@RULES.rule(EARLY_AND_LATE, Alloc, tags=BOTH)
def alloc_of_alloc(node: Apply) -> Variable | None:
    """alloc(alloc(x, a), b) -> alloc(x, b), for x of length 1 in every dimension."""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, Alloc):
        return None
    value: Any = inner.inputs[0]
    if any(n != 1 for n in value.type.shape):
        return None
    result: Variable = Alloc()(value, *node.inputs[1:])
    return result


@RULES.rule(Phase.CANONICALIZE, second, tags=BOTH, needs_graph=True)
def second_to_alloc(fgraph: FunctionGraph, node: Apply) -> Variable | None:
    """second(x, y) -> y, or alloc(y, shape of x): x itself is not needed."""
    x: Any = node.inputs[0]
    y: Any = node.inputs[1]
    out = node.outputs[0]
    table = table_of(fgraph)
    if table.of(y) == table.of(out):
        return y if out.type.is_super(y.type) else None
    if any(n != 1 for n in y.type.shape):
        return None
    scalar = dimshuffle(y, *()) if y.ndim else y
    made: Variable = Alloc()(scalar, *lengths(x))
    return made if out.type.is_super(made.type) else None


def _unspread(x: Variable) -> Variable | None:
    """Return the value that a variable holds broadcast, or None."""
    node = x.owner
    if node is None:
        return None
    if isinstance(node.op, Alloc):
        return node.inputs[0]
    return node.inputs[1] if row_name(node) == "second" else None


@RULES.rule(EARLY_AND_LATE, Elemwise, tags=BOTH, needs_graph=True)
def operand_broadcast_in_vain(fgraph: FunctionGraph, node: Apply) -> Variable | None:
    """f(alloc(x, shape), y) -> f(x, y), where the result has the same shape for certain."""
    values = [_unspread(x) for x in node.inputs]
    if all(v is None for v in values):
        return None
    table = table_of(fgraph)
    target = table.of(node.outputs[0])
    inputs: list[Variable] = list(node.inputs)
    for i, value in enumerate(values):
        if value is None:
            continue
        trial = [*inputs[:i], value, *inputs[i + 1 :]]
        if _broadcast(table, trial) == target:
            inputs = trial
    if all(a is b for a, b in zip(inputs, node.inputs, strict=True)):
        return None
    made: Variable = node.op(*inputs)
    return made if node.outputs[0].type.is_super(made.type) else None


def _broadcast(table: LengthTable, variables: Sequence[Variable]) -> tuple[Length | None, ...]:
    """Return the lengths that variables broadcast to, those of lower rank padded in front."""
    each = [table.of(v) for v in variables]
    ndim = max(map(len, each))
    padded = [(ONE,) * (ndim - len(own)) + own for own in each]
    return tuple(table.broadcast(at) for at in zip(*padded, strict=True))


@RULES.rule(EARLY_AND_LATE, SumTo, tags=BOTH, needs_graph=True)
def sum_to_known_shape(fgraph: FunctionGraph, node: Apply) -> Variable | None:
    """sum_to(x, shape) -> x or sum(x, axes), where it is known for each dimension whether it is summed."""
    x: Any = node.inputs[0]
    out: Any = node.outputs[0]
    table = table_of(fgraph)
    own, wanted = table.of(x), table.of(out)
    extra = len(own) - len(wanted)
    axes = list(range(extra))
    for d, (n, m) in enumerate(zip(own[extra:], wanted, strict=True)):
        if n == m or (out.type.shape[d] not in {1, None}):
            continue
        if m != ONE:
            return None
        axes.append(d + extra)
    made = _summed(x, tuple(axes), extra)
    return made if out.type.is_super(made.type) else None


def _summed(x: Any, axes: tuple[int, ...], extra: int) -> Any:
    """Return a tensor summed over axes, which are kept with length 1 but for the first ones."""
    if not axes:
        return x
    kept = iter(range(x.ndim - len(axes)))
    total = Reduction("sum", axes, x.dtype, "float32" if x.dtype == "float16" else x.dtype)(x)
    return dimshuffle(total, *(NEW if d in axes else next(kept) for d in range(extra, x.ndim)))
