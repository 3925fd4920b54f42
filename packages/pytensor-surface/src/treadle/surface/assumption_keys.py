"""Facts about tensors as objects, and how other packages add facts and rules for them: `treadle.assumptions`."""

from __future__ import annotations

from enum import IntFlag, auto
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import dataclass
from treadle.graph import AlreadyThere, Constant, FunctionGraph, toposort
from treadle.tensor.control.assumption import FACTS, SpecifyAssumptions
from treadle.tensor.errors import ConflictingAssumptionsError
from treadle.tensor.rewrites.analysis.fact_rules import RULES
from treadle.tensor.rewrites.analysis.facts import Facts, fact_reader, facts_of
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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
    "TRIDIAGONAL",
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


class StateRules:
    """Rules about facts by the class of op, which may say that a fact does not hold."""

    def __init__(self) -> None:
        self._rules: dict[tuple[str, type[Op]], list[InferFact]] = {}

    def add(self, fact: str, kind: type[Op], rule: InferFact, prepend: bool = False) -> None:
        """Add a rule, after those that are there already or before them."""
        rules = self._rules.setdefault((fact, kind), [])
        rules.insert(0 if prepend else len(rules), rule)

    def of(self, fact: str, kind: type[Op]) -> Sequence[InferFact]:
        """Return the rules about a fact of the nearest class of ops that has any."""
        return next((self._rules[fact, base] for base in kind.__mro__ if (fact, base) in self._rules), ())

    def know(self, fact: str) -> bool:
        """Whether there are rules about a fact."""
        return any(known == fact for known, _ in self._rules)


STATE_RULES = StateRules()

# Facts that constants are known not to have where their values show it.
_OF_VALUES = frozenset({"diagonal", "tridiagonal", "selection", "permutation", "unit_magnitude"})


class AssumptionFeature(Facts):
    """Feature that answers what is known of facts in a graph, asked by keys.

    That a fact does not hold is known by `assume`, from the value of a constant, from a rule that says so, and where a
    fact that follows from it does not hold.
    """

    def __init__(self) -> None:
        super().__init__()
        self._denied: set[tuple[str, Variable]] = set()

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Install ``assumption_feature``; a graph has one such feature."""
        if hasattr(fgraph, "assumption_feature"):
            msg = "AssumptionFeature: the graph has one already. Use its assumption_feature."
            raise AlreadyThere(msg)
        super().on_attach(fgraph)
        fgraph.assumption_feature = self  # type: ignore[attr-defined]  # features add names to their graph

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Take ``assumption_feature`` away."""
        del fgraph.assumption_feature  # type: ignore[attr-defined]  # as above
        self.__init__()  # type: ignore[misc]  # what was known is forgotten

    def clone(self) -> AssumptionFeature:
        """Return a feature for another graph."""
        return type(self)()

    def on_change_input(
        self, fgraph: FunctionGraph, node: object, i: int, var: Variable, new_var: Variable, reason: str | None = None
    ) -> None:
        """Pass on what is known of the variable replaced."""
        super().on_change_input(fgraph, node, i, var, new_var, reason)
        self._denied.update([(fact, new_var) for fact, denied in self._denied if denied is var])

    def get(self, var: Variable, key: AssumptionKey) -> FactState:
        """Return what is known of a fact about a variable: `TRUE`, `FALSE` or `UNKNOWN`.

        Raises
        ------
        ConflictingAssumptionsError
            If it is known to hold, and not to hold.
        """
        state = self.state(key.name, var)
        if state == FactState.CONFLICT:
            msg = f"assumptions: {var} is known to be {key.name}, and not to be. Leave out what is assumed of it."
            raise ConflictingAssumptionsError(msg)
        return state

    def check(self, var: Variable, key: AssumptionKey) -> bool:
        """Whether a fact is known to hold for a variable."""
        return self.get(var, key) == FactState.TRUE

    def following(self, fact: str) -> Iterable[str]:
        """Return the facts that follow from a fact at once."""
        return FACTS[fact]

    def preceding(self, fact: str) -> Iterable[str]:
        """Return the facts that a fact follows from at once, beside those that `Facts` knows of."""
        del fact
        return ()

    def state(self, fact: str, var: Variable) -> FactState:
        """Return what is known of a fact about a variable, `CONFLICT` too."""
        state = self.evidence(fact, var)
        if state == FactState.UNKNOWN and any(
            self.evidence(stronger, var) == FactState.TRUE for stronger in _all_from(fact, self.preceding)
        ):
            state = FactState.TRUE
        if state == FactState.UNKNOWN and any(
            self.evidence(weaker, var) & FactState.FALSE for weaker in _all_from(fact, self.following)
        ):
            state = FactState.FALSE
        if state & FactState.FALSE:
            self._denied.add((fact, var))
        return state

    def evidence(self, fact: str, var: Variable) -> FactState:
        """Return what is known of a fact itself, not of those that it follows from or that follow."""
        states: dict[Variable, FactState] = {}
        if STATE_RULES.know(fact):
            for node in toposort([var]):
                states.update((out, self._own_state(fact, out, states)) for out in node.outputs)
        return states[var] if var in states else self._own_state(fact, var, states)

    def _own_state(self, fact: str, var: Variable, states: dict[Variable, FactState]) -> FactState:
        """Return what values, `assume` and rules say of a variable."""
        state = FactState.UNKNOWN
        while True:
            state |= _state(self.hold(fact, var))
            if (fact, var) in self._denied:
                state |= FactState.FALSE
            node = var.owner
            if node is None or not isinstance(node.op, SpecifyAssumptions):
                break
            held = dict(node.op.assumptions).get(fact)
            if held is not None:
                state |= FactState.TRUE if held else FactState.FALSE
            (var,) = node.inputs
        if isinstance(var, Constant):
            return FactState(state | (FactState.FALSE if _shows_no(fact, var) else FactState.UNKNOWN))
        if node is None:
            return FactState(state)
        for rule in STATE_RULES.of(fact, type(node.op)):
            inputs = [states[x] if x in states else self._own_state(fact, x, states) for x in node.inputs]
            of_outputs = rule(AssumptionKey(fact), node.op, self, self.fgraph, node, inputs)
            if any(s != FactState.UNKNOWN for s in of_outputs):
                return FactState(state | of_outputs[node.outputs.index(var)])
        return FactState(state)


def _all_from(fact: str, next_to: Callable[[str], Iterable[str]]) -> list[str]:
    """Return the facts that are reached from a fact, without itself."""
    reached, stack = [fact], [fact]
    while stack:
        fresh = [other for other in next_to(stack.pop()) if other not in reached]
        reached += fresh
        stack += fresh
    return reached[1:]


def _shows_no(fact: str, var: Constant) -> bool:
    """Whether the value of a constant shows that a fact does not hold for it."""
    if fact not in _OF_VALUES or np.ndim(var.data) < (2 if FACTS.about_matrices(fact) else 0):
        return False
    return not Facts().hold(fact, var)


DIAGONAL = AssumptionKey("diagonal", "diag")
LOWER_TRIANGULAR = AssumptionKey("lower_triangular", "tril")
UPPER_TRIANGULAR = AssumptionKey("upper_triangular", "triu")
SYMMETRIC = AssumptionKey("symmetric", "sym")
POSITIVE_DEFINITE = AssumptionKey("positive_definite", "pd")
ORTHOGONAL = AssumptionKey("orthogonal", "orth")
TRIDIAGONAL = AssumptionKey("tridiagonal", "tridiag")
SELECTION = AssumptionKey("selection", "sel")
PERMUTATION = AssumptionKey("permutation", "perm")
UNIQUE_INDICES = AssumptionKey("unique_indices", "uniq")


def _state(holds: bool) -> FactState:
    return FactState.TRUE if holds else FactState.UNKNOWN


def check_assumption(fgraph: FunctionGraph, var: Variable, key: AssumptionKey) -> bool:
    """Whether a fact is known to hold for a variable of a graph."""
    return key.holds(var, fgraph)


def register_assumption(
    key: AssumptionKey, *op_types: type[Op], prepend: bool = False
) -> Callable[[InferFact], InferFact]:
    """Return a decorator that adds a rule for a fact of what ops of some classes make.

    The rule is a function ``(key, op, facts, fgraph, node, states of the inputs) -> states of the outputs``. What it
    says not to hold is known to an `AssumptionFeature` alone, which asks it before earlier rules if `prepend` says so.
    Shorter ones, ``(fact, output, facts) -> bool``, are added by ``treadle.tensor.rewrites.FACT_RULES.register``.
    """

    def add(infer: InferFact) -> InferFact:
        def rule(fact: str, out: TensorVariable, facts: Facts) -> bool:
            node: Apply = out.owner  # type: ignore[assignment]  # rules are asked about results
            states = [_state(facts.hold(fact, x)) for x in node.inputs]
            output_states = infer(key, node.op, facts, facts.fgraph, node, states)
            return output_states[node.outputs.index(out)] == FactState.TRUE

        RULES.register(*op_types, facts=(key.name,))(rule)
        for kind in op_types:
            STATE_RULES.add(key.name, kind, infer, prepend)
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
