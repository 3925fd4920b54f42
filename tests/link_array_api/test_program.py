"""Programs of the backend for the array API, on NumPy, the standard's strict form of it, and other libraries."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import array_api_strict
import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor.random.portable_samples import assert_same_draws, portable_samples
from treadle.compile import Out, function, get_mode, shared
from treadle.config import OptionValueError, config
from treadle.graph import FunctionGraph, GraphValueError, LoweringError
from treadle.link.vm import PythonStepWarning
from treadle.testing import Check, checks, find_backend, run_check

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
NAMESPACES = [
    "numpy",
    "array_api_strict",
    pytest.param("torch", marks=needs_torch),
]


@pytest.fixture
def strict() -> Iterator[None]:
    with config.change_flags(array_api__namespace="array_api_strict"):
        yield


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_a_model_with_its_gradient_has_the_virtual_machines_values(namespace: str) -> None:
    x, y, w = tt.dmatrix("x"), tt.dvector("y"), tt.dvector("w")
    score = x @ w
    loss = tt.mean(tt.softplus(score) - y * score) + tt.sum(tt.cumsum(w)[::-1] ** 2)
    outputs = [loss, tt.grad(loss, w), tt.argmax(score), x[y.astype("int64")]]
    rng = np.random.default_rng(3)
    values = rng.normal(size=(5, 3)), rng.integers(0, 2, 5).astype("float64"), rng.normal(size=3)
    expected = function([x, y, w], outputs, mode="VM")(*values)
    with config.change_flags(array_api__namespace=namespace):
        results = function([x, y, w], outputs, mode="ARRAY_API")(*values)
    for result, wanted in zip(results, expected, strict=True):
        assert type(result) is np.ndarray
        np.testing.assert_allclose(result, wanted, rtol=1e-12)


# A family of each kind of rule; what the strict namespace lacks, float16 and special functions, is not in them.
STRICT = {
    "accumulation", "arithmetic", "broadcasting", "conditional", "convolution", "diagonals", "dimshuffle", "indexing",
    "joining", "loops", "lu", "matrix_functions", "product", "reduction", "searching", "shape", "sorting",
}  # fmt: skip


@pytest.mark.parametrize(
    "check", [c for c in checks(("values",)) if c.family in STRICT and c.dtype in {"float64", "int64"}], ids=str
)
@pytest.mark.usefixtures("strict")
def test_rules_use_what_the_standard_defines_alone(check: Check) -> None:
    run_check("array_api", check, {"array_api__namespace": "array_api_strict"}, may_refuse=())


@pytest.mark.slow
@pytest.mark.parametrize("check", [c for c in checks(("values", "first")) if c.dtype == "float64"], ids=str)
def test_the_strict_namespace_keeps_the_contract(check: Check) -> None:
    check = Check(**{**{f: getattr(check, f) for f in Check.__slots__}, "without": (*check.without, "cast_float16")})
    run_check("array_api", check, {"array_api__namespace": "array_api_strict"}, may_refuse=())


@pytest.mark.usefixtures("strict")
def test_recurrences_of_matrices_use_what_the_standard_defines_alone() -> None:
    x = tt.dmatrix("x")
    values = np.arange(1.0, 13.0).reshape(4, 3)
    for axis in (0, 1):
        slope = tt.grad(tt.cumprod(x, axis=axis).sum(), x)
        expected = function([x], slope, mode="VM")(values)
        np.testing.assert_allclose(function([x], slope, mode="ARRAY_API")(values), expected, rtol=1e-13)


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_what_decomposes_needs_no_step_of_python(namespace: str) -> None:
    a, b, pivots = tt.dtensor3("a"), tt.dtensor3("b"), tt.imatrix("pivots")
    images, filters = tt.dtensor4("images"), tt.dtensor4("filters")
    image = tt.conv2d(images, filters, padding=1, stride=2)
    outputs = [
        tt.linalg.expm(a), tt.linalg.signm(a), tt.linalg.sqrtm(a), tt.linalg.logm(a),
        tt.linalg.lu_solve((a, pivots), b), tt.linalg.pivot_to_permutation(pivots), image,
        *tt.grad((image**2).sum(), [images, filters]),
        tt.grad(tt.linalg.expm(a).sum(), a),
    ]  # fmt: skip
    rng = np.random.default_rng(3)
    values = [
        rng.normal(size=(2, 3, 3)) / 3 + 2 * np.eye(3), rng.normal(size=(2, 3, 2)), np.array([[1, 2, 2], [2, 1, 2]]),
        rng.normal(size=(2, 3, 6, 5)), rng.normal(size=(4, 3, 3, 2)),
    ]  # fmt: skip
    values[2] = values[2].astype("int32")
    inputs = [a, b, pivots, images, filters]
    expected = function(inputs, outputs, mode="VM")(*values)
    with config.change_flags(array_api__namespace=namespace, on_python_step="raise"):
        results = function(inputs, outputs, mode="ARRAY_API")(*values)
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("strict")
def test_arrays_of_the_library_go_in_and_come_out_where_that_is_asked_for() -> None:
    x = tt.dvector("x")
    argument = array_api_strict.asarray([1.0, 2.0])
    plain = function([x], [x * 2, Out(x + 1, borrow=True)], mode="ARRAY_API")
    doubled, moved = plain(argument)
    assert type(doubled) is np.ndarray
    assert type(moved) is type(argument)
    whole = get_mode("ARRAY_API").clone(link_kwargs={"device_outputs": True})
    assert type(function([x], x * 2, mode=whole)(argument)) is type(argument)
    with config.change_flags(array_api__device_outputs=True):
        assert type(function([x], x * 2, mode="ARRAY_API")(argument)) is type(argument)


@pytest.mark.usefixtures("strict")
def test_shared_state_stays_in_the_library_between_calls() -> None:
    total = shared(np.zeros(2), "total")
    x = tt.dvector("x")
    step = function([x], [], updates={total: total + x}, mode="ARRAY_API")
    step(np.ones(2))
    step(np.ones(2))
    np.testing.assert_array_equal(total.get_value(), [2.0, 2.0])


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_positions_given_twice_are_added_twice_and_written_with_the_last_value(namespace: str) -> None:
    x, y, at = tt.dvector("x"), tt.dvector("y"), tt.lvector("at")
    with config.change_flags(array_api__namespace=namespace):
        f = function([x, y, at], [x[at].inc(y), x[at].set(y)], mode="ARRAY_API")
    added, written = f(np.zeros(4), np.arange(1.0, 7.0), np.array([1, 3, 1, 1, -1, 0]))
    np.testing.assert_array_equal(added, [6.0, 8.0, 0.0, 7.0])
    np.testing.assert_array_equal(written, [6.0, 4.0, 0.0, 5.0])


@pytest.mark.usefixtures("strict")
def test_random_draws_are_those_of_every_other_backend() -> None:
    samples = portable_samples(["bits", "standard_normal", "integers"])
    linkers = find_backend("array_api").linker(), find_backend("vm").linker()
    drawn, expected = (
        linker.link(FunctionGraph(samples.inputs, samples.outputs, clone=True))(*samples.values) for linker in linkers
    )
    assert_same_draws(samples, drawn, expected)


@pytest.mark.usefixtures("strict")
def test_a_function_that_the_library_lacks_runs_on_the_host_with_a_warning_or_is_refused() -> None:
    x = tt.dvector("x")
    with pytest.warns(PythonStepWarning, match="Gammaln"):
        f = function([x], tt.gammaln(x) + 1, mode="ARRAY_API")
    np.testing.assert_allclose(f(np.array([3.0])), [np.log(2.0) + 1])
    with config.change_flags(on_python_step="raise"), pytest.raises(LoweringError, match="Gammaln"):
        function([x], tt.gammaln(x) + 1, mode="ARRAY_API")


@pytest.mark.usefixtures("strict")
def test_a_dtype_that_the_library_lacks_is_refused_by_name() -> None:
    x = tt.vector("x", dtype="float16")
    with pytest.raises(LoweringError, match="array_api_strict has no numbers of dtype float16"):
        function([x], x + 1, mode="ARRAY_API")


def test_a_namespace_that_is_none_is_refused() -> None:
    x = tt.dvector("x")
    for name, reason in (("no_such_library", "cannot be imported"), ("math", "does not follow the array API")):
        with (
            config.change_flags(array_api__namespace=name),
            pytest.raises(OptionValueError, match=reason),
        ):
            function([x], x + 1, mode="ARRAY_API")


def test_a_device_that_is_none_is_refused() -> None:
    x = tt.dvector("x")
    with (
        config.change_flags(array_api__device="no_such_device"),
        pytest.raises(OptionValueError, match=r"device: 'no_such_device' cannot .* that numpy finds here: cpu"),
    ):
        function([x], x + 1, mode="ARRAY_API")


def test_a_device_of_a_shared_variable_that_is_none_is_refused_by_the_variables_name() -> None:
    w = tt.shared(np.ones(2), name="w", device="gpu:7")
    with pytest.raises(GraphValueError, match=r"variable w: its device 'gpu:7' cannot .* that numpy finds here: cpu"):
        function([], w * 2, mode="ARRAY_API")


def test_only_the_branch_taken_is_computed() -> None:
    x, at = tt.dvector("x"), tt.lscalar("at")
    f = function([x, at], tt.ifelse(at < 2, x[at], tt.constant(-1.0)), mode="ARRAY_API")
    assert [float(f(np.array([1.0, 2.0]), n)) for n in (1, 5)] == [2.0, -1.0]


def test_results_are_the_callers_own() -> None:
    x = tt.dmatrix("x")
    value = np.ones((2, 2))
    for result in function([x], [x, x.T, x[0], x.real, x + 0, tt.alloc(x[0], 3, 2)], mode="ARRAY_API")(value):
        assert result.flags.writeable
        result[...] = 5.0
    np.testing.assert_array_equal(value, 1.0)
