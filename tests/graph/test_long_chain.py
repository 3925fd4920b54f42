"""A long chain through everything the core does."""

import pickle

import numpy as np

import treadle.tensor as tt
from tests.graph.arithmetic import chain, number
from treadle.graph import FunctionGraph, clone_replace, debugprint, equal_computations
from treadle.link.vm import PythonLinker
from treadle.rewrite import RewriteDatabaseQuery, default_database


def test_long_chain_builds_prints_pickles_clones_and_runs(length: int) -> None:
    x = number("x")
    out = chain(x, length)
    assert len(str(debugprint(out, file="str")).splitlines()) == 2 * length + 1
    loaded, loaded_x = pickle.loads(pickle.dumps([out, x]))
    assert equal_computations([loaded], [out], [loaded_x], [x])
    y = number("y")
    assert equal_computations([clone_replace(out, {x: y})], [out], [y], [x])
    graph = FunctionGraph([x], [out])
    graph.check_integrity()
    assert PythonLinker().link(graph)(1.0)[0] == length + 1.0


def test_long_chain_is_rewritten(length: int) -> None:
    x = tt.dscalar("x")
    out = x
    for _ in range(length // 2):
        out = tt.neg(tt.neg(out))
    graph = FunctionGraph([x], [out])
    default_database().query(RewriteDatabaseQuery(include=("fast_run",))).rewrite(graph)
    assert len(graph) == 0
    np.testing.assert_array_equal(PythonLinker().link(graph)(np.array(2.0))[0], 2.0)
