"""The parameters of `function`, and what it refuses."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import (
    CallError,
    Function,
    FunctionTypeError,
    FunctionValueError,
    In,
    Out,
    UnusedInputError,
    function,
    shared,
)
from treadle.compile.functions.arguments import Signature
from treadle.config import config
from treadle.graph import MissingInputError, NodeValueError


def compiled(*args: Any, **options: Any) -> Function:
    return function(*args, **{"mode": "VM", **options})


@pytest.mark.documents("function.outputs", "Out", "Out.variable", "Function.__call__", "F7", "F8", "F10", "F43")
def test_single_output_gives_a_bare_value() -> None:
    x = tt.dscalar("x")
    result = compiled([x], 2 * x)(4)
    assert isinstance(result, np.ndarray)
    assert result == 8.0
    assert compiled([x], Out(2 * x))(4) == 8.0


@pytest.mark.documents("F10", "F43")
@pytest.mark.parametrize("kind", [list, tuple])
def test_several_outputs_give_a_list(kind: Callable[[Any], Any]) -> None:
    x = tt.dscalar("x")
    assert compiled([x], kind([x, x + 1]))(1.0) == [1.0, 2.0]
    assert compiled([x], kind([x]))(1.0) == [1.0]


@pytest.mark.documents("function.outputs")
def test_outputs_in_a_dict_come_in_a_dict() -> None:
    x = tt.dscalar("x")
    assert compiled([x], {"one": x, 2: Out(x + 1)})(1.0) == {"one": 1.0, 2: 2.0}


@pytest.mark.documents("F10")
def test_no_outputs_give_an_empty_list() -> None:
    assert compiled([])() == []
    assert compiled([], [])() == []


def test_results_belong_to_the_caller() -> None:
    x = tt.dvector("x")
    argument = np.ones(3)
    f = compiled([x], [x, x, x[::-1], tt.constant(np.ones(3))])
    for result in f(argument):
        result[:] = 7.0
    assert argument.tolist() == [1.0] * 3
    assert f(argument)[3].tolist() == [1.0] * 3


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ("x", "inputs must be a list of variables, got x. Put it into a list"),
        ({"a": "x"}, "got {'a': 'x'}. List its values, or make a function of dictionaries with compiled"),
        (["x", 3], "an input must be a variable or In, got 3"),
        (["x", None], "an input must be a variable or In, got None"),
    ],
)
@pytest.mark.documents("function.inputs", "error:FunctionTypeError", "F9")
def test_inputs_must_be_a_list_of_variables(inputs: Any, message: str) -> None:
    x = tt.dscalar("x")
    variables = x if inputs == "x" else inputs if isinstance(inputs, dict) else [x, *inputs[1:]]
    with pytest.raises(FunctionTypeError, match=message):
        compiled(variables, x)


@pytest.mark.documents("F9")
def test_constants_and_shared_variables_are_not_inputs() -> None:
    state, one = shared(1.0, name="state"), tt.constant(1.0)
    with pytest.raises(FunctionTypeError, match="state is a shared variable, which is an input by itself"):
        compiled([state], state + 1)
    with pytest.raises(FunctionTypeError, match="state is a shared variable"):
        compiled([In(state)], state + 1)
    with pytest.raises(FunctionTypeError, match="is a constant and cannot be an input"):
        compiled([one], one + 1)


@pytest.mark.documents("error:UnusedInputError", "F9")
def test_inputs_and_outputs_take_further_attributes() -> None:
    x = tt.dscalar("x")
    given, result = In(x), Out(x * 2)
    vars(given).update(note="in")
    vars(result).update(note="out")
    f = compiled([given], result)
    assert f(1.0) == 2.0
    assert (vars(given)["variable"], vars(given)["note"], vars(result)["note"]) == (x, "in", "out")
    assert len({given: 1, In(x): 2}) == 2


def test_input_given_twice_is_refused() -> None:
    x = tt.dscalar("x")
    with pytest.raises(UnusedInputError, match="x is given twice among the inputs"):
        compiled([x, x], x)


@pytest.mark.documents("F10")
def test_output_must_be_a_variable() -> None:
    x = tt.dscalar("x")
    for wrong in (3.0, [x, "y"], {"a": None}):
        with pytest.raises(FunctionTypeError, match="an output must be a variable or Out, got"):
            compiled([x], wrong)
    with pytest.raises(FunctionTypeError, match="Out: an output must be a variable, got 3"):
        Out(3)


@pytest.mark.documents("error:MissingInputError", "F9")
def test_missing_input_is_named_with_the_line_that_needs_it() -> None:
    x, y = tt.dscalar("x"), tt.dscalar("y")
    total = x + y
    with pytest.raises(MissingInputError) as caught:
        compiled([x], total)
    assert "y of type Scalar(float64): the variable is needed by Add, built at test_function.py:" in str(caught.value)
    assert '"total = x + y"' in str(caught.value)


def test_unused_input_is_reported_before_a_missing_one() -> None:
    x, y, u = tt.dscalar("x"), tt.dscalar("y"), tt.dmatrix("u")
    with pytest.raises(UnusedInputError, match="input 1, u of type Matrix"):
        compiled([x, u], x + y)
    with pytest.raises(MissingInputError, match="y of type"):
        function([x, u], x + y, mode="VM", on_unused_input="ignore")


@pytest.mark.documents("function.on_unused_input", "F23")
def test_unused_input_is_refused_warned_about_or_ignored() -> None:
    x, u = tt.dscalar("x"), tt.dmatrix("u")
    with pytest.raises(UnusedInputError, match=r"input 1, u of type Matrix.* is not used by any output or update"):
        compiled([x, u], x)
    with pytest.warns(UserWarning, match="input 1, u of type Matrix") as caught:
        function([x, u], x, mode="VM", on_unused_input="warn")
    assert caught[0].filename == __file__
    assert compiled([x, u], x, on_unused_input="ignore")(1.0, np.ones((1, 1))) == 1.0


@pytest.mark.documents("option:on_unused_input", "error:FunctionValueError", "F23")
def test_option_says_what_to_do_about_unused_inputs() -> None:
    x, u = tt.dscalar("x"), tt.dscalar("u")
    with config.change_flags(on_unused_input="ignore"):
        compiled([x, u], x)
    with pytest.raises(FunctionValueError, match="on_unused_input must be raise, warn or ignore, got 'maybe'"):
        compiled([x], x, on_unused_input="maybe")


def test_input_that_only_an_update_uses_is_used() -> None:
    x, state = tt.dscalar("x"), shared(0.0)
    compiled([x], updates=[(state, x)])(3.0)
    assert state.get_value() == 3.0


@pytest.mark.documents("function.name", "Function.name", "F19")
def test_name_is_shown_and_must_be_a_string() -> None:
    x = tt.dscalar("x")
    named = compiled([x], x, name="identity")
    assert named.name == "identity"
    assert repr(named).startswith("<identity(x: Scalar(float64)) on VM made at test_function.py:")
    with pytest.raises(FunctionTypeError, match="the name must be a string, got 3"):
        compiled([x], x, name=3)


def test_path_to_a_missing_input_is_shown() -> None:
    x, y = tt.dscalar("x"), tt.dscalar("y")
    result = tt.exp(tt.sin(x + y))
    result.name = "result"
    with pytest.raises(
        MissingInputError, match=r"not among the inputs \(x\).* way .*: result <- Exp, .* <- Add, .* <- y"
    ):
        compiled([x], result)
    for _ in range(2000):
        result = tt.sin(result)
    with pytest.raises(MissingInputError, match=r"<- 1995 more <- "):
        compiled([x], result)
    with pytest.raises(MissingInputError, match=r"y of type .* is needed by an output, but is not among .* \(none\)"):
        compiled([], y)


def test_error_of_an_unused_input_names_those_that_are_used() -> None:
    x, y, u = tt.dscalar("x"), tt.dscalar("y"), tt.dscalar("u")
    with pytest.raises(UnusedInputError, match=r"input 2, u .* The inputs that are used: x, y\. Leave it out"):
        compiled([x, y, u], x * y)


def test_invalid_rules_are_refused() -> None:
    x, state = tt.dscalar("x"), shared(0.0, name="state")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"allow_input_downcast": "yes"}, "the rule for downcasts must be True, False or None, got 'yes'"),
        ({"no_default_updates": state}, "no_default_updates must be True, False or a list .*, got state"),
        ({"no_default_updates": [x]}, "no_default_updates lists shared variables, got x"),
    ]
    for options, message in cases:
        with pytest.raises((FunctionTypeError, FunctionValueError), match=message):
            compiled([x], x, **options)


# Givens


@pytest.mark.documents("function.givens", "F14", "F16")
def test_givens_replace_variables() -> None:
    x, y = tt.dscalar("x"), tt.dscalar("y")
    square = x * x
    assert compiled([y], square + 1, givens={x: y + 1})(2.0) == 10.0
    assert compiled([x, y], square + x, givens=[(square, y)])(2.0, 5.0) == 7.0


@pytest.mark.documents("F14")
def test_plain_values_and_shared_variables_can_be_given() -> None:
    x, state = tt.dscalar("x"), shared(3.0)
    assert compiled([], x + 1, givens=[(x, 2.0)])() == 3.0
    f = compiled([], x + 1, givens={x: state})
    state.set_value(5.0)
    assert f() == 6.0


def test_givens_apply_to_updates_too() -> None:
    x, state = tt.dscalar("x"), shared(0.0)
    compiled([], updates={state: x + 1}, givens={x: tt.constant(2.0)})()
    assert state.get_value() == 3.0


@pytest.mark.documents("function.rebuild_strict", "F20")
def test_givens_keep_the_type_unless_told_otherwise() -> None:
    x, y = tt.dscalar("x"), tt.fscalar("y")
    with pytest.raises(TypeError, match=r"got y of type Scalar\(float32\)"):
        compiled([y], x * np.float32(2), givens={x: y})
    loose = compiled([y], tt.exp(x), givens={x: y}, rebuild_strict=False)
    assert loose(np.float32(0)).dtype == np.float32


@pytest.mark.documents("F20")
def test_python_numbers_follow_givens_of_another_dtype_and_other_constants_do_not() -> None:
    x, y = tt.dvector("x"), tt.fvector("y")
    written = [2 * x + 1, x / 3, x**2, tt.switch(x > 0, x, 0)]
    results = compiled([y], [*written, x * tt.constant(2.0)], givens={x: y}, rebuild_strict=False)([3.0])
    assert [r.dtype for r in results] == [np.float32] * 4 + [np.float64]
    assert [r.tolist() for r in results] == [[7.0], [1.0], [9.0], [3.0], [6.0]]


@pytest.mark.documents("F15")
@pytest.mark.parametrize("swapped", [False, True])
def test_givens_that_depend_on_each_other_are_refused(swapped: bool) -> None:
    a, b, x = tt.dscalar("a"), tt.dscalar("b"), tt.dscalar("x")
    givens = [(a, x), (b, a + 1)]
    with pytest.raises(FunctionValueError, match=r"the givens \(b, .*\) and \(a, x\) depend on each other"):
        compiled([x], a + b, givens=givens[::-1] if swapped else givens)


def test_given_may_use_the_variable_it_replaces() -> None:
    x = tt.dscalar("x")
    square = x * x
    assert compiled([x], square, givens={square: square + 1})(2.0) == 5.0


@pytest.mark.documents("F14")
def test_bad_givens_are_refused() -> None:
    x, y = tt.dscalar("x"), tt.dscalar("y")
    with pytest.raises(FunctionValueError, match="x is an input, so givens cannot replace it"):
        compiled([x], x, givens={x: y})
    with pytest.raises(FunctionValueError, match="givens replace y twice, by x and by"):
        compiled([x], y, givens=[(y, x), (y, x + 1)])
    with pytest.raises(FunctionTypeError, match="givens replace variables, got 3"):
        compiled([x], x, givens=[(3, x)])
    for wrong in (3, [x], [(x, y, x)], "xy"):
        with pytest.raises(FunctionTypeError, match="givens must be a dict or a list of pairs"):
            compiled([x], x, givens=wrong)


# Calls


@pytest.mark.documents("In.name", "In.variable", "F39")
def test_arguments_are_given_by_position_or_name() -> None:
    x, y = tt.dscalar("x"), tt.dscalar("y")
    f = compiled([x, In(y, name="other")], x - y)
    assert f(3, 1) == f(3, other=1) == f(other=1, x=3) == 2.0


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_arguments_by_name_take_the_quick_way(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, z, unnamed = tt.dvector("x"), tt.dscalar("y"), tt.dscalar("z"), tt.dscalar()
    f = function([unnamed, x, y], x * y - unnamed, mode=mode)
    ones = np.ones(2)
    with pytest.raises(CallError, match=r"argument 0, .* is missing"):
        f(x=ones, y=2.0)
    monkeypatch.setattr(Signature, "match", None)
    np.testing.assert_array_equal(f(4, y=3, x=ones), [-1.0, -1.0])
    g = function([x, y, In(z, value=10.0)], x * y + z, mode=mode)
    for result in (g(ones, y=2.0), g(y=2, x=np.ones(2, "int8")), g(z=10.0, x=ones, y=np.float32(2))):
        np.testing.assert_array_equal(result, [12.0, 12.0])
    np.testing.assert_array_equal(g(ones, z=np.array(1.0), y=2), [3.0, 3.0])


def test_the_list_of_outputs_is_no_input() -> None:
    x, subset = tt.dvector("x"), tt.lvector("output_subset")
    f = compiled([x, In(subset, value=np.array([5]))], [x.sum(), x.sum() + subset.sum()])
    (value,) = f(np.ones(3), output_subset=[1])
    assert value == 8.0


@pytest.mark.documents("error:CallError", "F39")
def test_wrong_calls_say_what_is_wrong_and_how_to_call() -> None:
    x, y, twin = tt.dscalar("x"), tt.dscalar("y"), tt.dscalar("x")
    f = compiled([x, y], x - y, name="difference")
    how = r"Call difference\(x: Scalar\(float64\), y: Scalar\(float64\)\)"
    cases: list[tuple[list[int], dict[str, int], str]] = [
        ([1], {}, "argument 1, y of type .* is missing"),
        ([1, 2, 3], {}, "2 arguments at most, got 3"),
        ([1], {"z": 2}, "no input has the name 'z'"),
        ([1], {"z": 2, "w": 3}, "no input has the name 'z' or 'w'"),
    ]
    for args, kwargs, message in cases:
        with pytest.raises(CallError, match=f"difference: {message}.*{how}"):
            f(*args, **kwargs)
    with pytest.raises(CallError, match="'x' is given twice, by position and by name"):
        f(1, 2, x=1)
    with pytest.raises(CallError, match="several inputs have the name 'x'"):
        compiled([x, twin], x - twin)(1, x=2)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.ones(3), "the rank does not fit"),
        (np.ones((2, 4)), r"the shape does not fit, a value of shape \(\?, 3\) is needed, got shape \(2, 4\)"),
        (np.ones((2, 3), complex), "would lose precision"),
        ("text", "'text' is no array of numbers, NumPy makes dtype <U4 of it"),
        (None, "None is no array of numbers, NumPy makes dtype object of it"),
        ([[1.0], [1.0, 2.0]], "cannot be made a tensor"),
        (2**70, "1180591620717411303424 does not fit in an integer dtype"),
        ([[1, -(2**70)]], "does not fit in an integer dtype"),
    ],
)
def test_argument_that_does_not_fit_is_named(value: Any, message: str) -> None:
    x: Any = tt.TensorType("float64", (None, 3))("x")
    with pytest.raises(CallError, match=f"function: argument 0, x: .*{message}"):
        compiled([x], x + 1)(value)


def test_messages_name_an_input_as_calls_do() -> None:
    x = tt.dvector("x")
    f = compiled([In(x, name="rows")], x + 1)
    with pytest.raises(CallError, match=r"argument 0, rows: .*the rank does not fit"):
        f(np.ones((2, 2)))
    with pytest.raises(CallError, match=r"argument 0, rows of type .* is missing"):
        f()


def test_argument_is_converted_where_nothing_is_lost() -> None:
    x = tt.dvector("x")
    f = compiled([x], x * 2)
    assert f([1, 2]).tolist() == [2.0, 4.0]
    assert f(np.ones(2, "float32")).dtype == np.float64


@pytest.mark.documents("function.allow_input_downcast", "F21")
def test_downcast_is_allowed_refused_or_left_to_python_floats() -> None:
    x = tt.fvector("x")
    s = tt.fscalar("s")
    exact = np.array([0.1])
    assert compiled([x], x, allow_input_downcast=True)(exact).dtype == np.float32
    for rule in (False, None):
        with pytest.raises(CallError, match="would lose precision"):
            compiled([x], x, allow_input_downcast=rule)(exact)
    with config.change_flags(floatX="float32"):
        assert compiled([s], s)(0.1).dtype == np.float32
        with pytest.raises(CallError, match="would lose precision"):
            compiled([s], s, allow_input_downcast=False)(0.1)
    with pytest.raises(CallError, match="would lose precision"):
        compiled([s], s)(0.1)


@pytest.mark.documents("F21")
@pytest.mark.parametrize("rule", [False, None])
def test_array_becomes_an_input_of_a_narrower_integer_dtype_only_where_that_is_allowed(rule: bool | None) -> None:
    x = tt.bvector("x")
    strict = compiled([x], x, allow_input_downcast=rule)
    with pytest.raises(CallError, match="got an array of dtype int16"):
        strict(np.array([6], "int16"))
    assert strict([6]).tolist() == [6]
    with pytest.raises(CallError, match="would lose precision"):
        strict([312])
    assert compiled([x], x, allow_input_downcast=True)(np.array([6, 312], "int16")).tolist() == [6, 56]


@pytest.mark.documents("In.allow_downcast", "F6")
def test_rule_of_an_input_wins_over_that_of_the_function_and_stays_its_own() -> None:
    x = tt.fvector("x")
    own = In(x, allow_downcast=False)
    with pytest.raises(CallError, match="would lose precision"):
        compiled([own], x, allow_input_downcast=True)(np.array([0.1]))
    free = In(x)
    compiled([free], x, allow_input_downcast=True)(np.array([0.1]))
    with pytest.raises(CallError, match="would lose precision"):
        compiled([free], x)(np.array([0.1]))


@pytest.mark.documents("In.strict", "F5", "P15")
def test_strict_input_is_not_converted() -> None:
    x = tt.dvector("x")
    f = compiled([In(x, strict=True)], x)
    assert f(np.ones(2)).tolist() == [1.0, 1.0]
    for wrong in ([1.0, 1.0], np.ones(2, "float32"), np.ones(2, int)):
        with pytest.raises(CallError, match="exactly an array of dtype float64 is needed"):
            f(wrong)


def test_function_keeps_the_options_it_was_made_with() -> None:
    s = tt.fscalar("s")
    with config.change_flags(floatX="float32"):
        f = compiled([s], s)
    assert f(0.1).dtype == np.float32


@pytest.mark.documents("function.trust_input", "Function.trust_input", "F37")
def test_trusted_input_is_not_checked() -> None:
    x = tt.dvector("x")
    f = compiled([x], x + 1, trust_input=True)
    assert f.trust_input
    assert f(np.ones((2, 2))).shape == (2, 2)
    f.trust_input = False
    with pytest.raises(CallError, match="the rank does not fit"):
        f(np.ones((2, 2)))


def test_shapes_that_clash_when_run_name_op_and_line() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    total = x + y
    with pytest.raises(NodeValueError, match=r'^Add: .*built at test_function.py:\d+ "total = x \+ y"'):
        compiled([x, y], total)(np.ones(2), np.ones(3))


# In


@pytest.mark.documents("In.value", "F1", "F2")
def test_default_value_is_used_where_no_argument_is_given() -> None:
    x, y = tt.dscalar("x"), tt.dscalar("y")
    f = compiled([x, In(y, value=10)], x + y)
    assert [f(1), f(1, 2), f(1, y=3), f(1)] == [11.0, 3.0, 4.0, 11.0]


@pytest.mark.documents("In.borrow")
def test_default_is_copied_unless_borrowed() -> None:
    x = tt.dvector("x")
    value = np.zeros(2)
    f, borrowing = compiled([In(x, value=value)], x), compiled([In(x, value=value, borrow=True)], x)
    value[:] = 1.0
    assert (f().tolist(), borrowing().tolist()) == ([0.0, 0.0], [1.0, 1.0])


@pytest.mark.documents("In.value", "F2")
def test_default_can_be_kept_in_a_cell_of_the_users() -> None:
    x, state = tt.dscalar("x"), shared(2.0)
    f, g = compiled([In(x, value=state.container)], x), compiled([In(x, value=state)], x)
    state.set_value(3.0)
    assert (f(), g()) == (3.0, 3.0)


@pytest.mark.documents("In.update")
def test_update_of_an_input_changes_its_default_after_each_call() -> None:
    x, step = tt.dscalar("x"), tt.dscalar("step")
    f = compiled([step, In(x, value=10.0, update=x + step)], x)
    assert [f(1), f(2), f(0), f(1, 100.0), f(0)] == [10.0, 11.0, 13.0, 100.0, 101.0]


@pytest.mark.documents("In.implicit")
def test_implicit_input_cannot_be_given() -> None:
    x, y = tt.dscalar("x"), tt.dscalar("y")
    f = compiled([In(x, value=1.0, implicit=True), y], x + y)
    assert f(2.0) == 3.0
    with pytest.raises(CallError, match="'x' is implicit"):
        f(2.0, x=3.0)
    with pytest.raises(CallError, match="1 arguments at most, got 2"):
        f(2.0, 3.0)


@pytest.mark.documents("F1", "F4")
def test_contradictory_inputs_are_refused() -> None:
    x = tt.dscalar("x")
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"variable": 3}, FunctionTypeError, "In: an input must be a variable, got 3"),
        ({"variable": x, "name": 3}, FunctionTypeError, "In: the name must be a string, got 3"),
        ({"variable": x, "mutable": True, "borrow": False}, FunctionValueError, "x is mutable, so it is borrowed too"),
        ({"variable": x, "update": x + 1}, FunctionTypeError, "needs a default"),
        ({"variable": x, "implicit": True}, FunctionTypeError, "needs a default"),
        ({"variable": x, "value": "text"}, TypeError, "'text' is no array of numbers"),
        ({"variable": x, "value": 1.0, "update": tt.dvector("v")}, TypeError, "got v of type Vector"),
    ]
    for arguments, kind, message in cases:
        with pytest.raises(kind, match=message):
            In(**arguments)


@pytest.mark.documents("F1", "F3", "F4")
def test_input_shows_its_variable_and_derives_what_is_not_given() -> None:
    x = tt.dscalar("x")
    plain, mutable = In(x), In(x, mutable=True)
    assert (repr(plain), plain.name, plain.mutable, plain.borrow) == ("In(x)", "x", False, False)
    assert (mutable.mutable, mutable.borrow, In(x, value=1.0, update=x).mutable) == (True, True, True)
    assert repr(Out(x)) == "Out(x)"


@pytest.mark.documents("In.autoname")
def test_input_need_not_take_the_name_of_its_variable() -> None:
    x = tt.dscalar("x")
    f = compiled([In(x, autoname=False)], x)
    assert f(1.0) == 1.0
    with pytest.raises(CallError, match=r"no input has the name 'x'. Call function\(\(unnamed\): "):
        f(x=1.0)


def test_default_is_converted_under_the_functions_rule() -> None:
    z = tt.fscalar("z")
    assert compiled([In(z, value=0.1)], z, allow_input_downcast=True)().dtype == np.float32
    with pytest.raises(FunctionTypeError, match=r"In: the default of z: .* would lose precision"):
        compiled([In(z, value=0.1)], z)


def test_cell_of_another_type_is_not_a_default() -> None:
    with pytest.raises(FunctionTypeError, match=r"default of x must be of type Scalar.* holds values of type Vector"):
        In(tt.dscalar("x"), value=shared(np.ones(2)))


def test_several_missing_arguments_are_all_named() -> None:
    x, y = tt.dscalar("x"), tt.dscalar("y")
    with pytest.raises(CallError, match=r"argument 0, x of type .*; argument 1, y of type .*, are missing"):
        compiled([x, y], x + y)()
    with pytest.raises(CallError, match=r"no input has the name 'valeu'. Did you mean 'value'?"):
        compiled([In(x, name="value")], x)(valeu=1)


def test_many_cells_are_read_and_written_together() -> None:
    states = [shared(float(k)) for k in range(30)]
    f = compiled([], [sum(states[1:], states[0]), *states], updates=[(s, s + 1) for s in states])
    assert [v.item() for v in f()[:2]] == [435.0, 0.0]
    assert f()[0] == 465.0
    assert compiled([], states)()[29] == 31.0


# Looking inside


@pytest.mark.documents(
    "Function.get_shared", "Function.dprint", "Function.fgraph", "Function.show", "Function.source_line"
)
def test_function_shows_its_graph_shared_variables_and_source_line() -> None:
    x, state = tt.dscalar("x"), shared(1.0, name="state")
    f = compiled([x], x + state)
    assert f.get_shared() == [state]
    assert f.dprint(file="str", id_type="") == "Add 0\n ├─ x\n └─ state"
    assert repr(f.show()).startswith("<page of <function(x: ")
    assert f.fgraph is f.maker.fgraph
    assert f.source_line is not None
    assert f.source_line.file == __file__


@pytest.mark.documents("Function.__hash__", "Function.__eq__", "F35")
def test_function_equals_only_itself() -> None:
    x = tt.dscalar("x")
    f, g = compiled([x], x), compiled([x], x)
    assert f != g
    assert len({f, g, f}) == 2
