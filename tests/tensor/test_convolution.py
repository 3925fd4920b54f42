"""Convolutions and pooling against PyTorch's definitions, written out in NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.graph import vectorize_graph
from treadle.tensor import ArgumentError, ConvND, ShapeError, TensorTypeError
from treadle.tensor.signal.records.convolution import correlated

_RNG = np.random.default_rng(0)


def _array(*shape: int) -> np.ndarray:
    return _RNG.normal(size=shape)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("padding", "pairs"),
    [
        ("valid", ((0, 0), (0, 0))),
        ("full", ((4, 4), (1, 1))),
        ("half", ((2, 2), (1, 1))),
        ("same", ((2, 2), (0, 1))),
        (1, ((1, 1), (1, 1))),
        ((2, (0, 3)), ((2, 2), (0, 3))),
    ],
)
def test_padding_has_names(padding: object, pairs: tuple[tuple[int, int], ...], known: bool) -> None:
    x, w = _array(2, 3, 8, 7), _array(4, 3, 3, 2)
    a, b = (tt.tensor(dtype="float64", shape=v.shape if known else (None,) * 4) for v in (x, w))
    out = tt.conv2d(a, b, padding=padding, dilation=(2, 1), stride=(1, 2))  # type: ignore[arg-type]
    expected = correlated(x, w, (1, 2), pairs, (2, 1))
    np.testing.assert_allclose(function([a, b], out, mode="VM")(x, w), expected)
    assert not known or out.type.shape == expected.shape


def test_flipped_filters_convolve() -> None:
    x, w = _array(9), _array(4)
    out = tt.conv1d(x[None, None], w[None, None], padding="full", flip=True)
    np.testing.assert_allclose(out.eval()[0, 0], np.convolve(x, w))


def test_one_image_needs_no_batch_and_outputs_take_a_bias() -> None:
    x, w, b = _array(3, 6, 5), _array(2, 3, 2, 2), _array(2)
    out = tt.conv2d(x, w, b).eval()
    np.testing.assert_allclose(out, correlated(x[None], w, (1, 1), [(0, 0)] * 2, (1, 1))[0] + b[:, None, None])


def test_complex_images_and_filters() -> None:
    x, w = _array(1, 2, 9) + 1j * _array(1, 2, 9), _array(3, 2, 3) + 1j * _array(3, 2, 3)
    for a, b in itertools.product((x, x.real), (w, w.real)):
        np.testing.assert_allclose(tt.conv1d(a, b).eval(), correlated(a, b, (1,), [(0, 0)], (1,)))


def test_transposed_convolution_is_the_gradient_by_the_images() -> None:
    x, w = tt.dtensor4(), tt.dtensor4()
    y = tt.conv2d(x, w, stride=2, padding=1, groups=2)
    ct = tt.dtensor4()
    back = tt.grad((y * ct).sum(), x)
    transposed = tt.conv_transpose2d(ct, w, stride=2, padding=1, output_padding=(1, 0), groups=2)
    images, filters = _array(2, 4, 8, 7), _array(6, 2, 3, 3)
    cotangent = _array(*y.eval({x: images, w: filters}).shape)
    f = function([x, w, ct], [back, transposed], mode="VM", on_unused_input="ignore")
    first, second = f(images, filters, cotangent)
    np.testing.assert_allclose(first, second)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("batched", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("part", ["output", "input", "filter"])
def test_batches_of_images_and_filters(part: str, batched: tuple[bool, bool], groups: int) -> None:
    op = ConvND(part, (2,), (1,), ((1, 0),), groups)
    x, w, y = (2, 4, 8), (6, 4 // groups, 3), (2, 6, 4)
    shapes, wanted = {"output": ((x, w), ()), "input": ((y, w), (8,)), "filter": ((x, y), (3,))}[part]
    plain = [tt.tensor(dtype="float64", shape=s) for s in shapes]
    out = op(*plain, *wanted)
    wide = [tt.tensor(dtype="float64", shape=(3, *s) if b else s) for s, b in zip(shapes, batched, strict=True)]
    batched_out = vectorize_graph(out, dict(zip(plain, wide, strict=True)))
    arrays = [_array(*(n or 0 for n in v.type.shape)) for v in wide]
    results = function(wide, batched_out, mode="VM")(*arrays)
    for i in range(3):
        a, b = (v[i] if along else v for v, along in zip(arrays, batched, strict=True))
        np.testing.assert_allclose(results[i], op.apply(a, b, wanted))


def test_filters_of_unknown_number_are_applied_one_by_one() -> None:
    x, w = tt.dtensor3(), tt.dtensor3()
    wide = [tt.dtensor4(), tt.dtensor4()]
    batched = vectorize_graph(tt.conv1d(x, w), dict(zip((x, w), wide, strict=True)))
    images, filters = _array(2, 2, 3, 8), _array(2, 4, 3, 3)
    results = function(wide, batched, mode="VM")(images, filters)
    for each, a, b in zip(results, images, filters, strict=True):
        np.testing.assert_allclose(each, correlated(a, b, (1,), [(0, 0)], (1,)))


def test_shapes_of_convolutions_are_found_without_computing_them() -> None:
    x, w = tt.dtensor4(), tt.dtensor4()
    f = function([x, w], tt.conv2d(x, w, stride=2, padding=1).shape, mode="FAST_RUN")
    assert not any(isinstance(node.op, ConvND) for node in f.maker.fgraph.apply_nodes)
    assert list(f(np.ones((2, 3, 9, 8)), np.ones((4, 3, 3, 2)))) == [2, 4, 5, 5]


def test_what_does_not_fit_is_refused_when_the_graph_is_built() -> None:
    x = np.ones((2, 3, 8, 8))
    for filters, groups in (((4, 2, 3, 3), 1), ((4, 3, 9, 3), 1), ((4, 1, 3, 3), 2), ((4, 1, 3, 3), 3), ((4, 3, 3), 1)):
        with pytest.raises(ShapeError):
            tt.conv2d(x, np.ones(filters), groups=groups)
    for wrong in ({"stride": 0}, {"stride": (1, 2, 3)}, {"padding": "much"}, {"padding": -1}, {"dilation": 0.5}):
        with pytest.raises((ArgumentError, TensorTypeError), match="conv2d: "):
            tt.conv2d(x, np.ones((4, 3, 3, 3)), **wrong)


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_what_does_not_fit_is_refused_when_the_program_runs(mode: str) -> None:
    x, w = tt.dtensor4(), tt.dtensor4()
    f = function([x, w], tt.conv2d(x, w), mode=mode)
    for filters in ((4, 2, 3, 3), (4, 3, 9, 3)):
        with pytest.raises(ValueError, match="conv"):
            f(np.ones((2, 3, 8, 8)), np.ones(filters))


def test_given_shapes_are_checked_when_the_program_runs_if_asked_to() -> None:
    x, w = tt.dtensor4(), tt.dtensor4()
    arrays = np.ones((2, 3, 8, 8)), np.ones((4, 3, 3, 3))
    input_shape: tuple[int | None, ...] = (5, 3, None, None)
    assert tt.conv2d(x, w, input_shape=input_shape).eval({x: arrays[0], w: arrays[1]}).shape == (2, 4, 6, 6)
    with config.change_flags(conv__assert_shape=True):
        f = function([x, w], tt.conv2d(x, w, input_shape=input_shape), mode="VM")
    with pytest.raises(ValueError, match="shape"):
        f(*arrays)
    with pytest.raises(ShapeError, match="does not fit"):
        tt.conv2d(arrays[0], w, input_shape=input_shape)


def _windows(n: int, k: int, s: int, p: int, ceil: bool) -> list[tuple[int, int, int, int]]:
    """Return the bounds of each window in the tensor, and with the padding, as in PyTorch."""
    count = (n + 2 * p - k + (s - 1 if ceil else 0)) // s + 1
    if ceil and (count - 1) * s >= n + p:
        count -= 1
    starts = [i * s - p for i in range(count)]
    return [(max(a, 0), min(a + k, n), a, min(a + k, n + p)) for a in starts]


@pytest.mark.parametrize("known", [True, False])
def test_pooling_is_that_of_pytorch(known: bool) -> None:
    x = _array(2, 5, 6)
    v = tt.tensor(dtype="float64", shape=x.shape if known else (None,) * 3)
    outputs, expected = [], []
    for k, s, p, ceil in itertools.product((2, 3), (1, 2, 3), (0, 1), (False, True)):
        rows, columns = (_windows(n, k, s, p, ceil) for n in x.shape[1:])
        outputs.append(tt.max_pool2d(v, k, s, p, ceil_mode=ceil))
        expected.append(np.array([[[b[r[0] : r[1], c[0] : c[1]].max() for c in columns] for r in rows] for b in x]))
        sums = np.array([[[b[r[0] : r[1], c[0] : c[1]].sum() for c in columns] for r in rows] for b in x])
        for padded in (True, False):
            outputs.append(tt.avg_pool2d(v, k, s, p, ceil, padded))
            at = 2 if padded else 0
            counts = np.outer([r[at + 1] - r[at] for r in rows], [c[at + 1] - c[at] for c in columns])
            expected.append(sums / counts)
    for out, pooled, wanted in zip(outputs, function([v], outputs, mode="VM")(x), expected, strict=True):
        assert not known or out.type.shape == wanted.shape
        np.testing.assert_allclose(pooled, wanted)


def test_pooling_keeps_integers_and_averages_them_as_floats() -> None:
    x = np.arange(16, dtype="int8").reshape(4, 4) - 20
    assert tt.max_pool2d(x, 2, padding=1).eval().dtype == "int8"
    np.testing.assert_array_equal(
        tt.max_pool2d(x, 2, padding=1).eval(), [[-20, -18, -17], [-12, -10, -9], [-8, -6, -5]]
    )
    assert tt.avg_pool1d([1, 2, 3, 4], 2).eval().tolist() == [1.5, 3.5]
    assert tt.pool_2d(x, 2, mode="sum").eval().tolist() == [[-70, -62], [-38, -30]]


def test_windows_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"^max_pool2d: "):
        tt.max_pool2d(np.ones((2, 2)), 3)
    with pytest.raises(ShapeError, match=r"^avg_pool1d: "):
        tt.avg_pool1d(np.ones(9), 3, padding=2)


def test_transposed_convolution_grows_by_whole_steps_too() -> None:
    # As torch.nn.functional.conv_transpose1d, 2.13.
    x, w = tt.tensor3s("x", "w")
    cases = [
        ((1, 2, 1, 0), [1, 1, 2, 2, 1, 1, 0]),
        ((1, 3, 2, 1), [1, 1, 2, 1, 1, 1, 0]),
        ((1, 3, 2, 0), [1, 1, 1, 2, 1, 1, 1, 0, 0]),
    ]
    outs = [
        tt.conv_transpose1d(x, w, stride=s, dilation=d, output_padding=extra, padding=p)
        for (s, d, extra, p), _ in cases
    ]
    results = function([x, w], [*outs, tt.grad(outs[0].sum(), x)], mode="VM")(np.ones((1, 1, 4)), np.ones((1, 1, 2)))
    for grown, (_, expected) in zip(results, cases, strict=False):
        np.testing.assert_array_equal(grown[0, 0], expected)
    np.testing.assert_array_equal(results[-1], np.full((1, 1, 4), 2.0))


def test_windows_that_are_too_many_to_copy_are_multiplied_one_weight_after_the_other() -> None:
    x, w = _array(1, 2, 4, 4), _array(3, 2, 3, 3)
    whole = tt.conv2d(x, w, padding=300)
    middle = function([], whole[..., 298:304, 298:304], mode="VM")()
    np.testing.assert_allclose(middle, tt.conv2d(x, w, padding=2).eval(), rtol=1e-12)
