"""Rules for every graph: merging of equal computations, folding of constants, propagation of refined types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from treadle.graph import Constant, Feature, GraphTypeError, Output
from treadle.rewrite.phase import Phase
from treadle.rewrite.rules import RuleSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, FunctionGraph, Variable

# A folded value of more than this many bytes is kept only if it is no larger than what it was computed from.
FOLDING_LIMIT = 1 << 14

_FeatureKind = TypeVar("_FeatureKind", bound=Feature)


def feature_of(fgraph: FunctionGraph, kind: type[_FeatureKind]) -> _FeatureKind | None:
    """Return the graph's feature of a class, or None."""
    for feature in fgraph.features:
        if type(feature) is kind:
            return feature
    return None


class Equals(Feature):
    """Feature that finds nodes with the same op and the same inputs, one level deep.

    Keys hold identities of inputs, so each costs the same however large the graph below is. An entry may be out of
    date: the node found is compared again, and a node whose inputs changed is entered anew when it is next visited.
    """

    def __init__(self) -> None:
        self._nodes: dict[tuple[Any, ...], Apply] = {}
        self._constants: dict[bytes, Constant] = {}

    def representative(self, var: Variable) -> Variable:
        """Return the one constant that stands for all equal ones; any other variable itself."""
        if not isinstance(var, Constant):
            return var
        try:
            signature = var.signature()
        except GraphTypeError:
            return var
        return self._constants.setdefault(signature, var)

    def find(self, fgraph: FunctionGraph, node: Apply) -> Apply | None:
        """Return another node of the graph that computes the same, or None and remember this one."""
        inputs = [self.representative(x) for x in node.inputs]
        key = (node.op, *inputs)
        other = self._nodes.setdefault(key, node)
        if other is node:
            return None
        if other in fgraph and len(other.inputs) == len(inputs):
            pairs = zip(other.inputs, inputs, strict=True)
            if all(x is y or self.representative(x) is y for x, y in pairs):
                return other
        self._nodes[key] = node
        return None


class Refinements(Feature):
    """Feature that notes the nodes of which an input's type was refined."""

    def __init__(self) -> None:
        self.nodes: set[Apply] = set()

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply, i: int, old: Variable, new: Variable, reason: str | None
    ) -> None:
        """Note the node if the type changed."""
        del fgraph, i, reason
        if old.type is not new.type and old.type != new.type and not isinstance(node.op, Output):
            self.nodes.add(node)


RULES = RuleSet("core", features=(Equals, Refinements))


@RULES.rule(
    (Phase.CANONICALIZE, Phase.STABILIZE, Phase.SPECIALIZE),
    tags=("fast_run", "fast_compile"),
    needs_graph=True,
    depth=1,
)
def merge(fgraph: FunctionGraph, node: Apply) -> Sequence[Variable | None] | None:
    """f(x) computed twice -> f(x) computed once."""
    table = feature_of(fgraph, Equals)
    other = table.find(fgraph, node) if table is not None else None
    if other is None:
        return None
    pairs = zip(node.outputs, other.outputs, strict=True)
    return [new if old.type.is_super(new.type) else None for old, new in pairs]


@RULES.rule(
    (Phase.CANONICALIZE, Phase.STABILIZE, Phase.SPECIALIZE),
    tags=("fast_run", "fast_compile"),
    needs_graph=True,
    depth=1,
    after=("merge",),
)
def refine_types(fgraph: FunctionGraph, node: Apply) -> Sequence[Variable | None] | None:
    """f(x) with x's type refined -> f(x) with its type inferred anew."""
    found = feature_of(fgraph, Refinements)
    if found is None or node not in found.nodes:
        return None
    found.nodes.discard(node)
    new = node.op.make_node(*node.inputs)
    pairs = list(zip(node.outputs, new.outputs, strict=True))
    if all(old.type == out.type or not old.type.is_super(out.type) for old, out in pairs):
        return None
    if node._tag is not None:
        new.tag = node.tag.copy()
    return [out if old.type.is_super(out.type) else None for old, out in pairs]


def fold(fgraph: FunctionGraph, node: Apply) -> Sequence[Variable] | None:
    """Return constants for the outputs of a node whose inputs are all constant, or None.

    None too where the op does not allow it, the computation fails (it then fails at run time, with the user's line),
    or the result would take much more memory than the inputs.
    """
    if not node.inputs or not all(isinstance(x, Constant) for x in node.inputs):
        return None
    if not node.op.do_constant_folding(fgraph, node):
        return None
    limit = max(FOLDING_LIMIT, sum(x.type.nbytes(x.data) for x in node.inputs if isinstance(x, Constant)))
    if any((out.type.static_nbytes() or 0) > limit for out in node.outputs):
        return None
    cells: list[list[Any]] = [[None] for _ in node.outputs]
    try:
        node.op.perform(node, [x.data for x in node.inputs if isinstance(x, Constant)], cells)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None
    values = [cell[0] for cell in cells]
    if any(out.type.nbytes(value) > limit for out, value in zip(node.outputs, values, strict=True)):
        return None
    return [
        out.type.narrowed(value).make_constant(value, out.name) for out, value in zip(node.outputs, values, strict=True)
    ]


@RULES.rule(Phase.SPECIALIZE, tags=("fast_run", "fast_compile"), needs_graph=True, depth=1, after=("refine_types",))
def constant_folding(fgraph: FunctionGraph, node: Apply) -> Sequence[Variable] | None:
    """f(constants) -> its value.

    It comes after the stable forms are found: log(1 + exp(800)) is 800, not the logarithm of an overflow.
    """
    return fold(fgraph, node)


@RULES.graph_pass((Phase.CANONICALIZE, Phase.UNCANONICALIZE), tags=("fast_run", "fast_compile", "merge"))
def merge_constants(fgraph: FunctionGraph) -> int:
    """Equal constants -> one constant."""
    table = Equals()
    changes = 0
    for var in list(fgraph.variables):
        if not isinstance(var, Constant):
            continue
        kept = table.representative(var)
        if kept is not var and kept in fgraph:
            fgraph.replace(var, kept, "merge_constants")
            changes += 1
    return changes
