"""Slices held in variables, and the pieces of index expressions."""

import itertools

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import VectorizeError, vectorize_graph

X = np.arange(20.0).reshape(5, 4)
x = tt.dmatrix("x")
i = tt.lscalar("i")


def test_slice_of_variables_indexes_as_its_bounds_do() -> None:
    step = tt.lscalar("step")
    picked = x[tt.make_slice(i, None, step), 1]
    np.testing.assert_array_equal(function([x, i, step], picked, mode="C")(X, 3, -1), X[3::-1, 1])


@pytest.mark.parametrize(
    "index", [slice(1, 3), slice(None, None, -1), slice(3, 0, -2), slice(None), slice(-1, None), slice(9, 20)]
)
def test_slice_that_is_an_input_indexes_and_writes(index: slice) -> None:
    s = tt.slicetype("s")
    rows, columns, written = function([x, s], [x[s], x[:, s], x[s].set(7)], mode="VM")(X, index)
    expected = X.copy()
    expected[index] = 7
    np.testing.assert_array_equal(rows, X[index])
    np.testing.assert_array_equal(columns, X[:, index])
    np.testing.assert_array_equal(written, expected)


def test_slice_is_the_same_for_a_whole_batch() -> None:
    s, wide = tt.slicetype("s"), tt.dtensor3("wide")
    run = function([wide, s], vectorize_graph(x[s], {x: wide}), mode="VM")
    both = np.stack([X, -X])
    np.testing.assert_array_equal(run(both, slice(None, 1, -1)), both[:, :1:-1])
    with pytest.raises(VectorizeError, match="the bounds of slices would differ"):
        vectorize_graph(x[tt.make_slice(i, None)], {i: tt.lvector()})


def test_constant_slices_and_none_are_indices() -> None:
    np.testing.assert_array_equal(x[tt.NoneSliceConst].eval({x: X}), X)
    np.testing.assert_array_equal(x[tt.NoneConst].eval({x: X}), X[None])


def test_pieces_of_an_index_index_again() -> None:
    node = x[i:, 1:3].owner
    assert node is not None
    assert isinstance(node.op, tt.Subtensor)
    pieces = tt.get_idx_list(node.inputs, node.op.idx_list)
    assert pieces == tt.unflatten_index_variables(node.inputs[1:], node.op.idx_list) == (slice(i, None), slice(1, 3))
    np.testing.assert_array_equal(x[pieces].eval({x: X, i: 2}), X[2:, 1:3])


def test_literal_of_an_index_is_what_it_is_in_python() -> None:
    assert tt.as_index_literal(tt.constant(3)) == 3
    assert tt.as_index_literal(slice(tt.constant(1), None)) == slice(1, None)
    assert tt.as_index_literal(tt.make_slice(1, 2)) == slice(1, 2)
    assert tt.as_index_literal(tt.NoneConst) is None
    with pytest.raises(tt.NotScalarConstantError, match="not known when the graph is built"):
        tt.as_index_literal(i)


def test_canonical_slice_picks_the_same_in_ascending_order() -> None:
    names = [tt.lscalar(name) for name in ("n", "start", "stop", "step")]
    canonical, direction = tt.get_canonical_form_slice(slice(*names[1:]), names[0])
    assert isinstance(canonical, slice)
    run = function(names, [canonical.start, canonical.stop, canonical.step, direction], mode="VM")
    for n, start, stop, step in itertools.product((0, 4, 5), (-7, -3, 0, 2, 9), (-7, -3, 0, 5, 9), (-3, -1, 1, 2)):
        expected = list(range(n))[start:stop:step]
        known, way = tt.get_canonical_form_slice(slice(start, stop, step), n)
        assert isinstance(known, slice)
        bounds = [tt.as_index_literal(b) for b in (known.start, known.stop, known.step)]
        assert np.arange(n)[slice(*bounds)][:: int(str(way))].tolist() == expected
        first, last, stride, turn = (int(v) for v in run(n, start, stop, step))
        assert list(range(n))[first:last:stride][::turn] == expected


def test_shape_of_a_result_needs_no_tensor() -> None:
    rows, columns = tt.indexed_result_shape((5, 4), (slice(i, None), slice(0, 3)))
    assert (rows.eval({i: 2}), columns.eval({i: 2})) == (3, 3)
    assert tt.slice_at_axis(slice(1, 3), -2) == (..., slice(1, 3), slice(None))
