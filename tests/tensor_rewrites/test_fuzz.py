"""Random graphs: every set of rules leaves values, dtypes and shapes as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import assert_same, rewrite, run
from treadle.graph import explicit_graph_inputs
from treadle.rewrite import RewriteDatabaseQuery

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph

UNARY: list[Any] = [
    lambda a: -a,
    abs,
    tt.sqr,
    tt.tanh,
    tt.sigmoid,
    lambda a: tt.exp(tt.tanh(a)),
    lambda a: tt.log(1 + tt.exp(tt.tanh(a))),
    lambda a: tt.log(tt.sigmoid(a)),
    lambda a: 1 - tt.sigmoid(a),
    lambda a: a + 0,
    lambda a: a * 1,
    lambda a: a**2,
    lambda a: a.sum(),
    lambda a: a.sum(axis=0) if a.ndim else a,
    lambda a: a.max(axis=-1, keepdims=True) if a.type.shape and a.type.shape[-1] != 0 else a,
    lambda a: a.T,
    lambda a: a.dimshuffle("x", *range(a.ndim)) if a.ndim < 3 else a,
    lambda a: a.astype("float32").astype("float64"),
    lambda a: a.reshape((-1,)),
    lambda a: tt.exp(a.astype("float64") * 0.1).shape.sum().astype("float64"),
    tt.zeros_like,
    lambda a: a[..., :2] if a.ndim else a,
    lambda a: tt.softmax(a, axis=-1) if a.ndim else a,
]
BINARY: list[Any] = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / (tt.sqr(b) + 1),
    tt.maximum,
    lambda a, b: tt.where(a > 0, a, b),
    lambda a, b: tt.where(True, a, b),
    lambda a, b: -a + -b,
    tt.second,
]


def random_graph(rng: np.random.Generator) -> tuple[list[Any], list[Any], list[Any]]:
    """Return inputs of unknown lengths, their values (lengths 1 and others mixed), and outputs that fit them."""
    n = int(rng.choice([0, 1, 2, 3]))
    inputs = [tt.dvector("x"), tt.dvector("y"), tt.dmatrix("m"), tt.dscalar("s"), tt.fvector("f"), tt.lvector("i")]
    shapes: list[tuple[int, ...]] = [(n,), (1,), (int(rng.choice([1, 2])), n), (), (n,), (n,)]
    values: list[Any] = [np.asarray(rng.normal(size=s)).astype(v.dtype) for s, v in zip(shapes, inputs, strict=True)]
    pool: list[tuple[Any, tuple[int, ...]]] = list(zip(inputs, shapes, strict=True))
    for _ in range(int(rng.integers(4, 14))):
        a, shape_a = pool[int(rng.integers(len(pool)))]
        b, shape_b = pool[int(rng.integers(len(pool)))]
        if rng.random() < 0.5:
            candidate = UNARY[int(rng.integers(len(UNARY)))](a if a.dtype.startswith("float") else a.astype("float64"))
        else:
            try:
                np.broadcast_shapes(shape_a, shape_b)
            except ValueError:
                continue
            candidate = BINARY[int(rng.integers(len(BINARY)))](a, b)
        made = evaluated(candidate, inputs, values)
        if made is not None and np.isfinite(made).all():
            pool.append((candidate, made.shape))
    outputs = [var for var, _ in pool[len(inputs) :]] or [inputs[0] + 1]
    return inputs, values, outputs


def evaluated(var: Any, inputs: list[Any], values: list[Any]) -> Any:
    """Return the value of a candidate; None where it fails, as the maximum over nothing does."""
    plain, _ = rewrite(inputs, [var], RewriteDatabaseQuery())
    try:
        return run(plain, values)[0]
    except (ValueError, IndexError):
        return None


def tolerance(fgraph: FunctionGraph) -> float:
    """Return how exactly values must agree: rounding to float32 on the way may go either way."""
    return 1e-5 if any(getattr(v.type, "dtype", "") == "float32" for v in fgraph.variables) else 1e-9


QUERIES: list[Any] = [
    "fast_compile",
    "fast_run",
    "canonicalize",
    RewriteDatabaseQuery(["stabilize", "folding"]),
    RewriteDatabaseQuery(["fast_run"], exclude=["merge"]),
]


@pytest.mark.parametrize("seed", range(60))
def test_random_graph_keeps_its_values(seed: int) -> None:
    inputs, values, outputs = random_graph(np.random.default_rng(seed))
    plain, _ = rewrite(inputs, outputs, RewriteDatabaseQuery())
    expected = run(plain, values)
    query = QUERIES[seed % len(QUERIES)]
    fgraph, report = rewrite(inputs, outputs, query)
    assert report.looping == []
    assert_same(expected, run(fgraph, values), rtol=tolerance(plain))


@pytest.mark.parametrize("seed", range(40))
def test_random_gradient_keeps_its_values(seed: int) -> None:
    inputs, values, outputs = random_graph(np.random.default_rng(1000 + seed))
    floats = [v for v in inputs if v.dtype == "float64"]
    cost = sum((tt.sin(v.astype("float64")).sum() for v in outputs), tt.constant(0.0))
    used = set(explicit_graph_inputs([cost]))
    wrt = [v for v in floats if v in used]
    grads = tt.grad(cost, wrt, disconnected_inputs="ignore")
    plain, _ = rewrite(inputs, grads, RewriteDatabaseQuery())
    fgraph, report = rewrite(inputs, grads, QUERIES[seed % 2])
    assert report.looping == []
    assert_same(run(plain, values), run(fgraph, values), rtol=tolerance(plain))
