"""latex: graphs as formulas that notebooks typeset."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from tests.graph.arithmetic import add, chain, div_mod, mul, number
from tests.graph.test_printing_formulas import a, b, c, function, less, minus, neg, over, plus, power, times
from treadle.graph import Apply, Form, FunctionGraph, GraphTypeError, Op, Variable, latex, pprint
from treadle.graph.printing import Formula, Operand, Precedence


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        (plus(a, minus(b, c)), r"a + \left(b - c\right)"),
        (minus(a, minus(b, c)), r"a - \left(b - c\right)"),
        (minus(minus(a, b), c), "a - b - c"),
        (times(plus(a, b), c), r"\left(a + b\right) \, c"),
        (times(a, b), r"a \, b"),
        (times(neg(a), b), r"-a \, b"),
        (times(a, neg(b)), r"a \, \left(-b\right)"),
        (plus(a, neg(b)), r"a + \left(-b\right)"),
        (neg(times(a, b)), r"-a \, b"),
        (neg(plus(a, b)), r"-\left(a + b\right)"),
        (over(plus(a, b), times(b, c)), r"\frac{a + b}{b \, c}"),
        (times(over(a, b), c), r"\frac{a}{b} \, c"),
        (power(over(a, b), c), r"\left(\frac{a}{b}\right)^{c}"),
        (power(a, power(b, c)), "a^{b^{c}}"),
        (power(power(a, b), c), r"\left(a^{b}\right)^{c}"),
        (power(neg(a), b), r"\left(-a\right)^{b}"),
        (neg(power(a, b)), "-a^{b}"),
        (less(a, b), "a < b"),
        (less(less(a, b), c), r"\left(a < b\right) < c"),
        (function(a, plus(b, c)), r"\operatorname{f}\left(a,\, b + c\right)"),
        (times(a, 2.0), r"a \cdot 2"),
        (times(2.5, a), r"2.5 \, a"),
        (times(a, -1.5), r"a \, \left(-1.5\right)"),
        (plus(a, 1e-05), "a + 10^{-5}"),
        (times(a, 2.5e20), r"a \, \left(2.5 \cdot 10^{20}\right)"),
        (plus(a, float("inf")), r"a + \infty"),
    ],
)  # fmt: skip
def test_formula_has_as_few_parentheses_as_it_needs(variable: Variable, text: str) -> None:
    assert str(latex(variable)) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x", "x"),
        ("x1", "x_{1}"),
        ("x_12", "x_{12}"),
        ("theta", r"\theta"),
        ("Sigma_new", r"\Sigma_{\mathrm{new}}"),
        ("loss", r"\mathrm{loss}"),
        ("by_loss_2", r"\mathrm{by}_{\mathrm{loss\_2}}"),
        ("100 % {of}", r"\mathrm{100\ \%\ \{of\}}"),
        ("µ", "µ"),
    ],
)
def test_names_are_written_as_mathematics_writes_them(name: str, text: str) -> None:
    assert str(latex(number(name))) == text


def test_a_named_result_has_a_left_side() -> None:
    y = add(a, b)
    y.name = "y"
    assert str(latex(y)) == r"y = \operatorname{add}\left(a,\, b\right)"


def test_lists_and_graphs_have_a_line_for_each_output() -> None:
    y = times(a, b)
    y.name = "y"
    expected = r"\begin{aligned} y &= a \, b \\ & a + b \end{aligned}"
    assert str(latex([y, plus(a, b)])) == expected
    assert str(latex(FunctionGraph([a, b], [y, plus(a, b)], clone=False))) == expected


def test_one_of_several_outputs_is_marked() -> None:
    first, second = div_mod(a, b)
    assert str(latex(second)) == rf"{str(latex(first))[:-4]}_{{1}}"


def test_what_is_used_several_times_gets_a_name() -> None:
    long = over(plus(plus(a, b), plus(b, c)), power(plus(a, c), plus(plus(a, b), c)))
    assert str(latex(times(long, long))).startswith(r"\begin{aligned} t_{1} &= \frac")
    assert str(latex(times(long, long))).endswith(r"\\ & t_{1} \, t_{1} \end{aligned}")


def test_a_large_graph_grows_no_faster_than_its_nodes(length: int) -> None:
    x = number("x")
    for _ in range(200):
        x = mul(x, x)
    assert len(latex(x)) < 20_000
    assert len(latex(chain(number("x"), length))) < 200 * length


def test_a_notebook_shows_a_formula_and_the_beginning_of_a_very_long_one() -> None:
    formula = latex(times(a, b))
    assert isinstance(formula, str)
    assert formula._repr_latex_() == r"$\displaystyle a \, b$"
    assert repr(formula) == str(formula)
    long = latex([times(a, b)] * 100)
    assert long._repr_latex_().endswith(r"& \ldots\ \text{and 40 lines more} \end{aligned}$")
    assert str(long).count(r"\\") == 99


def test_formulas_can_be_pickled() -> None:
    formula = latex([a, b])
    again = pickle.loads(pickle.dumps(formula))
    assert isinstance(again, Formula)
    assert (str(again), again._repr_latex_()) == (str(formula), formula._repr_latex_())


def test_a_form_may_have_a_latex_of_its_own() -> None:
    form = Form.call("root", [a]).in_latex(r"\sqrt{#1}", [a])
    assert form.parts[0] == "root("
    assert form.latex is not None
    assert [part for part in form.latex.parts if isinstance(part, str)] == [r"\sqrt{", "}"]


def test_something_that_is_no_graph_is_refused() -> None:
    with pytest.raises(
        GraphTypeError, match="latex: a variable, node, graph, function or list of them is needed, got 3"
    ):
        latex(3)


@pytest.mark.parametrize("limit", ["a", -1, 2.5, True])
@pytest.mark.parametrize("write", [latex, pprint])
def test_a_limit_that_is_no_count_is_refused(write: Any, limit: object) -> None:
    with pytest.raises(GraphTypeError, match=f"{write.__name__ if write is latex else 'pprint'}: limit must be an int"):
        write(a, limit=limit)


def test_no_graphs_are_an_empty_formula() -> None:
    assert latex([]) == ""


def test_several_divisors_in_one_form_are_written_one_after_the_other() -> None:
    class Ratio(Op):
        __props__ = ()

        def make_node(self, *inputs: Variable) -> Apply:
            return Apply(self, inputs, [inputs[0].type()])

        def printed_form(self, node: Apply) -> Form:
            x, y, z = (Operand(x, Precedence.ATOM) for x in node.inputs)
            return Form([x, " / ", y, " / ", z], Precedence.PRODUCT)

        def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
            raise AssertionError

    assert latex(Ratio()(a, b, c)) == r"a\mathtt{\ /\ }b\mathtt{\ /\ }c"
