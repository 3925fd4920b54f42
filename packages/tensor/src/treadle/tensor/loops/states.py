"""Ops between generators, which only Python knows, and their states, which compiled code works on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from treadle.graph import Apply, IfElse, Op
from treadle.tensor.errors import TensorTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Cell, Value, Variable


def is_generator(kind: object) -> bool:
    """Whether a type is one of generators, whose values travel through compiled code as arrays, their states.

    Of all types only these have a `storage`, the type of these arrays. Their own module, which imports numpy.random, is
    not loaded by the rules of every program.
    """
    return hasattr(kind, "storage")


def generator_type(op: Op, var: Variable) -> Any:
    """Return the type of an input that must be a generator."""
    if not is_generator(var.type):
        msg = f"{op}: a generator is needed, got {var} of type {var.type}. Make one with rng() or shared_rng()."
        raise TensorTypeError(msg)
    return var.type


class GeneratorState(Op):
    """The state of a generator, as an array of its type's `storage`."""

    __props__ = ()
    on_host: ClassVar[bool] = True

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node."""
        (rng,) = inputs
        return Apply(self, [rng], [generator_type(self, rng).storage.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Read the state."""
        output_storage[0][0] = generator_type(self, node.inputs[0]).state_of(inputs[0])

    def decompose(self, *inputs: Variable) -> Sequence[Variable] | None:
        """Return the state that the generator was made of, if it was."""
        node = inputs[0].owner
        return [node.inputs[1]] if node is not None and isinstance(node.op, GeneratorInState) else None

    def do_constant_folding(self, fgraph: object, node: Apply) -> bool:
        """Refuse: generators are not numbers."""
        return False


class GeneratorInState(Op):
    """A generator like the first input, in the state of the second."""

    __props__ = ()
    on_host: ClassVar[bool] = True

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node."""
        like, state = inputs
        kind = generator_type(self, like)
        return Apply(self, [like, kind.storage.filter_variable(state)], [kind.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Make the generator."""
        like, state = inputs
        output_storage[0][0] = generator_type(self, node.inputs[0]).with_state(like, state)

    def do_constant_folding(self, fgraph: object, node: Apply) -> bool:
        """Refuse: generators are not numbers."""
        return False


def state_of(rng: Variable) -> Any:
    """Return the variable of a generator's state; that which it was made of, where it was."""
    node = rng.owner
    if node is not None and isinstance(node.op, GeneratorInState):
        return node.inputs[1]
    return GeneratorState()(rng)


def origin_of(rng: Variable) -> Variable:
    """Return the generator that one was made like, or the generator itself."""
    node = rng.owner
    return node.inputs[0] if node is not None and isinstance(node.op, GeneratorInState) else rng


def chooses_generators(node: Apply) -> bool:
    """Whether a node chooses between generators."""
    return isinstance(node.op, IfElse) and any(is_generator(out.type) for out in node.outputs)


def choice_of_states(node: Apply) -> list[Variable] | None:
    """Return the outputs of a choice between generators as generators in the state chosen.

    None where the two are made like different ones of NumPy's, whose seeds are what others spawn from.
    """
    op: Any = node.op
    first, second = (list(arm) for arm in op.branches(node))
    origins: dict[int, Variable] = {}
    for i, (a, b) in enumerate(zip(first, second, strict=True)):
        kind: Any = a.type
        if not is_generator(kind):
            continue
        if origin_of(a) is not origin_of(b) and not kind.portable:
            return None
        origins[i] = origin_of(a)
        first[i], second[i] = state_of(a), state_of(b)
    choice = op.make_node(node.inputs[0], *first, *second)
    choice.user_line = node.user_line
    return [GeneratorInState()(origins[i], out) if i in origins else out for i, out in enumerate(choice.outputs)]
