"""Variables, constants and nodes."""

import copy
from typing import Any

import pytest

from tests.graph.arithmetic import NUMBER, Number, add, div_mod, inverse, number
from treadle.graph import (
    Apply,
    Constant,
    GraphTypeError,
    GraphValueError,
    NominalVariable,
    SharedVariable,
    Type,
    Variable,
)


def test_variables_compare_and_hash_by_identity() -> None:
    x, y = number("x"), number("x")
    assert x != y
    assert len({x, y, x}) == 2


def test_variable_shows_its_name_else_its_op_else_its_type() -> None:
    x = number("x")
    assert str(x) == "x"
    assert str(add(x, x)) == "add.out"
    assert str(number()) == "<Number(1)>"
    assert [str(v) for v in div_mod(x, x)] == ["DivMod.0", "DivMod.1"]


def test_name_must_be_a_string() -> None:
    with pytest.raises(GraphTypeError, match="a name must be a string, got 3"):
        NUMBER(3)  # type: ignore[arg-type]  # what the test is about


def test_tag_keeps_what_is_set_and_is_copied_by_clone() -> None:
    x = number("x")
    x.tag.note = "mine"
    twin = x.clone()
    twin.tag.note = "yours"
    assert (x.tag.note, twin.tag.note, twin.name) == ("mine", "yours", "x")


def test_reading_a_tag_that_was_not_set_names_those_that_were() -> None:
    x = number("x")
    x.tag.note = "mine"
    with pytest.raises(AttributeError, match="'other' was never set on it; set are note"):
        _ = x.tag.other


@pytest.mark.parametrize("kind", ["input", "computed", "constant", "shared", "nominal"])
def test_attributes_of_the_users_own_are_kept_by_deep_copies_and_not_by_clones(kind: str) -> None:
    x = number("x")
    made: dict[str, Any] = {
        "input": x,
        "computed": add(x, x),
        "constant": NUMBER.make_constant(3.0),
        "shared": SharedVariable(NUMBER, 1.0),
        "nominal": NominalVariable("note", NUMBER),
    }
    variable = made[kind]
    variable.note = ["mine"]
    assert variable.note == ["mine"]
    copied = copy.deepcopy(variable)
    assert copied.note == ["mine"]
    assert copied is variable or copied.note is not variable.note
    clone = variable.clone()
    assert clone is variable or not hasattr(clone, "note")


def test_constant_filters_its_value_and_refuses_others() -> None:
    constant = NUMBER.make_constant(3)
    assert (constant.data, constant.value, type(constant.data)) == (3.0, 3.0, float)
    with pytest.raises(GraphTypeError, match="a float is needed, got 'three'"):
        NUMBER.make_constant("three")


def test_constants_are_equal_by_type_and_exact_value() -> None:
    one = NUMBER.make_constant(1.0)
    assert one.equals(NUMBER.make_constant(1.0))
    assert not one.equals(Number("m").make_constant(1.0))
    assert not NUMBER.make_constant(0.0).equals(NUMBER.make_constant(-0.0))
    assert one.stable_key() == NUMBER.make_constant(1.0).stable_key()


def test_clone_of_a_constant_is_itself() -> None:
    one = NUMBER.make_constant(1.0, "one")
    assert one.clone() is one
    assert str(one) == "one{1.0}"


def test_long_constants_are_cut_when_shown() -> None:
    class Text(Type):
        __props__ = ()

        def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
            return data

    assert str(Text().make_constant("a" * 100)) == f"{'a' * 30} … {'a' * 6}"


def test_node_owns_its_outputs() -> None:
    x = number("x")
    q, r = div_mod(x, 2.0)
    node = q.owner
    assert node is r.owner
    assert (q.index, r.index, node.nin, node.nout, node.inputs[0]) == (0, 1, 2, 2, x)
    assert q.get_parents() == [node]
    assert node.get_parents() == node.inputs


def test_node_refuses_inputs_and_outputs_that_are_not_variables() -> None:
    x = number("x")
    with pytest.raises(GraphTypeError, match="input 1 must be a variable, got 2"):
        Apply(add, [x, 2], [number()])  # type: ignore[type-var]  # what the test is about
    with pytest.raises(GraphTypeError, match="output 0 must be a variable, got 'y'"):
        Apply(add, [x, x], ["y"])  # type: ignore[type-var]  # what the test is about


def test_node_refuses_outputs_of_other_nodes() -> None:
    x = number("x")
    y = inverse(x)
    with pytest.raises(GraphValueError, match="output 0 is computed by Inverse"):
        Apply(add, [x, x], [y])


def test_default_output_must_exist_where_there_are_several() -> None:
    node = div_mod(number("x"), 2.0)[0].owner
    with pytest.raises(GraphValueError, match="2 outputs and no default one"):
        _ = node.out


def test_clone_with_new_inputs_keeps_op_line_tag_and_names() -> None:
    x, y = number("x"), number("y")
    node = add(x, x, name="total").owner
    node.tag.note = "mine"
    new = node.clone_with_new_inputs([y, y])
    assert (new.op, new.inputs, new.tag.note, new.user_line) == (add, [y, y], "mine", node.user_line)
    assert new.outputs[0].name == "total"
    assert new.outputs[0] is not node.outputs[0]


def test_clone_with_new_inputs_of_another_type_is_refused_unless_asked_for() -> None:
    x, length = number("x"), Number("m")("length")
    node = inverse(x).owner
    with pytest.raises(GraphTypeError, match=r"Number\(1\): a variable of this type is needed, got length"):
        node.clone_with_new_inputs([length])
    assert node.clone_with_new_inputs([length], strict=False).outputs[0].type == Number("m")


def test_clone_with_new_inputs_takes_one_for_each() -> None:
    with pytest.raises(GraphValueError, match="has 1 inputs, got 2"):
        inverse(number("x")).owner.clone_with_new_inputs([number(), number()])


def test_deep_copy_of_a_variable_copies_its_graph_once() -> None:
    x = number("x")
    y = add(x, x)
    copied: list[Variable] = copy.deepcopy([x, y])
    assert copied[1] is not y
    assert copied[1].owner is not None
    assert copied[1].owner.inputs == [copied[0], copied[0]]


def test_constant_is_a_variable_without_owner() -> None:
    constant = NUMBER.make_constant(1.0)
    assert isinstance(constant, Constant)
    assert constant.owner is None
