"""Graphs with loops: copied, compared, pickled, printed, batched, and asked for shapes."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import VectorizeError, applys_between, clone_replace, equal_computations, shared, vectorize_graph
from treadle.printing import debugprint, pp
from treadle.scan.utils import ScanArgs
from treadle.tensor import ArgumentError, Scan, jacobian, scan, until

X, W = tt.dvector("x"), tt.dscalar("w")
V = np.array([1.0, 2.0, -3.0])


def rnn(name: str | None = "rnn") -> Any:
    return scan(lambda row, s: tt.tanh(s * W + row), X, 0.5, return_updates=False, name=name)


def by_hand(rows: Any, w: float) -> list[float]:
    s = 0.5
    return [s := float(np.tanh(s * w + row)) for row in rows]


def test_loops_that_compute_the_same_are_equal() -> None:
    one, other, unlike = rnn(), rnn("other"), scan(lambda row: row, X, return_updates=False)
    assert one.owner.op == other.owner.op
    assert hash(one.owner.op) == hash(other.owner.op)
    assert one.owner.op != unlike.owner.op
    assert equal_computations([one], [other])
    assert copy.deepcopy(one.owner.op) == one.owner.op


def test_loops_survive_pickling_within_graphs_and_functions() -> None:
    again, x, w = pickle.loads(pickle.dumps([rnn(), X, W]))
    np.testing.assert_allclose(function([x, w], again, mode="VM")(V, 0.3), by_hand(V, 0.3))
    run = pickle.loads(pickle.dumps(function([X, W], rnn(), mode="VM")))
    np.testing.assert_allclose(run(V, 0.3), by_hand(V, 0.3))
    np.testing.assert_allclose(run.copy()(V, 0.3), by_hand(V, 0.3))


def test_what_a_loop_is_given_can_be_replaced() -> None:
    y, s = tt.dvector("y"), shared(np.array(0.3), "s")
    replaced = clone_replace(rnn(), {X: 2 * y, W: tt.constant(0.1)})
    np.testing.assert_allclose(function([y], replaced, mode="VM")(V), by_hand(2 * V, 0.1))
    np.testing.assert_allclose(function([X], rnn(), givens={W: s}, mode="VM")(V), by_hand(V, 0.3))
    scaled = scan(lambda row: row * s, X, return_updates=False)
    np.testing.assert_array_equal(function([X, W], clone_replace(scaled, {s: W}), mode="VM")(V, 2.0), 2 * V)


def test_printing_shows_the_body_and_the_name() -> None:
    shown = str(debugprint(rnn(), file="str"))
    assert "Scan{rnn}.1" in shown
    assert "Inner graphs" in shown
    assert "Tanh" in shown
    assert "x[t]" in shown
    assert "Scan{rnn}" in str(pp(rnn()))


def test_batches_of_sequences_and_of_constants() -> None:
    rows, ws = tt.dmatrix("rows"), tt.dvector("ws")
    batch = vectorize_graph(rnn(), {X: rows})
    np.testing.assert_allclose(function([rows, W], batch, mode="VM")([V, -V], 0.3), [by_hand(V, 0.3), by_hand(-V, 0.3)])
    batch = vectorize_graph(rnn(), {W: ws})
    np.testing.assert_allclose(function([X, ws], batch, mode="VM")(V, [0.3, 2.0]), [by_hand(V, 0.3), by_hand(V, 2.0)])
    batch = vectorize_graph(rnn(), {X: rows, W: ws})
    np.testing.assert_allclose(
        function([rows, ws], batch, mode="VM")([V, -V], [0.3, 2.0]), [by_hand(V, 0.3), by_hand(-V, 2.0)]
    )


def test_batches_end_one_by_one() -> None:
    ws, n, ns = tt.dvector("ws"), tt.lscalar("n"), tt.lvector("ns")
    grown = tt.while_loop(lambda s: s < 100, lambda s: s * W, 1.0)
    results = function([ws], vectorize_graph(grown, {W: ws}), mode="VM")([2.0, 3.0, 200.0])
    np.testing.assert_array_equal(results, [128, 243, 200])
    power = tt.fori_loop(0, n, lambda _, s: s * W, 1.0)
    results = function([W, ns], vectorize_graph(power, {n: ns}), mode="VM")(2.0, [0, 1, 5])
    np.testing.assert_array_equal(results, [1, 2, 32])


def test_batch_of_results_of_other_lengths_is_refused() -> None:
    ws = tt.dvector("ws")
    states = scan(lambda s: (s * W, until(s > 3)), outputs_info=1.0, n_steps=9, return_updates=False)
    with pytest.raises(VectorizeError, match="would differ along the batch"):
        vectorize_graph(states, {W: ws})


def test_jacobian_by_batch_and_by_loop() -> None:
    jacobians = function([X, W], [jacobian(rnn(), X), jacobian(rnn(), X, vectorize=True)], mode="VM")(V, 0.3)
    np.testing.assert_allclose(jacobians[0], jacobians[1])
    np.testing.assert_allclose(jacobians[0][1, 0] / jacobians[0][0, 0], 0.3 * (1 - by_hand(V, 0.3)[1] ** 2))


def test_shapes_do_not_need_the_steps() -> None:
    m = tt.dmatrix("m")
    outputs = scan(
        lambda row, s: [tt.tanh(s + row), tt.exp(row)[:2]], m, [tt.zeros(m.shape[1]), None], return_updates=False
    )
    run = function([m], [outputs[0].shape, outputs[1].shape])
    assert not any(isinstance(node.op, Scan) for node in run.maker.fgraph.apply_nodes)
    assert [x.tolist() for x in run(np.ones((4, 3)))] == [[4, 3], [4, 2]]


def test_loop_without_steps_has_rows_of_the_right_length_and_gradients() -> None:
    m = tt.dmatrix("m")
    outputs = scan(
        lambda row, s: [tt.tanh(s + row), tt.exp(row)[:2]], m, [tt.zeros(m.shape[1]), None], return_updates=False
    )
    run = function([m], [*outputs, tt.grad(outputs[0].sum() + outputs[1].sum(), m)])
    assert [x.shape for x in run(np.ones((0, 3)))] == [(0, 3), (0, 2), (0, 3)]


def test_nodes_of_a_step_keep_the_lines_of_its_function() -> None:
    rows = scan(lambda row: tt.exp(row) * 2, X, return_updates=False)
    (op,) = [op for node in applys_between([X], [rows]) if isinstance(op := node.op, Scan)]
    lines = [node.outputs[0].user_line for node in applys_between(op.inner_inputs, op.inner_outputs)]
    assert lines
    assert all(line is not None and line.file.endswith("test_scan_graphs.py") for line in lines)


def test_error_in_a_step_names_line_step_and_loop() -> None:
    m, y = tt.dmatrix("m"), tt.dvector("y")
    states = scan(lambda row, s: tt.exp(s[:2]) + y * row[0], m, np.ones(3), return_updates=False, name="adder")
    with pytest.raises(ValueError, match=r"test_scan_graphs.py(.|\n)*In step \d of the loop Scan\{adder\}"):
        function([m, y], states, mode="VM")(np.ones((2, 3)), np.ones(3))


# Taken apart


def test_parts_of_a_loop_make_the_loop_again() -> None:
    (states, _), _ = scan(lambda row, s: [s * W + row, row * 2, until(row > 3)], X, [0.5, None], name="parts")
    node = states.owner
    args = ScanArgs.from_node(node)
    again = args.to_node()
    assert again.op == node.op
    assert again.inputs == node.inputs
    assert str(again.op) == "While{parts}"
    assert args.outer_inputs == node.inputs
    assert args.outer_outputs == node.outputs
    assert [len(x) for x in (args.inner_inputs, args.inner_outputs)] == [3, 4]


def test_parts_of_a_loop_can_be_changed() -> None:
    args = ScanArgs.from_node(rnn().owner)
    args.inner_out_nit_sot.append(tt.sqr(args.inner_out_nit_sot[0]))
    args.outer_in_seqs[0] = 2 * X
    states, squares = args.to_node().outputs[1:]
    results = function([X, W], [states, squares], mode="VM")(V, 0.3)
    np.testing.assert_allclose(results[0], by_hand(2 * V, 0.3))
    np.testing.assert_allclose(results[1], results[0] ** 2)


def test_parts_of_a_loop_are_found_by_their_fields() -> None:
    args = ScanArgs.from_node(rnn().owner)
    (row,) = args.inner_in_seqs
    field = args.find_among_fields(row)
    assert field is not None
    assert (field.name, field.agg_name, field.index, field.agg_index) == ("inner_in_seqs", "inner_inputs", 0, 0)
    assert args.get_alt_field(row, "outer_in") is X
    assert args.get_alt_field(args.inner_in_sit_sot[0], "outer_out") is args.outer_out_sit_sot[0]
    assert args.find_among_fields(tt.dscalar()) is None
    with pytest.raises(ArgumentError, match="has no counterpart in outer_out"):
        args.get_alt_field(row, "outer_out")
    with pytest.raises(TypeError, match="a node of Scan is needed"):
        ScanArgs.from_node(tt.exp(X).owner)  # type: ignore[arg-type]  # it has one
