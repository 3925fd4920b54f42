"""Values that decide shapes are known before compiling; those that depend on data are refused."""

from __future__ import annotations

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_jax.programs import assert_like_vm, link
from treadle.config import config
from treadle.graph import LoweringError

X = np.arange(12.0).reshape(3, 4)


def test_an_input_may_decide_a_shape() -> None:
    x, n = tt.dmatrix("x"), tt.lscalar("n")
    program = link([x, n], [x.reshape((n, -1)), x[:n], tt.arange(n) + n, tt.zeros((n, 2))])
    for value in (1, 2, 3, 2):
        assert [r.shape for r in program(X, np.array(value))] == [
            (value, 12 // value),
            (min(value, 3), 4),
            (value,),
            (value, 2),
        ]


def test_a_vector_of_lengths_may_decide_a_shape() -> None:
    x, shape = tt.dmatrix("x"), tt.lvector("shape")
    assert_like_vm([x, shape], [x.reshape(shape, ndim=2)], X, np.array([6, 2]))


def test_a_float_may_decide_a_length() -> None:
    stop = tt.dscalar("stop")
    assert_like_vm([stop], [tt.arange(0.5, stop, 0.25)], np.array(2.1))


def test_lengths_computed_from_shapes_are_known() -> None:
    x = tt.dmatrix("x")
    n = x.shape[0] * x.shape[1] // 2
    assert_like_vm([x], [tt.arange(n), tt.zeros((n,)), x.flatten()[n:], x.reshape((n, -1)), n], X)


def test_forms_are_kept_for_the_values_used_last() -> None:
    n = tt.lscalar("n")
    with config.change_flags(jax__static_values=2):
        program = link([n], [tt.arange(n)])
    for value in (1, 2, 3, 3, 2):
        program(np.array(value))
    assert len(program._variants) == 2


def test_a_value_changed_later_by_the_caller_does_not_change_a_form() -> None:
    x, n = tt.dvector("x"), tt.lscalar("n")
    program = link([x, n], [x[:n] * n])
    value = np.array(2)
    program(np.arange(4.0), value)
    value[...] = 3
    # A new shape of x traces the form for 2 again.
    assert program(np.arange(5.0), np.array(2))[0].tolist() == [0, 2]


def test_a_shape_that_depends_on_data_is_refused_when_linking() -> None:
    x, v = tt.dvector("x"), tt.lvector("v")
    outputs = [tt.zeros((x.sum().astype("int64"),)), v[: v.sum()], x + 1]  # the culprits
    with pytest.raises(LoweringError) as caught:
        link([x, v], outputs)
    text = str(caught.value)
    assert "Alloc of" in text
    assert "Subtensor{[:?]}" in text
    assert text.count("JAX needs shapes known") == 2
    assert text.count("# the culprits") == 2


def test_a_wrong_length_is_an_error_that_names_the_node() -> None:
    x, n = tt.dmatrix("x"), tt.lscalar("n")
    with pytest.raises(ValueError, match=r"Reshape.*cannot reshape array of size 12"):
        link([x, n], [x.reshape((n, -1))])(X, np.array(5))
    with pytest.raises(ValueError, match=r"Alloc.*non-negative"):
        link([n], [tt.zeros((n,))])(np.array(-1))
