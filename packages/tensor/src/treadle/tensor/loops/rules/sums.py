"""Rules for what loops add up: sums that nothing in the loop reads are taken after it, of all steps at once."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from treadle.graph import Constant, toposort
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import add, mul
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.joins.joining import join, stack
from treadle.tensor.loops.loops import Scan
from treadle.tensor.loops.rules.editing import Edit, covers, least_steps
from treadle.tensor.products.product import MatMul
from treadle.tensor.reductions.reduction import sum_
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.dimshuffle import NEW, DimShuffle, dimshuffle
from treadle.tensor.shapes.shape import Reshape, lengths
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from treadle.graph import Apply, FunctionGraph, Variable
    from treadle.tensor.loops.parts import LoopParts
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("loops_sums", features=(SymbolicShapes,))
_TAGS = (
    "fast_run", "more_mem", "scan", "scan_eqopt1", "all_pushout_opt", "scan_pushout", "scan_push_out_dot1",
    "scan_pushout_dot1", "scan_push_out_add", "scan_pushout_add",
)  # fmt: skip


@RULES.rule(
    (Phase.STABILIZE, Phase.SPECIALIZE),
    Scan,
    tags=_TAGS,
    depth=1,
    needs_graph=True,
    differs="where a partial sum leaves the range",
)
def sums_out_of_loop(fgraph: FunctionGraph, node: NodeOf[Scan]) -> Mapping[Variable, Variable] | None:
    """scan(s + dot(a_t, b_t)) -> s + one product of all a and b; s + y_t of a stacked y -> s + sum(y).

    So for s + f(y_t) of numbers, with costly functions, which vectors then compute. The factors of all steps take more
    memory than the sum; the products are one that is large.
    """
    op = node.op
    if op.has_until or not any(new.owner is not None and new.owner.op is add for new in op.new_carries):
        return None
    edit = Edit.of(node)
    parts = edit.parts
    terms = _taken_out(parts)
    if not terms:
        return None
    bases = dict.fromkeys(base for gone in terms.values() for x in gone for base in _bases(x, parts))
    stacked = {x: parts.add_result(x) for x in bases if x not in parts.rows_in}
    if not least_steps(fgraph, node.inputs[0]):
        # Without steps, their lengths must be known otherwise.
        places = parts.op().row_lengths.places
        if any(None in places[at] for at in stacked.values()):
            return None
    steps: Any = parts.steps
    whole: dict[Variable, Any] = {
        x: s if covers(fgraph, steps, s) else s[:steps]  # type: ignore[index]  # a tensor
        for x, s in zip(parts.rows_in, parts.sequences, strict=True)
        if x in bases
    }
    whole.update(zip(parts.constants, parts.givens, strict=True))
    leaves = {x for gone in terms.values() for term in gone for x in _leaves(term, parts)}
    before = [
        (x, new, start)
        for x, new, start in zip(parts.carries, parts.new_carries, parts.starts, strict=True)
        if x in leaves
    ]
    olds = {j: edit.carries_for[j] for j in terms}
    starts = {j: parts.starts[j] for j in terms if parts.new_carries[j] is parts.carries[j]}
    edit.drop_carries(starts)
    edit.drop_unused_inputs()
    results = parts.apply()
    whole.update((x, results.stacked[at]) for x, at in stacked.items())
    # At the beginning of each step.
    whole.update((x, join(0, stack([start]), whole[new])[:-1]) for x, new, start in before)
    replacements = edit.outputs_of(results)
    for j, gone in terms.items():
        total: Any = starts[j] if j in starts else replacements[olds[j][0]]
        for x in gone:
            total = add(total, _summed(x, whole))
        replacements.update(dict.fromkeys(olds[j], total))
    return replacements if all(old.type.is_super(new.type) for old, new in replacements.items()) else None


def _is_alike(x: Variable, y: Variable) -> bool:
    """Whether two tensors have one dtype and one rank."""
    a, b = x.type, y.type
    return isinstance(a, TensorType) and isinstance(b, TensorType) and (a.dtype, a.ndim) == (b.dtype, b.ndim)


def _taken_out(parts: LoopParts) -> dict[int, list[Variable]]:
    """Take out the terms of sums in carries that can be added after the loop; return them by carry."""
    clients = _clients(parts)
    terms: dict[int, list[Variable]] = {}
    for j, (carry, new) in enumerate(zip(parts.carries, parts.new_carries, strict=True)):
        if not _is_sum(carry, new, clients):
            continue
        own = _terms(new, clients)
        alike = [x for x in own if x is not carry and _is_alike(x, carry)]
        gone = [x for x in alike if _is_factored(x, parts)]
        of_numbers = [x for x in alike if x not in gone and _leaves(x, parts) and clients[x] == 1]
        if any(_saves(x, parts, clients) for x in of_numbers):
            gone += of_numbers
        if gone:
            terms[j] = gone
            rest = [x for x in own if x is not carry and x not in gone]
            parts.new_carries[j] = reduce(add, rest, carry)
    return terms


def _clients(parts: LoopParts) -> dict[Variable, int]:
    """Return how often each variable of a body is used."""
    counts: dict[Variable, int] = {}
    for x in (x for group in ([n.inputs for n in parts.nodes()], [parts.outputs]) for inputs in group for x in inputs):
        counts[x] = counts.get(x, 0) + 1
    return counts


def _is_sum(carry: Variable, new: Variable, clients: Mapping[Variable, int]) -> bool:
    """Whether a step only adds to a carry."""
    if new.owner is None or new.owner.op is not add or clients[new] != 1 or clients.get(carry) != 1:
        return False
    return carry in _terms(new, clients)


def _terms(var: Variable, clients: Mapping[Variable, int]) -> list[Variable]:
    """Return the terms of a sum, and of the sums in it that nothing else uses."""
    terms, pending = [], [var]
    while pending:
        x = pending.pop()
        if x.owner is not None and x.owner.op is add and clients[x] == 1 and _ndim(x) == _ndim(var):
            pending += x.owner.inputs
        else:
            terms.append(x)
    return terms


def _ndim(var: Variable) -> int:
    return getattr(var.type, "ndim", -1)


def _base(var: Variable) -> Variable:
    """Return the variable that dimshuffles rearrange."""
    while var.owner is not None and isinstance(var.owner.op, DimShuffle):
        var = var.owner.inputs[0]
    return var


def _bases(term: Variable, parts: LoopParts) -> Iterator[Variable]:
    """Return the variables whose rows of all steps a term of a sum needs."""
    leaves = _leaves(term, parts)
    if not leaves:
        yield from (_base(x) for x in _factors(term) or (term,))
    ends = dict(zip(parts.carries, parts.new_carries, strict=True))
    for x in leaves:
        if x not in parts.constants:
            yield ends.get(x, x)


def _nodes(term: Variable, parts: LoopParts) -> list[Apply]:
    """Return the nodes that compute a term from what goes into the body, and from its stacked results."""
    return toposort([term], [*parts.inputs, *parts.rows_out])


def _leaves(term: Variable, parts: LoopParts) -> list[Variable]:
    """Return what a term that elementwise functions make of numbers is made of, if all of that is stacked already.

    Empty for other terms, and for those that are the same in all steps.
    """
    nodes = _nodes(term, parts)
    if not nodes or not isinstance(term.type, TensorType) or term.type.numpy_dtype.kind != "f":
        return []
    for node in nodes:
        if not isinstance(node.op, Elemwise) or len(node.outputs) != 1 or _ndim(node.outputs[0]):
            return []
    made = {node.outputs[0] for node in nodes}
    read = dict.fromkeys(x for node in nodes for x in node.inputs)
    leaves = [x for x in read if x not in made and not isinstance(x, Constant)]
    ends = dict(zip(parts.carries, parts.new_carries, strict=True))
    if any(x in ends and (ends[x] in ends or ends[x] not in parts.rows_out) for x in leaves):
        return []
    return [] if set(leaves) <= set(parts.constants) else leaves


def _saves(term: Variable, parts: LoopParts, clients: Mapping[Variable, int]) -> bool:
    """Whether a function that takes long is computed for a term alone."""
    nodes = [node for node in _nodes(term, parts) if clients[node.outputs[0]] == 1]
    return any(not s.cheap for node in nodes for s in node.op.scalar_ops)  # type: ignore[attr-defined]  # elementwise


def _factors(term: Variable) -> tuple[Variable, Variable] | None:
    """Return the matrices whose product a term is, its unit dimensions dropped perhaps."""
    owner = _base(term).owner
    if owner is None or not owner.inputs or _ndim(owner.inputs[0]) != 2:
        return None
    if isinstance(owner.op, MatMul):
        return owner.inputs[0], owner.inputs[1]
    if owner.op is mul and len(owner.inputs) == 2:
        # A column times a row.
        for a, b in (owner.inputs, owner.inputs[::-1]):
            if a.type.shape[1] == 1 and b.type.shape[0] == 1:  # type: ignore[attr-defined]  # as before
                return a, b
    return None


def _is_factored(term: Variable, parts: LoopParts) -> bool:
    """Whether a term can be had for all steps at less cost: a product of what changes, or what is stacked already."""
    factors = _factors(term)
    if factors is None:
        return _base(term) in parts.rows_in or _base(term) in parts.rows_out
    return all(x.owner is not None or x in parts.rows_in or x in parts.carries for x in map(_base, factors))


def _summed(term: Variable, whole: Mapping[Variable, Any]) -> Any:
    """Return the sum of a term over all steps."""
    if term not in whole and term.owner is not None and isinstance(term.owner.op, Elemwise) and _ndim(term) == 0:
        rows = dict(whole)
        for node in toposort([term], list(whole)):
            rows[node.outputs[0]] = node.op(*[rows.get(x, x) for x in node.inputs])
        return sum_(rows[term], axis=0)
    factors = _factors(term)
    if factors is None:
        return sum_(_rearranged(term, whole, 1), axis=0)
    a, b = (_rearranged(x, whole, 1) for x in factors)
    # The matrices of all steps below one another: what a step sums over is part of what the product does.
    if a.type.shape[2] == 1:
        left, right = dimshuffle(a, 0, 1), dimshuffle(b, 0, 2)
    else:
        left, right = _below(dimshuffle(a, 0, 2, 1)), _below(b)
    return _rearranged(term, {_base(term): MatMul()(dimshuffle(left, 1, 0), right)}, 0)


def _rearranged(var: Variable, whole: Mapping[Variable, Any], more: int) -> Any:
    """Return a rearrangement of a step's variable, of all steps if there is one more dimension in front."""
    if var in whole:
        return whole[var]
    node = var.owner
    order = node.op.order  # type: ignore[union-attr]  # a DimShuffle
    inner = _rearranged(node.inputs[0], whole, more)  # type: ignore[union-attr]
    return dimshuffle(inner, *range(more), *(d if d == NEW else d + more for d in order))


def _below(stack: TensorVariable) -> TensorVariable:
    """Return the matrices of a stack below one another."""
    count, rows, columns = lengths(stack)
    return Reshape(2)(stack, mul(count, rows), columns)
