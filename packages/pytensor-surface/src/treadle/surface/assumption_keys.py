"""Facts about tensors as objects, and how other packages add facts and rules for them: `treadle.assumptions`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag, auto
from typing import TYPE_CHECKING

from treadle.graph import Constant, FunctionGraph
from treadle.tensor.control.assumption import FACTS, SpecifyAssumptions
from treadle.tensor.rewrites.analysis.fact_rules import RULES
from treadle.tensor.rewrites.analysis.facts import Facts, fact_reader, facts_of
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np

    from treadle.graph import Apply, Op, Variable
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    # ``(key, op, facts, fgraph, node, states of the inputs) -> states of the outputs``.
    InferFact = Callable[
        ["AssumptionKey", Op, Facts, FunctionGraph | None, Apply, list["FactState"]], Sequence["FactState"]
    ]

__all__ = [
    "DIAGONAL",
    "LOWER_TRIANGULAR",
    "ORTHOGONAL",
    "PERMUTATION",
    "POSITIVE_DEFINITE",
    "SELECTION",
    "SYMMETRIC",
    "UNIQUE_INDICES",
    "UPPER_TRIANGULAR",
    "AssumptionFeature",
    "AssumptionKey",
    "FactState",
    "assumption_tags",
    "check_assumption",
    "register_assumption",
    "register_constant_inference",
    "register_implies",
    "specify_assumption_rule",
    "summarize_assumptions",
]


class FactState(IntFlag):
    """What is known of a fact; only `TRUE` counts for rewriting."""

    UNKNOWN = 0
    TRUE = auto()
    FALSE = auto()
    CONFLICT = TRUE | FALSE

    @classmethod
    def join(cls, left: FactState, right: FactState) -> FactState:
        """Return the state that two sources give together."""
        return cls(left | right)


@dataclass(frozen=True)
class AssumptionKey:
    """A fact; making one of a new name adds the fact, which `assume` then takes by that name.

    Parameters
    ----------
    name
        The name of the fact.
    short_name
        Another name for people; it is kept, and not used.
    """

    name: str
    short_name: str = ""

    def __post_init__(self) -> None:
        """Add the fact, unless it is known."""
        if self.name not in FACTS:
            FACTS.add(self.name)

    def assume(self, x: TensorLike, *, state: bool = True) -> TensorVariable:
        """Return a tensor of which the fact is said to hold, or not to hold."""
        assumed: TensorVariable = SpecifyAssumptions(((self.name, state),))(as_tensor_variable(x))
        return assumed

    def holds(self, var: Variable, fgraph: FunctionGraph | None = None) -> bool:
        """Whether the fact is known to hold."""
        return (Facts() if fgraph is None else facts_of(fgraph)).hold(self.name, var)


class AssumptionFeature(Facts):
    """Feature that answers whether facts hold in a graph, asked by keys; that one does not hold is never deduced."""

    def get(self, var: Variable, key: AssumptionKey) -> FactState:
        """Return what is known of a fact about a variable: `TRUE` or `UNKNOWN`."""
        return _state(self.hold(key.name, var))

    def check(self, var: Variable, key: AssumptionKey) -> bool:
        """Whether a fact is known to hold for a variable."""
        return self.hold(key.name, var)


DIAGONAL = AssumptionKey("diagonal", "diag")
LOWER_TRIANGULAR = AssumptionKey("lower_triangular", "tril")
UPPER_TRIANGULAR = AssumptionKey("upper_triangular", "triu")
SYMMETRIC = AssumptionKey("symmetric", "sym")
POSITIVE_DEFINITE = AssumptionKey("positive_definite", "pd")
ORTHOGONAL = AssumptionKey("orthogonal", "orth")
SELECTION = AssumptionKey("selection", "sel")
PERMUTATION = AssumptionKey("permutation", "perm")
UNIQUE_INDICES = AssumptionKey("unique_indices", "uniq")


def _state(holds: bool) -> FactState:
    return FactState.TRUE if holds else FactState.UNKNOWN


def check_assumption(fgraph: FunctionGraph, var: Variable, key: AssumptionKey) -> bool:
    """Whether a fact is known to hold for a variable of a graph."""
    return key.holds(var, fgraph)


def register_assumption(key: AssumptionKey, *op_types: type[Op]) -> Callable[[InferFact], InferFact]:
    """Return a decorator that adds a rule for a fact of what ops of some classes make.

    The rule is a function ``(key, op, facts, fgraph, node, states of the inputs) -> states of the outputs``. Shorter
    ones, ``(fact, output, facts) -> bool``, are added by ``treadle.tensor.rewrites.FACT_RULES.register``.
    """

    def add(infer: InferFact) -> InferFact:
        def rule(fact: str, out: TensorVariable, facts: Facts) -> bool:
            node: Apply = out.owner  # type: ignore[assignment]  # rules are asked about results
            states = [_state(facts.hold(fact, x)) for x in node.inputs]
            output_states = infer(key, node.op, facts, facts.fgraph, node, states)
            return output_states[node.outputs.index(out)] == FactState.TRUE

        RULES.register(*op_types, facts=(key.name,))(rule)
        return infer

    return add


def register_constant_inference(key: AssumptionKey, fn: Callable[[Constant], FactState]) -> None:
    """Add a function that says whether a fact holds for a constant."""

    def rule(value: np.ndarray) -> bool:
        return fn(as_tensor_variable(value)) == FactState.TRUE  # type: ignore[arg-type]  # a constant

    RULES.of_values(key.name)(rule)


def register_implies(stronger: AssumptionKey, *weaker: AssumptionKey) -> None:
    """Let facts follow from a fact."""
    FACTS.imply(stronger.name, *(key.name for key in weaker))


def specify_assumption_rule(
    key: AssumptionKey,
    op: SpecifyAssumptions,
    feature: Facts,
    fgraph: FunctionGraph | None,
    node: Apply,
    input_states: Sequence[FactState],
) -> list[FactState]:
    """Return the state of a fact by `assume`, joined with that of its input."""
    del feature, fgraph, node
    assumed = dict(op.assumptions).get(key.name)
    if assumed is None:
        return [input_states[0]]
    return [FactState.join(FactState.TRUE if assumed else FactState.FALSE, input_states[0])]


def summarize_assumptions(feature: Facts, var: Variable) -> str:
    """Return the facts known of a variable as text, such as ``{symmetric}``; nothing if none is known."""
    return _summary(fact_reader(feature)(var))


def _summary(facts: Sequence[str]) -> str:
    return f"{{{', '.join(facts)}}}" if facts else ""


def assumption_tags(outputs: Iterable[Variable]) -> dict[Variable, str]:
    """Return the known facts of the variables that outputs are computed from, as texts; others are left out."""
    facts_of_var = fact_reader(Facts())
    tags = {var: _summary(facts_of_var(var)) for var in FunctionGraph(outputs=list(outputs), clone=False).variables}
    return {var: tag for var, tag in tags.items() if tag}
