"""Errors name the argument or op, what was passed, and the user's line; on every backend."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.contract.backends import BACKENDS
from treadle.compile import CallError, FunctionTypeError, MissingBackendError, UnusedInputError, function, shared
from treadle.config import TreadleError, UnknownOptionError, config
from treadle.graph import MissingInputError, NodeError

on_every_backend = pytest.mark.parametrize("backend", [name.upper() for name in BACKENDS])


def line_of(build: Callable[..., Any]) -> str:
    """Return ``file:line`` of the last line of a function's source."""
    source, first = inspect.getsourcelines(build)
    return f"{inspect.getsourcefile(build)}".rpartition("/")[2] + f":{first + len(source) - 1}"


def matrix_function(backend: str) -> Callable[..., Any]:
    x, y = tt.dmatrix("x"), tt.tensor("y", dtype="float64", shape=(None, 3))
    return function([x, y], tt.sum(x) * y, mode=backend, name="weigh")


GOOD = np.ones((2, 3))


@on_every_backend
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones(3), GOOD), r"weigh: argument 0, x: .*rank.*shape \(3,\)"),
        ((GOOD + 1j, GOOD), r"weigh: argument 0, x: .*float64.*complex128"),
        (("text", GOOD), r"weigh: argument 0, x: .*'text'"),
        ((None, GOOD), r"weigh: argument 0, x: .*None"),
        ((GOOD, np.ones((2, 4))), r"weigh: argument 1, y: .*shape.*\(2, 4\)"),
        ((GOOD,), r"weigh: argument 1, y of type .* is missing"),
        ((GOOD, GOOD, GOOD), r"weigh: 2 arguments at most, got 3"),
    ],
    ids=["rank", "dtype", "text", "none", "shape", "missing", "too-many"],
)
def test_wrong_argument_is_named(backend: str, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(CallError, match=message):
        matrix_function(backend)(*arguments)


@on_every_backend
def test_unknown_keyword_is_named(backend: str) -> None:
    with pytest.raises(CallError, match="z"):
        matrix_function(backend)(GOOD, z=GOOD)


@on_every_backend
def test_argument_that_would_lose_precision_is_refused_unless_allowed(backend: str) -> None:
    x = tt.fvector("x")
    value = np.array([0.1])
    with pytest.raises(CallError, match="allow_downcast"):
        function([x], x + 1, mode=backend)(value)
    kept = function([x], x + 1, mode=backend, allow_input_downcast=True)(value)
    np.testing.assert_array_equal(kept, value.astype("float32") + 1)


@on_every_backend
def test_unused_input_is_named(backend: str) -> None:
    x, y = tt.scalars("x", "y", dtype="float64")
    with pytest.raises(UnusedInputError, match="input 1, y"):
        function([x, y], x, mode=backend)
    assert function([x, y], x, mode=backend, on_unused_input="ignore")(2.0, 3.0) == 2.0


@on_every_backend
def test_unused_input_warns_if_asked_to(backend: str) -> None:
    x, y = tt.scalars("x", "y", dtype="float64")
    with pytest.warns(UserWarning, match="input 1, y"):
        function([x, y], x, mode=backend, on_unused_input="warn")


@on_every_backend
def test_input_that_is_not_a_variable_is_refused(backend: str) -> None:
    x = tt.dscalar("x")
    with pytest.raises(FunctionTypeError, match=r"must be a variable or In, got 3\.0"):
        function([x, 3.0], x, mode=backend)


@on_every_backend
def test_missing_input_is_named(backend: str) -> None:
    x, y = tt.scalars("x", "y", dtype="float64")
    with pytest.raises(MissingInputError, match="y"):
        function([x], x + y, mode=backend)


@on_every_backend
def test_input_given_twice_is_refused(backend: str) -> None:
    x = tt.dscalar("x")
    with pytest.raises(UnusedInputError, match="twice"):
        function([x, x], x, mode=backend)


@on_every_backend
def test_clash_of_shapes_at_run_time_names_op_and_line(backend: str) -> None:
    x, y = tt.matrices("x", "y", dtype="float64")

    def build() -> Any:
        return tt.exp(x) + y

    run = function([x, y], build() * 2, mode=backend)
    with pytest.raises(ValueError, match="Add") as caught:
        run(np.ones((2, 3)), np.ones((2, 4)))
    assert isinstance(caught.value, NodeError)
    assert line_of(build) in str(caught.value)
    assert "(2, 3)" in str(caught.value)


@on_every_backend
def test_clash_in_a_product_at_run_time_names_op_and_line(backend: str) -> None:
    x, y = tt.matrices("x", "y", dtype="float64")

    def build() -> Any:
        return x @ y

    run = function([x, y], tt.tanh(build()), mode=backend)
    with pytest.raises(ValueError, match="MatMul") as caught:
        run(np.ones((2, 3)), np.ones((2, 4)))
    assert line_of(build) in str(caught.value)


@on_every_backend
def test_position_out_of_bounds_names_op_and_line(backend: str) -> None:
    x, i = tt.dvector("x"), tt.lscalar("i")

    def build() -> Any:
        return x[i]

    run = function([x, i], build() + 1, mode=backend)
    with pytest.raises(IndexError, match="Subtensor") as caught:
        run(np.ones(3), 3)
    assert line_of(build) in str(caught.value)


@on_every_backend
def test_function_works_after_a_failed_call(backend: str) -> None:
    x, y = tt.vectors("x", "y", dtype="float64")
    run = function([x, y], x + y, mode=backend)
    with pytest.raises(ValueError, match="Add"):
        run(np.ones(2), np.ones(3))
    np.testing.assert_array_equal(run(np.ones(3), np.ones(3)), np.full(3, 2.0))


@on_every_backend
def test_failed_call_leaves_shared_variables_as_they_were(backend: str) -> None:
    count, total = shared(np.array(5.0), name="count"), shared(np.ones(3), name="total")
    x = tt.dvector("x")
    run = function([x], count * 2, updates=[(count, count + 1), (total, total + x)], mode=backend)
    with pytest.raises(ValueError, match="Add"):
        run(np.ones(4))
    assert count.get_value() == 5.0
    np.testing.assert_array_equal(total.get_value(), np.ones(3))
    assert run(np.ones(3)) == 10.0
    assert count.get_value() == 6.0
    np.testing.assert_array_equal(total.get_value(), np.full(3, 2.0))


@on_every_backend
def test_wrong_argument_leaves_shared_variables_as_they_were(backend: str) -> None:
    count = shared(np.array(5.0), name="count")
    x = tt.dvector("x")
    run = function([x], tt.sum(x), updates=[(count, count + 1)], mode=backend)
    with pytest.raises(CallError, match="argument 0"):
        run(np.ones((3, 3)))
    assert count.get_value() == 5.0


@on_every_backend
def test_update_of_another_type_is_refused(backend: str) -> None:
    state = shared(np.array(5.0), name="state")
    with pytest.raises(TypeError, match="state"):
        function([], [], updates=[(state, tt.dvector("x"))], mode=backend)


# Before any backend is reached


def test_unknown_mode_is_an_error_with_near_names() -> None:
    with pytest.raises(MissingBackendError, match="FAST_RUN"):
        function([], tt.constant(1.0), mode="FAST_RUNN")


def test_missing_backend_is_an_error_that_says_how_to_install_it() -> None:
    with pytest.raises(MissingBackendError, match="pip install"):
        function([], tt.constant(1.0), mode="FORTRAN")


def test_mode_of_a_wrong_kind_is_refused() -> None:
    with pytest.raises(FunctionTypeError, match="got 3"):
        function([], tt.constant(1.0), mode=3)  # type: ignore[arg-type]  # that is the point


def test_unknown_option_is_an_error_with_near_names() -> None:
    with pytest.raises(UnknownOptionError, match="floatX"), config.change_flags(floatx="float32"):
        pass


def test_static_shapes_that_clash_are_refused_with_dimension_and_lengths() -> None:
    x, y = tt.tensor("x", dtype="float64", shape=(2, 3)), tt.tensor("y", dtype="float64", shape=(2, 4))
    with pytest.raises(tt.ShapeError, match=r"dimension 1 has lengths 3, 4"):
        x + y
    with pytest.raises(tt.ShapeError, match=r"inner lengths .*\(3 and 2\)"):
        x @ y


def test_static_position_out_of_bounds_is_refused() -> None:
    with pytest.raises(tt.IndexingError, match="position 3 is out of bounds for dimension 0 of length 2"):
        tt.tensor("x", dtype="float64", shape=(2, 3))[3]


def test_every_error_derives_from_one_root_and_a_builtin() -> None:
    for error in (CallError, FunctionTypeError, MissingBackendError, UnusedInputError, NodeError):
        assert issubclass(error, TreadleError)


@on_every_backend
@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 4)])
def test_extrema_over_no_elements_are_refused_as_by_numpy_also_where_there_are_no_results(
    backend: str, shape: tuple[int, int]
) -> None:
    x = tt.dmatrix("x")
    for extrema in (x.max(axis=1), [abs(x).min(axis=1), abs(x).sum(axis=1)]):
        f = function([x], extrema, mode=backend)
        if shape[1] == 0:
            with pytest.raises(NodeError, match="no identity"):
                f(np.zeros(shape))
        else:
            f(np.zeros(shape))
