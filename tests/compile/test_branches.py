"""Choices on every backend: only the branch taken runs, and gradients flow through it alone."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.contract.backends import BACKENDS
from treadle.compile import Mode, OpFromGraph, function, ifelse, shared
from treadle.config import config
from treadle.graph import vectorize_graph

X = np.array([1.0, 2.0, 3.0])
Y = np.array([4.0, 5.0, 6.0])
# XLA needs one shape for both branches, and both are traced.
FREE = [name for name in BACKENDS if name not in {"jax", "tape"}]
CHOOSING = [name for name in BACKENDS if name != "tape"]


def mode_of(backend: str) -> Mode:
    return Mode(backend, "fast_run")


@pytest.mark.parametrize("backend", FREE)
def test_failure_in_the_branch_not_taken_does_no_harm(backend: str) -> None:
    c, x, y = tt.lscalar("c"), tt.dvector("x"), tt.dvector("y")
    f = function([c, x, y], [ifelse(c, x[5], x[0]), ifelse(c, (x + y).sum(), x.sum())], mode=mode_of(backend))
    assert [float(v) for v in f(0, X, Y[:2])] == [1.0, 6.0]
    with pytest.raises(IndexError):
        f(1, X, Y)


@pytest.mark.parametrize("backend", FREE)
def test_branches_may_have_different_lengths(backend: str) -> None:
    c, x, y = tt.lscalar("c"), tt.dvector("x"), tt.dvector("y")
    chosen = ifelse(c, x[:2], y)
    # PyTorch's compiler takes seconds for each of the stretches between choices.
    with config.change_flags(torch__compile=False) if backend == "pytorch" else nullcontext():
        f = function([c, x, y], [chosen, chosen * 2, tt.grad((chosen**2).sum(), x)], mode=mode_of(backend))
    assert [v.tolist() for v in f(1, X, Y)] == [[1, 2], [2, 4], [2, 4, 0]]
    assert [v.tolist() for v in f(0, X, Y)] == [[4, 5, 6], [8, 10, 12], [0, 0, 0]]


@pytest.mark.parametrize(
    "backend", [pytest.param(n, marks=[pytest.mark.slow] if n == "pytorch" else []) for n in CHOOSING]
)
def test_derivatives_of_the_branch_not_taken_leave_no_trace(backend: str) -> None:
    x = tt.dvector("x")
    cost = ifelse(x.sum() > 0, tt.log(x), x * 2).sum()
    slope = tt.grad(cost, x)
    f = function([x], [slope, tt.grad(slope.sum(), x)], mode=mode_of(backend))
    assert [v.tolist() for v in f(np.zeros(3))] == [[2.0] * 3, [0.0] * 3]
    first, second = f(X)
    np.testing.assert_allclose(first, 1 / X)
    np.testing.assert_allclose(second, -1 / X**2)


@pytest.mark.parametrize("backend", CHOOSING)
def test_results_of_a_choice_belong_to_the_caller(backend: str) -> None:
    c, x, state = tt.lscalar("c"), tt.dvector("x"), shared(Y.copy())
    first, second = ifelse(c, (x, x), (state, x * 2))
    f = function([c, x], [first, second, x], updates={state: ifelse(c, x, state + 1)}, mode=mode_of(backend))
    argument = X.copy()
    for at in (1, 0, 0):
        results = f(at, argument)
        for k, result in enumerate(results):
            result[...] = -k
        assert argument.tolist() == X.tolist()
    assert state.get_value().tolist() == [3.0, 4.0, 5.0]


@pytest.mark.parametrize("inline", [True, False])
def test_ops_made_of_graphs_may_be_nested_deep(inline: bool) -> None:
    x = tt.dvector("x")
    op: Any = None
    for k in range(40):
        v = tt.dvector("v")
        op = OpFromGraph([v], [tt.tanh(v) if op is None else op(v) * 1.01], inline=inline, name=f"level{k}")
    f = function([x], [op(x), tt.grad(op(x).sum(), x)], mode=Mode("vm", "fast_run"))
    value, slope = f(X)
    np.testing.assert_allclose(value, np.tanh(X) * 1.01**39)
    np.testing.assert_allclose(slope, (1 - np.tanh(X) ** 2) * 1.01**39)


@pytest.mark.parametrize("backend", CHOOSING)
@pytest.mark.parametrize("inlined", [True, False])
def test_op_made_of_a_graph_runs_with_its_gradient(backend: str, inlined: bool) -> None:
    a, b, x, s = tt.dvector("a"), tt.dscalar("b"), tt.dvector("x"), tt.dscalar("s")
    op = OpFromGraph([a, b], [tt.exp(a) * b, a.sum() * b])
    first, second = op(x, s)
    slope = tt.grad(first.sum() * second, s)
    query = mode_of(backend) if inlined else mode_of(backend).excluding("inline_ofg")
    f = function([x, s], [first, second, slope], mode=query)
    assert bool(f.nodes_with_inner_function) is not inlined
    e = np.exp(X)
    for result, wanted in zip(f(X, 2.0), [2 * e, 12.0, 4 * 6 * e.sum()], strict=True):
        np.testing.assert_allclose(result, wanted)


def counted(calls: list[str], name: str) -> Any:
    def run(x: Any) -> Any:
        calls.append(name)
        return x * 1.0

    return tt.wrap_py([tt.dvector], [tt.dvector])(run)


@pytest.mark.parametrize("linker", ["vm", "py", "c|py"])
def test_only_what_is_needed_runs(linker: str) -> None:
    calls: list[str] = []
    c, x = tt.lscalar("c"), tt.dvector("x")
    both, left, right = (counted(calls, name) for name in ("both", "left", "right"))
    common = both(x)
    late = counted(calls, "condition")(x).sum() * c > 0
    chosen = ifelse(late, left(common) + common, ifelse(c < 0, right(common), common))
    f = function([c, x], chosen, mode=Mode(linker, "fast_run"))
    for value, wanted in ((1, {"left"}), (-1, {"right"}), (0, set())):
        calls.clear()
        f(value, X)
        assert sorted(calls) == sorted({"both", "condition", *wanted})


def test_long_and_deep_choices_are_handled(length: int) -> None:
    c, x = tt.lscalar("c"), tt.dscalar("x")
    deep: Any = x
    for k in range(200):
        deep = ifelse(c > k, deep + 1, deep * 1.0)
    long: Any = x
    for _ in range(length):
        long = -long
    mode = Mode("vm", None)
    assert function([c, x], deep, mode=mode)(150, 0.0) == 150.0
    f = function([c, x], ifelse(c, long, x + 1), mode=mode)
    assert (f(0, 2.0), f(1, 2.0)) == (3.0, 2.0)


def test_choice_along_a_batch_stays_one_or_becomes_elementwise() -> None:
    c, x, y = tt.lscalar("c"), tt.dvector("x"), tt.dvector("y")
    rows, each = tt.dmatrix("rows"), tt.lvector("each")
    chosen = ifelse(c, x * 2, y)
    whole = vectorize_graph(chosen, {x: rows})
    batch = np.stack([X, Y])
    f = function([c, rows, y], whole, mode="VM")
    assert f(1, batch, Y).tolist() == (batch * 2).tolist()
    assert f(0, batch, Y).tolist() == [Y.tolist()] * 2
    g = function([each, rows, y], vectorize_graph(chosen, {c: each, x: rows}), mode="VM")
    assert g([0, 1], batch, X).tolist() == [X.tolist(), (2 * Y).tolist()]


def test_branches_that_broadcast_differently_have_a_common_type() -> None:
    c, x, y = tt.bscalar("c"), tt.matrix("x", shape=(None, 1)), tt.matrix("y", shape=(1, None))
    assert ifelse(c, x, y).type.shape == (None, None)
