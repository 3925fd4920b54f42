"""Ops of linear algebra that overwrite their operands: when they do, that results are the same, and what stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import In, Out, function, shared
from treadle.graph import DestroyHandler, FunctionGraph, InconsistencyError, NodeError
from treadle.tensor import MatrixError
from treadle.testing import backend_names, find_backend

if TYPE_CHECKING:
    from collections.abc import Callable

WORKING = [mode for mode in ("VM", "C", "NUMBA") if mode == "VM" or find_backend(mode.lower()).unavailable() is None]
TRACING = [m for m in ("jax", "pytorch", "array_api") if m in backend_names() and find_backend(m).unavailable() is None]
RNG = np.random.default_rng(3)


def _positive(*batch: int, n: int, dtype: str) -> np.ndarray:
    x = RNG.normal(size=(*batch, n, n))
    if np.dtype(dtype).kind == "c":
        x = x + 1j * RNG.normal(size=x.shape)
    return (x @ x.conj().swapaxes(-1, -2) + n * np.eye(n)).astype(dtype)


def _right(*batch: int, n: int, dtype: str) -> np.ndarray:
    x = RNG.normal(size=(*batch, n, 2))
    return (x + 1j * x[..., ::-1] if np.dtype(dtype).kind == "c" else x).astype(dtype)


OF_ONE: dict[str, Callable[[Any], Any]] = {
    "cholesky": tt.linalg.cholesky,
    "upper cholesky": lambda a: tt.linalg.cholesky(a, lower=False),
    "inverse": tt.linalg.inv,
    "determinant": tt.linalg.det,
    "logarithm": lambda a: tt.linalg.slogdet(a)[1],
    "lu": lambda a: tt.linalg.lu_factor(a)[0],
    "eigenvalues": tt.linalg.eigvalsh,
    "upper eigenvalues": lambda a: tt.linalg.eigvalsh(a, lower=False),
    "eigenvectors": lambda a: abs(tt.linalg.eigh(a)[1]),
    "general eigenvalues": lambda a: abs(tt.linalg.eigvals(a)).sum(-1),
    "singular values": lambda a: tt.linalg.svd(a, compute_uv=False),
    "qr": lambda a: abs(tt.linalg.QR("r")(a)),
}
OF_TWO: dict[str, Callable[[Any, Any], Any]] = {
    "solve": tt.linalg.solve,
    "symmetric": lambda a, b: tt.linalg.solve(a, b, assume_a="her"),
    "positive": lambda a, b: tt.linalg.solve(a, b, assume_a="pos"),
    "positive, lower": lambda a, b: tt.linalg.solve(a, b, assume_a="pos", lower=True),
    "triangular": lambda a, b: tt.linalg.solve_triangular(a, b, lower=True),
    "by cholesky": lambda a, b: tt.linalg.cho_solve((a, True), b),
    "by lu": lambda a, b: tt.linalg.lu_solve(tt.linalg.lu_factor(a), b),
}


def _placed(x: np.ndarray, layout: str) -> np.ndarray:
    """Return an array of the same values that lies otherwise in memory."""
    if layout == "columns":
        return x.swapaxes(-1, -2).copy().swapaxes(-1, -2)
    if layout == "reversed":
        return x[..., ::-1, :].copy()[..., ::-1, :]
    if layout == "steps":
        wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    if layout == "part":
        wide = np.full((*x.shape[:-2], x.shape[-2] + 3, x.shape[-1] + 1), np.nan, x.dtype)
        wide[..., 3:, 1:] = x
        return wide[..., 3:, 1:]
    copy = x.copy()
    copy.flags.writeable = layout != "read-only"
    return copy


LAYOUTS = ("rows", "columns", "reversed", "steps", "part", "read-only")


def _overwritten(f: Any) -> list[bool]:
    """Return for each node of linear algebra whether it overwrites something."""
    nodes = f.maker.fgraph.toposort()
    return [bool(node.op.destroy_map) for node in nodes if hasattr(node.op, "overwritable")]


KINDS = [("float64", ()), ("complex128", (3,)), ("float64", (9,)), ("float32", (9,)), ("complex64", ())]
# Compiling takes its time, on Numba most of it, and these are the same texts.
QUICK = {"VM": KINDS, "C": KINDS[:2], "NUMBA": KINDS[2:3]}
RESULTS = [
    pytest.param(mode, *kind, marks=[] if kind in QUICK[mode] else [pytest.mark.slow])
    for mode in WORKING
    for kind in KINDS
]


@pytest.mark.parametrize(("mode", "dtype", "batch"), RESULTS)
def test_results_are_those_of_operands_that_stay(mode: str, dtype: str, batch: tuple[int, ...]) -> None:
    a, b = (tt.TensorType(dtype, (None,) * (len(batch) + 2))(name) for name in "ab")
    outputs = [build(a) for build in OF_ONE.values()] + [build(a, b) for build in OF_TWO.values()]
    expected = function([a, b], outputs, mode="VM")
    tolerance = 2e-4 if dtype in {"float32", "complex64"} else 1e-10
    # One function for each op: a second reader of an operand keeps it from being overwritten.
    built = [function([In(a, mutable=True)], build(a), mode=mode) for build in OF_ONE.values()]
    built += [function([In(a, mutable=True), In(b, mutable=True)], build(a, b), mode=mode) for build in OF_TWO.values()]
    assert all(any(_overwritten(f)) for f in built)
    for n in (0, 1, 3, 20):
        x, y = _positive(*batch, n=n, dtype=dtype), _right(*batch, n=n, dtype=dtype)
        values = expected(x, y)
        for layout in LAYOUTS:
            for f, value in zip(built, values, strict=True):
                arguments = [_placed(x, layout), _placed(y, layout)][: len(f.maker.fgraph.inputs)]
                wholes = [z.base for z in arguments if layout == "part" and z.base is not None]
                around = [whole.copy() for whole in wholes]
                np.testing.assert_allclose(f(*arguments), value, rtol=tolerance, atol=tolerance)
                for whole, before in zip(wholes, around, strict=True):
                    # What lies around a part is not written.
                    np.testing.assert_array_equal(whole[..., :3, :], before[..., :3, :])
                    np.testing.assert_array_equal(whole[..., 0], before[..., 0])


@pytest.mark.parametrize("mode", WORKING)
def test_argument_that_is_read_only_or_stands_for_several_stays(mode: str) -> None:
    a, b = tt.dtensor3("a"), tt.dtensor3("b")
    f = function([In(a, mutable=True), In(b, mutable=True)], tt.linalg.solve(a, b), mode=mode)
    one, right = _positive(n=20, dtype="float64"), _right(4, n=20, dtype="float64")
    expected = np.linalg.solve(one, right)
    kept = one.copy()
    kept.flags.writeable = False
    np.testing.assert_allclose(f(kept[None], right.copy()), expected)
    np.testing.assert_array_equal(kept, one)
    # Four times the same memory, which may be written.
    spread = np.lib.stride_tricks.as_strided(one.copy(), (4, 20, 20), (0, 160, 8))
    np.testing.assert_allclose(f(spread, right.copy()), expected)
    # One matrix for four right sides, and four matrices for one.
    np.testing.assert_allclose(f(one.copy()[None], right.copy()), expected)
    several = np.stack([one * k for k in range(1, 5)])
    np.testing.assert_allclose(f(several.copy(), right[:1].copy()), np.linalg.solve(several, right[:1]))


@pytest.mark.parametrize("mode", WORKING)
def test_operand_that_is_read_elsewhere_is_not_overwritten(mode: str) -> None:
    a = tt.dmatrix("a")
    x = _positive(n=18, dtype="float64")
    inverse = np.linalg.inv(x)
    views: list[Callable[[Any], Any]] = [lambda v: v, lambda v: v.T, lambda v: v[1:], lambda v: v[::-1, ::-1]]
    for view in views:
        f = function([In(a, mutable=True)], [tt.linalg.inv(a), tt.exp(view(a))], mode=mode)
        first, second = f(x.copy())
        np.testing.assert_allclose(first, inverse)
        np.testing.assert_allclose(second, np.exp(view(x)))
        # An output that is a view is what the caller gets.
        g = function([In(a, mutable=True)], [tt.linalg.inv(a), Out(view(a), borrow=True)], mode=mode)
        first, second = g(x.copy())
        np.testing.assert_allclose(first, inverse)
        np.testing.assert_array_equal(second, view(x))
        # Both read an intermediate result.
        double = a * 2
        h = function([a], [tt.linalg.inv(double), tt.exp(view(double)), tt.linalg.cholesky(double)], mode=mode)
        first, second, third = h(x)
        np.testing.assert_allclose(first, inverse / 2)
        np.testing.assert_allclose(second, np.exp(view(2 * x)))
        np.testing.assert_allclose(third, np.linalg.cholesky(2 * x))


@pytest.mark.parametrize("mode", WORKING)
def test_matrix_that_is_both_operands_is_not_overwritten(mode: str) -> None:
    a = tt.dmatrix("a")
    x = _positive(n=18, dtype="float64")
    f = function([In(a, mutable=True)], tt.linalg.Solve()(a, a), mode=mode)
    assert _overwritten(f) == [False]
    np.testing.assert_allclose(f(x.copy()), np.eye(18), atol=1e-12)
    g = function([In(a, mutable=True)], tt.linalg.Solve()(a, a.T), mode=mode)
    assert _overwritten(g) == [False]
    np.testing.assert_allclose(g(x.copy()), np.eye(18), atol=1e-12)


@pytest.mark.parametrize("mode", WORKING)
def test_inputs_that_are_not_mutable_stay(mode: str) -> None:
    a, b = tt.dmatrix("a"), tt.dmatrix("b")
    f = function([a, b], tt.linalg.solve(a, b), mode=mode)
    x, y = _positive(n=18, dtype="float64"), _right(n=18, dtype="float64")
    before = x.copy(), y.copy()
    f(x, y)
    assert _overwritten(f) == [False]
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(y, before[1])
    # A default is needed by the next call.
    g = function([In(a, value=x, mutable=True), b], tt.linalg.solve(a, b), mode=mode)
    np.testing.assert_array_equal(g(b=y), g(b=y))


@pytest.mark.parametrize("mode", WORKING)
def test_failing_factorisation_leaves_shared_variables_as_they_were(mode: str) -> None:
    x = _positive(n=20, dtype="float64")
    # Only the last step of the factorisation fails.
    x[-1, -1] = -1
    a, count = shared(x.copy(), name="a"), shared(np.array(0.0), name="count")
    factor = tt.linalg.cholesky(a, on_error="raise")
    f = function([], factor[0, 0], updates={a: factor, count: count + 1}, mode=mode)
    for _ in range(2):
        with pytest.raises(MatrixError):
            f()
        np.testing.assert_array_equal(a.get_value(), x)
        assert count.get_value() == 0
    a.set_value(_positive(n=20, dtype="float64"))
    expected = np.linalg.cholesky(a.get_value())
    f()
    np.testing.assert_allclose(a.get_value(), expected)
    assert count.get_value() == 1


@pytest.mark.parametrize("mode", WORKING)
def test_failure_is_told_where_operands_are_overwritten(mode: str) -> None:
    a, b = tt.dmatrix("a"), tt.dmatrix("b")
    x = np.ones((20, 20))
    f = function([In(a, mutable=True), b], tt.linalg.solve(a, b, on_error="raise"), mode=mode)
    with pytest.raises(MatrixError):
        f(x.copy(), np.ones((20, 2)))
    g = function([In(a, mutable=True), b], tt.linalg.solve(a, b), mode=mode)
    assert np.isnan(g(x.copy(), np.ones((20, 2)))).all()
    h = function([In(a, mutable=True)], tt.linalg.cholesky(a), mode=mode)
    assert np.isnan(h(-np.eye(20))).all()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("mode", WORKING)
def test_failing_call_does_not_compute_again_with_what_is_left(mode: str, order: Any) -> None:
    # The factors of a singular matrix are no singular matrix, and the inverse of what an inverse left is the matrix.
    a, b = tt.dmatrix("a"), tt.dvector("b")
    inputs = [In(a, mutable=True), In(b, mutable=True)]
    f = function(inputs, tt.linalg.solve(a, b, on_error="raise"), mode=mode)
    inverse = tt.linalg.inv(a)
    g = function(inputs, tt.Assert("negative")(inverse, tt.ge(inverse.sum() + 0 * b.sum(), 0)), mode=mode)
    for _ in range(3):
        with pytest.raises(MatrixError):
            f(np.array([[1.0, 2.0], [2.0, 4.0]], order=order), np.array([1.0, 2.0]))
        with pytest.raises(NodeError):
            g(np.array([[-0.25, 0.0], [0.0, 0.5]], order=order), np.array([1.0, 2.0]))
        np.testing.assert_allclose(g(np.array(2 * np.eye(2), order=order), np.ones(2)), 0.5 * np.eye(2))


@pytest.mark.parametrize("mode", [mode for mode in WORKING if mode != "VM"])
def test_program_overwrites_arguments_only_where_memory_may_be_theirs(mode: str) -> None:
    # Calls of such a program may not be repeated, so that they are not made in the quickest way.
    a = tt.dmatrix("a")
    factor = tt.linalg.Cholesky(overwrite_a=True)

    def overwrites(x: Any) -> bool:
        program = find_backend(mode.lower()).linker().link(FunctionGraph([a], [factor(x)]))
        return bool(program.recipe.overwrites)  # type: ignore[attr-defined]  # programs of these backends have one

    assert overwrites(a)
    assert overwrites(a[1:, 1:].T)
    assert not overwrites(a @ a.T)
    assert not overwrites((a @ a.T)[1:, 1:])


@pytest.mark.parametrize("mode", WORKING)
def test_lengths_may_change_between_calls(mode: str) -> None:
    a = tt.dmatrix("a")
    f = function([In(a, mutable=True)], tt.linalg.cholesky(a), mode=mode)
    for n in (3, 3, 3, 4, 2, 0, 70, 71, 3):
        np.testing.assert_allclose(f(4 * np.eye(n)), 2 * np.eye(n))


@pytest.mark.parametrize("mode", TRACING)
def test_other_backends_take_ops_that_would_overwrite(mode: str) -> None:
    a, b = tt.dmatrix("a"), tt.dmatrix("b")
    x, y = _positive(n=4, dtype="float64"), _right(n=4, dtype="float64")
    f = function([In(a, mutable=True), b], tt.linalg.solve(a, b), mode=mode.upper())
    assert _overwritten(f) in ([False], [])
    np.testing.assert_allclose(f(x, y), np.linalg.solve(x, y))
    graph = tt.linalg.Solve(overwrite_a=True, overwrite_b=True)(a * 1, b * 1)
    g = function([a, b], graph, mode=mode.upper(), accept_inplace=True)
    np.testing.assert_allclose(g(x, y), np.linalg.solve(x, y))


def test_flags_are_declared_and_printed() -> None:
    op = tt.linalg.Solve()
    version = op.inplace_on_inputs([0, 1])
    assert version == tt.linalg.Solve(overwrite_a=True, overwrite_b=True)
    assert version.destroy_map == {0: [0, 1]}
    assert "overwrite" not in str(op)
    assert "overwrite_b=True" in str(version)
    assert op.inplace_on_inputs([]) is op
    with pytest.raises(InconsistencyError):
        _accepted(version)


def _accepted(op: Any) -> None:
    """Have a graph that reads operands twice refused or accepted."""
    a, b = tt.dmatrix("a"), tt.dmatrix("b")
    fgraph = FunctionGraph([a, b], [op(a, b), tt.exp(op(a, b))], features=[DestroyHandler()])
    fgraph.validate()


def test_working_memory_is_not_taken_for_that_of_a_result() -> None:
    a, b = tt.dmatrix("a"), tt.dmatrix("b")
    f = function([In(a, mutable=True), b], tt.linalg.solve(a, b), mode="VM")
    assert [str(node.op).partition("(")[0] for node in f.maker.fgraph.toposort()] == ["Solve"]


@pytest.mark.parametrize("build", [
    lambda a, b: tt.linalg.eigh(a)[1] + b,
    lambda a, b: tt.linalg.lu_factor(a)[0] * b,
    lambda a, b: tt.linalg.solve_triangular(a, b) * 2,
    lambda a, b: tt.linalg.inv(a) * b,
    lambda a, b: tt.linalg.solve(a, b, assume_a="pos") + 1,
    lambda a, b: tt.linalg.det(a) * b,
    lambda a, b: tt.grad(tt.linalg.cholesky(a).sum(), a) * b,
], ids=["eigh", "lu", "triangular", "inverse", "positive", "determinant", "gradient"])  # fmt: skip
def test_what_ops_say_they_overwrite_is_what_debug_mode_finds(build: Callable[[Any, Any], Any]) -> None:
    a, b = tt.dmatrix("a"), tt.dmatrix("b")
    # A claim of memory that is not used is a warning there, an undeclared change an error.
    inputs = [In(a, mutable=True), In(b, mutable=True)]
    f = function(inputs, build(a, b), mode="DebugMode", on_unused_input="ignore")
    x, y = _positive(n=5, dtype="float64"), RNG.normal(size=(5, 5))
    expected = function([a, b], build(a, b), mode="VM", on_unused_input="ignore")(x, y)
    np.testing.assert_allclose(f(x.copy(), y.copy()), expected, rtol=1e-10)
