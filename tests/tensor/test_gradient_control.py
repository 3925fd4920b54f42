"""Ops that pass a tensor on, and decide what flows back through it."""

from collections.abc import Callable

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import DisconnectedType, FunctionGraph, vectorize_graph
from treadle.rewrite import rewrite_graph
from treadle.tensor import DisconnectedInputError, GradientControl, NullTypeGradError

CONTROLS: dict[str, Callable[[tt.TensorVariable], tt.TensorVariable]] = {
    "disconnected": tt.disconnected_grad,
    "zero": tt.zero_grad,
    "undefined": tt.undefined_grad,
    "scale": lambda x: tt.grad_scale(x, 3.0),
    "clip": lambda x: tt.grad_clip(x, -1.0, 2.0),
}


@pytest.mark.parametrize(("name", "slope"), [("zero", [2.0, -3.0]), ("scale", [8.0, -12.0]), ("clip", [4.0, -4.0])])
def test_what_flows_back_is_decided(name: str, slope: list[float]) -> None:
    x = tt.dvector("x")
    cost = (CONTROLS[name](x) * x).sum()  # x flows back either way
    assert function([x], tt.grad(cost, x))([2.0, -3.0]).tolist() == slope


def test_nothing_flows_through_what_is_disconnected() -> None:
    x = tt.dvector("x")
    cost = (tt.disconnected_grad(x) * x).sum()
    assert function([x], tt.grad(cost, x))([2.0, -3.0]).tolist() == [2.0, -3.0]
    alone = tt.disconnected_grad(x).sum()
    with pytest.raises(DisconnectedInputError):
        tt.grad(alone, x)
    gradient = tt.grad(alone, x, disconnected_inputs="ignore", return_disconnected="disconnected")
    assert isinstance(gradient.type, DisconnectedType)


def test_what_is_undefined_is_refused_where_it_matters() -> None:
    x, y = tt.dvectors("x", "y")
    cost = (tt.undefined_grad(x) * y).sum()
    with pytest.raises(NullTypeGradError, match="undefined_grad"):
        tt.grad(cost, x)
    assert function([x, y], tt.grad(cost, y))([2.0], [5.0]).tolist() == [2.0]


@pytest.mark.parametrize("name", CONTROLS)
def test_rewriting_leaves_them_out(name: str) -> None:
    x = tt.dvector("x")
    graph = FunctionGraph([x], [tt.exp(CONTROLS[name](x))], clone=False)
    rewrite_graph(graph)
    assert not any(isinstance(node.op, GradientControl) for node in graph.toposort())


@pytest.mark.parametrize("name", CONTROLS)
@pytest.mark.parametrize("mode", ["VM", "C"])
def test_results_are_the_callers_own(name: str, mode: str) -> None:
    x = tt.dvector("x")
    same = function([x], CONTROLS[name](x), mode=mode)
    values = np.array([1.0, 2.0])
    result = same(values)
    result[0] = 77.0
    assert values.tolist() == [1.0, 2.0]


def test_they_take_a_batch() -> None:
    x, batch = tt.dvector("x"), tt.dmatrix("batch")
    wide = vectorize_graph(tt.grad_scale(x, 2.0), {x: batch})
    assert wide.ndim == 2


@pytest.mark.parametrize("bounds", [(2.0, 1.0), (float("nan"), 1.0), ("low", 1.0), (0.0, tt.dscalar())])
def test_invalid_bounds_are_refused(bounds: tuple[object, object]) -> None:
    with pytest.raises(TypeError, match=r"grad_clip: the (lower|upper) bound"):
        tt.grad_clip(tt.dvector(), *bounds)  # type: ignore[arg-type]  # what is refused
