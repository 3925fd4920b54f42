"""Values that decide shapes are known before a graph is traced, or the graph is refused."""

from typing import Any

import pytest

import treadle.tensor as tt
from treadle.graph import FunctionGraph

X, V, N, S, M = tt.dvector("x"), tt.lvector("v"), tt.lscalar("n"), tt.dscalar("s"), tt.lmatrix("m")


def staged(*outputs: Any, data: bool = False) -> tuple[tt.Staging, FunctionGraph]:
    fgraph = FunctionGraph([X, V, N, S, M], list(outputs), clone=False)
    return tt.stage(fgraph, fgraph.toposort(), data=data), fgraph


@pytest.mark.parametrize(
    "length",
    [N * 2, V[0], tt.concatenate([V, V])[1], tt.cast(S, "int64"), X.shape[0] + M.shape[1] // 2, (X * 2).shape[0]],
)
def test_lengths_from_shapes_scalars_and_picked_integers_are_known(length: Any) -> None:
    staging, _ = staged(tt.zeros((length,)))
    assert length in staging.known
    assert staging.refused == []


@pytest.mark.parametrize("length", [V.sum(), tt.cast(X[0], "int64"), tt.cast(X.sum(), "int64")])
def test_data_decides_shapes_only_where_nothing_is_compiled_for_its_values(length: Any) -> None:
    assert staged(tt.zeros((length,)), data=True)[0].refused == []
    ((node, why),) = staged(tt.zeros((length,)))[0].refused
    assert isinstance(node.op, tt.Alloc)
    assert "depends on the values of" in str(why)


@pytest.mark.parametrize("data", [False, True])
def test_every_node_whose_shape_depends_on_a_matrix_is_refused(data: bool) -> None:
    length = M.max()
    refused = staged(tt.zeros((length,)), X[:length], data=data)[0].refused
    assert {type(node.op) for node, _ in refused} == {tt.Alloc, tt.Subtensor}
    assert all("depends on the values of m" in str(why) for _, why in refused)


def test_shapes_themselves_are_not_computed_on_the_host() -> None:
    staging, fgraph = staged(tt.zeros((X.shape[0] * 2,)))
    on_host = [node.op for node in fgraph.toposort() if staging.on_host(node)]
    assert on_host == [tt.mul]
