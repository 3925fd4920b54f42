"""The tools for writing documented linkers: containers, streamlined thunks, source text."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import treadle.tensor as tt
from tests.graph.arithmetic import NUMBER, add, inverse, number
from treadle.graph import (
    Apply,
    FunctionGraph,
    GraphTypeError,
    GraphValueError,
    NodeArithmeticError,
    Op,
    Variable,
)
from treadle.link.vm.utils import (
    compile_function_src,
    fgraph_to_python,
    gc_helper,
    get_destroy_dependencies,
    get_name_for_object,
    raise_with_op,
    streamline,
    unique_name_generator,
)
from treadle.surface.thunks import Container, Linker, PerformLinker, VMLinker, calculate_reallocate_info, map_storage

STEPPED = [PerformLinker, VMLinker]


@pytest.mark.documents("Container")
def test_container_converts_what_is_put_in() -> None:
    cell: list[Any] = [3]
    box = Container(NUMBER, cell, name="n")
    assert (cell, box.data, repr(box)) == ([3.0], 3.0, "<container n of Number(1): 3.0>")
    box.value = 4
    assert cell == [4.0]
    with pytest.raises(GraphTypeError, match="container n: Number: a float is needed, got 'a'"):
        box.data = "a"
    with pytest.raises(GraphTypeError, match="container n: Number: a float is needed, got 5"):
        Container(NUMBER, [None], strict=True, name="n").data = 5
    with pytest.raises(GraphTypeError, match="it is read-only, got 1"):
        Container(NUMBER, [2.0], readonly=True).data = 1
    with pytest.raises(GraphTypeError, match="storage must be a list of one element, got 3"):
        Container(NUMBER, 3)  # type: ignore[arg-type]
    assert copy.deepcopy(box).data == 4.0


def test_streamline_empties_cells_and_names_the_node_that_fails() -> None:
    x = number("x")
    fgraph = FunctionGraph([x], [add(inverse(x), x)], clone=False)
    order = list(fgraph.toposort())
    ins, outs, storage = map_storage(fgraph, order, None, None)
    thunks = [node.op.make_thunk(node, storage, None, []) for node in order]
    run = streamline(fgraph, thunks, order, [[], [storage[order[0].outputs[0]]]], [outs[0]])
    ins[0][0] = 4.0
    run()
    assert (outs[0][0], storage[order[0].outputs[0]][0]) == (4.25, None)
    ins[0][0] = 0.0
    with pytest.raises(NodeArithmeticError, match="Inverse"):
        run()
    assert outs[0][0] is None
    with pytest.raises(ZeroDivisionError):
        streamline(fgraph, thunks, order, nice_errors=False)()
    with pytest.raises(GraphValueError, match="thunks: one for each of the 2 nodes is needed, got 1"):
        streamline(fgraph, thunks[:1], order)


def test_last_users_are_found_in_order() -> None:
    x = number("x")
    y = inverse(x)
    z = add(y, x)
    computed, last = gc_helper([y.owner, z.owner])
    assert (computed, last) == ({y, z}, {x: z.owner, y: z.owner})


def test_dependencies_of_what_overwrites_are_results_of_readers() -> None:
    from treadle.graph import DestroyHandler

    class Overwriting(Op):
        __props__ = ()
        destroy_map = {0: [0]}  # noqa: RUF012

        def make_node(self, x: Variable) -> Apply:
            return Apply(self, [x], [x.type()])

        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            output_storage[0][0] = inputs[0]

    x = number("x")
    y = inverse(x)
    read, over = add(y, y), Overwriting()(y)
    fgraph = FunctionGraph([x], [over, read], clone=False)
    fgraph.attach_feature(DestroyHandler())
    dependencies = get_destroy_dependencies(fgraph)
    assert dependencies[over.owner] == [read]
    assert dependencies[read.owner] == []


def test_error_is_raised_again_with_the_node() -> None:
    x = number("x")
    y = inverse(x)
    fgraph = FunctionGraph([x], [y], clone=False)
    failure = ZeroDivisionError("division by zero")
    with pytest.raises(NodeArithmeticError, match=r"Inverse: division by zero.*test_thunks.py"):
        raise_with_op(fgraph, y.owner, exc_info=(type(failure), failure, None), storage_map={x: [0.0]})
    with pytest.raises(GraphValueError, match="no error is being handled"):
        raise_with_op(fgraph, y.owner)


def test_graph_becomes_a_function_of_other_functions() -> None:
    x, y = number("x"), number("class")
    fgraph = FunctionGraph([x, y], [add(inverse(x), y), x], clone=False)
    run = fgraph_to_python(
        fgraph,
        lambda op, **_: (lambda v: 1 / v) if str(op).startswith("Inverse") else (lambda a, b: a + b),
        fgraph_name="computed",
    )
    assert run(4.0, 1.0) == (1.25, 4.0)
    assert run.__name__ == "computed"
    single = fgraph_to_python(
        FunctionGraph([x], [add(x, 2.0)], clone=False),
        lambda _op, **_: lambda a, b: a + b,
        type_conversion_fn=lambda value, **_: value * 10,
        squeeze_output=True,
    )
    assert single(1.0) == 21.0


def test_names_are_unique_and_legal() -> None:
    name = unique_name_generator(["x"], "_")
    x, other = number("x"), number("a b")
    assert (name(x), name(x), name(other)) == ("x_1", "x_1", "a_b")
    assert name(x, force_unique=True) == "x_2"
    assert get_name_for_object(number("class")) == "_class"
    assert get_name_for_object(inverse) == "inverse" or get_name_for_object(inverse).isidentifier()
    assert compile_function_src("def f(a):\n    return a + 1\n", "f")(1) == 2
    with pytest.raises(GraphValueError, match="the text defines no function 'g'"):
        compile_function_src("def f(a):\n    return a + 1\n", "g")


def test_scalars_that_do_not_live_together_may_share_a_cell() -> None:
    x = tt.dscalar("x")
    first = tt.exp(x)
    second = tt.sin(first)
    third = tt.cos(second)
    both = tt.log(third) + second
    fgraph = FunctionGraph([x], [both], clone=False)
    order = list(fgraph.toposort())
    pairs = calculate_reallocate_info(order, fgraph, {v: [None] for v in fgraph.variables})
    assert pairs[third] == [first, third]
    assert second not in pairs
    assert both not in pairs
    for _, *rest in pairs.values():
        assert all(getattr(v.type, "ndim", None) == 0 for v in rest)
    x = tt.dvector("x")
    fgraph = FunctionGraph([x], [tt.cos(tt.sin(tt.exp(tt.log(x))))], clone=False)
    assert calculate_reallocate_info(list(fgraph.toposort()), fgraph, {}) == {}


@pytest.mark.parametrize("kind", STEPPED)
def test_long_chain_runs_through_thunks(kind: Callable[[], Linker], length: int) -> None:
    x = number("x")
    out = x
    for _ in range(length):
        out = add(out, 1.0)
    thunk, (box,), (result,) = kind().accept(FunctionGraph([x], [out], clone=False)).make_thunk()
    box.data = 1.0
    thunk()
    assert result.data == length + 1.0
