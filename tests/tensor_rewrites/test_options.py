"""What happens when an op's own shape rule fails."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.graph import Apply, Op


class Broken(Op):
    """Doubles its input, with a shape rule that fails."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        x = tt.as_tensor_variable(inputs[0])
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0] * 2

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> Any:
        return [(1 // 0,)]


def test_failing_shape_rule_warns_and_the_shape_comes_from_the_value() -> None:
    x = tt.dvector("x")
    broken = Broken()(x)
    with (
        config.change_flags(on_shape_error="warn"),
        pytest.warns(UserWarning, match=r"infer_shape failed.*ZeroDivisionError"),
    ):
        compiled = function([x], [broken.shape, (broken + 1.0).shape[0]], mode="VM")
    assert [np.asarray(v).tolist() for v in compiled(np.ones(3))] == [[3], 3]


def test_failing_shape_rule_is_an_error_on_demand() -> None:
    x = tt.dvector("x")
    broken = Broken()(x)
    with (
        config.change_flags(on_shape_error="raise", on_opt_error="ignore"),
        pytest.raises(RuntimeError, match=r"infer_shape failed, built at test_options\.py.*ZeroDivisionError"),
    ):
        function([x], (broken + 1.0).shape[0], mode="VM")
