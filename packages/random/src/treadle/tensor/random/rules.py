"""Rules for random variables: what compiled code draws is given by ops on the generator's state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import Apply, Constant, IfElse
from treadle.rewrite import Phase, RuleSet, fold
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.loops.states import GeneratorInState, GeneratorState, choice_of_states
from treadle.tensor.random.consumer import RNGConsumerOp
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.shapes.dimshuffle import DimShuffle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.graph import FunctionGraph, Variable
    from treadle.tensor.rewrites.analysis.predicates import NodeOf

RULES = RuleSet("random")
RULE_SETS = (RULES,)


@RULES.rule(EARLY_AND_LATE, GeneratorState, tags=BOTH, depth=2)
def state_of_generator_in_state(node: NodeOf[GeneratorState]) -> Variable | None:
    """The state of a generator that was put into a state -> that state."""
    inner = node.inputs[0].owner
    return inner.inputs[1] if inner is not None and isinstance(inner.op, GeneratorInState) else None


@RULES.rule(EARLY_AND_LATE, GeneratorInState, tags=BOTH, depth=2)
def generator_in_later_state(node: NodeOf[GeneratorInState]) -> Variable | None:
    """A generator like one that was put into a state, in another state -> like the first one, in that state."""
    like, state = node.inputs
    inner = like.owner
    if inner is None or not isinstance(inner.op, GeneratorInState):
        return None
    return GeneratorInState()(inner.inputs[0], state)


@RULES.rule(Phase.CANONICALIZE, RNGConsumerOp, tags=BOTH, needs_graph=True, depth=1)
def number_as_parameter(fgraph: FunctionGraph, node: NodeOf[RNGConsumerOp]) -> Mapping[Variable, Variable] | None:
    """The parameter f(constants) of a draw -> its value, where only draws read it.

    A density that is made of the draw after this has the number, rounded as the draw has it.
    """
    values: dict[Variable, Variable | None] = {}
    found: dict[Variable, Variable] = {}
    for x in node.inputs:
        if x.owner is None or not all(_is_draw(reader) for reader, _ in fgraph.get_clients(x)):
            continue
        value = _value(fgraph, x, values)
        if value is not None:
            found[x] = value
    return found or None


def _is_draw(reader: object) -> bool:
    return isinstance(reader, Apply) and isinstance(reader.op, RNGConsumerOp)


def _value(fgraph: FunctionGraph, var: Variable, values: dict[Variable, Variable | None]) -> Variable | None:
    """Return a constant of what elementwise functions of constants come to, or None if there is anything else below."""
    if isinstance(var, Constant):
        return var
    if var not in values:
        values[var] = None
        node = var.owner
        if node is not None and isinstance(node.op, Elemwise | DimShuffle):
            inputs = []
            for x in node.inputs:
                value = _value(fgraph, x, values)
                if value is None:
                    return None
                inputs.append(value)
            is_same = all(x is y for x, y in zip(inputs, node.inputs, strict=True))
            folded = fold(fgraph, node if is_same else node.op.make_node(*inputs))
            values[var] = None if folded is None else folded[node.outputs.index(var)]
    return values[var]


@RULES.rule(Phase.SPECIALIZE, RNGConsumerOp, tags=("fast_run", "fusion", "portable_random_variables"), depth=1)
def portable_random_variables(node: NodeOf[RNGConsumerOp]) -> Sequence[Variable] | None:
    """A draw from a portable generator -> ops on the generator's state, where the backend fuses: they fuse as well.

    What holds of constant parameters is not checked at run time then.
    """
    kinds: list[Any] = [x.type for x in node.inputs]
    return node.op.decompose(*node.inputs) if any(getattr(kind, "portable", False) for kind in kinds) else None


@RULES.rule(Phase.SPECIALIZE, IfElse, tags=("fast_run", "fusion"), depth=1)
def portable_choices(node: NodeOf[IfElse]) -> Sequence[Variable] | None:
    """A choice between portable generators -> a generator in the state chosen, where the backend fuses."""
    kinds: list[Any] = [out.type for out in node.outputs]
    if not any(getattr(kind, "portable", False) for kind in kinds):
        return None
    return choice_of_states(node)


@RULES.rule(
    (Phase.CANONICALIZE, Phase.STABILIZE),
    RNGConsumerOp,
    tags=("random_unsafe",),
    needs_graph=True,
    depth=1,
    is_opt_in=True,
)
def sidestep_unused_rng_consumer(
    fgraph: FunctionGraph, node: NodeOf[RNGConsumerOp]
) -> Mapping[Variable, Variable] | None:
    """The generator after a draw that nothing needs -> the generator before; only where ``random_unsafe`` is asked for.

    Later draws are other numbers then.
    """
    updates = {after: before for before, after in node.op.update(node).items()}
    if any(fgraph.clients[out] for out in node.outputs if out not in updates):
        return None
    used = {after: before for after, before in updates.items() if fgraph.clients[after]}
    return used or None
