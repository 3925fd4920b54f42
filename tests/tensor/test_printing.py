"""Tensor graphs as text: trees and formulas."""

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import Print, debugprint, equal_computations, explicit_graph_inputs, pprint, shared

GOLDEN = """\
True_div [id A]
 ├─ Sum{axes=[0]} [id B]
 │   └─ Softplus [id C]
 │       └─ Neg [id D]
 │           └─ DimShuffle{0} [id E]
 │               └─ MatMul [id F]
 │                   ├─ x [id G]
 │                   └─ DimShuffle{0,x} [id H]
 │                       └─ w [id I]
 └─ Cast_float64 [id J]
     └─ ShapeI(axis=0) [id K]
         └─ Softplus [id C]
             └─ ···"""

X, Y = tt.dmatrix("X"), tt.dmatrix("Y")
v, u = tt.dvector("v"), tt.dvector("u")
a, b, c = tt.dscalar("a"), tt.dscalar("b"), tt.dscalar("c")
i, j = tt.lscalar("i"), tt.lscalar("j")
k = tt.lvector("k")
T = tt.dtensor3("T")


def test_graph_is_printed_with_ops_names_and_ids() -> None:
    x, w = tt.dmatrix("x"), tt.dvector("w")
    loss = tt.mean(tt.softplus(-(x @ w)))
    assert debugprint(loss, file="str") == GOLDEN
    assert loss.dprint(file="str") == GOLDEN


def test_static_shapes_are_printed() -> None:
    x = tt.tensor("x", shape=(2, None), dtype="float64")
    assert debugprint(tt.exp(x), print_shape=True, id_type="", file="str") == ("Exp shape=(2, ?)\n └─ x shape=(2, ?)")


FORMULAS = [
    (a - (b - c), "a - (b - c)"),
    (a - b - c, "a - b - c"),
    (a**b**c, "a ** b ** c"),
    ((a**b) ** c, "(a ** b) ** c"),
    (-(a**b), "-a ** b"),
    ((-a) ** b, "(-a) ** b"),
    (a * -b, "a * -b"),
    (-(a + b), "-(a + b)"),
    (a / (b * c), "a / (b * c)"),
    (a // b % c, "a // b % c"),
    ((a < b) & (b < c), "(a < b) & (b < c)"),
    ((i << 2) | ~j, "i << 2 | ~j"),
    (X @ (Y @ X), "X @ (Y @ X)"),
    (X.T @ Y, "X.T @ Y"),
    (X.T @ v, "X.T @ v"),
    (v @ X, "v @ X"),
    (u @ v, "u @ v"),
    (X[1:, i], "X[1:, i]"),
    (X[::2], "X[::2]"),
    (X[i : j + 1, -1], "X[i:j + 1, -1]"),
    (X[k], "X[k]"),
    (X[:, k], "X[:, k]"),
    ((X + Y)[0], "(X + Y)[0]"),
    (T.mT, "T.mT"),
    (T.transpose(1, 2, 0), "T.transpose(1, 2, 0)"),
    (T.dimshuffle(1, "x", 0, 2), "T.dimshuffle(1, 'x', 0, 2)"),
    (v[:, None] * u[None, :], "v[:, None] * u"),
    (v[None, :] * u[None, :], "v[None, :] * u[None, :]"),
    (a.dimshuffle("x", "x"), "a[None, None]"),
    (tt.row("r").squeeze(0), "r.squeeze(0)"),
    (X + v, "X + v"),
    (X * 2.5 - 1.0, "X * 2.5 - 1.0"),
    (X.sum(), "sum(X)"),
    (X.sum(axis=0), "sum(X, axis=0)"),
    (T.max(axis=(0, 2)), "max(T, axis=(0, 2))"),
    (X.argmax(axis=1), "argmax(X, axis=1)"),
    (X.sum(axis=1, keepdims=True), "sum(X, axis=1)[:, None]"),
    (X.astype("float32"), "X.astype('float32')"),
    (tt.softmax(X, axis=1), "softmax(X, axis=1)"),
    (tt.log_softmax(X), "log_softmax(X)"),
    (tt.logsumexp(X, axis=0), "logsumexp(X, axis=0)"),
    (tt.switch(a < b, a, tt.exp(c)), "switch(a < b, a, exp(c))"),
    (X.reshape((2, -1)), "X.reshape(2, -1)"),
    (v[:1].reshape(()), "v[:1].reshape(())"),
    (X.shape[0], "X.shape[0]"),
    (tt.shape(X), "X.shape"),
    (X[1:].set(0.0), "set_subtensor(X[1:], 0.0)"),
    (X[k, i].inc(u), "inc_subtensor(X[k, i], u)"),
    (tt.concatenate([X, Y]), "join(0, X, Y)"),
    (tt.arange(i), "arange(0, i, 1)"),
    (tt.alloc(1.0, i, 2), "alloc(1.0, i, 2)"),
    (tt.abs(a - b), "abs(a - b)"),
    (tt.exp(-(v**2) / 2), "exp(-v ** 2.0 / 2.0)"),
]


@pytest.mark.parametrize(("expression", "text"), FORMULAS, ids=[text for _, text in FORMULAS])
def test_formula_is_written_as_a_user_would(expression: Any, text: str) -> None:
    assert pprint(expression) == text


# Where broadcasting or indexing adds dimensions, Python builds the same values in another way.
REBUILT = [text for _, text in FORMULAS if text not in {"v[:, None] * u", "a[None, None]"}]


@pytest.mark.parametrize("text", REBUILT)
def test_formula_read_by_python_is_the_same_graph(text: str) -> None:
    expression = next(e for e, t in FORMULAS if t == text)
    names: dict[str, Any] = {str(var): var for var in explicit_graph_inputs(expression)}
    again = eval(text, {**{name: getattr(tt, name) for name in tt.__all__}, **names})
    assert equal_computations([again], [expression])


def test_equality_of_elements_is_written_as_a_comparison() -> None:
    assert pprint(tt.eq(a < b, c > b)) == "(a < b) == (c > b)"
    assert pprint(tt.neq(a, b)) == "a != b"


def test_mean_is_a_sum_over_a_length() -> None:
    assert pprint(tt.mean(v)) == "sum(v) / v.shape[0].astype('float64')"


def test_sum_back_to_a_shape_names_the_lengths() -> None:
    assert pprint(tt.sum_to(T, X)) == "sum_to(T, X.shape[0], X.shape[1])"


def test_fused_function_is_written_as_the_formula_that_it_computes() -> None:
    fused = function([X, v], tt.tanh(X @ v + 1.0) * 2.0, mode="NUMBA")
    assert "Composite" in str(fused.dprint(file="str"))
    assert pprint(fused) == "tanh(X @ v + [1.]) * [2.]"


def test_fused_function_of_several_outputs_has_a_formula_for_each() -> None:
    shared_part = tt.tanh(v * u)
    fused = function([v, u], [shared_part + 1.0, shared_part * u, (shared_part * v).sum()])
    assert pprint(fused).replace("[1.]", "1.0").splitlines() == [
        "tanh(v * u) + 1.0",
        "tanh(v * u) * u",
        "sum(tanh(v * u) * v)",
    ]


def test_accumulated_product_is_written_out() -> None:
    assert pprint(tt.Gemm()(X, a, X + Y, Y, b)) == "b * X + a * ((X + Y) @ Y)"


def test_shared_variables_and_updates_are_named() -> None:
    w = shared(np.zeros(3), "w")
    step = function([v], w @ v, updates={w: w - v}, mode="VM")
    assert pprint(step) == "w @ v\nw -> w - v"
    assert " └─ w\n" not in str(step.dprint(file="str", id_type="", print_storage=True))
    assert "w = [0. 0. 0.]" in str(step.dprint(file="str", id_type="", print_storage=True))
    assert "(new value of w)" in str(step.dprint(file="str"))


def test_logistic_loss_is_short_and_its_gradient_names_what_it_shares() -> None:
    loss = tt.mean(tt.softplus(-(X @ v)))
    assert pprint(loss) == "sum(softplus(-(X @ v))) / softplus(-(X @ v)).shape[0].astype('float64')"
    text = pprint(tt.grad(loss, v), limit=60)
    assert all("= " in line for line in text.splitlines()[:-1])
    assert max(map(len, text.splitlines())) < 130


def test_value_is_shown_where_it_is_computed(capsys: pytest.CaptureFixture[str]) -> None:
    out = (Print("v", attrs=("shape",))(v) ** 2).sum()
    values = function([v], [out, tt.grad(out, v)], mode="VM")(np.arange(3.0))
    np.testing.assert_array_equal(values[1], [0.0, 2.0, 4.0])
    assert capsys.readouterr().out == "v shape = (3,)\n"
