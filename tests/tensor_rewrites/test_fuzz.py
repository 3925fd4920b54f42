"""Random graphs: every set of rules leaves dtypes and shapes as they are, and values where they are finite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import rewrite, run
from tests.tensor_rewrites.random_graphs import PLAIN, random_graph
from treadle.graph import explicit_graph_inputs
from treadle.rewrite import Phase, RewriteDatabaseQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import FunctionGraph

# Queries to compare with the graph as written: the rules of each phase alone, and together as modes have them.
QUERIES: dict[str, RewriteDatabaseQuery] = {
    **{phase.tag: RewriteDatabaseQuery([phase.tag]) for phase in Phase},
    "fast_compile": RewriteDatabaseQuery(["fast_compile"]),
    "fast_run": RewriteDatabaseQuery(["fast_run"]),
    "unmerged": RewriteDatabaseQuery(["fast_run"], exclude=["merge"]),
    "minimum_compile": RewriteDatabaseQuery(["minimum_compile", "merge"]),
    "strict": RewriteDatabaseQuery(["fast_run", "strict_ieee"]),
}
FEW, MANY = 100, 2_000


def tolerance(fgraph: FunctionGraph) -> float:
    """Return how closely values must agree: intermediate rounding to float32 may go either way."""
    dtypes = {getattr(v.type, "dtype", "") for v in fgraph.variables}
    if "float16" in dtypes:
        return 0.25
    return 1e-3 if "float32" in dtypes else 1e-7


def assert_agree(expected: Sequence[Any], actual: Sequence[Any], near: float, where: str) -> None:
    """Check dtypes and shapes, and values where the expected ones are finite."""
    for old, new in zip(expected, actual, strict=True):
        assert old.dtype == new.dtype, where
        assert old.shape == new.shape, where
        if old.dtype.kind in "fc":
            finite = np.isfinite(old)
            np.testing.assert_allclose(new[finite], old[finite], rtol=near, atol=near, err_msg=where)
        else:
            np.testing.assert_array_equal(new, old, err_msg=where)


def check(seed: int) -> None:
    """Rewrite one random graph with each set of rules, and compare with the graph as written."""
    graph = random_graph(np.random.default_rng(seed))
    plain, _ = rewrite(graph.inputs, graph.outputs, PLAIN)
    expected = run(plain, graph.values)
    for name, query in QUERIES.items():
        fgraph, report = rewrite(graph.inputs, graph.outputs, query)
        assert report.looping == []
        assert_agree(expected, run(fgraph, graph.values), tolerance(plain), f"seed {seed}, rules {name}")


def check_special(seed: int) -> None:
    """Compare one random graph at special values with the strictly rewritten one, NaN and infinities included."""
    graph = random_graph(np.random.default_rng(seed), steps=6, special=True)
    plain, _ = rewrite(graph.inputs, graph.outputs, PLAIN)
    fgraph, report = rewrite(graph.inputs, graph.outputs, QUERIES["strict"])
    assert report.looping == []
    expected, actual = run(plain, graph.values), run(fgraph, graph.values)
    where = f"seed {seed}"
    assert_agree(expected, actual, tolerance(plain), where)
    for old, new in zip(expected, actual, strict=True):
        if old.dtype.kind == "f":
            np.testing.assert_array_equal(np.where(np.isfinite(new), 0, new), np.where(np.isfinite(old), 0, old), where)


@pytest.mark.parametrize("start", range(0, FEW, 10))
def test_random_graphs_keep_special_values_strictly(start: int) -> None:
    for seed in range(start, start + 10):
        check_special(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, MANY, 50))
def test_many_random_graphs_keep_special_values_strictly(start: int) -> None:
    for seed in range(10_000 + start, 10_000 + start + 50):
        check_special(seed)


@pytest.mark.parametrize("start", range(0, FEW, 10))
def test_random_graphs_keep_their_values(start: int) -> None:
    for seed in range(start, start + 10):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, MANY, 50))
def test_many_random_graphs_keep_their_values(start: int) -> None:
    for seed in range(10_000 + start, 10_000 + start + 50):
        check(seed)


@pytest.mark.parametrize("seed", range(40))
def test_random_gradient_keeps_its_values(seed: int) -> None:
    graph = random_graph(np.random.default_rng(1000 + seed), steps=6)
    reals = [abs(v) if v.dtype.startswith("complex") else v.astype("float64") for v in graph.outputs]
    cost = sum((tt.sin(v).sum() for v in reals), tt.constant(0.0))
    used = set(explicit_graph_inputs([cost]))
    wrt = [v for v in graph.inputs if v.dtype == "float64" and v in used]
    grads = tt.grad(cost, wrt, disconnected_inputs="ignore")
    plain, _ = rewrite(graph.inputs, grads, PLAIN)
    expected = run(plain, graph.values)
    if any(np.abs(v[np.isfinite(v)]).max(initial=0) > 1e4 for v in expected):
        # The point is close to a singularity: rounding is magnified.
        expected = [np.full_like(v, np.nan) for v in expected]
    for query in ("fast_run", "fast_compile"):
        fgraph, report = rewrite(graph.inputs, grads, QUERIES[query])
        assert report.looping == []
        assert_agree(expected, run(fgraph, graph.values), 100 * tolerance(plain), f"seed {seed}, rules {query}")
