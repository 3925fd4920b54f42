"""Documented databases of some rules, the folding of constants in any case, and the base of ops that cast types."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import Apply, FunctionGraph
from treadle.rewrite import EquilibriumDB, RewriteDatabaseQuery

# Their names are found when they are asked for.
basic: Any = import_module("treadle.tensor.basic")
scans: Any = import_module("treadle.scan.rewriting")
folding: Any = import_module("treadle.tensor.rewriting.basic")
ops: Any = import_module("treadle.compile.ops")


def test_shapes_alone_are_inferred_from_parameters_of_draws() -> None:
    n = tt.lscalar("n")
    drawn = tt.random.normal(tt.zeros((n, 3)), 1.0)
    kept = tt.log(tt.exp(n))
    graph = FunctionGraph([n], [drawn.T.shape[0], drawn[2:].shape[1], drawn.shape[0], kept], clone=True)
    basic.infer_shape_db.default_query.rewrite(graph)
    assert not any(isinstance(node.op, tt.random.RandomVariable) for node in graph.toposort())
    assert [getattr(x, "data", None) for x in graph.outputs[:2]] == [3, 3]
    # Nothing else is rewritten.
    assert graph.outputs[3].owner is not None
    assert graph.outputs[3].owner.op == tt.log


def test_rules_of_loops_run_alone() -> None:
    rows, w = tt.dmatrix("rows"), tt.dvector("w")
    out = tt.scan(
        lambda row, carry, weight: carry * 0.5 + row * tt.exp(weight),
        sequences=[rows], outputs_info=[tt.zeros(3)], non_sequences=[w], return_updates=False,
    )  # fmt: skip
    graph = FunctionGraph([rows, w], [out], clone=True)
    assert "invariants_out_of_loop" in scans.scan_eqopt1.default_query.rewrite(graph).fired()
    assert "merge_loops" in scans.scan_eqopt2
    around = EquilibriumDB()
    around.register("scan_eqopt1", scans.scan_eqopt1, "basic", "scan")
    assert around.query(RewriteDatabaseQuery(include=["scan"])).rules


def test_constants_are_folded_where_the_op_would_rather_stay_and_values_are_large() -> None:
    filled = tt.alloc(1.5, 300, 300)
    copied = ops.deep_copy_op(tt.constant(2.0))
    graph = FunctionGraph([], [filled, copied], clone=True)
    folding.topo_unconditional_constant_folding.apply(graph)
    assert [getattr(x, "data", None) is not None for x in graph.outputs] == [True, True]
    assert folding.topo_unconditional_constant_folding.name == "topo_unconditional_constant_folding"


@pytest.mark.parametrize("mode", ["C", "VM"])
def test_op_that_casts_to_the_same_type_compiles(mode: str) -> None:
    class Marker(ops.TypeCastingOp):  # type: ignore[misc]  # what type checkers know of it is the class alone
        def make_node(self, x: Any) -> Apply:
            return Apply(self, [x], [x.type()])

    x = tt.dvector("x")
    marked = Marker()(x)
    assert str(marked.owner.op) == "Marker"
    assert function([x], marked * 2, mode=mode)([1.0, 2.0]).tolist() == [2.0, 4.0]
    with pytest.raises(TypeError, match="abstract"):
        ops.TypeCastingOp()
