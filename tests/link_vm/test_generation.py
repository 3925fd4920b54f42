"""The Python that the VM writes."""

import itertools
import re
import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.graph.arithmetic import NUMBER, add, chain, div_mod, inverse, mul, number, same
from treadle.compile import Mode, function
from treadle.config import config
from treadle.graph import Apply, FunctionGraph, NodeArithmeticError, NodeValueError, Op, Variable
from treadle.link.vm import VMProgram
from treadle.surface.thunks import PerformLinker, VMLinker


def program(inputs: list[Variable], outputs: list[Variable], allow_gc: bool | None = True) -> VMProgram:
    linked = VMLinker(allow_gc).link(FunctionGraph(inputs, outputs, clone=False))
    assert isinstance(linked, VMProgram)
    return linked


def test_graph_becomes_straight_lines_that_free_what_is_dead() -> None:
    x, y = number("x"), number("y")
    product = mul(x, y)
    run = program([x, y], [add(inverse(product), 2.0)])
    assert run.source == (
        "def run(a0, a1):\n"
        "    v0 = f0(a0, a1)\n"
        "    v1 = f1(v0)\n"
        "    del v0\n"
        "    v2 = f2(v1, c0)\n"
        "    del v1\n"
        "    return (v2,)\n"
    )
    assert run(2.0, 4.0) == (2.125,)


class Counting(Op):
    """Adds one, into the memory that it finds in its output cell."""

    __props__ = ()

    def __init__(self) -> None:
        self.cell_was_kept: list[bool] = []

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [inputs[0].type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        del node
        cell = output_storage[0]
        self.cell_was_kept.append(cell[0] is not None)
        if cell[0] is None or cell[0].shape != inputs[0].shape:
            cell[0] = np.empty_like(inputs[0])
        np.add(inputs[0], 1.0, out=cell[0])


@pytest.mark.parametrize("kind", [VMLinker, PerformLinker])
def test_perform_finds_the_values_of_the_last_call_where_they_are_kept(kind: Any) -> None:
    op = Counting()
    x = tt.dvector("x")
    run = kind(allow_gc=False).link(FunctionGraph([x], [op(op(x))], clone=False))
    first, second = run(np.zeros(3))[0], run(np.ones(3))[0]
    assert (first.tolist(), second.tolist(), run(np.zeros(2))[0].tolist()) == ([2.0] * 3, [3.0] * 3, [2.0] * 2)
    # The inner value's memory is used again; that of an output is the caller's.
    assert op.cell_was_kept == [False, False, True, False, True, False]
    run.free()
    assert run(np.zeros(2))[0].tolist() == [2.0] * 2
    assert op.cell_was_kept[-2:] == [False, False]


def test_memory_that_an_output_views_is_not_used_again() -> None:
    op = Counting()
    x = tt.dvector("x")
    run = VMLinker(allow_gc=False).link(FunctionGraph([x], [op(x)[:2]], clone=False))
    first, second = run(np.zeros(3))[0], run(np.ones(3))[0]
    assert (first.tolist(), second.tolist()) == ([1.0] * 2, [2.0] * 2)


def test_call_within_a_call_uses_other_memory() -> None:
    op = Counting()
    x = tt.dvector("x")

    class Calling(Counting):
        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            if inputs[0][0] < 5.0:
                run(inputs[0] + 10.0)
            super().perform(node, inputs, output_storage)

    run = VMLinker(allow_gc=False).link(FunctionGraph([x], [Calling()(op(x)) * 1.0], clone=False))
    for _ in range(3):
        assert run(np.zeros(2))[0].tolist() == [2.0, 2.0]


def test_option_says_whether_memory_is_kept() -> None:
    op = Counting()
    x = tt.dvector("x")
    graph = FunctionGraph([x], [op(op(x))], clone=False)
    for allow_gc, seen in ((True, [False] * 4), (False, [False, False, True, False])):
        op.cell_was_kept.clear()
        with config.change_flags(allow_gc=allow_gc):
            run = VMLinker().link(graph)
        run(np.zeros(3))
        run(np.zeros(3))
        assert op.cell_was_kept == seen


def test_stored_program_keeps_memory_too() -> None:
    op = Counting()
    x = tt.dvector("x")
    linker = VMLinker(allow_gc=False)
    graph = FunctionGraph([x], [op(op(x))], clone=False)
    program_graph: Any = graph
    loaded = linker.load(linker.dump(linker.link(graph)), program_graph)
    op.cell_was_kept.clear()
    loaded(np.zeros(3))
    assert loaded(np.ones(3))[0].tolist() == [3.0] * 3
    assert op.cell_was_kept == [False, False, True, False]


def test_several_outputs_of_a_node_are_unpacked() -> None:
    x = number("x")
    quotient, rest = div_mod(x, 2.0)
    run = program([x], [quotient, rest])
    assert "    v0, v1 = f0(a0, c0)\n" in run.source
    assert run(7.0) == (3.0, 1.0)


def test_output_that_nobody_needs_is_freed() -> None:
    x = number("x")
    assert program([x], [div_mod(x, 2.0)[1]]).source.endswith("    del v0\n    return (v1,)\n")


def test_graph_without_nodes_or_outputs_runs() -> None:
    x = number("x")
    assert program([x], [])(1.0) == ()
    assert program([], [NUMBER.make_constant(3.0)])() == (3.0,)


def test_long_program_is_cut_into_functions_with_explicit_arguments() -> None:
    x = number("x")
    run = program([x], [chain(x, 1000)])
    functions = re.findall(r"^def (\w+)\((.*)\):$", run.source, re.MULTILINE)
    assert functions == [("chunk0", "a0"), ("chunk1", "v399, a0"), ("chunk2", "v799, a0"), ("run", "a0")]
    assert run.source.endswith(
        "def run(a0):\n"
        "    v399, = chunk0(a0)\n"
        "    v799, = chunk1(v399, a0)\n"
        "    del v399\n"
        "    v999, = chunk2(v799, a0)\n"
        "    del v799\n"
        "    return (v999,)\n"
    )
    assert run(1.0) == (1001.0,)


def test_value_used_across_functions_is_kept_until_its_last_use() -> None:
    x = number("x")
    early = mul(x, 3.0)
    out = add(add(chain(early, 900), early), x)
    assert program([x], [out, early])(2.0) == (6.0 * 901 + 6.0 + 2.0, 6.0)


def test_error_in_a_later_function_names_the_node() -> None:
    x = number("x")
    zero = add(chain(x, 900), -901.0)
    failing = inverse(zero)
    with pytest.raises(NodeArithmeticError, match=r'^Inverse: .*"failing = inverse\(zero\)"'):
        program([x], [failing])(1.0)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_outputs_share_no_memory_with_inputs_constants_or_each_other(count: int) -> None:
    x = tt.dvector("x")
    constant = tt.constant(np.arange(3.0))
    y = tt.exp(x)
    outputs = [x, x, y, y, y[::-1], constant, constant[::-1], tt.as_tensor_variable(x)[::-1]]
    for chosen in itertools.combinations(outputs, count):
        argument = np.ones(3)
        results = VMLinker().link(FunctionGraph([x], list(chosen)))(argument)
        for a, b in itertools.combinations([*results, argument, constant.data], 2):
            assert not np.shares_memory(a, b) or (a is argument and b is constant.data)
        for result in results:
            result[:] = 7.0  # the caller owns it
    np.testing.assert_array_equal(constant.data, np.arange(3.0))


def test_view_of_a_view_is_followed_to_its_memory() -> None:
    x = number("x")
    assert "copy0(v1)" in program([x], [same(same(x))]).source
    assert "copy" not in program([x], [same(same(inverse(x)))]).source


def kept_bytes(function: Any, *values: Any) -> tuple[int, int]:
    """Return how much more memory is in use after a call, and how much the next one allocates at most."""
    tracemalloc.start()
    try:
        function(*values)
        kept = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        function(*values)
        return kept, tracemalloc.get_traced_memory()[1] - kept
    finally:
        tracemalloc.stop()


def five(x: Any) -> Any:
    """Return five elementwise functions of a vector, one of the other."""
    return tt.exp(tt.tanh(x * 2.0 + 1.0)) / 3.0


def test_elementwise_functions_write_over_what_they_made_in_the_last_call() -> None:
    x = tt.dvector("x")
    value = np.linspace(0.0, 1.0, 200_000)
    size = value.nbytes
    keeping, freeing = (function([x], five(x), mode=Mode(VMLinker(allow_gc=flag), None)) for flag in (False, True))
    for _ in range(2):
        np.testing.assert_array_equal(keeping(value), freeing(value))
    keeping.free()
    kept, new = kept_bytes(keeping, value)
    assert (kept // size, new // size) == (4, 1)
    assert kept_bytes(freeing, value)[0] < size // 10
    keeping.free()
    # Results of other shapes than the last time get memory of their own.
    for at in value[:7], value[:1], value:
        np.testing.assert_array_equal(keeping(at), freeing(at))


def test_errors_of_elementwise_functions_are_the_same_where_memory_is_kept() -> None:
    x, y = tt.dmatrices("x", "y")
    f = function([x, y], tt.exp(x + y) * 2.0, mode=Mode(VMLinker(allow_gc=False), None))
    for a, b in ((1, 3), (3, 1)), ((3, 3), (3, 3)), ((1, 3), (1, 3)), ((3, 3), (1, 3)):
        assert f(np.zeros(a), np.zeros(b)).tolist() == np.full(np.broadcast_shapes(a, b), 2.0).tolist()
    with pytest.raises(NodeValueError, match=r"operands could not be broadcast together with shapes \(3,2\) \(3,3\)"):
        f(np.zeros((3, 2)), np.zeros((3, 3)))
    assert f(np.zeros((3, 3)), np.zeros((3, 3))).tolist() == np.full((3, 3), 2.0).tolist()


@pytest.mark.parametrize("share_memory", [True, False])
def test_copies_keep_intermediate_values_in_the_same_memory(share_memory: bool) -> None:
    x = tt.dvector("x")
    value = np.linspace(0.0, 1.0, 200_000)
    f = function([x], five(x), mode=Mode(VMLinker(allow_gc=False), None))
    f(value)
    twin = f.copy(share_memory=share_memory)
    assert kept_bytes(twin, value)[0] < value.nbytes // 10
    np.testing.assert_array_equal(twin(value), f(value))
