"""A module that gives one name to two classes."""

from typing import Any

from treadle.graph import Apply, Op, static_op

FACTOR: float = 3
INNER: Any = None


@static_op
class Times(Op):
    """The first of the name."""

    def infer(self, *types: Any) -> tuple[Any, ...]:
        return types

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        outputs[0][0] = inputs[0] * 2


FIRST = Times


@static_op
class Times(Op):  # type: ignore[no-redef]
    """The second of the name."""

    def infer(self, *types: Any) -> tuple[Any, ...]:
        return types

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        outputs[0][0] = inputs[0] * FACTOR
