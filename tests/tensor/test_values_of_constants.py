"""Constants where Python and NumPy need numbers, and the errors of other tensors there."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.tensor
from treadle.compile import function
from treadle.config import TreadleError
from treadle.graph import GraphTypeError

tt: Any = treadle.tensor
X = tt.dvector("x")
ASKED: dict[str, Callable[[Any], Any]] = {
    "int": int,
    "float": float,
    "complex": complex,
    "index": operator.index,
    "round": lambda x: round(x, 2),
    "format": lambda x: f"{x:.3f}",
    "array": np.asarray,
}


@pytest.mark.parametrize("name", ASKED)
def test_a_variable_says_that_it_has_no_value_yet(name: str) -> None:
    with pytest.raises(TypeError, match=rf"{name}: .* has no value yet\. Compute it by x\.eval\(\)"):
        ASKED[name](tt.lscalar("n"))


@pytest.mark.parametrize("name", ASKED)
def test_a_shared_variable_says_how_its_value_is_read(name: str) -> None:
    with pytest.raises(TypeError, match=r"has no value yet\. Read it by get_value\(\)"):
        ASKED[name](tt.shared(3))


def test_a_constant_gives_its_number() -> None:
    assert (int(tt.constant(2)), float(tt.constant(2.5)), complex(tt.constant(1j))) == (2, 2.5, 1j)
    assert [10, 20, 30][tt.constant(1)] == 20
    assert list(range(tt.constant(3))) == [0, 1, 2]
    assert (round(tt.constant(1.234), 1), f"{tt.constant(1.25):.1f}") == (1.2, "1.2")
    assert tt.constant(True)
    assert not tt.constant(0.0)


def test_a_constant_gives_its_array() -> None:
    array = np.asarray(tt.constant([1.0, 2.0]))
    np.testing.assert_array_equal(array, np.array([1.0, 2.0]), strict=True)
    assert np.array(tt.constant([1, 2]), dtype="float32").dtype == "float32"


def test_several_elements_are_not_a_number() -> None:
    for convert in (int, float, complex, bool, operator.index):
        with pytest.raises(TreadleError, match=r"one element is needed|an integer is needed"):
            convert(tt.constant([1, 2]))
    with pytest.raises(TreadleError, match="an integer is needed"):
        operator.index(tt.constant(1.5))


@pytest.mark.parametrize(
    "make",
    [lambda: np.array([X, X]), lambda: np.vectorize(abs)(X), lambda: np.array(X), lambda: np.sum([X, X], axis=0)],
)
def test_no_array_of_variables_is_created(make: Callable[[], Any]) -> None:
    with pytest.raises(TreadleError, match="has no value yet"):
        make()


def test_functions_of_numpy_still_build_expressions() -> None:
    assert isinstance(np.exp(X), tt.TensorVariable)
    assert isinstance(np.ones(3) * X, tt.TensorVariable)
    assert isinstance(np.sum(X), tt.TensorVariable)


def test_assignment_says_what_to_write() -> None:
    with pytest.raises(TypeError, match=r"item assignment: x of type .*Write y = x\[index\]\.set\(value\)"):
        X[0] = 1


def test_values_for_eval_are_a_mapping() -> None:
    for values in ([1.0], "abc", 5):
        with pytest.raises(GraphTypeError, match=r"eval: inputs_to_values must map inputs.*Write \{x: value\}"):
            (X * 2).eval(values)


def test_a_function_is_not_an_expression() -> None:
    def loss(x: Any) -> Any:
        return (x**2).sum()

    for derive in (tt.grad, tt.value_and_grad, tt.jacobian, tt.hessian):
        with pytest.raises(GraphTypeError, match=r"takes an expression, not a function"):
            derive(loss)
    with pytest.raises(GraphTypeError, match=r"^pushforward: pushforward takes an expression, not a function"):
        tt.pushforward(loss, X, X)


def test_advice_about_precision_can_be_followed() -> None:
    x = tt.fvector("x")
    value = np.array([0.1])
    with pytest.raises(TypeError, match=r"In\(x, allow_downcast=True\).*function\(..., allow_input_downcast=True\)"):
        function([x], x, mode="VM")(value)
    function([x], x * 1, mode="VM", allow_input_downcast=True)(value)


def test_error_for_complex_data_does_not_advise_a_conversion() -> None:
    x = tt.dvector("x")
    with pytest.raises(TypeError, match=r"Take its real\(\), imag\(\) or abs\(\)"):
        function([x], x, mode="VM")(np.array([1j]))


def test_arrays_of_libraries_without_copy_are_taken_without_a_warning() -> None:
    class Foreign:
        def __array__(self, dtype: Any = None) -> Any:
            return np.array([1.0, 2.0], dtype)

    assert tt.constant(Foreign()).data.tolist() == [1.0, 2.0]
