"""Linking node by node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.contract.backends import BACKENDS
from treadle.graph import FunctionGraph, LoweringError, NodeError
from treadle.link.vm import PythonLinker, link_node_by_node
from treadle.surface.thunks import Linker
from treadle.testing import find_backend

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply
    from treadle.link.vm import Program


def _unchanged(node: Apply, run: Callable[..., Any]) -> Callable[..., Any]:
    del node
    return run


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_node_runs_once_in_order_with_its_values(backend: str) -> None:
    x = tt.dvector("x")
    y = tt.exp(x)
    z = y * y + 1.0
    seen: list[tuple[str, float]] = []

    def wrap(node: Apply, run: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(*values: Any) -> Any:
            result = run(*values)
            assert isinstance(result, np.ndarray)
            seen.append((str(node.op), float(result.sum())))
            return result

        return recorded

    program = link_node_by_node(FunctionGraph([x], [z]), find_backend(backend).linker(), wrap)
    (result,) = program(np.array([0.5, 1.0]))
    np.testing.assert_allclose(result, np.exp([0.5, 1.0]) ** 2 + 1)
    totals = [np.exp([0.5, 1.0]).sum(), (np.exp([0.5, 1.0]) ** 2).sum(), result.sum()]
    np.testing.assert_allclose([total for name, total in seen if not name.startswith("DimShuffle")], totals)


def test_a_value_taken_twice_and_constants_find_their_places() -> None:
    x, y = tt.dscalar("x"), tt.dscalar("y")
    out = tt.switch(tt.gt(x, 2.0), x, y)
    program = link_node_by_node(FunctionGraph([x, y], [out]), find_backend("c").linker(), _unchanged)
    assert float(program(np.array(3.0), np.array(5.0))[0]) == 3.0
    assert float(program(np.array(1.0), np.array(5.0))[0]) == 5.0


class _Refusing(Linker):
    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        del native_outputs
        if any(str(node.op) == "exp" for node in fgraph.apply_nodes):
            msg = "refusing: no lowering for exp."
            raise LoweringError(msg)
        return PythonLinker().link(fgraph)


def test_a_node_that_the_linker_refuses_runs_on_the_vm() -> None:
    x = tt.dscalar("x")
    program = link_node_by_node(FunctionGraph([x], [tt.exp(x) + 1.0]), _Refusing(), _unchanged)
    assert float(program(np.array(0.0))[0]) == 2.0


def test_an_error_names_the_node_and_its_line() -> None:
    x = tt.dvector("x")
    out = x[tt.as_tensor_variable(7)] * 2.0
    program = link_node_by_node(FunctionGraph([x], [out]), find_backend("c").linker(), _unchanged)
    with pytest.raises(NodeError, match="test_node_by_node"):
        program(np.zeros(3))
