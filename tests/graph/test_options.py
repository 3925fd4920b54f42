"""Options that treadle.graph reads: traces, test values in texts, and the verbosity of errors."""

import pickle
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config, is_own_file
from treadle.graph import NodeError, NodeValueError, UserLine, Variable, clone, retell


def innermost(x: Any) -> Any:
    return x + 1.0  # made here


def middle(x: Any) -> Any:
    return innermost(x)


def texts(thing: Any) -> list[str]:
    return [line.text for line in thing.tag.trace]


def test_trace_holds_the_users_lines_innermost_first() -> None:
    variable = middle(tt.dvector("x"))
    for thing in (variable, variable.owner):
        assert texts(thing)[:3] == [
            "return x + 1.0  # made here",
            "return innermost(x)",
            'variable = middle(tt.dvector("x"))',
        ]
        assert all(isinstance(line, UserLine) and line.file == __file__ for line in thing.tag.trace)


@pytest.mark.parametrize(("limit", "kept"), [(0, 0), (1, 1), (2, 2), (8, 3), (-1, 3)])
def test_trace_is_as_long_as_the_limit_says(limit: int, kept: int) -> None:
    with config.change_flags(traceback__limit=limit):
        variable = middle(tt.dvector("x"))
        # How the test itself was started decides which frames lie further out.
        assert len(variable.tag.trace) == kept or (limit not in {0, 1, 2} and len(variable.tag.trace) > kept)
    assert variable.user_line.text == "return x + 1.0  # made here"


def test_recursion_fills_the_limit() -> None:
    def deep(x: Any, levels: int) -> Any:
        return deep(x, levels - 1) if levels else innermost(x)

    x = tt.dvector("x")
    for limit in (8, 20):
        with config.change_flags(traceback__limit=limit):
            assert len(deep(x, 50).tag.trace) == limit
    with config.change_flags(traceback__limit=-1):
        assert len(deep(x, 50).tag.trace) > 50


def test_equal_stacks_share_their_lines_and_others_do_not() -> None:
    x = tt.dvector("x")
    first, second = (middle(x) for _ in range(2))
    other = middle(x)
    assert first.user_line is second.user_line
    assert first.user_line is not other.user_line
    assert first.user_line == other.user_line
    assert texts(first)[2] != texts(other)[2]


def test_trace_survives_copies_and_pickles() -> None:
    variable = middle(tt.dvector("x"))
    copied = clone([], [variable])[1][0]
    loaded = pickle.loads(pickle.dumps(variable))
    assert texts(copied.owner) == texts(loaded.owner) == texts(variable)


def test_trace_of_what_rewrites_make_is_that_of_what_they_replace() -> None:
    x = tt.dvector("x")
    variable = tt.log(tt.exp(middle(x)) + 0.0)
    compiled = function([x], variable, mode="FAST_RUN")
    (node,) = compiled.maker.fgraph.toposort()
    assert node.trace
    assert {line.file for line in node.trace} <= {__file__, *(line.file for line in variable.tag.trace)}


def test_compile_limit_keeps_frames_of_treadles_own_after_the_users() -> None:
    x = tt.dmatrix("x")
    variable = tt.log(1.0 + x)  # becomes log1p
    for limit, kept in ((0, 0), (3, 3), (-1, 8)):
        with config.change_flags(traceback__compile_limit=limit):
            compiled = function([x], variable, mode="VM")
        (node,) = compiled.maker.fgraph.toposort()
        assert str(node.op) == "Log1p"
        assert node.trace[0].text == "variable = tt.log(1.0 + x)  # becomes log1p"
        own = [line for line in node.trace if is_own_file(line.file)]
        assert len(own) == kept or len(own) > kept == 8
        assert node.trace[len(node.trace) - len(own) :] == own


def test_compile_limit_shows_treadles_own_frames_while_building_too() -> None:
    with config.change_flags(traceback__compile_limit=2):
        variable: Any = tt.dvector("x") * 2.0
        assert len([line for line in variable.tag.trace if is_own_file(line.file)]) == 2
    assert variable.user_line.file == __file__
    assert pickle.loads(pickle.dumps(variable)).owner.user_line.trace == variable.user_line.trace


def test_string_of_a_variable_shows_its_test_value_on_demand() -> None:
    x = tt.dvector("x")
    x.tag.test_value = np.arange(2.0)
    with config.change_flags(compute_test_value="raise"):
        doubled = x * 2.0
    assert (str(x), str(doubled)) == ("x", "Mul.out")
    with config.change_flags(print_test_value=True):
        assert (str(x), str(doubled)) == ("x (test value [0. 1.])", "Mul.out (test value [0. 2.])")
        assert str(tt.dvector("y")) == "y"


def failure(verbosity: str) -> NodeError:
    x, y = tt.dvector("x"), tt.dvector("y")
    with config.change_flags(exception_verbosity=verbosity):
        compiled = function([x, y], tt.exp(x + y), mode="VM")
    with pytest.raises(NodeValueError) as caught:
        compiled(np.ones(2), np.ones(6)[::2])
    return caught.value


def test_low_verbosity_is_one_line() -> None:
    text = str(failure("low"))
    assert "\n" not in text
    assert "float64 of shape (2,), float64 of shape (3,)" in text


def test_medium_verbosity_adds_types_strides_values_and_callers() -> None:
    text = str(failure("medium"))
    assert text.startswith(str(failure("low")).partition(", built at")[0])
    input_line = "  1: y of type Vector(float64, shape=(?,)), float64 of shape (3,), strides (16,): array([1., 1., 1.])"
    assert input_line in text
    assert "Outputs: Add.out of type Vector(float64, shape=(?,))" in text
    assert "test_options.py" in text.partition("Built by:")[2]
    assert "Graph:" not in text


def test_high_verbosity_adds_the_graph() -> None:
    text = str(failure("high"))
    graph = text.partition("Graph:\n")[2]
    assert graph.startswith("Add")
    assert "x <Vector(float64, shape=(?,))>" in graph


def test_errors_of_a_function_are_as_verbose_as_the_option_was_when_it_was_compiled() -> None:
    with config.change_flags(exception_verbosity="high"):
        assert "Graph:" not in str(failure("low"))
    assert "Graph:" in str(failure("high"))


def test_error_can_be_written_again_and_pickles_as_its_text() -> None:
    error = failure("low")
    with config.change_flags(exception_verbosity="medium"):
        retell(error)
    assert "Built by:" in str(error)
    loaded = pickle.loads(pickle.dumps(error))
    assert (type(loaded), str(loaded), loaded.report) == (type(error), str(error), None)
    text = str(loaded)
    retell(loaded)  # nothing is left to tell it from
    assert str(loaded) == text


def test_tag_of_an_input_has_no_trace() -> None:
    x: Variable = tt.dvector("x")
    assert not hasattr(x.tag, "trace")
