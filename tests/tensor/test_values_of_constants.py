"""Constants where Python and NumPy need numbers, and the errors of other tensors there."""

import copy
import math
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.special

import treadle.tensor
from treadle.compile import function
from treadle.config import TreadleError
from treadle.graph import GraphTypeError

torch: Any = pytest.importorskip("torch")

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


def _if(x: Any) -> int:
    return 1 if x else 0


def _set(x: Any) -> None:
    x[0] = 1


def _delete(x: Any) -> None:
    del x[0]


NO_VALUE = r"has no value yet.* Compute it by x\.eval\(\)"
NO_TRUTH = r"neither true nor false\. Use where\(condition, a, b\)"
# What Python and other libraries ask of an array, and what a vector without a value says.
USES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "float(x)": (float, NO_VALUE),
    "int(x)": (int, NO_VALUE),
    "complex(x)": (complex, NO_VALUE),
    "round(x)": (round, NO_VALUE),
    "bool(x)": (bool, NO_TRUTH),
    "if x": (_if, NO_TRUTH),
    "x and x": (lambda x: x and x, NO_TRUTH),
    "not x": (lambda x: not x, NO_TRUTH),
    "0 < x < 1": (lambda x: 0 < x < 1, NO_TRUTH),
    "max(x, x)": (lambda x: max(x, x + 1), NO_TRUTH),
    "x[0] = 1": (_set, r"cannot be changed in place\. Write y = x\[index\]\.set\(value\)"),
    "del x[0]": (_delete, r"cannot be changed in place\. Write y = delete\(x, index, axis\)"),
    "np.asarray(x)": (np.asarray, NO_VALUE),
    "np.array([x, x])": (lambda x: np.array([x, x]), NO_VALUE),
    "f'{x:.2f}'": (lambda x: f"{x:.2f}", NO_VALUE),
    "'%f' % x": (lambda x: "%f" % x, NO_VALUE),  # noqa: UP031 - what is tested
    "len(x)": (len, r"length of x .* is not known when the graph is built\. Use x\.shape\[0\]; values .* x\.eval"),
    "for row in x": (list, r"length of the first dimension of x .* is not known\. Declare the shape, index instead"),
    "1 in x": (lambda x: 1 in x, r"membership: .* Use any\(eq\(x, item\)\), or isin\(item, x\)"),
    "math.exp(x)": (math.exp, NO_VALUE),
    "range(x)": (range, NO_VALUE),
    "items[x]": (lambda x: [1, 2][x], NO_VALUE),
    "items[:x]": (lambda x: [1, 2][:x], NO_VALUE),
    "x.item()": (lambda x: x.item(), NO_VALUE),
    "x.tolist()": (lambda x: x.tolist(), NO_VALUE),
    "np.linalg.solve(x, x)": (lambda x: np.linalg.solve(x, x), r"a matrix or a stack of such is needed, got x"),
    "np.save(file, x)": (lambda x: np.save("no", x), r"numpy\.save: symbolic tensors do not take this function"),
    "np.random": (lambda x: np.random.default_rng(0).normal(x), NO_VALUE),
    "pd.Series(x)": (pd.Series, "length of x .* is not known.* values are computed by x\\.eval"),
    "pd.DataFrame(x)": (lambda x: pd.DataFrame(x[None]), r"has no value yet.* It was pandas that asked for it"),
    "torch.tensor(x)": (torch.tensor, NO_VALUE),
    "np.from_dlpack(x)": (np.from_dlpack, NO_VALUE),
}
# Functions that take variables, so that nothing is asked.
EXPRESSIONS: dict[str, Callable[[Any], Any]] = {
    "scipy.special.gamma(x)": scipy.special.gamma,
    "np.exp(x)": np.exp,
    "math.floor(x)": math.floor,
    "abs(x)": abs,
    "np.float64(2) * x": lambda x: np.float64(2) * x,
    "np.array([1, 2]) @ x": lambda x: np.array([1, 2]) @ x,
    "np.isclose(x, x)": lambda x: np.isclose(x, x),
}


@pytest.mark.parametrize("use", USES)
def test_what_a_variable_cannot_be_says_so_with_the_cure(use: str) -> None:
    apply, message = USES[use]
    with pytest.raises(TreadleError, match=message):
        apply(X)


@pytest.mark.parametrize("use", EXPRESSIONS)
def test_what_a_variable_can_be_is_an_expression(use: str) -> None:
    assert isinstance(EXPRESSIONS[use](X), tt.TensorVariable)


def test_a_scalar_has_no_length() -> None:
    for use in (len, list, sorted, sum, reversed):
        with pytest.raises(TreadleError, match="is a scalar, which has no length"):
            use(tt.dscalar("s"))


NUMBER, COUNT, ROW, TABLE = 2.5, 2, [1.0, 2.0], [[2.0, 1.0], [1.0, 3.0]]
# What constants give: the constant's value, its use, and what comes of it.
GIVEN: dict[str, tuple[Any, Callable[[Any], Any], Any]] = {
    "if c": (NUMBER, _if, 1),
    "not c": (0.0, lambda c: not c, True),
    "'%f' % c": (NUMBER, lambda c: "%f" % c, "2.500000"),  # noqa: UP031 - what is tested
    "'%d' % c": (COUNT, lambda c: "%d" % c, "2"),  # noqa: UP031 - what is tested
    "np.array([c, c])": (ROW, lambda c: np.array([c, c]), [ROW, ROW]),
    "len(c)": (ROW, len, 2),
    "for number in c": (ROW, lambda c: [float(number) for number in c], ROW),
    "for row in c": (TABLE, lambda c: [np.asarray(row) for row in c], TABLE),
    "1.0 in c": (ROW, lambda c: 1.0 in c, True),
    "3.0 in c": (ROW, lambda c: 3.0 in c, False),
    "math.exp(c)": (NUMBER, math.exp, math.exp(NUMBER)),
    "items[c]": (COUNT, lambda c: [1, 2, 3][c], 3),
    "np.zeros(c)": (COUNT, np.zeros, [0.0, 0.0]),
    "pd.Series(c)": (ROW, pd.Series, ROW),
    "pd.DataFrame(c)": (TABLE, pd.DataFrame, TABLE),
    "torch.tensor(c)": (ROW, torch.tensor, ROW),
    "torch.from_dlpack(c)": (ROW, torch.from_dlpack, ROW),
    "np.from_dlpack(c)": (ROW, np.from_dlpack, ROW),
    "c.tolist()": (TABLE, lambda c: c.tolist(), TABLE),
    "a pickle": (TABLE, lambda c: pickle.loads(pickle.dumps(c)), TABLE),
    "a copy": (TABLE, copy.copy, TABLE),
    "a deep copy": (TABLE, copy.deepcopy, TABLE),
}


@pytest.mark.parametrize("use", GIVEN)
def test_a_constant_gives_its_numbers(use: str) -> None:
    given, apply, expected = GIVEN[use]
    result = apply(tt.constant(given))
    if isinstance(expected, str):
        assert result == expected
    else:
        np.testing.assert_allclose(np.asarray(result), expected)


def test_the_rows_of_a_constant_are_constants() -> None:
    rows = list(tt.constant([[1, 2], [3, 4]]))
    assert [type(row) for row in rows] == [tt.TensorConstant] * 2
    assert [row.type.shape for row in rows] == [(2,)] * 2


def test_constants_are_compared_by_numpy() -> None:
    np.testing.assert_allclose(tt.constant([1.0, 2.0]), [1.0, 2.0])
    np.testing.assert_array_equal(tt.constant(TABLE), np.array(TABLE))
