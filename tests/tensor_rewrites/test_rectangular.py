"""Rules about a structure hold for matrices of any shape: every op on every structure, square or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import rewrite, run
from tests.tensor_rewrites.rectangular import OPS, STRUCTURES, Inputs, values
from treadle.compile import function
from treadle.graph import Variable
from treadle.rewrite import RewriteDatabaseQuery
from treadle.tensor import linalg

PLAIN = RewriteDatabaseQuery()
SHAPES = [(2, 3), (3, 2), (3, 3), (1, 3)]
# Rewriting may give NaN for a system without a solution, in place of the result of rounding errors.
FEW = ("a.mT @ b", "b @ a", "a @ a.mT", "inv", "solve", "cholesky", "det")
Result = np.ndarray | None


def outcome(graph: Any, arguments: list[Any]) -> Result:
    """Return the result of a graph for some values, or None where it raises an error."""
    try:
        return np.asarray(run(graph, arguments)[0])
    except (ValueError, AssertionError, np.linalg.LinAlgError):
        return None


def check(structure: str, op: str) -> None:
    """Compare an op on a structure with and without rules, for all shapes."""
    i = Inputs()
    out = OPS[op](STRUCTURES[structure](i))
    assert isinstance(out, Variable)
    plain, _ = rewrite(i.all(), [out], PLAIN)
    fgraph, _ = rewrite(i.all(), [out])
    for n, m in SHAPES:
        arguments = values(n, m)
        with np.errstate(all="ignore"):
            old, new = outcome(plain, arguments), outcome(fgraph, arguments)
        assert (old is None) == (new is None), (structure, op, n, m, "error", old, new)
        if old is None or new is None:
            continue
        assert old.shape == new.shape, (structure, op, n, m)
        # For a singular matrix, the result depends on rounding.
        if np.isfinite(old).all() and np.isfinite(new).all() and np.abs(old).max(initial=0) < 1e12:
            np.testing.assert_allclose(new, old, rtol=1e-7, atol=1e-7, err_msg=f"{structure} {op} {n} {m}")


@pytest.mark.parametrize("structure", list(STRUCTURES)[::5])
def test_structures_keep_values_and_errors_whatever_their_shape(structure: str) -> None:
    for op in FEW:
        check(structure, op)


@pytest.mark.slow
@pytest.mark.parametrize("structure", STRUCTURES)
def test_every_op_on_a_structure_keeps_values_and_errors_whatever_its_shape(structure: str) -> None:
    for op in OPS:
        check(structure, op)


def test_a_transposed_rectangle_with_ones_on_its_diagonal_keeps_its_shape() -> None:
    n, m, b = tt.lscalar("n"), tt.lscalar("m"), tt.dmatrix("b")
    e = tt.eye(n, m)
    f = function([n, m, b], [e.T @ b, e @ e.T, e.T @ e, b.T @ e])
    plain, ones = np.eye(3, 4), np.ones((3, 2))
    wanted = [plain.T @ ones, plain @ plain.T, plain.T @ plain, ones.T @ plain]
    for result, value in zip(f(3, 4, ones), wanted, strict=True):
        np.testing.assert_array_equal(result, value, strict=True)


@pytest.mark.parametrize("at", [0, 2])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4)])
def test_second_derivatives_of_economy_singular_vectors(at: int, shape: tuple[int, int]) -> None:
    x = tt.dmatrix("x")
    part = linalg.svd(x, full_matrices=False)[at]
    gradient = tt.grad(tt.sum(abs(part) * tt.arange(1.0, part.shape[1] + 1)), x)
    second = tt.grad(tt.sum(gradient * gradient), x)
    matrix = np.random.default_rng(3).normal(size=shape)
    plain, _ = rewrite([x], [second], PLAIN)
    fgraph, _ = rewrite([x], [second])
    np.testing.assert_allclose(run(fgraph, [matrix])[0], run(plain, [matrix])[0], rtol=1e-8)


def test_a_selection_has_columns_of_the_identity() -> None:
    s, d, x, y = (tt.dmatrix(name) for name in "sdxy")
    assumed = tt.assume(s, selection=True)
    outputs = [assumed @ d, x @ assumed, assumed.T @ y, d.T @ assumed.T, tt.constant(np.eye(6)[:, [4, 0, 0, 5]]) @ d]
    rng = np.random.default_rng(0)
    arguments = [np.eye(6)[:, [4, 0, 0, 5]], *(rng.normal(size=shape) for shape in [(4, 3), (2, 6), (6, 3)])]
    s_, d_, x_, y_ = arguments
    fgraph, report = rewrite([s, d, x, y], outputs)
    assert "product_with_selection" in report.fired()
    for product, wanted in zip(
        run(fgraph, arguments), [s_ @ d_, x_ @ s_, s_.T @ y_, d_.T @ s_.T, s_ @ d_], strict=True
    ):
        np.testing.assert_allclose(product, wanted, rtol=1e-12)


def test_stacks_are_picked_from_by_stacks_of_selections() -> None:
    s, x = tt.dtensor3("s"), tt.dtensor3("x")
    assumed = tt.assume(s, selection=True)
    arguments = [
        np.stack([np.eye(4)[:, [1, 1]], np.eye(4)[:, [3, 0]]]),
        np.random.default_rng(0).normal(size=(2, 3, 4)),
    ]
    fgraph, report = rewrite([s, x], [x @ assumed, assumed.mT @ x.mT])
    assert "product_with_selection" in report.fired()
    picked = arguments[1] @ arguments[0]
    for result, wanted in zip(run(fgraph, arguments), [picked, picked.swapaxes(1, 2)], strict=True):
        np.testing.assert_allclose(result, wanted)


def test_a_product_with_a_selection_of_another_length_stays_an_error() -> None:
    s, x = tt.dmatrix("s"), tt.dmatrix("x")
    assumed = tt.assume(s, selection=True)
    for out, shape in ((x @ assumed, (2, 5)), (assumed.T @ x, (5, 2))):
        fgraph, report = rewrite([s, x], [out])
        assert "product_with_selection" in report.fired()
        with pytest.raises(ValueError, match="length"):
            run(fgraph, [np.eye(4)[:, :2], np.ones(shape)])


Shape = tuple[int | None, ...]
BATCHES: list[tuple[Shape, Shape, Shape]] = [
    ((2, 2), (3, 2, 2), (4, 5)),
    ((2, 2), (None, 2, 2), (3, 4, 5)),
    ((None, None), (None, None, None), (None, None)),
    ((None, 2, 2), (None, 2, 2), (1, 4, 5)),
    ((1, 2, 2), (3, 2, 2), (None, 4, 5)),
]


@pytest.mark.parametrize("shapes", BATCHES, ids=str)
def test_blocks_of_unlike_batches_are_joined(shapes: tuple[Shape, Shape, Shape]) -> None:
    a, b, d = (tt.tensor(name, dtype="float64", shape=shape) for name, shape in zip("abd", shapes, strict=True))
    blocks = linalg.block_diag(a, b)
    outputs = [
        blocks @ d, d.mT @ blocks, blocks @ linalg.block_diag(b, a), linalg.solve(blocks, d, b_ndim=2),
        linalg.inv(blocks), linalg.det(blocks), linalg.cholesky(blocks @ blocks.mT),
        tt.diagonal(blocks, axis1=-2, axis2=-1),
        linalg.slogdet(blocks)[1], tt.grad(tt.sum(tt.sin(blocks @ d)), a),
    ]  # fmt: skip
    rng = np.random.default_rng(1)
    full = {0: (1, 2, 2), 1: (3, 2, 2), 2: (3, 4, 5)}
    arguments = [
        rng.normal(size=[full[at][3 - len(shape) :][i] if n is None else n for i, n in enumerate(shape)])
        for at, shape in enumerate(shapes)
    ]
    plain, _ = rewrite([a, b, d], outputs, PLAIN)
    fgraph, _ = rewrite([a, b, d], outputs)
    for old, new in zip(run(plain, arguments), run(fgraph, arguments), strict=True):
        assert old.shape == new.shape
        np.testing.assert_allclose(new, old, rtol=1e-8, atol=1e-9)
