"""Ops written as the older documentation says, inside of loops and of ops made of graphs."""

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import Apply, Op
from treadle.link.vm import PythonStepWarning
from treadle.tensor import OpFromGraph


class Cube(Op):
    """An op with types, grad and R_op."""

    __props__ = ()
    itypes = (tt.dscalar,)
    otypes = (tt.dscalar,)

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        output_storage[0][0] = np.asarray(inputs[0] ** 3)

    def grad(self, inputs: Any, output_grads: Any) -> Any:
        return [3 * inputs[0] ** 2 * output_grads[0]]

    def R_op(self, inputs: Any, eval_points: Any) -> Any:
        return [None if eval_points[0] is None else 3 * inputs[0] ** 2 * eval_points[0]]


class ScaledByFirst(Op):
    """An op with make_node, L_op, connection_pattern and make_thunk."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        x, y = map(tt.as_tensor_variable, inputs)
        return Apply(self, [x, y], [y.type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        raise AssertionError

    def make_thunk(self, node: Apply, storage_map: Any, compute_map: Any, no_recycling: Any, impl: Any = None) -> Any:
        x, y = (storage_map[v] for v in node.inputs)
        out, done = storage_map[node.outputs[0]], None if compute_map is None else compute_map[node.outputs[0]]

        def run() -> None:
            out[0] = np.asarray(x[0] * y[0])
            if done is not None:
                done[0] = True

        return run

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False], [True]]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> Any:
        return [tt.zeros_like(inputs[0]), inputs[0] * output_grads[0]]


MODES = ["VM", "FAST_RUN", pytest.param("NUMBA", marks=pytest.mark.slow)]


@pytest.mark.filterwarnings("ignore::treadle.link.vm.PythonStepWarning")
@pytest.mark.parametrize("mode", MODES)
def test_steps_of_loops_run_ops_of_the_older_form(mode: str) -> None:
    x = tt.dscalar("x")
    last = tt.fori_loop(0, 2, lambda _, s: Cube()(s) / 2 + ScaledByFirst()(2.0, s), x)
    slope = tt.grad(last, x)
    ahead = tt.pushforward(last, x, tt.constant(1.0))
    values = function([x], [last, slope, ahead], mode=mode)(0.5)

    def step(s: float) -> float:
        return s**3 / 2 + 2 * s

    first = step(0.5)
    wanted = (1.5 * first**2 + 2) * (1.5 * 0.25 + 2)
    assert [float(v) for v in values] == pytest.approx([step(first), wanted, wanted])


@pytest.mark.filterwarnings("ignore::treadle.link.vm.PythonStepWarning")
@pytest.mark.parametrize("mode", MODES)
def test_ops_made_of_graphs_hold_ops_of_the_older_form(mode: str) -> None:
    x, y = tt.dscalars("x", "y")
    op = OpFromGraph([x, y], [Cube()(x) + ScaledByFirst()(x, y)])
    out = op(x, y)
    by_x, by_y = tt.grad(out, [x, y])
    values = function([x, y], [out, by_x, by_y, tt.pushforward(out, y, tt.constant(1.0))], mode=mode)(2.0, 3.0)
    assert [float(v) for v in values] == pytest.approx([14.0, 12.0, 2.0, 2.0])


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["JAX", "PYTORCH"])
def test_backends_that_compile_all_name_the_op(mode: str) -> None:
    pytest.importorskip("jax" if mode == "JAX" else "torch")
    x = tt.dscalar("x")
    last = tt.fori_loop(0, 2, lambda _, s: Cube()(s), x)
    with pytest.warns(PythonStepWarning, match="no lowering for Cube, .* with the loop that it is in"):
        result = function([x], last, mode=mode)(0.5)
    assert float(result) == pytest.approx(0.5**9)
