"""Keys of portable draws, taken from NumPy's generators where a backend does not have NumPy's samplers."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treadle.config import TreadleWarning, new_lock, user_depth
from treadle.graph import Apply, Op, static_op
from treadle.tensor.random.states import generator_type
from treadle.tensor.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from treadle.graph import Cell, Value

__all__ = ["PortableKey", "RandomStreamWarning"]


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
        return Apply(self, [rng], [kind.make_variable(), TensorType("int64", (3,)).make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Take the key."""
        after = generator_type(self, node.inputs[0]).fork(inputs[0])
        key, stream = after.integers(0, 2**64, 2, "uint64")
        output_storage[0][0] = after
        output_storage[1][0] = np.array([key, stream & np.uint64(2**32 - 1), 0], "uint64").view("int64")

    def do_constant_folding(self, fgraph: object, node: Apply) -> bool:
        """Refuse: generators are no numbers."""
        del fgraph, node
        return False


_PORTABLE = ContextVar("_PORTABLE", default=False)


@contextmanager
def portable_draws() -> Iterator[None]:
    """Let random variables decompose into portable draws, whichever generator they draw from."""
    token = _PORTABLE.set(True)
    try:
        yield
    finally:
        _PORTABLE.reset(token)


def are_portable() -> bool:
    """Whether all random variables decompose into portable draws."""
    return _PORTABLE.get()


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
            f"{backend}: draws from NumPy's generators are not NumPy's here. Each draw takes a key from its generator, "
            "and makes its numbers by the portable stream (Philox 4x32-10): others than on the Python VM, C and Numba. "
            'For the same numbers everywhere, use RandomStream(seed, generator="portable") or '
            "shared_rng(PortableGenerator(seed))."
        )
        warnings.warn(msg, RandomStreamWarning, stacklevel=user_depth())


NOTICE = _Notice()
