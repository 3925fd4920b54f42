"""Rules for linear systems in loops: a matrix that stays the same is factored once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import lazy_module
from treadle.rewrite import OpClass, Phase, RuleSet
from treadle.tensor.loops.loops import Scan
from treadle.tensor.loops.rules.editing import Edit, depends, least_steps
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeGuard

    from treadle.graph import FunctionGraph, Variable
    from treadle.tensor.linalg.decompositions import cholesky, lu
    from treadle.tensor.linalg.linear_systems import Solve
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
else:
    # Every graph has the rule, few have the ops.
    cholesky = lazy_module("treadle.tensor.linalg.decompositions.cholesky")
    lu = lazy_module("treadle.tensor.linalg.decompositions.lu")

_IS_SOLVE = OpClass("treadle.tensor.linalg.linear_systems.Solve")
RULES = RuleSet("loops_solving", features=(SymbolicShapes,), after=("loops_hoisting",))


@RULES.rule(
    Phase.STABILIZE,
    Scan,
    tags=(
        "fast_run", "scan", "scan_eqopt1", "all_pushout_opt", "scan_pushout",
        "scan_split_non_sequence_decomposition_and_solve", "scan_split_non_sequence_decomposition_and_solve_jax",
    ),
    depth=1,
    needs_graph=True,
    before=("invariants_out_of_loop",),
)  # fmt: skip
def factor_out_of_loop(fgraph: FunctionGraph, node: NodeOf[Scan]) -> Mapping[Variable, Variable] | None:
    """scan(solve(a, b_t)) -> scan(lu_solve(f, b_t)), f = lu_factor(a), for what is the same in all steps.

    Where the loop may make no step, only if a matrix without an inverse is no error.
    """
    known = depends(node.op)
    splits = [
        n.op
        for n in node.op.fgraph.toposort()
        if _is_split(n.op) and known[n.outputs[0]] and not known.get(n.inputs[0])
    ]
    raises = any(op.on_error != "nan" for op in splits)
    if not splits or (raises and not least_steps(fgraph, node.inputs[0])):
        return None
    edit = Edit.of(node)
    parts = edit.parts
    fixed: set[Variable] = {*parts.constants}
    pairs: dict[Variable, Variable] = {}
    for inner in parts.nodes():
        if all(x in fixed or (x.owner is None and x not in parts.inputs) for x in inner.inputs):
            fixed.update(inner.outputs)
        elif _is_split(inner.op) and inner.inputs[0] in fixed:
            pairs[inner.outputs[0]] = _solved(inner.op, *inner.inputs)
    if not pairs or not all(old.type.is_super(new.type) for old, new in pairs.items()):
        return None
    parts.replace(pairs)
    return edit.finish()


def _is_split(op: Any) -> TypeGuard[Solve]:
    return _IS_SOLVE(op) and op.assume_a in {"gen", "pos"}


def _solved(op: Any, a: Variable, b: Variable) -> Variable:
    """Return the solution of a system by the factor of its matrix."""
    if op.assume_a == "gen":
        solution: Variable = lu.LUSolve(False, op.check_finite, op.on_error)(
            *lu.LUFactor(op.check_finite, op.on_error)(a), b
        )
        return solution
    factor = cholesky.Cholesky(op.lower, op.check_finite, op.on_error)(a)
    return cholesky.CholeskySolve(op.lower, op.check_finite, op.on_error)(factor, b)
