"""The table: refusals, third parties' rules, duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import treadle.tensor as tt
from tests.link_torch.programs import link
from treadle.config import config
from treadle.graph import DuplicateRegistrationError, LoweringError, NodeError, Op, Unsupported, static_op
from treadle.link.torch import SCALARS, TORCH, Checked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply, Type


@static_op
class Doubled(Op):
    """Twice a tensor of positive numbers, for the tests."""

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the input's type."""
        return types

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Compute with NumPy."""
        del node
        if (inputs[0] < 0).any():
            msg = "negative numbers are not doubled"
            raise ValueError(msg)
        output_storage[0][0] = inputs[0] * 2


@static_op
class Unknown(Doubled):
    """An op that a rule refuses."""


@static_op
class Foreign(Op):
    """An op that no rule covers."""

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the input's type."""
        return types

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Do nothing."""
        del node
        output_storage[0][0] = inputs[0]


@TORCH.register(Doubled)
def doubled(op: Doubled, node: Apply) -> Checked:
    """Lower to a product, checking the sign."""
    del op, node
    return Checked(lambda x: ((x < 0).any(), x * 2))


@TORCH.register(Unknown)
def unknown(op: Unknown, node: Apply) -> Callable[..., Any]:
    """Refuse."""
    del op, node
    msg = "not on a Monday"
    raise Unsupported(msg)


def test_a_third_partys_checked_rule_runs_and_fails_with_the_users_line() -> None:
    x = tt.dvector("x")
    program = link([x], [Doubled()(x) + 1])
    assert program(np.ones(2))[0].tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match=r"(?s)negative numbers.*test_table\.py"):
        program(-np.ones(2))


def test_all_nodes_that_cannot_be_lowered_are_listed_with_reasons() -> None:
    x = tt.dvector("x")
    with config.change_flags(on_python_step="raise"), pytest.raises(LoweringError) as caught:
        link([x], [Foreign()(x), Unknown()(x), Doubled()(x)])
    text = str(caught.value)
    assert "Foreign" in text
    assert "Unknown" in text
    assert "not on a Monday" in text
    assert "Doubled of" not in text


def test_a_failure_that_only_pytorch_has_names_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tt.dvector("x")
    program = link([x], [Doubled()(x)])

    def fail(*args: Any) -> Any:
        del args
        msg = "out of order"
        raise RuntimeError(msg)

    monkeypatch.setattr(program, "_run", fail)
    with pytest.raises(NodeError, match=r"out of order.*torch__compile=False"):
        program(np.ones(2))


def test_a_second_kernel_for_a_scalar_op_is_refused() -> None:
    with pytest.raises(DuplicateRegistrationError, match="add"):
        SCALARS.register("add", {"f": torch.add})
