"""Test values: sample values that run along while a graph is built."""

import pdb
import pickle
from typing import Any

import pytest

from tests.graph.arithmetic import NUMBER, add, chain, div_mod, inverse, mul, number
from treadle.config import TreadleError, config
from treadle.graph import (
    GraphTypeError,
    NodeArithmeticError,
    SharedVariable,
    TestValueError,
    Variable,
    compute_test_value,
    get_test_value,
    get_test_values,
    missing_test_message,
)


def valued(name: str, value: float) -> Variable:
    """Return a variable with a test value."""
    var = number(name)
    var.tag.test_value = value
    return var


def test_nothing_is_computed_while_the_option_is_off() -> None:
    x = valued("x", 2.0)
    assert not hasattr(add(x, x).tag, "test_value")
    assert get_test_values(x) == []


@pytest.mark.parametrize("action", ["ignore", "warn", "raise"])
def test_values_run_along_under_every_other_setting(action: str) -> None:
    x = valued("x", 7.0)
    with config.change_flags(compute_test_value=action):
        quotient, rest = div_mod(add(x, 1), 3)
    assert [get_test_value(v) for v in (quotient, rest)] == [2.0, 2.0]


def test_missing_value_is_ignored() -> None:
    with config.change_flags(compute_test_value="ignore"):
        out = add(number("x"), 1)
    assert not hasattr(out.tag, "test_value")


def test_missing_value_warns_once_for_the_node_and_stops() -> None:
    with (
        config.change_flags(compute_test_value="warn"),
        pytest.warns(UserWarning, match=r"add: input 0: test value: x of type Number\(1\) has none") as caught,
    ):
        out = add(number("x"), number("y"))
    assert len(caught) == 1
    assert not hasattr(out.tag, "test_value")


def test_missing_value_raises_an_error_of_both_documented_classes() -> None:
    with config.change_flags(compute_test_value="raise"), pytest.raises(TestValueError) as caught:
        add(number("x"), 1)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, AttributeError)
    assert isinstance(caught.value, TreadleError)
    assert pickle.loads(pickle.dumps(caught.value)).args == caught.value.args


def test_missing_value_of_a_computed_variable_names_its_line() -> None:
    y = inverse(number("x"))
    with pytest.raises(TestValueError, match=r'has none, built at test_test_values\.py:\d+ "y = inverse'):
        get_test_value(y)


def test_constants_and_shared_variables_have_their_own_value() -> None:
    assert get_test_value(NUMBER.make_constant(3)) == 3.0
    state = SharedVariable(NUMBER, 4.0)
    assert get_test_value(state) == 4.0
    with config.change_flags(compute_test_value="raise"):
        assert get_test_value(add(state, 1)) == 5.0


def test_test_value_is_checked_against_the_type() -> None:
    x = number("x")
    x.tag.test_value = "seven"
    with pytest.raises(GraphTypeError, match="a float is needed, got 'seven'"):
        get_test_value(x)
    x.tag.test_value = 7
    assert get_test_value(x) == 7.0


def test_plain_value_without_converter_is_refused() -> None:
    with pytest.raises(GraphTypeError, match="no type is known for a value of class object"):
        get_test_value(object())


def test_loop_over_test_values_runs_once_or_not_at_all() -> None:
    x, y, z = valued("x", 1.0), valued("y", 2.0), number("z")
    seen: list[Any] = []
    with config.change_flags(compute_test_value="ignore"):
        seen += [("both", a, b) for a, b in get_test_values(x, y)]
        seen += [("one", a) for a in get_test_values(y)]
        seen += [("none", a, b) for a, b in get_test_values(x, z)]
        assert get_test_values() == [()]
    assert seen == [("both", 1.0, 2.0), ("one", 2.0)]


def test_missing_message_follows_the_option() -> None:
    missing_test_message("off")
    with config.change_flags(compute_test_value="ignore"):
        missing_test_message("ignored")
    with config.change_flags(compute_test_value="warn"), pytest.warns(UserWarning, match=r"^warned$"):
        missing_test_message("warned")
    with config.change_flags(compute_test_value="raise"), pytest.raises(AttributeError, match=r"^raised$"):
        missing_test_message("raised")


def test_failure_on_the_values_names_op_values_and_line_while_the_graph_is_built() -> None:
    x = valued("x", 0.0)
    with config.change_flags(compute_test_value="raise"), pytest.raises(NodeArithmeticError) as caught:
        inverse(add(x, 0))
    message = str(caught.value)
    assert message.startswith("Inverse: float division by zero, built at test_test_values.py:")
    assert '"inverse(add(x, 0))"' in message
    assert "The inputs are float." in message


def test_values_can_be_computed_by_hand() -> None:
    node = mul(valued("x", 3.0), 2).owner
    compute_test_value(node)
    assert node.outputs[0].tag.test_value == 6.0


def test_option_is_that_of_the_block_only() -> None:
    x = valued("x", 1.0)
    with config.change_flags(compute_test_value="raise"):
        inside = add(x, 1)
    outside = add(x, 1)
    assert get_test_value(inside) == 2.0
    assert not hasattr(outside.tag, "test_value")


def test_debugger_opens_where_an_op_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    monkeypatch.setattr(pdb, "post_mortem", opened.append)
    x = valued("x", 0.0)
    with config.change_flags(compute_test_value="pdb"), pytest.raises(NodeArithmeticError):
        inverse(x)
    assert len(opened) == 1


def test_debugger_opens_where_a_value_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(pdb.Pdb, "interaction", lambda _, frame, __: opened.append(frame.f_code.co_name))
    with config.change_flags(compute_test_value="pdb"), pytest.raises(TestValueError):
        add(number("x"), 1)
    assert opened == ["compute_test_value"]


def test_long_chain_computes_its_test_values(length: int) -> None:
    x = valued("x", 1.0)
    with config.change_flags(compute_test_value="raise"):
        assert get_test_value(chain(x, length)) == length + 1.0


def test_value_that_is_not_of_the_type_names_its_variable() -> None:
    x = number("x")
    x.tag.test_value = "word"
    with pytest.raises(GraphTypeError, match=r"test value: that of x is not of its type: Number: a float is needed"):
        get_test_value(x)


def test_missing_value_names_the_line_of_the_node_that_needs_it() -> None:
    with (
        config.change_flags(compute_test_value="raise"),
        pytest.raises(TestValueError, match=r'The node was built at test_test_values\.py:\d+ "add\(number'),
    ):
        add(number("x"), 1)
