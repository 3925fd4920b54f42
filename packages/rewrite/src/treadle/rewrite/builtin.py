"""Rules for every graph: folding of constants. Merging and type inference belong to the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import Constant, perform_early
from treadle.rewrite.phase import Phase
from treadle.rewrite.rules import RuleSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, FunctionGraph, Variable

# A folded value of more than this many bytes is kept only if it is no larger than what it was computed from.
FOLDING_LIMIT = 1 << 14

RULES = RuleSet("core")


def fold(fgraph: FunctionGraph, node: Apply, *, always: bool = False) -> Sequence[Variable] | None:
    """Return constants for the outputs of a node whose inputs are all constant, or None.

    None too where the op does not allow it, the computation fails (it then fails at run time, with the user's line),
    or the result would take much more memory than the inputs; `always` asks for it all the same, unless it fails.
    """
    if not node.inputs or not all(isinstance(x, Constant) for x in node.inputs):
        return None
    if not always and not node.op.do_constant_folding(fgraph, node):
        return None
    own = sum(x.type.nbytes(x.data) for x in node.inputs if isinstance(x, Constant))
    limit = float("inf") if always else max(FOLDING_LIMIT, own)
    if any((out.type.static_nbytes() or 0) > limit for out in node.outputs):
        return None
    cells: list[list[object]] = [[None] for _ in node.outputs]
    try:
        perform_early(node, _arguments(node), cells)
    except (ArithmeticError, LookupError, NotImplementedError, TypeError, ValueError):
        return None
    values = [cell[0] for cell in cells]
    if any(out.type.nbytes(value) > limit for out, value in zip(node.outputs, values, strict=True)):
        return None
    return [
        out.type.narrowed(value).make_constant(value, out.name) for out, value in zip(node.outputs, values, strict=True)
    ]


def _arguments(node: Apply) -> list[object]:
    """Return the constant inputs' values, copied where the op may overwrite them."""
    overwritten = {i for inputs in node.op.destroy_map.values() for i in inputs}
    constants = [x for x in node.inputs if isinstance(x, Constant)]
    return [x.type.copy_value(x.data) if i in overwritten else x.data for i, x in enumerate(constants)]


@RULES.rule(Phase.SPECIALIZE, tags=("fast_run", "fast_compile"), needs_graph=True, depth=1, constants="all")
def constant_folding(fgraph: FunctionGraph, node: Apply) -> Sequence[Variable] | None:
    """f(constants) -> its value.

    It comes after the stable forms are found: log(1 + exp(800)) is 800, not the logarithm of an overflow.
    """
    return fold(fgraph, node)
