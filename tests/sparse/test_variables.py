"""Sparse matrices as inputs, constants, shared variables and results, and the errors of what does not fit."""

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import treadle.sparse as ts
import treadle.tensor as tt
from treadle.compile import function, shared
from treadle.graph import LoweringError

A = sp.random(5, 7, density=0.4, format="csr", random_state=1)
MODES = ["FAST_COMPILE", "VM", "C"]


def test_types_are_equal_by_format_dtype_and_shape() -> None:
    kind = ts.SparseTensorType("csr", "float64", (None, 3))
    assert kind == ts.SparseTensorType("csr", "float64", shape=(None, 3))
    assert kind != kind.clone(format="csc")
    assert ts.SparseTensorType("csr", "float64").is_super(kind)
    assert not kind.is_super(ts.SparseTensorType("csr", "float64"))
    assert pickle.loads(pickle.dumps(kind)) == kind
    assert str(kind) == "Sparse(float64, shape=(?, 3), csr)"
    assert ts.csr_matrix("x").type == ts.SparseTensorType("csr", "floatX")
    assert ts.matrix("csc", "x", "int64", (2, 3)).type.shape == (2, 3)
    assert ts.dcsr_matrix("x").type is ts.csr_dmatrix


@pytest.mark.parametrize("value", [A, sp.csr_array(A), A.tocsc(), sp.csc_array(A)])
def test_matrices_and_arrays_of_scipy_become_constants_and_shared_variables(value: Any) -> None:
    constant = ts.as_sparse(value, name="k")
    held = shared(value, name="w")
    assert (constant.format, held.format) == (value.format, value.format)
    assert isinstance(held, ts.SparseTensorSharedVariable)
    assert constant.type.shape == (5, 7)
    product = function([], ts.dot(constant, held.T), mode="C")()
    np.testing.assert_allclose(product, (A @ A.T).toarray())


def test_constant_is_a_copy() -> None:
    value = A.copy()
    constant = ts.as_sparse(value)
    value.data[:] = 0
    assert constant.data.sum() == A.sum()


@pytest.mark.parametrize("mode", MODES)
def test_shared_matrix_is_updated(mode: str) -> None:
    held = ts.shared(A, format="csc")
    step = function([], held.sum(), updates={held: held * 0.5}, mode=mode)
    np.testing.assert_allclose([step(), step()], [A.sum(), A.sum() / 2])
    assert held.get_value().format == "csc"
    np.testing.assert_allclose(held.get_value().toarray(), A.toarray() / 4)


@pytest.mark.parametrize("mode", MODES)
def test_result_shares_no_memory_with_arguments(mode: str) -> None:
    x = ts.csr_dmatrix("x")
    data, same, transposed = function([x], [ts.csm_data(x), x, x.T], mode=mode)(A)
    for array in (data, same.data, transposed.data):
        assert not np.may_share_memory(array, A.data)
    assert not np.may_share_memory(data, same.data)


@pytest.mark.parametrize("mode", MODES)
def test_a_sum_does_not_sort_its_argument(mode: str) -> None:
    indices = np.array([2, 0, 3, 1, 2], "int32")
    unsorted = sp.csr_matrix((np.arange(1.0, 6.0), indices.copy(), [0, 2, 2, 5]), (3, 4))
    x = ts.csr_dmatrix("x")
    np.testing.assert_allclose(function([x], x.sum(1), mode=mode)(unsorted), [3, 0, 12])
    np.testing.assert_array_equal(unsorted.indices, indices)


@pytest.mark.parametrize("mode", MODES)
def test_repeated_positions_add_up(mode: str) -> None:
    x, y = ts.csr_dmatrix("x"), ts.csr_dmatrix("y")
    twice = sp.csr_matrix((np.array([1.0, 2.0, 4.0]), [1, 1, 0], [0, 2, 2, 3]), (3, 3))
    other = sp.csr_matrix(np.eye(3) + 1)
    expected = twice.toarray()
    outputs = [x.toarray(), (x + y).toarray(), (x * y).toarray(), ts.diag(x), x[0, 1]]
    results = function([x, y], outputs, mode=mode)(twice, other)
    wanted = [expected, expected + other, other.multiply(expected).toarray(), np.diag(expected), 3.0]
    for result, value in zip(results, wanted, strict=True):
        np.testing.assert_allclose(result, value)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (3, 4)])
def test_matrices_without_elements_work(mode: str, shape: tuple[int, int]) -> None:
    x, y = ts.csr_dmatrix("x"), tt.dmatrix("y")
    empty = sp.csr_matrix(shape)
    dense = np.ones((shape[1], 2))
    outputs = [x @ y, x + x, x * x, x.sum(0), x.toarray(), x.T, ts.vstack([x, x]), x[::-1]]
    values = function([x, y], outputs, mode=mode)(empty, dense)
    assert [value.shape for value in values] == [
        (shape[0], 2), shape, shape, (shape[1],), shape, shape[::-1], (2 * shape[0], shape[1]), shape,
    ]  # fmt: skip
    assert all(value.sum() == 0 for value in values)


# On Numba the records are checked.
@pytest.mark.parametrize("mode", ["VM", "C"])
def test_product_of_sparse_matrices_stores_sorted_positions_each_once(mode: str) -> None:
    left, right = ts.csr_dmatrix("left"), ts.csr_dmatrix("right")
    compute = function([left, right], ts.true_dot(left, right), mode=mode)
    for shapes in ((6, 5, 90), (6, 5, 4), (0, 3, 2), (3, 0, 2)):
        x, y = (sp.random(*s, density=0.5, format="csr", random_state=0) for s in (shapes[:2], shapes[1:]))
        for line in range(x.shape[0]):
            # Positions may be in any order.
            own = slice(*x.indptr[line : line + 2])
            x.indices[own], x.data[own] = x.indices[own][::-1].copy(), x.data[own][::-1].copy()
        expected = x @ y
        expected.sort_indices()
        found = compute(x, y)
        np.testing.assert_array_equal(found.indptr, expected.indptr)
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_allclose(found.data, expected.data)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "complex128"])
def test_other_dtypes_are_computed_in_their_own_arithmetic(dtype: str) -> None:
    value = sp.csr_matrix((A * 10).astype(dtype)) * (1j if dtype.startswith("complex") else 1)
    value = sp.csr_matrix(value.astype(dtype))
    x = ts.csr_matrix("x", dtype)
    outputs = [x @ x.T, (x + x.tocsc()).toarray(), (x * x).toarray(), x.sum(0)]
    full = value.toarray()
    expected = [(value @ value.T).toarray(), full + full, full * full, full.sum(0, dtype=dtype)]
    for mode in ("VM", "C"):
        for result, wanted in zip(function([x], outputs, mode=mode)(value), expected, strict=True):
            assert result.dtype == dtype
            np.testing.assert_allclose(result, wanted, rtol=1e-5)


def test_plain_numbers_take_the_dtype_of_the_matrix() -> None:
    x = ts.csr_matrix("x", "float32")
    assert (x * 2.5).dtype == "float32"
    assert (2 * x).dtype == "float32"
    assert (x / 3).dtype == "float32"
    assert (ts.csr_matrix("n", "int64") * 0.5).dtype == "float64"


def test_dense_from_sparse_of_sparse_from_dense_is_the_dense_matrix() -> None:
    y = tt.dmatrix("y")
    compute = function([y], ts.dense_from_sparse(ts.csr_from_dense(y)) + 1, mode="VM")
    assert [type(node.op).__name__ for node in compute.maker.fgraph.apply_nodes] == ["Elemwise"]


def test_parts_of_a_matrix_made_of_parts_are_these() -> None:
    data = tt.dvector("data")
    matrix = ts.CSR(data, A.indices, A.indptr, A.shape)
    compute = function([data], ts.csm_data(matrix) * 2, mode="VM")
    assert [type(node.op).__name__ for node in compute.maker.fgraph.apply_nodes] == ["Elemwise"]


@pytest.mark.parametrize("mode", MODES)
def test_a_loop_takes_a_sparse_matrix(mode: str) -> None:
    w, start = ts.csr_dmatrix("w"), tt.dvector("start")
    square = sp.random(4, 4, density=0.5, format="csr", random_state=0)
    states = tt.scan(
        lambda h, matrix: tt.tanh(ts.dot(matrix, h)), outputs_info=[start], non_sequences=[w], n_steps=3,
        return_updates=False,
    )  # fmt: skip
    h, expected = np.ones(4), []
    for _ in range(3):
        h = np.tanh(square @ h)
        expected.append(h)
    np.testing.assert_allclose(function([w, start], states, mode=mode)(square, np.ones(4)), expected)


STEPS: dict[str, Any] = {
    "regular": lambda h, matrix: tt.tanh(ts.dot(matrix, h)),
    "structured": lambda h, matrix: tt.tanh(ts.structured_dot(matrix, h[:, None])[:, 0]),
    "of another pattern": lambda h, matrix: tt.tanh(ts.true_dot(matrix, matrix).toarray() @ h),
}


def test_derivatives_by_a_sparse_matrix_that_a_loop_takes_are_those_of_its_steps() -> None:
    square = sp.random(4, 4, density=0.5, format="csr", random_state=0)
    data, w, start, move = tt.dvector("data"), ts.csr_dmatrix("w"), tt.dvector("start"), tt.dvector("move")
    made = ts.CSR(data, square.indices, square.indptr, square.shape)
    pairs, moves = [], []
    for step in STEPS.values():
        for matrix, wrt in ((w, w), (made, data)):
            looped = tt.scan(step, outputs_info=[start], non_sequences=[matrix], n_steps=2, return_updates=False)[-1]
            unrolled = start
            for _ in range(2):
                unrolled = step(unrolled, matrix)
            pairs += [tt.grad((x * start).sum(), wrt) for x in (looped, unrolled)]
            if wrt is data and step is STEPS["structured"]:
                moves += [tt.pushforward(x, data, move) for x in (looped, unrolled)]
    compute = function([data, w, start, move], [*pairs, *moves], mode="FAST_COMPILE")
    values = compute(square.data, square, np.arange(1.0, 5.0), np.arange(len(square.data)))
    found = [x.toarray() if sp.issparse(x) else x for x in values]
    assert [sp.issparse(x) for x in values[:10:2]] == [False, False, True, False, False]
    for loop, steps in zip(found[::2], found[1::2], strict=True):
        np.testing.assert_allclose(loop, steps, rtol=1e-12, atol=1e-14)
    compiled = function([w, start], [pairs[0], pairs[4]], mode="C")(square, np.arange(1.0, 5.0))
    for loop, steps in zip(compiled, (found[0], found[4]), strict=True):
        np.testing.assert_allclose(loop.toarray() if sp.issparse(loop) else loop, steps, rtol=1e-12)


def test_backends_that_trace_refuse_patterns_found_at_run_time() -> None:
    x, y = ts.csr_dmatrix("x"), ts.csr_dmatrix("y")
    with pytest.raises(LoweringError, match="how many elements a sum or product of sparse matrices stores"):
        function([x, y], x + y, mode="JAX")


def test_jax_multiplies_sparse_matrices() -> None:
    x, y = ts.csr_dmatrix("x"), tt.dmatrix("y")
    dense = np.arange(14.0).reshape(7, 2)
    np.testing.assert_allclose(function([x, y], x @ y, mode="JAX")(A, dense), A @ dense)


# Errors

x = ts.csr_matrix("x", "float64", (3, 4))
REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "format": (lambda: ts.matrix("coo", "x"), ValueError, "must be 'csr' or 'csc', got 'coo'"),
    "dtype": (lambda: ts.csr_matrix("x", "float16"), TypeError, "must be one of"),
    "bool": (lambda: ts.as_sparse(A != 0), TypeError, "must be one of .* got bool"),
    "coo": (lambda: ts.as_sparse(A.tocoo()), ValueError, "tocsr"),
    "rank": (lambda: ts.SparseTensorType("csr", "float64", (3,)), ValueError, "two lengths"),
    "dense": (lambda: ts.as_sparse(np.eye(3)), TypeError, "csr_matrix"),
    "tensor": (lambda: ts.as_sparse(tt.dmatrix("y")), TypeError, "csr_from_dense"),
    "as tensor": (lambda: tt.exp(x), TypeError, "dense_from_sparse"),
    "no sparse": (lambda: ts.add(np.eye(3), np.eye(3)), TypeError, "treadle.tensor"),
    "shapes": (lambda: ts.add(x, ts.csr_matrix("y", "float64", (4, 3))), ValueError, "one shape"),
    "inner": (lambda: ts.dot(x, x), ValueError, "inner lengths"),
    "vector": (lambda: x + tt.dvector("v"), ValueError, "rank 2"),
    "axis": (lambda: ts.sp_sum(x, 2), ValueError, "None, 0 or 1, got 2"),
    "row": (lambda: x[0], IndexError, "no sparse vectors"),
    "iteration": (lambda: list(x), TypeError, "iterated"),
    "scale": (lambda: ts.row_scale(x, tt.vector("s", shape=(4,))), ValueError, "length 3"),
    "diag": (lambda: ts.diag(x), ValueError, "square"),
    "division": (lambda: ts.divide(x, x), TypeError, "dense divisor"),
    "positions": (lambda: ts.CSR(tt.dvector("d"), [0.5], [0, 1], (1, 1)), TypeError, "integers"),
    "empty": (lambda: ts.hstack([]), ValueError, "empty list"),
    "sampling": (lambda: ts.sampling_dot(x, x, x), TypeError, "x must be dense"),
    "two scalars": (lambda: ts.structured_pow(x, tt.dvector("v")), ValueError, "a scalar is needed"),
    "method": (lambda: x.cos(0), AttributeError, "toarray"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name: str) -> None:
    make, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        make()


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
@pytest.mark.parametrize(
    ("indices", "indptr"), [([0, 9], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 1], [0, 2, 1]), ([0, 1], [1, 1, 2])]
)
def test_wrong_arrays_are_refused_when_the_program_runs(mode: str, indices: list[int], indptr: list[int]) -> None:
    i, p, data = tt.ivector("i"), tt.ivector("p"), tt.dvector("data")
    matrix = ts.CSR(data, i, p, (2, 3))
    compute = function([data, i, p], ts.structured_dot(matrix, np.ones((3, 2))), mode=mode)
    with pytest.raises(ValueError, match="the arrays describe no matrix"):
        compute([1.0, 2.0], np.array(indices, "int32"), np.array(indptr, "int32"))


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_shapes_that_differ_when_the_program_runs_are_refused(mode: str) -> None:
    left, right = ts.csr_dmatrix("left"), ts.csr_dmatrix("right")
    compute = function([left, right], left + right, mode=mode)
    with pytest.raises(ValueError, match="two matrices of one shape are needed"):
        compute(A, A[:1])
    with pytest.raises((ValueError, AssertionError), match=r"one shape|describe no matrix"):
        compute(A, A[:, :1])


def test_dense_argument_is_converted_where_that_is_not_excluded() -> None:
    kind = ts.SparseTensorType("csr", "float32")
    assert kind.filter(np.eye(3, dtype="float32")).nnz == 3
    assert kind.filter(np.eye(3), allow_downcast=True).dtype == np.float32
    with pytest.raises(TypeError, match="float32"):
        kind.filter(np.eye(3))
    with pytest.raises(TypeError, match=r"strict.*got ndarray"):
        kind.filter(np.eye(3, dtype="float32"), strict=True)


def test_argument_of_another_kind_is_refused() -> None:
    compute = function([ts.csr_dmatrix("x")], [], mode="VM", on_unused_input="ignore")
    with pytest.raises(TypeError, match="would lose precision"):
        compute(A.astype("complex128"))
    with pytest.raises(TypeError, match="rank does not fit"):
        compute(np.ones(3))
