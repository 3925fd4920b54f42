"""Assumptions about matrices under PyTensor's names: its keys, what follows from what, and how rules are registered.

Facts are treadle's (`treadle.tensor.rewrites.Facts`). In PyTensor a diagonal matrix is symmetric, so that questions by
key answer so here; treadle's own rules, which take diagonal matrices that are not square, do not ask them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import FunctionGraph
from treadle.surface import assumption_keys
from treadle.surface.assumption_keys import (
    STATE_RULES,
    FactState,
    register_assumption,
    register_constant_inference,
    specify_assumption_rule,
)
from treadle.tensor import Alloc, DimShuffle, Elemwise, Reshape, SpecifyAssumptions
from treadle.tensor import assume as assume_facts
from treadle.tensor.control.assumption import FACTS
from treadle.tensor.rewrites import FACT_RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from treadle.graph import Apply, Op, Variable
    from treadle.surface.assumption_keys import InferFact
    from treadle.tensor import TensorLike, TensorVariable
    from treadle.tensor.rewrites import Facts

    # ``(key, op, node, position of the input) -> state of the input``.
    InferFromClient = Callable[["AssumptionKey", Op, Apply, int], FactState]


class KeyRegistry(Mapping[str, "AssumptionKey"]):
    """Every key, by its name."""

    def __init__(self) -> None:
        self._keys: dict[str, AssumptionKey] = {}

    def add(self, key: AssumptionKey) -> None:
        """Add a key.

        Raises
        ------
        ValueError
            If there is a key of the name with another short name.
        """
        known = self._keys.setdefault(key.name, key)
        if known.short_name != key.short_name:
            msg = (
                f"AssumptionKey: there is a key {key.name!r} with the short name {known.short_name!r}, got "
                f"{key.short_name!r}. Choose another name."
            )
            raise ValueError(msg)

    def __getitem__(self, name: str) -> AssumptionKey:
        return self._keys[name]

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._keys))

    def __len__(self) -> int:
        return len(self._keys)


class KeyRegistryView:
    """The keys, in the order in which they were made; those that are made later are among them too."""

    def __iter__(self) -> Iterator[AssumptionKey]:
        return iter(tuple(KEY_REGISTRY.values()))

    def __contains__(self, value: object) -> bool:
        return isinstance(value, AssumptionKey) and KEY_REGISTRY.get(value.name) == value

    def __len__(self) -> int:
        return len(KEY_REGISTRY)

    def __repr__(self) -> str:
        return f"({', '.join(KEY_REGISTRY)})"


KEY_REGISTRY = KeyRegistry()
ALL_KEYS = KeyRegistryView()


class AssumptionKey(assumption_keys.AssumptionKey):
    """A fact by its name, with a short name for `summarize_assumptions`; making one of a new name adds the fact."""

    def __post_init__(self) -> None:
        """Add the key, with the rules that are for every key."""
        super().__post_init__()
        is_new = self.name not in KEY_REGISTRY
        KEY_REGISTRY.add(self)
        if is_new:
            UNIVERSAL_RULES.install(self)

    def __reduce__(self) -> tuple[object, ...]:
        return AssumptionKey, (self.name, self.short_name)

    def __repr__(self) -> str:
        return self.name

    def holds(self, var: Variable, fgraph: FunctionGraph | None = None) -> bool:
        """Whether the fact is known to hold."""
        return check_assumption(FunctionGraph(outputs=[var], clone=False) if fgraph is None else fgraph, var, self)


class UniversalRules:
    """Rules for every key, also for those that are made later."""

    def __init__(self) -> None:
        self._rules: list[tuple[tuple[type[Op], ...], InferFact]] = []

    def add(self, op_types: tuple[type[Op], ...], rule: InferFact) -> None:
        """Add a rule for ops of some classes."""
        self._rules.append((op_types, rule))
        for key in ALL_KEYS:
            register_assumption(key, *op_types)(rule)

    def install(self, key: AssumptionKey) -> None:
        """Give a new key the rules."""
        for op_types, rule in self._rules:
            register_assumption(key, *op_types)(rule)


UNIVERSAL_RULES = UniversalRules()


class Implications(Mapping[AssumptionKey, "list[AssumptionKey]"]):
    """For each key the keys that follow from it at once."""

    def __init__(self) -> None:
        self._weaker: dict[AssumptionKey, list[AssumptionKey]] = {}

    def add(self, stronger: AssumptionKey, *weaker: AssumptionKey) -> None:
        """Let keys follow from a key."""
        self._weaker.setdefault(stronger, []).extend(weaker)

    def names_before(self, fact: str) -> list[str]:
        """Return the names of the facts that a fact follows from at once."""
        return [key.name for key, weaker in self._weaker.items() if any(other.name == fact for other in weaker)]

    def names_after(self, fact: str) -> list[str]:
        """Return the names of the facts that follow from a fact at once."""
        return [other.name for key, weaker in self._weaker.items() if key.name == fact for other in weaker]

    def __getitem__(self, key: AssumptionKey) -> list[AssumptionKey]:
        return self._weaker[key]

    def __iter__(self) -> Iterator[AssumptionKey]:
        return iter(tuple(self._weaker))

    def __len__(self) -> int:
        return len(self._weaker)


class ClientRules:
    """Rules that read a fact about a variable off a node that takes it."""

    def __init__(self) -> None:
        self._rules: dict[tuple[str, type[Op]], InferFromClient] = {}

    def add(self, key: AssumptionKey, op_types: tuple[type[Op], ...], rule: InferFromClient) -> None:
        """Add a rule for ops of some classes; it takes the place of an earlier one."""
        self._rules.update(((key.name, kind), rule) for kind in op_types)

    def state(self, key: AssumptionKey, op: Op, node: Apply, position: int) -> FactState:
        """Return what a node says of one of its inputs."""
        op = getattr(op, "core_op", op)
        rule = next((self._rules[key.name, k] for k in type(op).__mro__ if (key.name, k) in self._rules), None)
        return FactState.UNKNOWN if rule is None else rule(key, op, node, position)


if "unit_magnitude" not in FACTS:
    FACTS.add("unit_magnitude", about_matrices=False)

DIAGONAL = AssumptionKey("diagonal", "diag")
LOWER_TRIANGULAR = AssumptionKey("lower_triangular", "tril")
UPPER_TRIANGULAR = AssumptionKey("upper_triangular", "triu")
SYMMETRIC = AssumptionKey("symmetric", "sym")
TRIDIAGONAL = AssumptionKey("tridiagonal", "tridiag")
POSITIVE_DEFINITE = AssumptionKey("positive_definite", "pd")
ORTHOGONAL = AssumptionKey("orthogonal", "orth")
SELECTION = AssumptionKey("selection", "sel")
PERMUTATION = AssumptionKey("permutation", "perm")
UNIQUE_INDICES = AssumptionKey("unique_indices", "uniq")
UNIT_MAGNITUDE = AssumptionKey("unit_magnitude", "unit")
MATRIX_KEYS = (
    *(DIAGONAL, LOWER_TRIANGULAR, UPPER_TRIANGULAR, SYMMETRIC, TRIDIAGONAL),
    *(POSITIVE_DEFINITE, ORTHOGONAL, SELECTION, PERMUTATION),
)
IMPLIES = Implications()
IMPLIES.add(DIAGONAL, LOWER_TRIANGULAR, UPPER_TRIANGULAR, SYMMETRIC, TRIDIAGONAL)
IMPLIES.add(POSITIVE_DEFINITE, SYMMETRIC)
IMPLIES.add(PERMUTATION, SELECTION, ORTHOGONAL)
CLIENT_RULES = ClientRules()
# Facts that only square matrices have: in PyTensor, diagonal ones are square.
_SQUARE = frozenset({"diagonal", "symmetric", "positive_definite", "orthogonal", "permutation"})


@FACT_RULES.of_values("unit_magnitude")
def _unit_magnitude(value: np.ndarray) -> bool:
    return value.dtype.kind in "biufc" and bool((np.abs(value) == 1).all())


@FACT_RULES.register(Elemwise, DimShuffle, Reshape, Alloc, facts=("unit_magnitude",))
def _keeps_magnitude(fact: str, out: TensorVariable, facts: Facts) -> bool:
    node = out.owner
    if node is None:
        return False
    inputs = node.inputs
    if isinstance(node.op, Elemwise):
        name = node.op.scalar_op.name
        if name not in {"abs", "neg", "conj", "reciprocal", "sqr", "mul"} and not name.startswith("cast_"):
            return False
    else:
        inputs = inputs[:1]
    return all(facts.hold(fact, x) for x in inputs)


class AssumptionFeature(assumption_keys.AssumptionFeature):
    """Feature that answers what is known of facts in a graph, asked by keys, with what follows as in `IMPLIES`."""

    def following(self, fact: str) -> list[str]:
        """Return the facts that follow from a fact at once."""
        return IMPLIES.names_after(fact)

    def preceding(self, fact: str) -> list[str]:
        """Return the facts that a fact follows from at once."""
        return IMPLIES.names_before(fact)

    def evidence(self, fact: str, var: Variable) -> FactState:
        """Return what is known of a fact itself, also from the nodes that take the variable."""
        lengths = getattr(var.type, "shape", ())[-2:]
        if fact in _SQUARE and None not in lengths and len(set(lengths)) == 2:
            return FactState.FALSE
        state = super().evidence(fact, var)
        if self.fgraph is None or fact not in KEY_REGISTRY:
            return state
        for client, position in self.fgraph.clients.get(var, ()) if state == FactState.UNKNOWN else ():
            said = CLIENT_RULES.state(KEY_REGISTRY[fact], client.op, client, position)
            if said != FactState.UNKNOWN:
                return said
        return state


def check_assumption(fgraph: FunctionGraph | None, var: Variable, key: AssumptionKey) -> bool:
    """Whether a fact is known to hold for a variable of a graph, which keeps what it finds out."""
    if fgraph is None:
        return False
    feature = getattr(fgraph, "assumption_feature", None)
    if feature is None:
        feature = AssumptionFeature()
        fgraph.attach_feature(feature)
    return bool(feature.check(var, key))


def assume(x: TensorLike, *args: bool | None, **assumptions: bool | None) -> TensorVariable:
    """Return a tensor with facts about it that rewriting may use: see `treadle.tensor.assume`.

    Raises
    ------
    ValueError
        If a fact is unknown.
    """
    unknown = [name for name in assumptions if name not in FACTS]
    if unknown:
        msg = f"assume: {', '.join(unknown)}: no such fact. Facts are {', '.join(FACTS)}. Make an AssumptionKey of it."
        raise ValueError(msg)
    if args:
        order = ("diagonal", "lower_triangular", "upper_triangular", "symmetric", "positive_definite", "orthogonal")
        names = (*order, "selection", "permutation", "unique_indices", "tridiagonal", "unit_magnitude")
        assumptions = {**dict(zip(names, args, strict=False)), **assumptions}
    return assume_facts(x, **assumptions)


def register_implies(stronger: AssumptionKey, *weaker: AssumptionKey) -> None:
    """Let facts follow from a fact."""
    IMPLIES.add(stronger, *weaker)
    assumption_keys.register_implies(stronger, *weaker)


def register_universal_assumption(*op_types: type[Op]) -> Callable[[InferFact], InferFact]:
    """Return a decorator that adds a rule for every key, for what ops of some classes make."""

    def add(rule: InferFact) -> InferFact:
        UNIVERSAL_RULES.add(op_types, rule)
        return rule

    return add


def register_client_inference(key: AssumptionKey, *op_types: type[Op]) -> Callable[[InferFromClient], InferFromClient]:
    """Return a decorator that adds a rule that reads a fact about an input off an op that takes it."""

    def add(rule: InferFromClient) -> InferFromClient:
        CLIENT_RULES.add(key, op_types, rule)
        return rule

    return add


def infer_assumption_from_client(key: AssumptionKey, op: Op, node: Apply, input_index: int) -> FactState:
    """Return what a node says of one of its inputs."""
    return CLIENT_RULES.state(key, op, node, input_index)


def infer_assumption_for_node(
    key: AssumptionKey,
    op: Op,
    feature: AssumptionFeature,
    fgraph: FunctionGraph,
    node: Apply,
    input_states: list[FactState],
) -> list[FactState]:
    """Return what is known of a fact about the outputs of a node."""
    for rule in STATE_RULES.of(key.name, type(op)):
        states = list(rule(key, op, feature, fgraph, node, input_states))
        if any(state != FactState.UNKNOWN for state in states):
            return states
    return [feature.state(key.name, out) for out in node.outputs]


def register_matrix_property_rules(key: AssumptionKey) -> None:
    """Do nothing more: treadle follows every fact about matrices through views, stacks and their parts."""
    del key


def true_if(cond: bool, else_false: bool = False) -> list[FactState]:
    """Return the state of one output: `TRUE` where a condition holds, else `UNKNOWN`, or `FALSE`."""
    return [FactState.TRUE if cond else FactState.FALSE if else_false else FactState.UNKNOWN]


def propagate_first(
    key: AssumptionKey, op: Op, feature: object, fgraph: object, node: Apply, input_states: Sequence[FactState]
) -> list[FactState]:
    """Say that a fact holds where it holds for the first input: a rule for `register_assumption`."""
    del key, op, feature, fgraph, node
    return true_if(input_states[0] == FactState.TRUE)


def all_inputs_have_key(
    key: AssumptionKey, op: Op, feature: object, fgraph: object, node: Apply, input_states: Sequence[FactState]
) -> list[FactState]:
    """Say that a fact holds where it holds for every input: a rule for `register_assumption`."""
    del key, op, feature, fgraph, node
    return true_if(all(state == FactState.TRUE for state in input_states))


def summarize_assumptions(feature: AssumptionFeature, var: Variable) -> str:
    """Return what is known of a variable as text, such as ``{pd, !diag}``, without what follows from the rest."""
    states = {key: feature.state(key.name, var) for key in ALL_KEYS}
    words = []
    for key, state in states.items():
        label = key.short_name or key.name
        if state == FactState.CONFLICT:
            words.append(f"{label}=CONFLICT")
        elif state == FactState.TRUE and not any(
            key in weaker and states[stronger] == FactState.TRUE for stronger, weaker in IMPLIES.items()
        ):
            words.append(label)
        elif state == FactState.FALSE and not any(states[w] == FactState.FALSE for w in IMPLIES.get(key, ())):
            words.append(f"!{label}")
    return f"{{{', '.join(words)}}}" if words else ""


def assumption_tags(outputs: Iterable[Variable]) -> dict[Variable, str]:
    """Return what is known of the variables that outputs are computed from, as texts; others are left out."""
    fgraph = FunctionGraph(outputs=list(outputs), clone=False)
    feature = AssumptionFeature()
    fgraph.attach_feature(feature)
    tags = {var: summarize_assumptions(feature, var) for var in fgraph.variables}
    return {var: tag for var, tag in tags.items() if tag}


__all__ = [
    "ALL_KEYS", "DIAGONAL", "IMPLIES", "KEY_REGISTRY", "LOWER_TRIANGULAR", "MATRIX_KEYS", "ORTHOGONAL", "PERMUTATION",
    "POSITIVE_DEFINITE", "SELECTION", "SYMMETRIC", "TRIDIAGONAL", "UNIQUE_INDICES", "UNIT_MAGNITUDE", "UNIVERSAL_RULES",
    "UPPER_TRIANGULAR", "AssumptionFeature", "AssumptionKey", "FactState", "KeyRegistryView", "SpecifyAssumptions",
    "all_inputs_have_key", "assume", "assumption_tags", "check_assumption", "infer_assumption_for_node",
    "infer_assumption_from_client", "propagate_first", "register_assumption", "register_client_inference",
    "register_constant_inference", "register_implies", "register_matrix_property_rules",
    "register_universal_assumption", "specify_assumption_rule",
    "summarize_assumptions", "true_if",
]  # fmt: skip
