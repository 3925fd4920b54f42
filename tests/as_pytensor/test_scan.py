"""Loops under PyTensor's names: its conventions, its op, and what that computes."""

from __future__ import annotations

import pickle
from abc import ABC
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import treadle.as_pytensor
from treadle import tensor as tt
from treadle.graph import MissingInputError, ancestors
from treadle.rewrite import rewrite_graph
from treadle.tensor import Scan as Loop
from treadle.tensor import dscalar, dvector, lscalar


@pytest.fixture(autouse=True)
def _in_place_of_pytensor() -> Iterator[None]:
    treadle.as_pytensor.install()
    yield
    treadle.as_pytensor.uninstall()


def scan(*args: Any, **kwargs: Any) -> Any:
    import pytensor

    return pytensor.scan(*args, return_updates=False, **kwargs)


def function(*args: Any, **kwargs: Any) -> Any:
    import pytensor

    return pytensor.function(*args, **kwargs)


def node_of(variable: Any) -> Any:
    from pytensor.scan.op import Scan

    return next(v.owner for v in ancestors([variable]) if v.owner is not None and isinstance(v.owner.op, Scan))


def powers() -> tuple[Any, Any, Any]:
    """Return a scalar, a vector, and the products of the first with the elements of the second one after another."""
    start, x = dscalar("start"), dvector("x")
    return start, x, scan(lambda row, before: before * row, sequences=[x], outputs_info=[start])


# Conventions


def test_a_state_is_read_from_what_the_loop_filled() -> None:
    start, x, result = powers()
    filled = result.owner.inputs[0]
    assert node_of(result).outputs == [filled]
    values = function([start, x], [result, filled, filled[-1], result[-1]])(1.5, [2.0, 3.0])
    assert [v.tolist() for v in values] == [[3.0, 9.0], [1.5, 3.0, 9.0], 9.0, 9.0]


def test_what_was_filled_has_the_first_value_where_there_are_no_steps() -> None:
    start, x, result = powers()
    filled = result.owner.inputs[0]
    gradient = tt.grad(filled[-1], start)
    assert [float(v) for v in function([start, x], [filled[-1], gradient])(1.5, [])] == [1.5, 1.0]


def test_a_state_starts_from_a_buffer_of_which_the_first_rows_are_set() -> None:
    from pytensor.tensor.basic import AllocEmpty
    from pytensor.tensor.subtensor import IncSubtensor

    start, _, result = powers()
    buffer: Any = node_of(result).inputs[2].owner
    empty, rows, _ = buffer.inputs
    assert isinstance(buffer.op, IncSubtensor)
    assert buffer.op.set_instead_of_inc
    assert buffer.op.idx_list == (slice(None, 0, None),)
    assert isinstance(empty.owner.op, AllocEmpty)
    assert start in ancestors([rows])


def test_taps_as_a_list_of_minus_one_mean_a_state_with_one_value() -> None:
    x = dvector("x")
    plain = scan(lambda a: 2 * a, outputs_info=[{"initial": x, "taps": [-1]}], n_steps=3)
    window = scan(lambda a: 2 * a, outputs_info=[{"initial": x, "taps": range(-1, 0)}], n_steps=3)
    assert (plain.ndim, window.ndim) == (2, 1)
    assert node_of(plain).op.info.sit_sot_in_slices == ((-1,),)
    assert node_of(window).op.info.mit_sot_in_slices == ((-1,),)
    assert window.eval({x: [1.0]}).tolist() == [2.0, 4.0, 8.0]


def test_one_step_is_no_loop() -> None:
    x = dvector("x")
    result = scan(lambda row, before: before + row, sequences=[x], outputs_info=[0.0], n_steps=1, go_backwards=True)
    assert not any(isinstance(v.owner.op, Loop) for v in ancestors([result]) if v.owner is not None)
    assert result.eval({x: [1.0, 2.0]}).tolist() == [2.0]


def test_updates_are_returned_with_a_warning_or_refused() -> None:
    import pytensor

    count, x = pytensor.shared(0.0, name="count"), dvector("x")

    def step(row: Any) -> Any:
        return row * count, {count: count + 1}

    with pytest.warns(DeprecationWarning, match="return_updates=False"):
        result, updates = pytensor.scan(step, sequences=[x])
    f = function([x], result, updates=updates)
    assert [f([1.0, 2.0]).tolist(), f([1.0, 2.0]).tolist()] == [[0.0, 2.0], [2.0, 6.0]]
    with pytest.raises(ValueError, match="steps update count"):
        scan(step, sequences=[x])


def test_a_strict_loop_takes_expressions_of_shared_variables_and_refuses_others() -> None:
    import pytensor

    a = pytensor.shared(2.0, name="a")
    one = tt.constant(1.0, dtype="float64")
    given = scan(lambda x, c: x * c, outputs_info=[one], non_sequences=[a * 2], n_steps=3, strict=True)
    assert given.eval().tolist() == [4.0, 16.0, 64.0]
    with pytest.raises(MissingInputError, match="shared variable a"):
        scan(lambda x: x * a, outputs_info=[one], n_steps=3, strict=True)


@pytest.mark.parametrize(
    ("info", "message"),
    [
        ({"initial": [1.0, 2.0], "taps": [-2, 0]}, "different negative integers"),
        ({"initial": [1.0, 2.0], "taps": [-1, -1]}, "different negative integers"),
        ({"taps": [-1]}, "need values to start with"),
        ({"initial": 1.0, "steps": 3}, "the keys are initial and taps"),
    ],
)
def test_states_that_make_no_sense_are_refused(info: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scan(lambda *a: a[0], outputs_info=[info], n_steps=3)


def test_a_loop_of_unknown_length_is_refused() -> None:
    with pytest.raises(ValueError, match="the number of steps is not known"):
        scan(lambda a: a, outputs_info=[1.0])


def test_a_state_that_changes_its_dtype_is_refused() -> None:
    start = lscalar("start")
    with pytest.raises(TypeError, match="a step takes the state"):
        scan(lambda a: a * 0.5, outputs_info=[start], n_steps=3)


def test_a_number_that_a_state_starts_with_takes_on_the_dtype_of_steps() -> None:
    x = dvector("x")
    assert scan(lambda row, a: a + row, sequences=[x], outputs_info=[0]).eval({x: [1.5, 2.0]}).tolist() == [1.5, 3.5]


# The op


def test_the_op_is_laid_out_as_pytensor_has_it() -> None:
    x, old, start, factor = dvector("x"), dvector("old"), dscalar("start"), dscalar("factor")
    results = scan(
        lambda row, before, a3, a1, c: (before * c, row + c, a3 - a1),
        sequences=[x], outputs_info=[start, None, {"initial": old, "taps": [-3, -1]}], non_sequences=[factor],
    )  # fmt: skip
    node = node_of(results[0])
    op: Any = node.op
    assert (op.info.n_seqs, op.info.mit_sot_in_slices, op.info.sit_sot_in_slices) == (1, ((-3, -1),), ((-1,),))
    assert (op.info.n_nit_sot, op.info.n_untraced_sit_sot, op.info.n_non_seqs) == (1, 0, 1)
    assert (len(node.inputs), len(node.outputs)) == (op.info.n_outer_inputs, op.info.n_outer_outputs) == (6, 3)
    assert [v.name for v in op.inner_inputs] == ["x[t]", "old[t-3]", "old[t-1]", "start[t-1]", "factor_copy"]
    maps = op.get_oinp_iinp_iout_oout_mappings()
    assert maps["inner_out_from_outer_out"] == {0: [0], 1: [1], 2: [2]}
    assert maps["inner_inp_from_outer_inp"] == {0: [], 1: [0], 2: [1, 2], 3: [3], 4: [], 5: [4]}
    assert maps["outer_out_from_outer_inp"] == {0: -1, 1: -1, 2: 0, 3: 1, 4: 2, 5: -1}
    assert op.outer_nitsot(node.inputs) == [node.inputs[4]]
    assert op.inner_mitsot_grouped(op.inner_inputs) == [op.inner_inputs[1:3]]
    assert op.oldest_inner_mitsot(op.inner_inputs) == [op.inner_inputs[1]]


def test_loops_of_the_same_steps_are_equal_and_can_be_pickled() -> None:
    ops = [node_of(powers()[2]).op for _ in range(2)]
    other = node_of(scan(lambda a: a + 1, outputs_info=[dscalar()], n_steps=3)).op
    again = pickle.loads(pickle.dumps(ops[0]))
    assert ops[0] == ops[1] == again
    assert hash(ops[0]) == hash(again)
    assert ops[0] != other


def test_a_subclass_with_another_base_stays_one() -> None:
    from pytensor.scan.op import Scan

    class Marked(ABC):  # noqa: B024 - as PyMC marks ops
        pass

    class MarkedScan(Marked, Scan):  # type: ignore[misc]  # a class that is found when it is asked for
        pass

    start, x, result = powers()
    node = node_of(result)
    op = MarkedScan(node.op.inner_inputs, node.op.inner_outputs, node.op.info)
    (filled,) = op.make_node(*node.inputs).outputs
    assert op != node.op
    assert isinstance(op.with_inner_graph(op.fgraph.unfreeze()), MarkedScan)
    assert function([start, x], filled)(1.0, [2.0]).tolist() == [1.0, 2.0]


def test_steps_that_write_a_state_more_than_once_are_refused() -> None:
    from pytensor.scan.op import Scan, ScanInfo

    row = dscalar("row")
    with pytest.raises(NotImplementedError, match="mit-mot"):
        Scan([row], [row], ScanInfo(0, ((0,),), ((0,),), (), (), 0, 0, 0, False))


def test_inputs_that_do_not_fit_are_refused() -> None:
    from pytensor.scan.op import Scan, ScanInfo

    row = dscalar("row")
    info = ScanInfo(1, (), (), (), (), 1, 0, 0, False)
    op = Scan([row], [row + 1], info)
    with pytest.raises(ValueError, match="3 inputs are needed, got 1"):
        op.make_node(lscalar())
    with pytest.raises(TypeError, match="one dimension more"):
        op.make_node(lscalar(), dscalar(), lscalar())
    with pytest.raises(TypeError, match="integer scalars"):
        op.make_node(dscalar(), dvector(), lscalar())
    with pytest.raises(ValueError, match="info asks for"):
        Scan([row], [row, row], info)
    with pytest.raises(MissingInputError, match="not among its inputs"):
        Scan([row], [row + dscalar("other")], info)


@pytest.mark.parametrize(
    ("room", "rows"),
    [(5, [1.0, 2.0, 4.0, 8.0, 16.0]), (3, [4.0, 8.0, 16.0]), (1, [16.0]), (7, [1.0, 2.0, 4.0, 8.0, 16.0, 0.0, 0.0])],
)
def test_a_buffer_keeps_as_many_rows_as_it_has(room: int, rows: list[float]) -> None:
    from pytensor.scan.op import Scan, ScanInfo

    state, factor = dscalar(), dscalar()
    op = Scan([state, factor], [state * factor, state], ScanInfo(0, (), (), (), ((-1,),), 1, 0, 1, False))
    inputs = [lscalar(), dvector(), lscalar(), dscalar()]
    filled, results = function(inputs, op(*inputs))(4, np.eye(room)[0], 2, 2.0)
    assert filled.tolist() == rows
    assert results.tolist() == [4.0, 8.0]


# What it computes


def test_derivatives_of_both_modes_and_batches_go_through() -> None:
    from pytensor.gradient import jacobian, pushforward
    from pytensor.graph.replace import vectorize_graph

    start, x, result = powers()
    cost = (result**2).sum()
    by_x, by_start = tt.grad(cost, [x, start])
    values = function([start, x], [by_x, by_start, pushforward(cost, x, x), jacobian(result, x)])(1.5, [2.0, 3.0])
    assert values[0].tolist() == [90.0, 54.0]
    assert float(values[1]) == 120.0
    assert float(values[2]) == 342.0
    assert values[3].tolist() == [[1.5, 0.0], [4.5, 3.0]]
    batch, starts = tt.dmatrix(), tt.dvector()
    batched = vectorize_graph(result, {x: batch, start: starts})
    got = function([batch, starts], batched)([[1.0, 2.0], [3.0, 4.0]], [1.0, 10.0])
    assert got.tolist() == [[1.0, 2.0], [30.0, 120.0]]


def test_several_taps_reach_back_and_give_gradients() -> None:
    old, n = dvector("old"), lscalar("n")
    result = scan(lambda a, b: a * b, outputs_info=[{"initial": old, "taps": [-3, -1]}], n_steps=n)
    f = function([old, n], [result, tt.grad(result[-1], old)])
    rows, gradient = f([1.5, 2.0, 0.5], 3)
    assert rows.tolist() == [0.75, 1.5, 0.75]
    # The last one is old[0] * old[1] * old[2]**2.
    assert gradient.tolist() == [0.5, 0.375, 3.0]


def test_a_state_may_reach_far_back() -> None:
    old = dvector("old")
    result = scan(lambda a, b: 0.9 * a + 0.1 * b, outputs_info=[{"initial": old, "taps": [-20, -1]}], n_steps=3)
    start = np.linspace(0, 1, 20) ** 2
    expected = list(start)
    for _ in range(3):
        expected.append(0.9 * expected[-20] + 0.1 * expected[-1])
    np.testing.assert_allclose(result.eval({old: start}), expected[20:])


def test_a_condition_ends_a_loop() -> None:
    from pytensor.scan import until

    x, n = dvector("x"), lscalar("n")
    result = scan(lambda a, b: (a * b, until(a * b > 30)), outputs_info=[x[0]], non_sequences=[x[1]], n_steps=n)
    f = function([x, n], [result, result.owner.inputs[0], tt.grad(result[-1], x), result.shape])
    values = [v.tolist() for v in f([1.5, 2.0], 100)]
    assert values == [[3.0, 6.0, 12.0, 24.0, 48.0], [1.5, 3.0, 6.0, 12.0, 24.0, 48.0], [32.0, 120.0], [5]]
    assert f([1.5, 2.0], 2)[0].tolist() == [3.0, 6.0]


def test_loops_in_loops_and_in_graphs_of_ops_become_treadles() -> None:
    w, x = tt.dmatrix("w"), dscalar("x")

    def outer(row: Any, total: Any) -> Any:
        return scan(lambda a, b: tt.tanh(a * b + 1), sequences=[row], outputs_info=[total])[-1]

    result = scan(outer, sequences=[w], outputs_info=[x])
    op = tt.OpFromGraph([w, x], [result])
    values = np.linspace(-1, 1, 6).reshape(3, 2)
    f = function([w, x], op(w, x))
    expected, total = [], 0.3
    for row in values:
        for a in row:
            total = np.tanh(a * total + 1)
        expected.append(total)
    np.testing.assert_allclose(f(values, 0.3), expected)


def test_it_is_there_until_a_function_is_compiled() -> None:
    from pytensor.scan.op import Scan

    start, x, result = powers()
    canonical = rewrite_graph(result, include=("canonicalize", "stabilize", "specialize"), clone=True)
    assert isinstance(canonical.owner.inputs[0].owner.op, Scan)
    f = function([start, x], [result, tt.grad(result[-1], start)])
    ops = [node.op for node in f.maker.fgraph.toposort()]
    assert not any(isinstance(op, Scan) for op in ops)
    assert [op.n_carries for op in ops if isinstance(op, Loop)]


def test_generators_are_states() -> None:
    import pytensor
    import pytensor.tensor as pt

    rng, start = pytensor.shared(np.random.default_rng(3)), dscalar("start")

    def step(before: Any, state: Any) -> Any:
        after, draw = pt.random.normal(before, 1.0, rng=state).owner.outputs
        return draw, after

    result, last = scan(step, outputs_info=[start, rng], n_steps=3)
    assert node_of(result).op.info.n_untraced_sit_sot == 1
    f = function([start], result, updates={rng: last})
    draws = np.random.default_rng(3).normal(size=6)
    np.testing.assert_allclose(f(1.0), 1.0 + draws[:3].cumsum())
    np.testing.assert_allclose(f(1.0), 1.0 + draws[3:].cumsum())


def test_streams_inside_a_step_go_on_and_those_outside_stand_still() -> None:
    import pytensor
    from pytensor.tensor.random.utils import RandomStream

    stream, start = RandomStream(5), dscalar("start")
    with pytest.warns(DeprecationWarning, match="return_updates=False"):
        inside, updates = pytensor.scan(lambda a: a + stream.normal(), outputs_info=[start], n_steps=3)
    outside = stream.normal()
    still = scan(lambda a: a + outside, outputs_info=[start], n_steps=3)
    f = function([start], [inside, still], updates=updates)
    moving, constant = f(0.0)
    assert len(updates) == 1
    assert len(set(np.diff(moving, prepend=0.0).round(12))) == 3
    assert len(set(np.diff(constant, prepend=0.0).round(12))) == 1


def test_rules_that_a_mode_names_rewrite_the_steps() -> None:
    import pytensor

    x = dvector("x")

    def step(row: Any) -> Any:
        return tt.assert_op(row, row > 0)

    mode = pytensor.Mode().including("local_remove_all_assert")
    with pytest.warns(FutureWarning, match="mode is deprecated"):
        unchecked = scan(step, sequences=[x], mode=mode)
    assert unchecked.eval({x: [-1.0]}).tolist() == [-1.0]
    with pytest.raises(AssertionError):
        scan(step, sequences=[x]).eval({x: [-1.0]})


def test_views_map_reduce_and_filter_rows() -> None:
    from pytensor.scan import foldl, foldr, reduce
    from pytensor.scan import map as scan_map
    from pytensor.scan.views import filter as scan_filter

    x = dvector("x")
    zero = tt.constant(0.0, dtype="float64")
    results = [
        scan_map(lambda row: row**2, x, return_updates=False),
        reduce(lambda row, total: total + row, x, zero, return_updates=False),
        foldl(lambda row, total: total / 2 + row, x, zero, return_updates=False),
        foldr(lambda row, total: total / 2 + row, x, zero, return_updates=False),
        scan_filter(lambda row: row > 1, x),
    ]
    values = function([x], results)([1.0, 2.0, 4.0])
    assert [v.tolist() for v in values] == [[1.0, 4.0, 16.0], 7.0, 5.25, 3.0, [2.0, 4.0]]
