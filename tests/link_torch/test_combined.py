"""Activations, optimizers' steps and losses of classes, each by one call of PyTorch's: values as the Python VM's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_torch.programs import Recorded, check, link, sample, tensor
from treadle.compile import function
from treadle.tensor import nn

A, G = tt.dmatrix("A"), tt.dmatrix("G")
ACTIVATIONS: dict[str, Any] = {
    "relu": nn.relu,
    "relu6": nn.relu6,
    "hard_tanh": nn.hard_tanh,
    "below zero": lambda x: nn.hard_tanh(x, -2.0, 0.0),
    "leaky_relu": nn.leaky_relu,
    "elu": nn.elu,
    "elu by 2": lambda x: nn.elu(x, 2.0),
    "elu by -1": lambda x: nn.elu(x, -1.0),
    "silu": nn.silu,
    "gelu": lambda x: nn.gelu(x, "tanh"),
    "above 1": lambda x: tt.switch(tt.le(x, 1.0), -0.0, x),
    "bound of another dtype": lambda x: tt.switch(tt.le(x, np.float64(0.1)), 0.0, x),
    "other value": lambda x: tt.switch(tt.ge(x, 0.5), 2.0, x),
    "negative zero": lambda x: tt.switch(tt.le(x, 0.0), -0.0, x * 2),
}
EDGES = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 6.0, -2.0, 0.1, 1e-300, -1e-300, -800.0, 3.5]


def calls(inputs: list[Any], output: Any) -> int:
    """Return how many calls the generated function makes of those that compute tensors."""
    program: Any = function(inputs, output, mode="PYTORCH", on_unused_input="ignore").program
    source: str = program.source
    return sum(line.lstrip().startswith(("v", "e")) for line in source.splitlines())


def same_values(got: np.ndarray, want: np.ndarray, with_signs: bool, atol: float) -> None:
    """Compare values, and the signs of zeros."""
    np.testing.assert_allclose(got, want, rtol=2e-3 if want.dtype == np.float16 else 1e-6, atol=atol)
    numbers = ~np.isnan(want) & (with_signs | (want != 0))
    np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(want)[numbers])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_activations_and_gradients_are_those_of_their_choices(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    x, g = tensor(dtype, 2, "x"), tensor(dtype, 2, "g")
    value = ACTIVATIONS[name](x)
    outputs = [value, tt.grad((value * g).sum(), x)]
    f, expected = (function([x, g], outputs, mode=mode) for mode in ("PYTORCH", "VM"))
    # Which of two zeros is the smaller one is not said.
    signs = not name.startswith("elu")
    # 1 + tanh of a negative number keeps some of its digits only.
    atol = float(np.finfo(dtype).eps) if name == "gelu" else 0.0
    edges = np.array(EDGES, "float64").astype(dtype).reshape(2, 7)
    slopes = np.array([1.5, -2.0, -0.0, 0.0, np.inf, 3.0, -1.0] * 2, dtype).reshape(2, 7)
    for shape in ((2, 7), (7, 2), (0, 3), (1, 1)):
        n = int(np.prod(shape))
        at, by = edges.ravel()[:n].reshape(shape), slopes.ravel()[:n].reshape(shape)
        for given in ((at, by), (at.T, by.T), (np.tile(at, (40, 60))[:, ::2], np.tile(by, (40, 60))[:, ::2])):
            for got, want in zip(f(*given), expected(*given), strict=True):
                assert got.dtype == want.dtype
                same_values(got, want, signs, atol)
    leaf = torch.from_numpy(edges).requires_grad_()
    same_values(f(leaf, torch.from_numpy(slopes))[0], expected(edges, slopes)[0], signs, atol)


def test_activations_take_one_call() -> None:
    for name in ("relu", "hard_tanh", "relu6", "leaky_relu", "elu", "elu by 2", "silu", "gelu", "above 1"):
        assert calls([A], ACTIVATIONS[name](A)) == 1, name
    for slope in (tt.switch(tt.le(A, 0), 0.0, G), tt.switch(tt.ge(A, 6), 0.0, G), tt.switch(tt.gt(A, 0), G, 0.1 * G)):
        assert calls([A, G], slope) == 1


@pytest.mark.parametrize("name", ["relu", "relu6", "leaky_relu", "elu", "silu", "gelu"])
def test_activations_are_the_same_when_compiled(name: str) -> None:
    value = ACTIVATIONS[name](A)
    check([A, G], [value, tt.grad((value * G).sum(), A)], [sample("float64", (3, 4))] * 2, compiled=True)


def test_a_gate_that_is_needed_twice_is_computed_once() -> None:
    gate = tt.sigmoid(A)
    check([A], [A * gate, gate], [sample("float64", (3, 4))])


CONDITIONS = {
    "by turns": np.arange(9000) % 2 == 0,
    "random": np.random.default_rng(1).random(9000) < 0.3,
    "first half": np.arange(9000) < 4000,
    "few": np.arange(9000) < 8,
}


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "complex128"])
def test_choices_of_many_elements_are_those_of_numpy(name: str, dtype: str) -> None:
    condition, x, y, z = tt.bmatrix("c"), tensor(dtype, 2, "x"), tensor(dtype, 2, "y"), tensor(dtype, 0, "z")
    zero = np.zeros((), dtype)
    chosen = tt.neq(condition, 0)
    outputs = [
        *(tt.switch(chosen, x, y), tt.switch(chosen, x, zero), tt.switch(chosen, zero, y), tt.switch(chosen, z, y)),
        *(tt.switch(chosen, x, z), tt.switch(chosen, z, zero), tt.switch(chosen, x[:1], y), tt.switch(chosen.T, x, y)),
        tt.switch(chosen[:, ::2], x[:, ::2], y[:, 1::2]),
    ]
    values = [sample(dtype, (90, 100), seed) for seed in (0, 1)]
    if np.dtype(dtype).kind == "f":
        values[0][::3], values[1][::3], values[0][1::7], values[1][1::7] = np.nan, -np.inf, -0.0, 0.0
    square = [v[:, :90] for v in values]
    mask = CONDITIONS[name].reshape(90, 100)[:, :90].astype("int8")
    for number in (-0.0, 2.5):
        given = [mask, *square, np.asarray(number).astype(dtype)]
        got = link([condition, x, y, z], outputs)(*given)
        m, a, b, c = mask != 0, *given[1:]
        wants = [
            *(np.where(m, a, b), np.where(m, a, zero), np.where(m, zero, b), np.where(m, c, b), np.where(m, a, c)),
            *(np.where(m, c, zero), np.where(m, a[:1], b), np.where(m.T, a, b)),
            np.where(m[:, ::2], a[:, ::2], b[:, 1::2]),
        ]
        for result, want in zip(got, wants, strict=True):
            assert result.shape == want.shape
            np.testing.assert_array_equal(result, want)
            if np.dtype(dtype).kind == "f":
                np.testing.assert_array_equal(np.signbit(result)[want == 0], np.signbit(want)[want == 0])


def test_choices_take_tensors_that_are_marked_as_negatives() -> None:
    torch = pytest.importorskip("torch")
    x, y = tt.dvector("x"), tt.dvector("y")
    values = np.random.default_rng(0).normal(size=(2, 9000))
    f = function([x, y], tt.switch(tt.gt(y, 0), x, y), mode="PYTORCH")
    marked = torch.from_numpy(-values[0])._neg_view()
    np.testing.assert_array_equal(f(marked, torch.from_numpy(values[1])), np.where(values[1] > 0, *values))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_steps_of_optimizers_are_those_of_their_formulas(dtype: str) -> None:
    m, g, t = tensor(dtype, 2, "m"), tensor(dtype, 2, "g"), tensor(dtype, 0, "t")
    b, c = np.dtype(dtype).type(0.9), np.dtype(dtype).type(0.1)
    total, squares = b * m + c * g, b * m + c * g**2
    root = (t * m) / (tt.sqrt(tt.abs(g)) / tt.sqrt(t) + np.dtype(dtype).type(1e-3))
    outputs = [total, squares, root, b * m + c * g[:1], b * m[:1] + c * g**2, m[:1] * t / (tt.sqrt(g**2) / t + c)]
    values = [sample(dtype, (3, 4)), sample(dtype, (3, 4), 1), np.array(0.25, dtype)]
    check([m, g, t], outputs, values)
    before = [v.copy() for v in values]
    link([m, g, t], outputs)(*values)
    for old, new in zip(before, values, strict=True):
        np.testing.assert_array_equal(old, new)
    for number in (np.nan, np.inf, 0.0):
        with np.errstate(all="ignore"):
            check([m, g, t], outputs[:3], [np.full((2, 2), number, dtype)] * 2 + [np.array(0.25, dtype)])


def test_adam_takes_the_steps_of_the_vm() -> None:
    losses = {}
    for mode in ("PYTORCH", "VM"):
        rng = np.random.default_rng(0)
        w, b = tt.shared(rng.normal(size=(4, 3))), tt.shared(np.zeros(3))
        x, y = tt.dmatrix("x"), tt.lvector("y")
        loss = nn.cross_entropy(nn.leaky_relu(x @ w + b), y)
        step = function([x, y], loss, updates=nn.adam(loss, [w, b], 0.05), mode=mode)
        data = rng.normal(size=(8, 4)), rng.integers(0, 3, size=8)
        losses[mode] = [float(step(*data)) for _ in range(20)] + [*w.get_value().ravel(), *b.get_value()]
    np.testing.assert_allclose(losses["PYTORCH"], losses["VM"], rtol=1e-9)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("compiled", [False, True])
def test_losses_of_classes_are_those_of_the_vm(compiled: bool) -> None:
    x, y = tt.dmatrix("x"), tt.lvector("y")
    loss = nn.cross_entropy(x, y)
    outputs = [loss, tt.grad(loss, x), nn.cross_entropy(x, y, reduction="none")]
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(6, 4))
    with_edges = scores.copy()
    with_edges[0, 1], with_edges[1, 2], with_edges[2, 0] = -np.inf, np.inf, np.nan
    f, expected = (function([x, y], outputs, mode=mode) for mode in ("PYTORCH", "VM"))
    if compiled:
        check([x, y], outputs, [scores, np.array([0, 3, 1, 1, 2, -4])], compiled=True)
        return
    for given in (scores, with_edges, scores[:, ::2], scores[:1], scores[:0]):
        n, k = given.shape
        for labels in (rng.integers(0, k, size=n), rng.integers(-k, k, size=n)):
            for got, want in zip(f(given, labels), expected(given, labels), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)
    for bad in (4, -5):
        with pytest.raises(IndexError, match="out of bounds"):
            f(scores, np.array([0, 1, 2, bad, 0, 0]))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_elements_along_an_axis_and_their_gradients_are_those_of_the_vm(axis: int) -> None:
    x, at = tt.dtensor3("x"), tt.ltensor3("at")
    picked = tt.take_along_axis(x, at, axis)
    outputs = [picked, tt.grad((picked**2).sum(), x), tt.grad(picked.sum(), x)]
    f, expected = (function([x, at], outputs, mode=mode) for mode in ("PYTORCH", "VM"))
    values = sample("float64", (3, 4, 5))
    rng = np.random.default_rng(0)
    for count in (1, 7, 0):
        shape = tuple(count if d == axis else n for d, n in enumerate(values.shape))
        n = values.shape[axis]
        for low in (0, -n):
            positions = rng.integers(low, n, size=shape)
            for got, want in zip(f(values, positions), expected(values, positions), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-13)
    with pytest.raises(IndexError, match="out of bounds"):
        f(values, np.full(tuple(1 if d == axis else n for d, n in enumerate(values.shape)), 9))


def test_a_softmax_before_its_logarithm_has_its_gradient() -> None:
    share, logarithm = tt.softmax(A, 1), tt.log_softmax(A, 1)
    mixed = G - share * G.sum(1, keepdims=True)
    values = [sample("float64", (3, 4)), sample("float64", (3, 4), 1)]
    check([A, G], [mixed, logarithm], values)
    check([A, G], [logarithm * mixed, mixed], values)
    check([A, G], [tt.log_softmax(share, 1), mixed, G - share * G.sum(0, keepdims=True)], values)
    check([A, G], [logarithm, mixed], [values[0], values[1][:1]])


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "complex128", "float16", "bool", "uint16"])
@pytest.mark.parametrize("shape", [(9,), (9, 4), (9, 0)])
def test_rows_are_set_and_added_to_at_any_positions(dtype: str, shape: tuple[int, ...]) -> None:
    x, y, at = tensor(dtype, len(shape), "x"), tensor(dtype, len(shape), "y"), tt.lvector("at")
    program = link([x, y, at], [x[at].inc(y), x[at].set(y), x[at].inc(y[:1]), x[at].set(y[:1])])
    outputs = [x[at].inc(y), x[at].set(y), x[at].inc(y[:1]), x[at].set(y[:1])]
    values = sample(dtype, shape) if np.dtype(dtype).kind in "bfc" else sample(dtype, shape) // 4
    for positions in ([0, 3, 8], [3, 3, 3], [-1, 0, -9], [-1, 8, 3]):
        given = [values, sample(dtype, (3, *shape[1:]), 1), np.array(positions)]
        before = values.copy()
        check([x, y, at], outputs, given)
        np.testing.assert_array_equal(values, before)
    check([x, y, at], outputs[:2], [values, values[:0], np.zeros(0, "int64")])
    for bad in (9, -10):
        with pytest.raises(IndexError, match="out of bounds"):
            program(values, values[:3], np.array([0, bad, 1]))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("shape", [(0,), (5,), (32,), (33,), (2, 3), ()])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_few_numbers_are_looked_at_as_many_are(shape: tuple[int, ...], dtype: str) -> None:
    x, y = tensor(dtype, len(shape), "x"), tensor(dtype, len(shape), "y")
    outputs = [tt.sign(x), tt.fmod(x, y), x % y, tt.ndtr(x), tt.expm1(x), tt.arctanh(x / 50)]
    values = sample(dtype, shape), sample(dtype, shape, 1)
    check([x, y], outputs, values)
    for number in (np.nan, np.inf, -np.inf, 0.0, -0.0, np.finfo(dtype).max):
        with_edge = np.array(values[0])
        with_edge.flat[:1] = number
        check([x, y], outputs, [with_edge, values[1]])


@pytest.mark.parametrize("side", ["left", "right"])
def test_searches_among_few_numbers_find_those_that_are_none(side: str) -> None:
    among, wanted = tt.dvector("among"), tt.dvector("wanted")
    found = tt.searchsorted(among, wanted, side=side)
    for rows in ([-1.0, 0.0, 2.0], [-1.0, 0.0, np.nan, np.nan], [-np.inf, 0.0, np.inf], []):
        check([among, wanted], [found], [np.array(rows), np.array([np.nan, 0.0, -0.0, np.inf, -np.inf, 2.0])])


def test_the_normal_distribution_keeps_the_digits_of_small_values() -> None:
    special = pytest.importorskip("scipy.special")
    values = np.linspace(-37, 8, 1000)
    x = tt.dvector("x")
    np.testing.assert_allclose(link([x], [tt.ndtr(x)])(values)[0], special.ndtr(values), rtol=3e-13)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64"])
def test_gradients_of_weights_are_sums_over_batches(dtype: str) -> None:
    x, w, g = tensor(dtype, 3, "x"), tensor(dtype, 2, "w"), tensor(dtype, 3, "g")
    weights = [(x.swapaxes(1, 2) @ g).sum(0), (x.swapaxes(1, 2) @ g).sum(0, keepdims=True)]
    slope = weights if dtype == "int64" else [tt.grad((x @ w * g).sum(), w), tt.grad((x[:1] @ w * g).sum(), w)]
    f, expected = (
        function([x, w, g], [*weights, *slope], mode=mode, on_unused_input="ignore") for mode in ("PYTORCH", "VM")
    )
    rtol = {"float64": 1e-11, "float32": 1e-4, "float16": 2e-2, "int64": 0.0}[dtype]
    for shape in ((2, 3, 4), (1, 3, 4), (0, 3, 4), (2, 0, 4), (2, 3, 1), (2, 1, 4)):
        given = [sample(dtype, s, i) for i, s in enumerate((shape, (shape[2], 5), (*shape[:2], 5)))]
        for got, want in zip(f(*given), expected(*given), strict=True):
            np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * 10)


def test_gradients_of_weights_take_no_product_for_each_of_a_batch() -> None:
    x, w, g = tt.dtensor3("x"), tt.dmatrix("w"), tt.dtensor3("g")
    f = function([x, w, g], tt.grad((x @ w * g).sum(), w), mode="PYTORCH", on_unused_input="ignore")
    given = np.ones((2, 3, 4)), np.ones((4, 5)), np.ones((2, 3, 5))
    f(*given)
    with Recorded() as record:
        np.testing.assert_array_equal(f(*given), np.full((4, 5), 6.0))
    assert "mm" in record.names
    assert "bmm" not in record.names
