"""The traits of all scalar ops hold for samples of every dtype: from their records' domains, and special values."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from treadle.tensor import SCALAR_OPS, DtypeError, ScalarOp
from treadle.tensor.families import load_scalar_families
from treadle.tensor.types.tensor_type import DTYPES
from treadle.testing import SAMPLES, Domain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Array = np.ndarray[Any, Any]

load_scalar_families()
REALS = [d for d in DTYPES if np.dtype(d).kind in "biuf"]
FLOATS = ["float16", "float32", "float64"]
COUNT = 40
DOMAINS: dict[object, list[Domain]] = {
    getattr(sample.build, "scalar_op", None): [operand.domain for operand in sample.operands] for sample in SAMPLES
}


def with_trait(has: Callable[[ScalarOp], object]) -> pytest.MarkDecorator:
    """Parametrize a test by the names of all scalar ops with a trait."""
    return pytest.mark.parametrize(
        "op", [op for op in map(SCALAR_OPS.__getitem__, SCALAR_OPS.names()) if has(op)], ids=str
    )


def evaluated(op: ScalarOp, *operands: Array) -> Array:
    """Return what the reference computes of operands of any dtypes."""
    loops, out = op.signature([x.dtype for x in operands])
    with np.errstate(all="ignore"):
        converted = [x.astype(d) for x, d in zip(operands, loops, strict=True)]
        return np.asarray(op.impl(*converted)).astype(out)


def takes(op: ScalarOp, *dtypes: str) -> bool:
    """Whether a function takes operands of these dtypes."""
    try:
        op.signature([np.dtype(d) for d in dtypes])
    except DtypeError:
        return False
    return True


def ordinary(op: ScalarOp, dtype: str, seed: int = 0) -> list[Array]:
    """Return samples of each operand from the domains of the function's record."""
    rng = np.random.default_rng(seed)
    domains = DOMAINS.get(op) or [Domain(max(op.domain[0], -3.0), min(op.domain[1], 3.0))] * op.nin
    return [_drawn(domain, rng, np.dtype(dtype)) for domain in domains]


def _drawn(domain: Domain, rng: np.random.Generator, dtype: np.dtype[Any]) -> Array:
    """Draw samples; of a domain without integers of the dtype some others."""
    if dtype.kind in "iu" and max(np.ceil(domain.low), np.iinfo(dtype).min) > np.floor(domain.high):
        domain = Domain(0, 3)
    return domain.draw(rng, dtype, (COUNT,))


def special(op: ScalarOp, dtype: str) -> list[Array]:
    """Return special values of a dtype, each with every other."""
    values = Domain().specials(np.dtype(dtype))
    if np.dtype(dtype).kind == "f":
        ends = [x for x in op.domain if np.isfinite(x)]
        values = np.concatenate([values, np.array([-60.0, -7.0, 0.1, 3.5, 100.0, *ends])]).astype(dtype)
    if op.nin > 2:
        values = values[:6]
    return [x.ravel() for x in np.meshgrid(*[values] * op.nin)]


def samples(op: ScalarOp, dtypes: Sequence[str] = DTYPES) -> Iterator[list[Array]]:
    """Yield ordinary and special operands of each dtype that a function takes."""
    for dtype in dtypes:
        if takes(op, *[dtype] * op.nin):
            yield ordinary(op, dtype)
            yield special(op, dtype)


def positive(op: ScalarOp, dtype: str) -> list[Array]:
    rng = np.random.default_rng(3)
    return [Domain(0.1, 3.0).draw(rng, np.dtype(dtype), (COUNT,)) for _ in range(op.nin)]


def error_of(dtype: np.dtype[Any]) -> float:
    return 64 * float(np.finfo(dtype).eps)


def assert_close(actual: Array, expected: Array, *, scale: float = 1.0) -> None:
    """Compare results, of floats up to rounding."""
    if actual.dtype.kind in "fc":
        error = scale * max(error_of(actual.dtype), error_of(expected.dtype) if expected.dtype.kind in "fc" else 0.0)
        np.testing.assert_allclose(actual, expected, rtol=error, atol=error)
    else:
        np.testing.assert_array_equal(actual, expected)


def test_traits_are_set_on_functions_of_as_many_operands_as_they_are_about() -> None:
    for op in map(SCALAR_OPS.__getitem__, SCALAR_OPS.names()):
        is_binary = op.commutative or op.associative or op.anticommutative or op.converse or op.negation
        assert op.nin == 2 or not is_binary, op
        assert op.nin == 1 or not (op.monotone or op.idempotent or op.inverse or op.exponential or op.exponent), op
        assert {*op.linear, *op.zero_of} <= set(range(op.nin)), op
        assert not isinstance(op.parity, tuple) or len(op.parity) == op.nin, op
        for other in (op.inverse, op.converse, op.negation):
            assert other is None or other in SCALAR_OPS, op
        assert {op.monotone, op.bound} <= {None, "increasing", "decreasing", "upper", "lower", "between"}, op
        assert op.bound != "between" or op.nin == 3, op


@with_trait(lambda op: op.image != (-np.inf, np.inf))
def test_results_lie_in_the_image(op: ScalarOp) -> None:
    low, high = op.image
    for operands in samples(op, REALS):
        values = evaluated(op, *operands)
        if values.dtype.kind != "f":
            continue
        error = error_of(values.dtype)
        outside = (values < low - error) | (values > high + error)
        assert not outside.any(), (values[outside], [x[outside] for x in operands])
        if low >= 0 and not np.signbit(low):
            assert not (np.signbit(values) & ~np.isnan(values)).any(), operands


@with_trait(lambda op: op.domain != (-np.inf, np.inf) and op.nin == 1)
def test_results_outside_of_the_domain_are_nan_and_inside_are_not(op: ScalarOp) -> None:
    low, high = op.domain
    outside = [x for x in (low - 1.5, low - 1e-3, high + 1e-3, high + 1.5) if np.isfinite(x)]
    assert np.isnan(evaluated(op, np.array(outside))).all()
    inside = np.linspace(max(low, -5.0), min(high, 5.0), 50)[1:-1]
    assert not np.isnan(evaluated(op, inside)).any()


@with_trait(lambda op: op.monotone)
def test_results_of_sorted_operands_are_sorted(op: ScalarOp) -> None:
    for dtype in REALS:
        if not takes(op, dtype) or (dtype.startswith("u") and op.wraps and op.monotone == "decreasing"):
            continue
        for (operand,) in (ordinary(op, dtype), special(op, dtype), ordinary(op, dtype, seed=1)):
            inside = operand[~np.isnan(operand)] if operand.dtype.kind == "f" else operand
            inside = inside[(inside >= op.domain[0]) & (inside <= op.domain[1])]
            if np.dtype(dtype).kind == "i":
                # The least integer has no negative.
                inside = inside[inside != np.iinfo(dtype).min]
            values = evaluated(op, np.sort(inside)).astype("float64")
            with np.errstate(invalid="ignore"):
                steps = np.diff(values) * (1 if op.monotone == "increasing" else -1)
            error = 1e-2 if dtype == "float16" else 1e-5
            assert not (steps < -error * np.abs(values[1:])).any(), (dtype, values)


@with_trait(lambda op: op.parity)
def test_operands_that_change_their_sign_change_the_result_as_parity_says(op: ScalarOp) -> None:
    for changed in product([False, True], repeat=op.nin):
        sign = op.sign_of(changed)
        if not any(changed) or not sign:
            continue
        for operands in samples(op):
            kind = operands[0].dtype.kind
            if kind == "b" or (kind == "u" and not op.wraps):
                continue
            least = np.zeros(len(operands[0]), bool)
            if kind == "i":
                least = np.any([x == np.iinfo(x.dtype).min for x in operands], axis=0)
            with np.errstate(all="ignore"):
                turned = [-x if is_changed else x for x, is_changed in zip(operands, changed, strict=True)]
                values = evaluated(op, *operands)
                expected = values if sign > 0 else np.negative(values)
            # The least integer is its own negative, and so is 0, at which there may be a pole.
            keep = ~least & (np.isfinite(expected) | (kind != "i")) if not op.wraps else slice(None)
            results = evaluated(op, *turned)[keep]
            if kind == "c":
                assert_close(results, expected[keep])
            else:
                np.testing.assert_array_equal(results, expected[keep])


def test_parity_of_a_sum_is_that_of_all_operands_and_of_a_product_that_of_each() -> None:
    assert [SCALAR_OPS["add"].sign_of(changed) for changed in ((True, True), (True, False))] == [-1, 0]
    assert [SCALAR_OPS["mul"].sign_of(changed) for changed in ((True, True), (True, False))] == [1, -1]
    assert [SCALAR_OPS["ldexp"].sign_of(changed) for changed in ((True, False), (False, True))] == [-1, 0]


@with_trait(lambda op: op.inverse)
def test_inverses_give_operands_back(op: ScalarOp) -> None:
    inverse = SCALAR_OPS[str(op.inverse)]
    for (operand,) in (ordinary(op, dtype) for dtype in REALS if takes(op, dtype) and dtype != "float16"):
        if operand.dtype.kind in "biu" and evaluated(op, operand).dtype != operand.dtype:
            continue
        inside = operand[(operand >= op.domain[0]) & (operand <= op.domain[1])]
        assert_close(evaluated(inverse, evaluated(op, inside)), inside, scale=2000)


@with_trait(lambda op: op.idempotent)
def test_applying_an_idempotent_function_again_changes_nothing(op: ScalarOp) -> None:
    for operands in samples(op):
        once = evaluated(op, *operands)
        if takes(op, once.dtype.name):
            assert_close(evaluated(op, once), once)


@with_trait(lambda op: op.commutative or op.anticommutative)
def test_operands_of_commutative_functions_may_be_exchanged(op: ScalarOp) -> None:
    for x, y in samples(op):
        values, exchanged = evaluated(op, x, y), evaluated(op, y, x)
        with np.errstate(all="ignore"):
            values = np.negative(values) if op.anticommutative else values
        # At a pole the sign of an infinite result may be either.
        finite = np.isfinite(values)
        np.testing.assert_array_equal(np.isfinite(exchanged), finite)
        assert_close(exchanged[finite], values[finite])


@with_trait(lambda op: op.associative)
def test_associative_functions_may_be_grouped_either_way(op: ScalarOp) -> None:
    for dtype in DTYPES:
        if takes(op, dtype, dtype):
            x, y, z = ordinary(op, dtype)[0], *ordinary(op, dtype, seed=1)
            if (out := evaluated(op, x, y).dtype) != x.dtype:
                x, y, z = (v.astype(out) for v in (x, y, z))
            left, right = evaluated(op, evaluated(op, x, y), z), evaluated(op, x, evaluated(op, y, z))
            finite = np.isfinite(left) & np.isfinite(right)
            size = np.abs(left[finite]).max(initial=1)
            assert_close(left[finite], right[finite], scale=float(size) if left.dtype.kind in "fc" else 1.0)


@with_trait(lambda op: op.identity is not None)
def test_an_identity_changes_nothing(op: ScalarOp) -> None:
    for x, _ in samples(op):
        if x.dtype.kind in "biu" and not np.isfinite(op.identity or 0):
            continue
        e = np.full_like(x, op.identity)
        values = evaluated(op, x, e)
        keep = np.isfinite(x) if x.dtype.kind in "fc" else slice(None)
        np.testing.assert_array_equal(values[keep], x.astype(values.dtype)[keep])


@with_trait(lambda op: op.converse)
def test_comparisons_have_their_converses_and_negations(op: ScalarOp) -> None:
    for x, y in samples(op, REALS):
        values = evaluated(op, x, y)
        np.testing.assert_array_equal(evaluated(SCALAR_OPS[str(op.converse)], y, x), values)
        ordered = ~(np.isnan(x) | np.isnan(y)) if x.dtype.kind == "f" else np.ones(len(x), bool)
        if op.commutative:
            ordered[:] = True
        np.testing.assert_array_equal(evaluated(SCALAR_OPS[str(op.negation)], x, y)[ordered], ~values[ordered])


@with_trait(lambda op: op.linear)
def test_linear_functions_add_and_scale(op: ScalarOp) -> None:
    for at in op.linear:
        for dtype in DTYPES:
            if not takes(op, *[dtype] * op.nin) or dtype in {"bool", "float16"}:
                continue
            operands, others = ordinary(op, dtype), ordinary(op, dtype, seed=1)
            if evaluated(op, *operands).dtype != operands[at].dtype:
                continue

            def at_place(x: Array, operands: list[Array] = operands, at: int = at) -> Array:
                return evaluated(op, *(x if i == at else y for i, y in enumerate(operands)))

            x, y = operands[at], others[at]
            with np.errstate(all="ignore"):
                finite = np.isfinite(at_place(x)) & np.isfinite(at_place(y))
                size = float(np.abs(at_place(x)[finite]).max(initial=1))
                assert_close(at_place(x + y)[finite], (at_place(x) + at_place(y))[finite], scale=size)
                assert_close(at_place(x * 3)[finite], (at_place(x) * 3)[finite], scale=size)


@with_trait(lambda op: op.exponent is not None)
def test_powers_are_of_their_exponents(op: ScalarOp) -> None:
    for (x,) in samples(op, FLOATS):
        with np.errstate(all="ignore"):
            expected = np.power(x.astype("float64"), op.exponent or 0).astype(x.dtype)
        # NumPy's power of minus infinity to one half is infinite.
        keep = ~np.isneginf(x)
        np.testing.assert_allclose(evaluated(op, x)[keep], expected[keep], rtol=error_of(x.dtype))


@with_trait(lambda op: op.exponential)
def test_exponentials_turn_sums_into_products(op: ScalarOp) -> None:
    for dtype in ("float32", "float64", "complex128"):
        (x,), (y,) = ordinary(op, dtype), ordinary(op, dtype, seed=1)
        if takes(op, dtype):
            assert_close(evaluated(op, x + y), evaluated(op, x) * evaluated(op, y), scale=100)


@with_trait(lambda op: op.zero_of)
def test_operands_that_are_0_make_the_result_0(op: ScalarOp) -> None:
    for at, operands in product(op.zero_of, samples(op)):
        zero = [np.zeros_like(x) if i == at else x for i, x in enumerate(operands)]
        values = evaluated(op, *zero)
        assert ((values == 0) | (values != values)).all()
        assert values.dtype.kind not in "biu" or not values.any()


@with_trait(lambda op: op.nonzero)
def test_results_are_not_0(op: ScalarOp) -> None:
    for dtype in REALS:
        if takes(op, *[dtype] * op.nin):
            assert evaluated(op, *ordinary(op, dtype)).all()
    line = [np.linspace(max(op.domain[0], -4.0), min(op.domain[1], 4.0), 300)] * op.nin
    assert evaluated(op, *line).all()


@with_trait(lambda op: op.keeps_positive)
def test_results_of_positive_operands_are_positive(op: ScalarOp) -> None:
    for dtype in FLOATS:
        if takes(op, *[dtype] * op.nin):
            operands = positive(op, dtype)
            assert (evaluated(op, *operands) > 0).all()
            values = [x[(x >= 0) & ~np.signbit(x)] for x in (Domain().specials(np.dtype(dtype)),) * op.nin]
            results = evaluated(op, *(x.ravel() for x in np.meshgrid(*values)))
            assert ((results >= 0) | np.isnan(results)).all()
            assert not (np.signbit(results) & ~np.isnan(results)).any()


@with_trait(lambda op: op.selective)
def test_results_of_selective_functions_are_operands(op: ScalarOp) -> None:
    for operands in samples(op):
        values = evaluated(op, *operands)
        assert values.dtype == operands[0].dtype
        assert np.any([(values == x) | ((values != values) & (x != x)) for x in operands], axis=0).all()


@with_trait(lambda op: op.bound)
def test_bounds_are_bounds_of_each_operand(op: ScalarOp) -> None:
    for operands in samples(op, REALS):
        values = evaluated(op, *operands)
        if values.dtype != operands[0].dtype:
            continue
        if op.bound == "between":
            # Where the bounds are in their order; otherwise one of them is the result.
            x, low, high = operands
            with np.errstate(invalid="ignore"):
                holds = ((low <= values) & (values <= high)) | (low > high) | (values != values)
            assert holds.all(), (values, x)
            continue
        for x in operands:
            with np.errstate(invalid="ignore"):
                holds = values >= x if op.bound == "upper" else values <= x
            assert (holds | (values != values)).all(), (values, x)


@with_trait(lambda op: op.wraps)
def test_integers_wrap_around_where_a_function_says_so(op: ScalarOp) -> None:
    for dtype in ("int8", "uint8", "int16"):
        operands = special(op, dtype)
        if takes(op, *[dtype] * op.nin):
            wide = evaluated(op, *(x.astype("int64") for x in operands))
            np.testing.assert_array_equal(evaluated(op, *operands), wide.astype(dtype))


@with_trait(lambda op: op.conjugates)
def test_results_of_conjugated_operands_are_conjugated(op: ScalarOp) -> None:
    for dtype in ("complex64", "complex128"):
        if takes(op, *[dtype] * op.nin):
            for operands in (ordinary(op, dtype), [x.real.astype(dtype) for x in ordinary(op, dtype)]):
                assert_close(evaluated(op, *map(np.conj, operands)), np.conj(evaluated(op, *operands)))
                assert all(x.imag.any() for x in operands) or not evaluated(op, *operands).imag.any()
