"""Boolean masks that are known only when the program runs."""

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import LoweringError, VectorizeError, vectorize_graph

X = np.arange(-6.0, 6.0).reshape(3, 4)
x = tt.dmatrix("x")
rows = tt.vector("rows", dtype="bool")


def op_names(value: tt.TensorVariable) -> set[str]:
    from treadle.graph import toposort

    return {type(node.op).__name__ for node in toposort([value])}


def test_write_of_one_value_is_a_choice_between_whole_tensors() -> None:
    for written in (x[x > 0].set(1.0), x[x > 0].inc(2), x[rows].set(np.zeros(4)), x[rows].inc(np.ones((1, 1)))):
        assert "AdvancedIncSubtensor" not in op_names(written)


def test_write_of_a_value_for_each_element_is_not() -> None:
    assert "AdvancedIncSubtensor" in op_names(x[x > 0].set(tt.dvector()))


@pytest.mark.parametrize("mode", ["VM", "C"])
@pytest.mark.parametrize("build", [lambda: x[rows], lambda: x[rows].set(0.0)])
def test_mask_of_another_length_is_an_error(build: object, mode: str) -> None:
    run = function([x, rows], build(), mode=mode)  # type: ignore[operator]  # a function
    with pytest.raises(IndexError, match=r"a mask of length 4 .* for a dimension of length 3"):
        run(X, np.ones(4, bool))


def test_values_of_another_number_are_an_error() -> None:
    v = tt.dvector("v")
    run = function([x, v], x[x > 0].set(v), mode="C")
    np.testing.assert_array_equal(run(X, np.arange(5.0)), np.where(X > 0, X - 1, X))
    with pytest.raises(ValueError, match="shape"):
        run(X, np.arange(4.0))


def test_jax_refuses_a_length_that_depends_on_data_by_name_and_line() -> None:
    pytest.importorskip("jax")
    with pytest.raises(LoweringError, match=r"Nonzero of .*test_masks\.py.*known only when(.|\n)*size=n"):
        function([x], x[x > 0], mode="JAX")


def test_masks_that_differ_along_a_batch_are_refused() -> None:
    with pytest.raises(VectorizeError, match="would differ along the batch"):
        vectorize_graph(x[x > 0], {x: tt.dtensor3()})


def test_writes_by_masks_are_batched() -> None:
    wide = tt.dtensor3("wide")
    run = function([wide], vectorize_graph(x[x > 0].set(9.0), {x: wide}), mode="VM")
    both = np.stack([X, -X])
    np.testing.assert_array_equal(run(both), np.where(both > 0, 9.0, both))


def test_choices_and_positions_out_of_bounds_are_errors() -> None:
    k = tt.lvector("k")
    with pytest.raises(ValueError, match="no choice"):
        function([k], tt.choose(k, [1, 2]), mode="VM")(np.array([0, -1]))
    with pytest.raises(ValueError, match="out of bounds"):
        function([k], tt.unravel_index(k, (2, 3)), mode="VM")(np.array([6]))
    with pytest.raises(ValueError, match="negative"):
        function([k], tt.bincount(k), mode="VM")(np.array([1, -1]))
    m = tt.dmatrix("m")
    diagonal = function([m], tt.diag_indices_from(m), mode="VM")
    np.testing.assert_array_equal(diagonal(np.ones((2, 2))), [[0, 1], [0, 1]])
    for shape in ((2, 3), (3, 2)):
        with pytest.raises(ValueError, match="diag_indices_from: all lengths of the tensor must be equal"):
            diagonal(np.ones(shape))
