"""Every scalar op against NumPy, for every dtype it takes, special values included; and fused kernels."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor import SCALAR_OPS, Composite, Elemwise, Step, TensorType

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor import ScalarOp

DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
)  # fmt: skip


def sample(dtype: str, seed: int, domain: str = "") -> Any:
    """Return a vector with the extremes of a dtype and random numbers."""
    kind = np.dtype(dtype).kind
    random = np.random.default_rng(seed)
    if kind == "b":
        return random.integers(0, 2, 21).astype(bool)
    if kind in "iu":
        info = np.iinfo(dtype)
        whole = [0, 1, 2, 3, info.min, info.max, info.min // 2, 7, 9]
        if kind == "i" and domain != "natural":
            whole += [-1, -2, -7]
        if domain == "natural":
            whole = [abs(e) if e != info.min else 0 for e in whole]
        values = np.array(whole, dtype)
        random.shuffle(values)
        return values
    edges = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 2.5, -2.5, 1e4, -1e4, 1e-6]
    values = np.array([*edges, *random.normal(size=9) * 3], dtype)
    random.shuffle(values)
    return values


def scalar_names() -> list[str]:
    return [n for n in SCALAR_OPS.names() if not n.startswith("cast_complex") and n != "complex"]


def signatures(scalar_op: ScalarOp) -> list[tuple[str, ...]]:
    """Return equal dtypes for all operands, and a few mixtures; few for ops that take seconds to compile."""
    is_large = scalar_op.name.startswith(("betainc_by", "beta_density"))
    combinations = [(d,) * scalar_op.nin for d in (("int64", "float32", "float64") if is_large else DTYPES)]
    if scalar_op.nin == 2:
        combinations += [
            ("int8", "uint8"),
            ("int64", "uint64"),
            ("uint64", "int64"),
            ("int32", "float32"),
            ("bool", "int8"),
        ]
    return combinations


def close(computed: Any, expected: Any, size: Any = None) -> None:
    """Compare values, relative to `size` where terms of that size cancel."""
    assert computed.dtype == expected.dtype
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(computed, expected)
        return
    tolerance = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-14}[expected.dtype.name]
    if size is None:
        np.testing.assert_allclose(computed, expected, rtol=tolerance, atol=1e-300)
    else:
        np.testing.assert_allclose(computed / size, expected / size, rtol=tolerance, atol=tolerance)
    zero = (expected == 0) & (computed == 0)
    np.testing.assert_array_equal(np.signbit(computed[zero]), np.signbit(expected[zero]))


def well_conditioned(name: str, operands: list[Any]) -> Any:
    """Return where a function does not amplify the rounding errors of its parts."""
    everywhere = np.ones(operands[0].shape, bool)
    if name.startswith("hyp2f1_by_"):
        # The series alternates where a parameter is below 0: for a = -64 eight digits are lost, in NumPy as in C.
        return np.all([~(parameter < 0) for parameter in operands[:3]], axis=0)
    return everywhere


def size_of_terms(name: str, operands: list[Any]) -> Any:
    """Return the size of the terms of a sum that passes through 0; None for other functions."""
    if name == "gammainc_by_shape_twice":
        # The terms are of size 1 / a, and cancel near a = x.
        return 1 / np.maximum(operands[0].astype("float64"), 1)
    return None


@pytest.mark.parametrize("name", scalar_names())
def test_scalar_op_equals_numpy_for_every_dtype(name: str, link: Callable[..., Any]) -> None:
    scalar_op = SCALAR_OPS[name]
    inputs, outputs, values = [], [], []
    for dtypes in signatures(scalar_op):
        variables = [TensorType(d, (None,)).make_variable() for d in dtypes]
        try:
            out = Elemwise(scalar_op)(*variables)
        except (tt.DtypeError, TypeError):
            continue
        if out.dtype.startswith("complex"):
            continue
        domain = "natural" if name == "pow" else ""
        operands = [sample(d, k, domain) for k, d in enumerate(dtypes)]
        length = min(len(v) for v in operands)
        values += [v[:length] for v in operands]
        inputs += variables
        outputs.append(out)
    program = link(inputs, outputs)
    position = iter(range(len(values)))
    for computed, out in zip(program(*values), outputs, strict=True):
        operands = [values[next(position)] for _ in range(scalar_op.nin)]
        cell: list[Any] = [None]
        with np.errstate(all="ignore"):
            node: Any = out.owner
            node.op.perform(node, operands, [cell])
        undefined = name.startswith("cast_") and np.dtype(out.dtype).kind in "iu" and operands[0].dtype.kind == "f"
        mask = well_conditioned(name, operands)
        if undefined:
            mask &= np.isfinite(operands[0]) & (np.abs(operands[0]) < 100)
        if undefined and np.dtype(out.dtype).kind == "u":
            mask &= operands[0] >= 0
        size = size_of_terms(name, operands)
        close(computed[mask], cell[0][mask], None if size is None else size[mask])


@pytest.mark.parametrize("length", [1, 3, 7, 8, 9, 64, 511, 513, 2000])
def test_element_does_not_depend_on_its_position(length: int, link: Callable[..., Any]) -> None:
    x = tt.dvector("x")
    program = link([x], [tt.tanh(2 * x + 1) * tt.exp(-x * x) + tt.sin(x)])
    values = np.random.default_rng(0).normal(size=2000)
    (whole,) = program(values)
    for start in (0, 1, 5, 1000):
        part = values[start : start + length]
        np.testing.assert_array_equal(program(part)[0], whole[start : start + length])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_products_and_quotients_do_not_depend_on_their_position(dtype: str, link: Callable[..., Any]) -> None:
    z, w = tt.tensor("z", dtype=dtype, shape=(None,)), tt.tensor("w", dtype=dtype, shape=(None,))
    outputs = [z * w, z / w, z * w * z, w - z.conj() * w, z / (w + z) - w]
    programs = [link([z, w], outputs), function([z, w], outputs, mode="C")]
    random = np.random.default_rng(0)
    a, b = ((random.normal(size=37) + 1j * random.normal(size=37)).astype(dtype) for _ in range(2))
    wholes = [program(a, b) for program in programs]
    for at in range(37):
        for program, whole in zip(programs, wholes, strict=True):
            for alone, result in zip(program(a[at : at + 1], b[at : at + 1]), whole, strict=True):
                np.testing.assert_array_equal(alone, result[at : at + 1])
    for one, other in zip(*wholes, strict=True):
        np.testing.assert_array_equal(one, other)


def test_operands_broadcast_at_run_time(link: Callable[..., Any]) -> None:
    x, y = tt.dmatrix("x"), tt.dmatrix("y")
    program = link([x, y], [x + y])
    random = np.random.default_rng(0)
    for a, b in itertools.product([(1, 1), (3, 1), (1, 4), (3, 4)], repeat=2):
        left, right = random.normal(size=a), random.normal(size=b)
        np.testing.assert_array_equal(program(left, right)[0], left + right)


def test_empty_operands_give_empty_results(link: Callable[..., Any]) -> None:
    x, y = tt.dmatrix("x"), tt.dmatrix("y")
    assert link([x, y], [x + y])(np.zeros((0, 3)), np.zeros((1, 3)))[0].shape == (0, 3)


@pytest.mark.parametrize("index", [np.s_[::-1, ::2], np.s_[1::3, ::-1], np.s_[:, 1:], np.s_[:, :1], np.s_[:0]], ids=str)
def test_strided_operands_are_read_in_place(index: Any, link: Callable[..., Any]) -> None:
    x, y = tt.dmatrix("x"), tt.fmatrix("y")
    program = link([x, y], [tt.exp(x) + y])
    random = np.random.default_rng(0)
    a, b = random.normal(size=(30, 40))[index], random.normal(size=(40, 30)).astype("float32").T[index]
    np.testing.assert_allclose(program(a, b)[0], np.exp(a) + b, rtol=1e-14, atol=1e-14)


def composite() -> Elemwise:
    """Return (exp(x) + y, the same in float32, x) as one function with three results."""
    steps = (
        Step(SCALAR_OPS["exp"], (0,), ("float64",), "float64"),
        Step(SCALAR_OPS["add"], (2, 1), ("float64", "float64"), "float64"),
        Step(SCALAR_OPS["cast_float32"], (3,), ("float64",), "float32"),
        Step(SCALAR_OPS["tanh"], (4,), ("float32",), "float32"),
    )
    return Elemwise(Composite(2, ("float64", "float64"), steps, (3, 5, 3, 0)))


def test_composite_with_several_results_broadcasts_all(link: Callable[..., Any]) -> None:
    x, y = tt.dmatrix("x"), tt.dmatrix("y")
    outputs = composite()(x, y)
    program = link([x, y], outputs)
    a, b = np.random.default_rng(0).normal(size=(5, 1)), np.random.default_rng(1).normal(size=(1, 700))
    total = np.exp(a) + b
    expected = [total, np.tanh(total.astype("float32")), total, np.broadcast_to(a, total.shape)]
    for result, wanted in zip(program(a, b), expected, strict=True):
        assert result.dtype == wanted.dtype
        np.testing.assert_allclose(result, wanted, rtol=1e-6 if wanted.dtype == "float32" else 1e-14, atol=1e-14)


def test_long_composite_is_cut_into_loops(link: Callable[..., Any]) -> None:
    steps = []
    for k in range(1000):
        scalar_op = SCALAR_OPS["sin"] if k % 250 == 9 else SCALAR_OPS["add"]
        args = (k + 1,) if scalar_op.nin == 1 else (k + 1, max(0, k - 150))
        steps.append(Step(scalar_op, args if k else (0, 0)[: scalar_op.nin], ("float64",) * scalar_op.nin, "float64"))
    scalar = Composite(2, ("float64",) * 2, tuple(steps), (1001,))
    op = Elemwise(scalar)
    x, y = tt.dvector("x"), tt.dvector("y")
    out = op(x, y)
    values = [np.random.default_rng(k).normal(size=100) for k in range(2)]
    (expected,) = scalar.results(values)
    np.testing.assert_allclose(link([x, y], [out])(*values)[0], expected, rtol=1e-9)


def test_integer_to_a_negative_power_is_an_error(link: Callable[..., Any]) -> None:
    x, y = tt.lvector("x"), tt.lvector("y")
    program = link([x, y], [x**y])
    with pytest.raises(ValueError, match=r"test_elemwise\.py"):
        program(np.array([2, 3]), np.array([1, -1]))


def test_kernel_of_one_addition_reads_as_written(link: Callable[..., Any]) -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    source = link([x, y], [x + y]).source
    start = source.index("static int k0(")
    assert source[start : source.index("\n}", start) + 3] == (
        "static int k0(int64_t n, char *const *p, const int64_t *s) {\n"
        "  double b0[512] __attribute__((aligned(64)));\n"
        "  double b1[512] __attribute__((aligned(64)));\n"
        "  for (int64_t i = 0; i < n; i += 512) {\n"
        "    const int64_t m = n - i < 512 ? n - i : 512;\n"
        "    const double *x0 = tr_block8(p[0], s[0], i, m, b0);\n"
        "    const double *x1 = tr_block8(p[1], s[1], i, m, b1);\n"
        "    double *y0 = (double *)p[2] + i;\n"
        "#pragma omp simd\n"
        "    for (int64_t j = 0; j < m; j++) {\n"
        "      const double e0 = x0[j];\n"
        "      const double e1 = x1[j];\n"
        "      const double r2 = (double)(e0 + e1);\n"
        "      y0[j] = r2;\n"
        "    }\n"
        "  }\n"
        "  return 0;\n"
        "}\n"
    )


def test_short_rows_of_operands_that_are_cut_or_broadcast() -> None:
    x, y = tt.dmatrix("x"), tt.fmatrix("y")
    a, b, z = tt.dvector("a"), tt.bvector("b"), tt.zmatrix("z")
    doubled = x * 2
    outs = [
        tt.exp(doubled[:, 1:-1]) + doubled[:, 2:],
        tt.exp(y.T) * b,
        tt.expm1(-tt.sqr(a[:, None] - b)),
        tt.exp(doubled[::-1, ::-2]) + a[:, None],
        tt.stack([doubled[:, 1:-1], a[:, None] + b]) - tt.exp(y.T),
        z[:, 1:-1] * b + a[:, None],
    ]
    compiled = function([x, y, a, b, z], outs, mode="C")
    for rows, columns in itertools.product((0, 1, 5, 700), (1, 2, 3, 15, 16, 17)):
        rng = np.random.default_rng(1)
        v = rng.normal(size=(rows, columns + 2))
        w = rng.normal(size=(columns, rows)).astype("float32")
        s, t = rng.normal(size=rows), rng.integers(-9, 9, columns).astype("int8")
        expected = [
            np.exp(2 * v[:, 1:-1]) + 2 * v[:, 2:],
            np.exp(w.T) * t,
            np.expm1(-np.square(s[:, None] - t)),
            np.exp(2 * v[::-1, ::-2]) + s[:, None],
            np.stack([2 * v[:, 1:-1], s[:, None] + t]) - np.exp(w.T),
            1j * v[:, 1:-1] * t + s[:, None],
        ]
        for result, wanted in zip(compiled(v, w, s, t, 1j * v), expected, strict=True):
            np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_negative_floats_wrap_around_wherever_they_stand(dtype: str, target: str, link: Any) -> None:
    x = tt.TensorType(dtype, (None,))("x")
    program = link([x], [tt.cast(x, target)])
    expected = -5 % 2 ** (8 * np.dtype(target).itemsize)
    for n in (1, 2, 3, 7, 8, 9, 17, 40):
        assert {int(value) for value in program(np.full(n, -5, dtype))[0]} == {expected}
        assert {int(value) for value in program(np.full(2 * n, -5, dtype)[::2])[0]} == {expected}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_cut_to_integers_and_taken_back_are_those_integers(dtype: str, link: Any) -> None:
    targets = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
    x = tt.TensorType(dtype, (None,))("x")
    numbers = np.array([-1.5, -300.25, 3.75, 255.5, 256.5, 100_000.0, -0.5, 7.0, -7.0] * 3, dtype)
    program = link([x], [tt.cast(tt.cast(x, target), dtype) for target in targets])
    for target, result in zip(targets, program(numbers), strict=True):
        expected = numbers.astype("int64").astype(target).astype(dtype)
        np.testing.assert_array_equal(result, expected, err_msg=target)
        np.testing.assert_array_equal(np.signbit(result), np.signbit(expected), err_msg=target)
