"""Documented parameters of linkers that no other test covers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import Mode, function
from treadle.graph import Apply, FunctionGraph, LoweringError, Op, Variable
from treadle.link.c import OpWiseCLinker
from treadle.link.c.program import CProgram
from treadle.surface.thunks import JITLinker, VMLinker


class Joined(JITLinker):
    """Runs a graph's nodes in the order of the list it gets, and keeps that order."""

    def fgraph_convert(self, fgraph: Any, order: Any, *storage: Any, **kwargs: Any) -> Any:
        self.order = [str(node.op) for node in order]

        def run(*values: Any) -> Any:
            known: dict[Any, Any] = dict(zip(fgraph.inputs, values, strict=True))
            for node in order:
                cells: list[list[Any]] = [[None] for _ in node.outputs]
                node.op.perform(node, [getattr(x, "data", known.get(x)) for x in node.inputs], cells)
                known.update(zip(node.outputs, (cell[0] for cell in cells), strict=True))
            return [known[out] for out in fgraph.outputs]

        return run

    def jit_compile(self, fn: Any) -> Any:
        return fn


def backwards(fgraph: FunctionGraph) -> list[Apply]:
    """Return an order that a graph of independent nodes and one last node allows, but `toposort` does not give."""
    nodes = list(fgraph.toposort())
    return [*reversed(nodes[:-1]), nodes[-1]]


def independent() -> tuple[Variable, FunctionGraph]:
    x = tt.dvector("x")
    return x, FunctionGraph([x], [tt.sin(x) + tt.cos(x)], clone=False)


@pytest.mark.documents("VMLinker.schedule", "OpWiseCLinker.schedule", "JITLinker.schedule", "P12")
@pytest.mark.parametrize("kind", [VMLinker, OpWiseCLinker, Joined])
def test_nodes_run_in_the_order_that_is_asked_for(kind: Any) -> None:
    _, fgraph = independent()
    usual = list(fgraph.toposort())
    for linker, wanted in ((kind(), usual), (kind(schedule=backwards), backwards(fgraph))):
        thunk, (box,), (out,), _, order = linker.accept(fgraph).make_all()
        box.data = np.zeros(2)
        thunk()
        assert out.data.tolist() == [1.0, 1.0]
        if kind is Joined:
            assert linker.order == [str(node.op) for node in wanted]
        else:
            assert order == wanted


@pytest.mark.documents("OpWiseCLinker.allow_gc")
@pytest.mark.parametrize("allow_gc", [True, False])
def test_values_between_nodes_in_c_are_freed_unless_they_are_to_be_kept(allow_gc: bool) -> None:
    x, fgraph = independent()
    storage: dict[Variable, list[Any]] = {}
    linker: Any = OpWiseCLinker(allow_gc=allow_gc)
    thunk, (box,), _ = linker.accept(fgraph).make_thunk(None, None, storage)
    box.data = np.zeros(2)
    thunk()
    between = [cell[0] for var, cell in storage.items() if var.owner is not None and var not in fgraph.outputs]
    assert len(between) == 2
    assert all((value is None) is allow_gc for value in between)
    assert x in storage


@pytest.mark.documents("JITLinker.allow_gc")
@pytest.mark.parametrize("allow_gc", [True, False])
def test_thunk_of_a_whole_graph_says_whether_values_are_freed(allow_gc: bool) -> None:
    _, fgraph = independent()
    assert Joined(allow_gc=allow_gc).accept(fgraph).make_all()[0].allow_gc is allow_gc


@pytest.mark.documents("VMLinker.use_cloop", "VMLinker.c_thunks", "VMLinker.allow_partial_eval")
@pytest.mark.parametrize("flag", [True, False])
def test_parameters_of_the_vm_that_say_how_it_works_inside_are_kept_and_change_no_result(flag: bool) -> None:
    linker = VMLinker(use_cloop=flag, c_thunks=flag, allow_partial_eval=flag)
    assert (linker.use_cloop, linker.c_thunks, linker.allow_partial_eval) == (flag, flag, flag)
    x = tt.dvector("x")
    f = function([x], [tt.exp(x), x + 1], mode=Mode(linker))
    assert [value.tolist() for value in f([0.0])] == [[1.0], [1.0]]
    machine, (box,), _ = linker.accept(FunctionGraph([x], [tt.exp(x), x + 1])).make_thunk()
    box.data = np.zeros(1)
    part: Any = machine
    assert part(output_subset=[1])[1].tolist() == [1.0]


class Unknown(Op):
    """An op that only Python knows."""

    __props__ = ()

    def make_node(self, x: Variable) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        del node
        if inputs[0].size > 2:
            msg = "too long"
            raise ValueError(msg)
        output_storage[0][0] = inputs[0] + 1


@pytest.mark.documents("OpWiseCLinker.nice_errors", "OpWiseCLinker.fallback_on_perform")
@pytest.mark.parametrize("nice", [True, False])
def test_errors_name_the_node_and_the_line_whatever_is_asked_for(nice: bool) -> None:
    x = tt.dvector("x")
    linker = OpWiseCLinker(nice_errors=nice)
    assert linker.nice_errors is nice
    f = function([x], Unknown()(tt.exp(x)), mode=Mode(linker))
    np.testing.assert_allclose(f([0.0]), [2.0])
    with pytest.raises(ValueError, match=r"Unknown: too long.*built at test_documented_linkers\.py"):
        f(np.zeros(3))
    with pytest.raises(LoweringError, match="no lowering for"):
        function([x], Unknown()(x), mode=Mode(OpWiseCLinker(fallback_on_perform=False)))


@pytest.mark.documents("P13", "linker:c")
def test_c_makes_one_program_of_all_nodes() -> None:
    x = tt.dvector("x")
    f = function([x], [tt.exp(x).sum() * 2, x[::-1] + 1], mode=Mode("c").excluding("fusion"))
    assert len(f.maker.fgraph) > 3
    assert isinstance(f.program, CProgram)
    total, turned = f([0.0, 0.0])
    assert (float(total), turned.tolist()) == (4.0, [1.0, 1.0])
