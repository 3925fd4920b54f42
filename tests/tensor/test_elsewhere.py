"""What messages say to names of other libraries: what to write here in their place."""

from __future__ import annotations

import copy
import pickle
import re
from operator import attrgetter

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.graph import GraphTypeError
from treadle.tensor.variables.elsewhere import FUNCTIONS, METHODS, MODULE_NAMES


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("stop_gradient", "tt.disconnected_grad(x), or tt.zero_grad(x)"),
        ("vjp", "tt.pullback("),
        ("jit", "tt.compiled(f)"),
        ("relu", "tt.nn.relu"),
        ("cholesky", "tt.linalg.cholesky"),
        ("float32", "tt.array_api.float32"),
    ],
)
def test_functions_of_other_libraries_are_told_by_their_names_here(name: str, instead: str) -> None:
    with pytest.raises(AttributeError, match=r"module 'treadle\.tensor' has no attribute") as error:
        getattr(tt, name)
    assert f"{name!r}. Here: {instead}" in str(error.value)


@pytest.mark.parametrize("name", ["sqare", "_private", "__wrapped__"])
def test_names_of_nobody_get_no_hint(name: str) -> None:
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'$"):
        getattr(tt, name)
    with pytest.raises(AttributeError, match=f"'TensorVariable' object has no attribute '{name}'$"):
        getattr(tt.dvector("x"), name)


@pytest.mark.parametrize("name", METHODS)
def test_attributes_of_other_arrays_are_told_by_what_to_write(name: str) -> None:
    with pytest.raises(AttributeError, match="'TensorVariable' object has no attribute") as error:
        getattr(tt.dvector("x"), name)
    assert f"{name!r}. Here: {METHODS[name]}" in str(error.value)


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in MODULE_NAMES.items() for name in names]
)
def test_names_of_other_modules_are_told_by_what_to_write(module: str, name: str) -> None:
    with pytest.raises(AttributeError, match=rf"module 'treadle\.tensor\.{module}' has no attribute") as error:
        getattr(getattr(tt, module), name)
    assert str(error.value).endswith(f"{name!r}. Here: {MODULE_NAMES[module][name]}")


def test_gradient_of_a_function_asks_for_an_expression() -> None:
    def square(x: tt.TensorVariable) -> tt.TensorVariable:
        return x**2

    with pytest.raises(GraphTypeError, match=r"grad takes an expression, not a function.*Call the function with var"):
        tt.grad(square)  # type: ignore[call-overload]


def test_hints_name_what_is_there() -> None:
    texts = [
        *FUNCTIONS.values(),
        *METHODS.values(),
        *(text for names in MODULE_NAMES.values() for text in names.values()),
    ]
    for path in {path for text in texts for path in re.findall(r"\btt((?:\.\w+)+)", text)}:
        attrgetter(path[1:])(tt)


def test_hints_are_only_for_names_that_are_not_here() -> None:
    assert [name for name in FUNCTIONS if name in dir(tt)] == []
    assert {name for name in METHODS if name in dir(tt.TensorVariable)} == set()
    assert tt.shared(np.zeros(2)).get_value().tolist() == [0.0, 0.0]


def test_variables_are_copied_and_pickled_as_before() -> None:
    x = tt.dvector("x") + 1
    assert copy.copy(x).type == copy.deepcopy(x).type == pickle.loads(pickle.dumps(x)).type
