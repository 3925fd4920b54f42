"""Tensor expressions in LaTeX."""

from __future__ import annotations

from typing import Any

import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import latex, pprint

X, Y = tt.dmatrix("X"), tt.dmatrix("Y")
v, u = tt.dvector("v"), tt.dvector("u")
a, b = tt.dscalar("a"), tt.dscalar("b")
i, k = tt.lscalar("i"), tt.lvector("k")
z = tt.zscalar("z")

FORMULAS = [
    (tt.exp(-(v**2) / 2), r"\exp\left(\frac{-v^{2}}{2}\right)"),
    (a * v, r"a \, v"),
    (v * u, r"v \odot u"),
    (X @ v, r"X \, v"),
    (u @ v, r"u \, v"),
    (X.T @ Y, r"X^{\mathsf{T}} \, Y"),
    ((X @ Y).T, r"\left(X \, Y\right)^{\mathsf{T}}"),
    (X**2, r"X^{\circ 2}"),
    (tt.square(X), r"X^{\circ 2}"),
    (tt.square(v) + 1, "v^{2} + 1"),
    (tt.sqrt(a + b), r"\sqrt{a + b}"),
    (1 / tt.sqrt(a), r"\frac{1}{\sqrt{a}}"),
    (abs(a - b), r"\left|a - b\right|"),
    (tt.floor(a) + tt.ceil(b), r"\left\lfloor a \right\rfloor + \left\lceil b \right\rceil"),
    (tt.maximum(a, b), r"\max\left(a,\, b\right)"),
    (tt.log(a), r"\log\left(a\right)"),
    (tt.log1p(a), r"\operatorname{log1p}\left(a\right)"),
    (tt.exp2(a) ** b, r"\left(2^{a}\right)^{b}"),
    ((X @ v) * v, r"X \, v \odot v"),
    (X @ (v * v), r"X \, \left(v \odot v\right)"),
    (v * u * v, r"v \odot u \odot v"),
    (a + -b * v, r"a + \left(-b \, v\right)"),
    (tt.sigmoid(a) * tt.gammaln(b), r"\sigma\left(a\right) \, \log\left|\Gamma\left(b\right)\right|"),
    (
        tt.where(a > b, a, b) * 2,
        r"\left(\begin{cases} a & \text{if } a > b \\ b & \text{otherwise} \end{cases}\right) \cdot 2"),
    (tt.ifelse(a > b, a, b), r"\begin{cases} a & \text{if } a > b \\ b & \text{otherwise} \end{cases}"),
    (tt.conj(z) + tt.real(z), r"\overline{z} + \operatorname{Re}\left(z\right)"),
    (X.sum(), r"\sum\left(X\right)"),
    (X.sum(axis=0), r"\sum_{0}\left(X\right)"),
    (X.max(axis=(0, 1)), r"\max\left(X\right)"),
    (X.argmax(axis=1), r"\operatorname{argmax}\left(X,\, \mathtt{axis=1}\right)"),
    (v.mean(), r"\frac{\sum\left(v\right)}{\operatorname{len}_{0}\left(v\right)}"),
    (X[1:, i], r"X_{\mathtt{1}\mathtt{:},\, i}"),
    (v[0] ** 2, r"v_{\mathtt{0}}^{2}"),
    (v[k][0], r"{v_{k}}_{\mathtt{0}}"),
    (v[:, None] * u[None, :], r"v \odot u"),
    (v.astype("float32"), "v"),
    ((a > b) & ~(b > a), r"\left(a > b\right) \wedge \lnot \left(b > a\right)"),
    (tt.linalg.inv(X) @ Y, r"X^{-1} \, Y"),
    (tt.linalg.solve(X + Y, v), r"\left(X + Y\right)^{-1} \, v"),
    (tt.linalg.det(X) ** 2, r"\det\left(X\right)^{2}"),
    (tt.linalg.cholesky(X), r"\operatorname{Cholesky}\left(X\right)"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "text"), FORMULAS, ids=[text for _, text in FORMULAS])
def test_formula_is_written_as_in_a_textbook(expression: Any, text: str) -> None:
    assert str(latex(expression)) == text
    assert str(expression.latex()) == text


def test_compiled_functions_are_written_with_their_updates() -> None:
    w = tt.shared([1.0, 2.0], name="w")
    step = function([v], v * w, updates={w: w - v}, mode="VM")
    assert str(latex(step)) == r"\begin{aligned} & v \odot w \\ w &\leftarrow w - v \end{aligned}"


def test_fused_functions_are_written_as_what_they_compute() -> None:
    fused = function([X, v], tt.tanh(X @ v + 1.0) * 2.0, mode="NUMBA")
    assert "Composite" in str(fused.dprint(file="str"))
    assert str(latex(fused)) == r"\tanh\left(X \, v + 1\right) \cdot 2"


def test_calls_inside_of_calls_are_written_in_full() -> None:
    assert "object at" not in pprint(tt.repeat(v, k))
