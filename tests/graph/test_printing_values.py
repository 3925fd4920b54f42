"""Print: values shown while a program runs."""

import pickle
from typing import Any

import pytest

from tests.graph.arithmetic import add, inverse, number
from treadle.graph import FunctionGraph, GraphTypeError, Print, pprint
from treadle.link.vm import PythonLinker


def run(inputs: list[Any], output: Any, *values: float) -> Any:
    return PythonLinker().link(FunctionGraph(inputs, [output]))(*values)[0]


def test_value_is_shown_and_passed_on(capsys: pytest.CaptureFixture[str]) -> None:
    x = number("x")
    assert run([x], add(Print("x is")(x), 1.0), 2.0) == 3.0
    assert capsys.readouterr().out == "x is __str__ = 2.0\n"


def test_attributes_and_methods_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    x = number("x")
    run([x], Print("x", attrs=["real", "is_integer"])(x), 2.5)
    assert capsys.readouterr().out == "x real = 2.5\nx is_integer = False\n"


def test_function_may_be_called_in_place_of_showing() -> None:
    seen: list[tuple[str, float]] = []
    x = number("x")
    out = Print("kept", global_fn=lambda op, value: seen.append((op.message, value)))(x)
    assert run([x], out, 4.0) == 4.0
    assert seen == [("kept", 4.0)]


def test_output_has_the_type_of_the_input() -> None:
    x = number("x")
    assert Print()(x).type == x.type
    with pytest.raises(GraphTypeError, match="inputs must be variables, got 3"):
        Print("n")(3)


def test_equal_ops_show_the_same() -> None:
    assert Print("a") == Print("a")
    assert len({Print("a"), Print("a"), Print("b"), Print("a", ("shape",))}) == 3
    assert Print("a") != inverse
    assert Print("a", global_fn=lambda _, __: None) != Print("a")


def test_op_is_pickled() -> None:
    x = number("x")
    loaded = pickle.loads(pickle.dumps(Print("m", ("real",))(x)))
    assert loaded.owner.op == Print("m", ("real",))


def test_values_known_beforehand_are_shown_at_every_call() -> None:
    out = Print("c")(number("x"))
    assert out.owner.op.do_constant_folding(None, out.owner) is False


def test_derivatives_and_shapes_pass_through() -> None:
    x, t = number("x"), number("t")
    op = Print("x")
    out = op(x)
    assert list(op.pullback([x], [out], [t])) == [t]
    assert list(op.pushforward([x], [out], [t])) == [t]
    assert list(op.infer_shape(out.owner, [(t,)])) == [(t,)]


def test_formula_names_the_message() -> None:
    x = number("x")
    assert pprint(Print("m")(Print()(x))) == "Print('m')(Print()(x))"
    assert str(Print("m")) == "Print(message='m', attrs=('__str__',))"


def test_nothing_is_shown_while_the_graph_is_built(capsys: pytest.CaptureFixture[str]) -> None:
    Print("m")(number("x"))
    assert capsys.readouterr().out == ""
