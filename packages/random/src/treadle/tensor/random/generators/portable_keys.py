"""Keys of portable draws, taken from NumPy's generators where a backend does not have NumPy's samplers."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treadle.config import TreadleWarning, new_lock, user_depth
from treadle.graph import Apply, Op, static_op
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.logic import bitwise_and
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.linking.generator_forms import Source
from treadle.tensor.loops.states import GeneratorInState, generator_type, origin_of, state_of
from treadle.tensor.random.generators.symbolic import SymbolicPortableGenerator
from treadle.tensor.random.generators.types import PortableGeneratorType, random_generator_type
from treadle.tensor.types.conversion import constant
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.graph import Cell, Value, Variable

__all__ = ["PortableKey", "RandomStreamWarning"]

_STATE = TensorType("int64", (3,))


class RandomStreamWarning(TreadleWarning):
    """A backend draws other numbers from a generator of NumPy's than NumPy does."""


@static_op
class PortableKey(Op):
    """The generator after, and the state of a portable one, by two draws of ``integers(0, 2**64, dtype="uint64")``.

    The first is the key, the low half of the second the stream, and the position is 0. So a draw moves a generator on
    by as much, however long it is.
    """

    on_host: ClassVar[bool] = True

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node."""
        (rng,) = inputs
        kind = generator_type(self, rng)
        return Apply(self, [rng], [kind.make_variable(), _STATE.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Take the key."""
        after = generator_type(self, node.inputs[0]).fork(inputs[0])
        key, stream = after.integers(0, 2**64, 2, "uint64")
        output_storage[0][0] = after
        output_storage[1][0] = np.array([key, stream & np.uint64(2**32 - 1), 0], "uint64").view("int64")

    def decompose(self, *inputs: Variable) -> Sequence[Variable] | None:
        """Return the key of a generator inside of a loop: two draws as well, from its portable state."""
        node = inputs[0].owner
        if node is None or not isinstance(node.op, KeyedGenerator):
            return None
        source = SymbolicPortableGenerator(node.inputs[0])  # type: ignore[arg-type]  # a tensor
        words = bitwise_and(source.draw("bits", (2,), "uint64"), np.array([2**64 - 1, 2**32 - 1], "uint64"))
        return [KeyedGenerator()(source.state), concatenate([cast(words, "int64"), constant(np.zeros(1, "int64"))])]

    def do_constant_folding(self, fgraph: object, node: Apply) -> bool:
        """Refuse: generators are not numbers."""
        return False


@static_op
class KeyedGenerator(Op):
    """A generator of NumPy's type that draws from a portable state.

    It stands in the bodies of loops while they are made, where that of the loop's generator is known already, and is
    never computed.
    """

    on_host: ClassVar[bool] = True

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node."""
        (state,) = inputs
        return Apply(self, [_STATE.filter_variable(state)], [random_generator_type.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Refuse: no NumPy generator has such a state.

        Raises
        ------
        NotImplementedError
            Always.
        """
        msg = f"{self}: a portable state makes no generator of NumPy's{node.where()}."
        raise NotImplementedError(msg)


class KeyedDraws:
    """A generator of NumPy's in a graph, where portable draws take its place: each draw takes a key of its own.

    So what a definition draws is what the distributions draw that its derivative is made of. `state` is the generator
    after the draws so far.
    """

    def __init__(self, rng: Variable) -> None:
        self.state = rng

    def __getattr__(self, name: str) -> Any:
        """Return what generators in graphs have."""
        drawing = SymbolicPortableGenerator(portable_source(self.state).state)  # type: ignore[arg-type]  # a tensor
        value = getattr(drawing, name)
        if not callable(value):
            return value

        def method(*parameters: Any, **more: Any) -> Any:
            drawing.state, after = portable_source(self.state)  # type: ignore[assignment]  # a tensor
            before = drawing.state
            drawn = value(*parameters, **more)
            if drawing.state is not before:
                self.state = after(drawing.state)
            return drawn

        return method


def portable_source(rng: Variable) -> Source:
    """Return how portable numbers are drawn from any generator; one of NumPy's gives a key, and moves on by that."""
    node = rng.owner
    if isinstance(rng.type, PortableGeneratorType):
        return Source(state_of(rng), lambda state: GeneratorInState()(origin_of(rng), state))
    if node is not None and isinstance(node.op, KeyedGenerator):
        return Source(node.inputs[0], KeyedGenerator())
    after, key = PortableKey()(rng, return_list=True)
    return Source(key, lambda _: after)


class _Notice:
    """The warning that names the stream, given once in a process."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self.given = False

    def give(self, backend: str, nodes: Iterable[Apply]) -> None:
        """Warn where a node takes a key."""
        if self.given or not any(isinstance(node.op, PortableKey) for node in nodes):
            return
        with self._lock:
            first, self.given = not self.given, True
        if not first:
            return
        msg = (
            f"{backend}: draws from NumPy's generators are not NumPy's here. Each draw, or loop that draws, takes a "
            "key from its generator, and makes its numbers by the portable stream (Philox 4x32-10): others than on the "
            "Python VM, C and Numba. "
            'For the same numbers everywhere, use RandomStream(seed, generator="portable") or '
            "shared_rng(PortableGenerator(seed))."
        )
        warnings.warn(msg, RandomStreamWarning, stacklevel=user_depth())


NOTICE = _Notice()
