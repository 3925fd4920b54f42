"""Nodes that one call of PyTorch's computes together with those that prepare their inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_torch.programs import Recorded, check, link, sample, tensor
from treadle.compile import function
from treadle.config import config

A, B, v, w = tt.dmatrix("A"), tt.dmatrix("B"), tt.dvector("v"), tt.dvector("w")
MATRIX, VECTOR = sample("float64", (3, 4)), sample("float64", (4,))
centred = A - A.mean(1, keepdims=True)
VALUES: dict[Any, Any] = {A: MATRIX, B: 2 - MATRIX, v: VECTOR, w: 1 - VECTOR}


def calls(inputs: list[Any], output: Any) -> int:
    """Return how many calls the generated function makes of those that compute tensors."""
    program: Any = function(inputs, output, mode="PYTORCH").program
    source: str = program.source
    return sum(line.lstrip().startswith(("v", "e")) for line in source.splitlines())


@pytest.mark.parametrize(
    ("inputs", "output", "count"),
    [
        ([A, v], A @ v, 1),
        ([A, v], v @ A.T, 2),
        ([v, w], v @ w, 1),
        ([A], A.mean(0), 2),
        ([A], A.mean(), 2),
        ([A, B], A @ B.T, 2),
        ([A], tt.clip(A, -0.5, 0.25), 1),
        ([A], tt.maximum(tt.minimum(A, 0.25), -0.5), 1),
        ([A], tt.maximum(tt.minimum(A, -0.5), 0.25), 2),
        ([A], A**3, 1),
        ([A], tt.norm(A), 1),
        ([A], tt.norm(A, axis=1), 1),
        ([v], tt.norm(v) * 2, 2),
        ([A], A.std(), 1),
        ([A], A.var(1, keepdims=True), 1),
        ([A], A.std(0, ddof=1), 1),
        ([A, v, w], centred / tt.sqrt(A.var(1, keepdims=True) + 1e-5) * v + w, 1),
        ([A], centred / tt.sqrt(A.var(1, keepdims=True) + 1e-5), 1),
        ([A], tt.nan_to_num(A, nan=1.0), 1),
        ([A, B], tt.stack([A, B], axis=1), 1),
        ([A, v], tt.concatenate([A, v[None, :]]), 2),
        ([v], tt.sort(v)[:2], 1),
        ([A], tt.argsort(A, axis=1)[:, -2:], 1),
        ([A], tt.any(tt.isnan(A)), 2),
        ([v], v[::-1], 1),
        ([A], A[1::-1, ::2], 1),
        ([A], tt.tril(A), 1),
        ([A], tt.triu(A, -1), 1),
        ([A], tt.tril(A, 1) + tt.triu(A, 2), 3),
        ([v], tt.roll(v, 3), 1),
        ([A], tt.roll(A, -1, axis=1), 1),
        ([A], tt.pad(A, ((1, 2), (0, 3))), 4),
    ],
)
def test_functions_that_pytorch_has_for_several_nodes_take_one_call(inputs: list[Any], output: Any, count: int) -> None:
    assert calls(inputs, output) == count
    check(inputs, [output], [VALUES[x] for x in inputs])


@pytest.mark.parametrize("dtype", ["int64", "float16", "float32", "complex128", "bool"])
def test_products_and_means_of_every_dtype(dtype: str) -> None:
    a, x = tensor(dtype, 2, "a"), tensor(dtype, 1, "x")
    values = [sample(dtype, (3, 4)), sample(dtype, (4,), 1)]
    if dtype == "int64":
        values = [np.clip(value, -9, 9) for value in values]
    outputs = [a @ x, x @ a.T, x @ x, a.mean(0), a.mean(), (a * 2.0) * a.shape[1], a.shape[0] * (a * 2.0)]
    check([a, x], outputs, values)


def test_a_product_that_is_used_as_a_matrix_too_stays_one() -> None:
    product = A @ v[:, None]
    check([A, v], [product[:, 0], product], [VALUES[A], VALUES[v]])
    check([A, v], [product[:, 0] + product.sum()], [VALUES[A], VALUES[v]])


def test_vectors_without_elements_and_lengths_that_differ() -> None:
    check([A, v], [A @ v, v @ v], [np.zeros((3, 0)), np.zeros(0)])
    with pytest.raises(ValueError, match="not aligned"):
        link([A, v], [A @ v])(np.zeros((3, 2)), np.zeros(3))


def test_elementwise_functions_take_no_calls_for_first_dimensions() -> None:
    number = tt.dscalar("number")
    values = [MATRIX, VECTOR, np.array(0.5)]
    shifted = (A * number + v) / tt.exp(number)
    assert calls([A, v, number], shifted) == 4
    check([A, v, number], [shifted, tt.maximum(number, v), number * A[:1]], values)
    # One operand keeps the rank of the result.
    raised = number.dimshuffle("x", "x") * tt.exp(number).dimshuffle("x", "x")
    check([A, v, number], [raised, v[None, :] + number.dimshuffle("x", "x"), v[:, None] + v[None, :]], values)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64", "complex128"])
def test_clips_cubes_and_norms_of_every_dtype_and_of_what_is_not_a_number(dtype: str) -> None:
    x = tensor(dtype, 2, "x")
    values = np.clip(sample(dtype, (3, 4)), -9, 9) if dtype == "int64" else sample(dtype, (3, 4))
    outputs = [x**3, tt.norm(x, axis=1), tt.norm(x)]
    outputs += [] if dtype == "complex128" else [tt.clip(x, -1, 2)]
    check([x], outputs, [values])
    if dtype == "float32":
        for number in (np.nan, np.inf, -np.inf, 0.0):
            check([x], outputs, [np.full((2, 2), number, dtype)])
        check([x], outputs, [values], compiled=True)


def test_a_norm_whose_square_is_used_too_is_one_of_the_same_square() -> None:
    size = tt.norm(v)
    check([v], [size, (v**2).sum(), tt.grad(size, v)], [VECTOR])
    check([v], [size, tt.grad(size, v)], [np.zeros(4)])


@pytest.mark.filterwarnings("ignore:Degrees of freedom:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (0, 3), (3, 0), (70, 80)])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_spreads_are_those_of_numpy_for_all_lengths_and_degrees_of_freedom(
    shape: tuple[int, int], axis: int | None
) -> None:
    values = sample("float64", shape)
    known = tt.tensor("known", dtype="float64", shape=shape)
    for x in (A, known):
        for ddof, keeps in ((0, False), (1, True), (2, False)):
            kinds: list[Any] = [x.std(axis, ddof=ddof, keepdims=keeps), x.var(axis, ddof=ddof, keepdims=keeps)]
            results = link([x], kinds)(values)
            for name, got in zip(("std", "var"), results, strict=True):
                want = getattr(values, name)(axis=axis, ddof=ddof, keepdims=keeps)
                np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
def test_spreads_of_every_dtype_and_of_what_is_not_a_number(dtype: str) -> None:
    x = tensor(dtype, 2, "x")
    outputs = [x.std(), x.var(0), x.var(1, ddof=1)]
    check([x], outputs, [sample(dtype, (3, 4))])
    if dtype == "float32":
        check([x], outputs, [np.array([[np.nan, 1, 2], [np.inf, 1, 2]], dtype)])
        check([x], outputs, [sample(dtype, (3, 4))], compiled=True)


@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (3, 1), (0, 4), (3, 0)])
def test_normalized_rows_are_those_of_the_formula(shape: tuple[int, int]) -> None:
    values = sample("float64", shape)
    core = centred / tt.sqrt(A.var(1, keepdims=True) + 1e-5)
    # The last of them is normalized along the columns, which PyTorch has no function for.
    columns = (A - A.mean(0)) / tt.sqrt(A.var(0) + 1e-5)
    outputs = [core * v + w, w + v * core, core + v, columns * v + w]
    for output in (*outputs, core * v + w + core, tt.grad((core * v + w).sum() ** 2, A)):
        for scale in (np.arange(1.0, shape[1] + 1), np.full(1, 0.5)):
            f, expected = (
                function([A, v, w], output, mode=mode, on_unused_input="ignore") for mode in ("PYTORCH", "VM")
            )
            given = (values, scale, scale - 2)
            np.testing.assert_allclose(f(*given), expected(*given), rtol=1e-9, atol=1e-12)
    f = function([A, v, w], core * v + w, mode="PYTORCH")
    if values.size:
        values[0, 0] = np.inf
        assert np.isnan(f(values, np.ones(shape[1]), np.ones(shape[1]))[0]).all()


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
def test_rows_are_normalized_beside_a_scale_of_another_dtype(dtype: str) -> None:
    for of, by in ((dtype, "float64"), ("float64", dtype)):
        x, scale = tensor(of, 2, "x"), tensor(by, 1, "scale")
        normal = (x - x.mean(1, keepdims=True)) / tt.sqrt(x.var(1, keepdims=True) + 1e-3) * scale + scale
        f, expected = (function([x, scale], normal, mode=mode) for mode in ("PYTORCH", "VM"))
        given = sample(of, (3, 4)), sample(by, (4,))
        np.testing.assert_allclose(f(*given), expected(*given), rtol=1e-2 if "float16" in {of, by} else 1e-5)


def test_what_only_looks_like_a_variance_is_none() -> None:
    spread = A.std()
    check([A], [spread, tt.grad(spread, A), A - A.mean(), (A - A.mean()) ** 2, A.var()], [MATRIX])
    check([A], [((A - A.sum() / 5) ** 2).sum() / 12.0, ((A - A.sum(0) / 3.0) ** 2).sum(1) / 4.0], [MATRIX])
    check([A], [((A - A.sum(0) / A.shape[1]) ** 2).sum(0) / A.shape[0]], [MATRIX])


def numbers(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(np.prod(shape), dtype="float64").reshape(shape) - 5


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1), (3, 4), (5, 2), (150, 130)])
@pytest.mark.parametrize("compiled", [False, True])
def test_elements_are_arranged_as_numpy_does_for_all_lengths(shape: tuple[int, int], compiled: bool) -> None:
    outputs = [A[::-1], A[:, ::-1], A[::-1, ::-1], A[-2::-2, 1:], A[1:0:-1], A[::-1].T]
    outputs += [tt.tril(A, k) for k in (-2, 0, 1, 9)] + [tt.triu(A, k) for k in (-2, 0, 1, -9)]
    outputs += [tt.roll(A, k, axis=0) for k in (0, 2, -3, 7)] + [tt.roll(A, (1, 2), axis=(0, 1)), tt.roll(A, 5)]
    outputs += [tt.concatenate([A[k:], A[:k]]) for k in (2, -2, 400, -400)]
    outputs += [tt.pad(A, ((1, 2), (3, 0))), tt.pad(A, ((0, 4), (1, 1)), constant_values=np.nan)]
    if min(shape) > 1:
        outputs += [tt.pad(A, ((1, 1), (1, 0)), mode=mode) for mode in ("edge", "reflect", "symmetric", "wrap")]
    check([A], outputs, [numbers(shape)], compiled=compiled)


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (1, 4), (130, 140)])
def test_arranged_results_are_in_memory_of_their_own(shape: tuple[int, int]) -> None:
    torch = pytest.importorskip("torch")
    outputs = [A[::-1], A[1:0:-1], A[::-1, :1], tt.tril(A), tt.triu(A, -300), tt.roll(A, 0, axis=0), tt.pad(A, 0)]
    outputs += [tt.concatenate([tt.concatenate([A, A], axis=1), tt.concatenate([A, A], axis=1)])]
    with config.change_flags(torch__device_outputs=True, torch__compile=False):
        f = function([A], outputs, mode="PYTORCH")
    x = torch.from_numpy(numbers(shape))
    before = x.clone()
    results = f(x)
    for result in results:
        result.fill_(7)
    assert torch.equal(x, before)
    assert all(bool((result == 7).all()) for result in results)


def test_joins_of_joins_refuse_lengths_that_differ() -> None:
    joined = tt.concatenate([tt.concatenate([A, B], axis=1), tt.concatenate([B, A], axis=1)])
    program = link([A, B], [joined])
    check([A, B], [joined], [numbers((100, 90)), numbers((100, 90))])
    for shape in ((1, 90), (99, 90), (1, 1)):
        with pytest.raises(ValueError, match=r"lengths|shape|dimension"):
            program(numbers((100, 90)), numbers(shape))


def test_what_only_looks_like_a_triangle_is_none() -> None:
    rows, columns = tt.arange(A.shape[0])[:, None], tt.arange(A.shape[1])[None, :]
    outputs = [tt.switch(rows >= columns, A, -0.0), tt.switch(rows >= columns, A, 1.0), tt.switch(rows > columns, A, 0)]
    outputs += [tt.switch(rows >= columns, 0.0, A), tt.switch(rows >= tt.arange(B.shape[1])[None, :], A, 0.0)]
    outputs += [tt.switch(tt.arange(1, A.shape[0] + 1)[:, None] >= columns, A, 0.0)]
    assert calls([A], outputs[0]) == calls([A], outputs[1]) > 1
    check([A, B], outputs, [MATRIX, MATRIX])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64"])
def test_extrema_and_their_positions_are_found_at_once(axis: int, dtype: str) -> None:
    x = tensor(dtype, 2, "x")
    outputs = [tt.max(x, axis), tt.argmax(x, axis), tt.argmin(x, axis), tt.min(x, axis), tt.argmax(x, 1 - axis % 2)]
    values = np.array([[3, 1, 3, 2], [3, 9, -9, 2], [0, 1, -9, 2]]).astype(dtype)
    check([x], outputs, [values])
    check([x], outputs, [values], compiled=True)
    if dtype.startswith("float"):
        values[1, 1:3] = values[0, 2] = np.nan
        check([x], outputs, [values])
        check([x], [outputs[1] * 2, outputs[0] + 1, outputs[0]], [values])
    source: str = function([x], outputs[:2], mode="PYTORCH").program.source  # type: ignore[attr-defined]  # PyTorch's
    assert source.count(" = f") == (1 if dtype in {"float64", "float32"} else 2)


@pytest.mark.parametrize("n", [0, 1, 3, 100])
@pytest.mark.parametrize("kind", ["distinct", "equal", "NaN", "integers"])
def test_the_ends_of_what_is_sorted_are_those_of_numpy(n: int, kind: str) -> None:
    x = tensor("int64" if kind == "integers" else "float64", 1, "x")
    values = np.random.default_rng(n).permutation(n).astype(x.type.dtype) - 5
    if kind == "equal":
        values = values // 2
    if kind == "NaN":
        values[::7] = np.nan
    for part in (slice(3), slice(-3, None), slice(None, -4, -1), slice(-1, -3, -1), slice(0, 1), slice(2, None)):
        # Each in a program of its own, since what is sorted as a whole anyway is not searched.
        ordered: Any
        for ordered in (tt.sort(x), tt.argsort(x)):
            check([x], [ordered[part]], [values])
            rows = ordered.owner.op(tt.stack([x, x[::-1]], axis=1))
            check([x], [rows[part]], [values])
    check([x], [tt.sort(x), tt.argsort(x)], [values])
    check([x], [tt.argsort(x), tt.sort(x), tt.sort(x)[:2]], [values])


def test_few_of_many_elements_are_found_without_sorting_all() -> None:
    with config.change_flags(torch__compile=False):
        f = function([v], [tt.sort(v)[-3:], tt.topk(v, 4)[0]], mode="PYTORCH")
    with Recorded() as recorded:
        assert [x.tolist() for x in f(np.arange(100.0) % 37)] == [[35, 36, 36], [36, 36, 35, 35]]
    assert recorded.names.count("topk") == 2
    # The largest four of these are not all different.
    assert recorded.names.count("sort") == 1


def test_values_are_sorted_and_their_order_found_at_once() -> None:
    with config.change_flags(torch__compile=False):
        f = function([v], [tt.argsort(v), tt.sort(v), tt.sort(-v)], mode="PYTORCH")
    with Recorded() as recorded:
        assert [x.tolist() for x in f(np.array([2.0, 0, 2, 1]))] == [[1, 3, 0, 2], [0, 1, 2, 2], [-2, -2, -1, 0]]
    assert recorded.names.count("sort") == 2


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
def test_what_is_not_a_number_is_found_and_replaced(dtype: str) -> None:
    x = tensor(dtype, 1, "x")
    outputs = [tt.isnan(x), tt.any(tt.isnan(x)), tt.isinf(x), tt.isfinite(x)]
    if dtype != "complex128":
        outputs += [tt.isposinf(x), tt.isneginf(x), tt.nan_to_num(x), tt.nan_to_num(x, nan=1, posinf=2, neginf=3)]
    values = [np.array([np.nan, np.inf, -np.inf, 0, -0.0, 2], dtype)]
    check([x], outputs, values)
    check([x], outputs, values, compiled=dtype == "float32")


def test_extrema_of_no_elements_are_refused_with_their_positions() -> None:
    program = link([A], [tt.max(A, 1), tt.argmax(A, 1)])
    with pytest.raises(ValueError, match=r"empty|no element|zero-size"):
        program(np.zeros((3, 0)))
