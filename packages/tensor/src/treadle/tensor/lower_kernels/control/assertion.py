"""Assertions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.kernels import TABLE, Comparison, Site, Status
from treadle.tensor.control.assertion import CheckAndRaise

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorNode


@TABLE.register(CheckAndRaise)
def lower_check_and_raise(op: CheckAndRaise, node: TensorNode, site: Site) -> None:
    """Test each condition, and make a view of the value."""
    x, *conditions = node.inputs
    for condition in conditions:
        site.stop_if(Comparison(f"({site.number(condition).text}) == 0"), Status.ASSERTION)
    site.view(node.outputs[0], x, range(x.type.ndim))
