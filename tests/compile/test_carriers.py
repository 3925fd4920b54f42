"""A type may name another one, its carrier, that compiled functions use in place of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import Apply, GraphTypeError, Op, SharedVariable, Type, Variable, static_op

PLAIN = tt.TensorType("float64", (None,))


class Metres(Type):
    """Lengths, kept as plain vectors."""

    __props__ = ()

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        return PLAIN.filter(data, strict, allow_downcast)

    def carrier(self) -> Type:
        return PLAIN

    def to_carrier(self, var: Variable) -> Variable:
        return Converted(plain=True)(var)  # type: ignore[no-any-return]  # one variable

    def from_carrier(self, var: Variable) -> Variable:
        return Converted(plain=False)(var)  # type: ignore[no-any-return]  # one variable


METRES = Metres()


@static_op
class Converted(Op):
    """Lengths as plain numbers, or the other way round."""

    plain: bool
    view_map = {0: [0]}  # noqa: RUF012

    def infer(self, *types: Type) -> Sequence[Type]:
        return [PLAIN if self.plain else METRES]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0]

    def decompose(self, *inputs: Variable) -> Sequence[Variable] | None:
        owner = inputs[0].owner
        return [owner.inputs[0]] if self.plain and owner is not None else None


@pytest.mark.parametrize("mode", ["VM", "C", "JAX"])
def test_programs_take_and_return_the_carrier(mode: str) -> None:
    x = METRES("x")
    doubled = METRES.from_carrier(tt.mul(METRES.to_carrier(x), 2))
    f = function([x], doubled, mode=mode)
    assert [v.type for v in (*f.maker.fgraph.inputs, *f.maker.fgraph.outputs)] == [PLAIN, PLAIN]
    np.testing.assert_array_equal(f([1, 2]), [2, 4])
    with pytest.raises(TypeError, match="argument 0"):
        f([[1.0]])


def test_shared_variables_keep_their_value_through_the_carrier() -> None:
    total = SharedVariable(METRES, np.zeros(2), name="total")
    x = tt.dvector("x")
    added = METRES.from_carrier(METRES.to_carrier(total) + x)
    f = function([x], [], updates={total: added}, mode="VM")
    f([1.0, 2.0])
    f([1.0, 2.0])
    np.testing.assert_array_equal(total.get_value(), [2, 4])


def test_a_type_without_a_carrier_says_so() -> None:
    x = tt.dvector("x")
    assert PLAIN.carrier() is None
    with pytest.raises(GraphTypeError, match="no carrier"):
        PLAIN.to_carrier(x)
    with pytest.raises(GraphTypeError, match="no carrier"):
        PLAIN.from_carrier(x)
