"""The documented contract of Op, checked on ops that a user would write."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.graph.arithmetic import NUMBER, Number, add, div_mod, inverse, number
from treadle.compile import function
from treadle.graph import (
    Apply,
    GraphTypeError,
    GraphValueError,
    MethodNotDefinedError,
    Op,
    TestValueError,
    Type,
    Variable,
    get_test_value,
    get_test_values,
    static_op,
)


class SquareAndCube(Op):
    """Square and cube of a vector, with a gradient by the name `L_op` that uses the outputs."""

    __props__ = ()
    default_output = 0

    def make_node(self, *inputs: Any) -> Apply:
        x = tt.as_tensor_variable(inputs[0])
        return Apply(self, [x], [x.type(), x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        (x,) = inputs
        output_storage[0][0] = x**2
        output_storage[1][0] = x**3

    def L_op(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], output_grads: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        x: Any = inputs[0]
        square: Any = outputs[0]
        by_square, by_cube = output_grads
        result: Variable = 2 * x * by_square + 3 * square * by_cube
        return [result]


class Halve(Op):
    """Half of a vector, with a gradient by the name `grad`, which overwrites its input."""

    __props__ = ()
    destroy_map = {0: [0]}  # noqa: RUF012 - as the documentation writes it

    def make_node(self, *inputs: Any) -> Apply:
        x = tt.as_tensor_variable(inputs[0])
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        inputs[0][...] *= 0.5
        output_storage[0][0] = inputs[0]

    def grad(self, inputs: Sequence[Variable], output_grads: Sequence[Variable]) -> Sequence[Variable | None]:
        ct: Any = output_grads[0]
        result: Variable = ct * 0.5
        return [result]


class Reversed(Op):
    """A vector backwards: a view of its input."""

    __props__ = ()
    view_map = {0: [0]}  # noqa: RUF012 - as the documentation writes it

    def make_node(self, *inputs: Any) -> Apply:
        x = tt.as_tensor_variable(inputs[0])
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0][::-1]


class OwnThunk(Op):
    """Adds one, through a thunk of its own."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        x = tt.as_tensor_variable(inputs[0])
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        raise NotImplementedError

    def make_thunk(
        self,
        node: Apply,
        storage_map: dict[Variable, list[Any]],
        compute_map: dict[Variable, list[bool]] | None,
        no_recycling: Sequence[Variable],
        impl: str | None = None,
    ) -> Callable[[], Any]:
        source, target = storage_map[node.inputs[0]], storage_map[node.outputs[0]]

        def thunk() -> None:
            target[0] = source[0] + 1

        return thunk


@static_op
class Scaled(Op):
    """A declarative op: its fields are its parameters, `infer` is all it needs beside `perform`."""

    factor: float

    def infer(self, *types: Type) -> Sequence[Type]:
        return types

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0] * self.factor


class Typed(Op):
    """An op declared by its types."""

    __props__ = ()
    itypes = (NUMBER, NUMBER)
    otypes = (NUMBER,)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0] - inputs[1]


VALUES = np.array([1.0, 2.0, 3.0])


def test_op_computes_all_its_outputs() -> None:
    x = tt.dvector("x")
    square, cube = SquareAndCube()(x).owner.outputs
    results = function([x], [square, cube], mode="VM")(VALUES)
    np.testing.assert_array_equal(results, [VALUES**2, VALUES**3])


def test_call_returns_the_default_output() -> None:
    x = tt.dvector("x")
    assert SquareAndCube()(x).index == 0
    assert [v.index for v in SquareAndCube()(x, return_list=True)] == [0]


def test_call_returns_all_outputs_where_there_is_no_default() -> None:
    assert [v.index for v in div_mod(number("x"), 2.0)] == [0, 1]
    assert isinstance(add(number("x"), 1.0), Variable)
    assert isinstance(add(number("x"), 1.0, return_list=True), list)


def test_call_names_its_outputs() -> None:
    assert add(number("x"), 1.0, name="total").name == "total"
    assert [v.name for v in div_mod(number("x"), 2.0, name="part")] == ["part_0", "part_1"]


def test_name_goes_to_the_default_output_alone() -> None:
    square = SquareAndCube()(tt.dvector("x"), name="chosen")
    assert square.name == "chosen"
    assert [v.name for v in square.owner.outputs] == ["chosen", None]


def test_gradient_by_l_op_sees_inputs_outputs_and_cotangents() -> None:
    x = tt.dvector("x")
    square, cube = SquareAndCube()(x).owner.outputs
    gradient = tt.grad((square + cube).sum(), x)
    np.testing.assert_allclose(function([x], gradient, mode="VM")(VALUES), 2 * VALUES + 3 * VALUES**2)


def test_output_that_the_cost_does_not_use_has_a_cotangent_of_zeros() -> None:
    x = tt.dvector("x")
    gradient = tt.grad(SquareAndCube()(x).sum(), x)
    np.testing.assert_allclose(function([x], gradient, mode="VM")(VALUES), 2 * VALUES)


def test_gradient_by_grad_is_used() -> None:
    x = tt.dvector("x")
    gradient = tt.grad(Halve()(x * 1.0).sum(), x)
    np.testing.assert_array_equal(function([x], gradient, mode="VM", accept_inplace=True)(VALUES), [0.5, 0.5, 0.5])


def test_overwriting_op_never_overwrites_what_the_caller_or_another_node_needs() -> None:
    x = tt.dvector("x")
    argument = VALUES.copy()
    shared = tt.exp(x)
    halved, whole, twice = function([x], [Halve()(x), shared, Halve()(shared)], mode="VM", accept_inplace=True)(
        argument
    )
    np.testing.assert_array_equal(argument, VALUES)
    np.testing.assert_array_equal(halved, VALUES / 2)
    np.testing.assert_array_equal([whole, twice], [np.exp(VALUES), np.exp(VALUES) / 2])


def test_op_without_gradient_says_what_to_implement() -> None:
    with pytest.raises(MethodNotDefinedError, match=r"defines no gradient. Implement pullback \(or L_op, or grad\)"):
        tt.grad(Reversed()(x := tt.dvector("x")).sum(), x)
    with pytest.raises(MethodNotDefinedError, match="defines no R_op"):
        Reversed().pushforward([x], [x], [x])


def test_view_of_an_input_is_copied_before_it_is_returned() -> None:
    x = tt.dvector("x")
    argument = VALUES.copy()
    result = function([x], Reversed()(x), mode="VM")(argument)
    np.testing.assert_array_equal(result, [3.0, 2.0, 1.0])
    assert not np.shares_memory(result, argument)


def test_op_with_a_thunk_of_its_own_runs_it() -> None:
    x = tt.dvector("x")
    np.testing.assert_array_equal(function([x], OwnThunk()(x) * 2.0, mode="VM")(VALUES), (VALUES + 1) * 2)


def test_static_op_needs_only_infer_and_perform() -> None:
    x = tt.dvector("x")
    y = Scaled(2.5)(x)
    assert y.type == x.type
    np.testing.assert_array_equal(y.eval({x: VALUES}, mode="VM"), VALUES * 2.5)
    assert repr(Scaled(2.5)) == "Scaled(factor=2.5)"


def test_op_declared_by_types_checks_its_inputs() -> None:
    assert Typed()(number("x"), number("y")).type == NUMBER
    with pytest.raises(GraphValueError, match="2 inputs are needed, got 1"):
        Typed()(number("x"))
    with pytest.raises(GraphTypeError, match=r"input 1 must be of type Number\(1\), got y of type Number\(m\)"):
        Typed()(number("x"), Number("m")("y"))
    with pytest.raises(GraphTypeError, match="a float is needed, got 'three'"):
        Typed()(number("x"), "three")


def test_op_declared_by_types_makes_constants_of_plain_values() -> None:
    assert Typed()(5, 3).eval() == 2.0


def test_op_may_be_declared_by_functions_that_make_variables() -> None:
    class Doubled(Op):
        __props__ = ()
        itypes = (tt.dmatrix,)
        otypes = (tt.dmatrix,)

        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            output_storage[0][0] = inputs[0] * 2

    x = tt.dmatrix("x")
    np.testing.assert_array_equal(Doubled()(x).eval({x: np.eye(2)}, mode="VM"), 2 * np.eye(2))
    with pytest.raises(TypeError, match=r"Doubled: input 0 must be of type Matrix\(float64.*got v of type Vector"):
        Doubled()(tt.dvector("v"))


def test_value_that_is_not_a_type_is_refused_in_a_declaration() -> None:
    class Wrong(Typed):
        itypes = (NUMBER, int)  # type: ignore[assignment]  # what the test is about

    with pytest.raises(GraphTypeError, match=r"Wrong: itypes and otypes hold types, got <class 'int'>\. Name types"):
        Wrong()(number("x"), number("y"))


def test_op_that_defines_no_way_to_make_a_node_says_so() -> None:
    class Nothing(Op):
        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            """Do nothing."""

    with pytest.raises(MethodNotDefinedError, match="defines neither make_node, infer nor itypes/otypes"):
        Nothing()(number("x"))


def test_op_must_implement_perform() -> None:
    with pytest.raises(TypeError, match="abstract method"):
        Op()  # type: ignore[abstract]  # what the test is about


def test_ops_are_equal_by_class_and_parameters() -> None:
    assert Scaled(2.0) == Scaled(2.0)
    assert hash(Scaled(2.0)) == hash(Scaled(2.0))
    assert Scaled(2.0) != Scaled(3.0)
    assert SquareAndCube() == SquareAndCube()
    assert SquareAndCube() != Halve()


def test_op_without_declared_parameters_equals_only_itself() -> None:
    class Opaque(Op):
        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            """Do nothing."""

    one, other = Opaque(), Opaque()
    assert one == one
    assert one != other
    assert len({one, other}) == 2
    with pytest.raises(GraphTypeError, match="declares no parameters"):
        one.stable_key()


def test_thunk_reads_and_fills_the_storage_cells() -> None:
    x = number("x")
    y = inverse(x)
    storage: dict[Variable, list[Any]] = {x: [4.0], y: [None]}
    computed = {x: [True], y: [False]}
    y.owner.op.make_thunk(y.owner, storage, computed, [])()
    assert (storage[y], computed[y]) == ([0.25], [True])


def test_thunk_empties_cells_that_may_not_be_recycled() -> None:
    seen: list[Any] = []

    class Peek(Op):
        __props__ = ()

        def infer(self, *types: Type) -> Sequence[Type]:
            return types

        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            seen.append(output_storage[0][0])
            output_storage[0][0] = inputs[0]

    x = number("x")
    y = Peek()(x)
    storage: dict[Variable, list[Any]] = {x: [1.0], y: ["old"]}
    y.owner.op.make_thunk(y.owner, storage, None, [])()
    y.owner.op.make_thunk(y.owner, storage, None, [y])()
    assert seen == ["old", None]


def test_debug_thunk_runs_debug_perform() -> None:
    class Debugged(type(inverse)):  # type: ignore[misc]  # the class of an op
        def debug_perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            output_storage[0][0] = "debugged"

    x = number("x")
    y = Debugged()(x)
    storage: dict[Variable, list[Any]] = {x: [1.0], y: [None]}
    y.owner.op.make_py_thunk(y.owner, storage, None, [], debug=True)()
    assert storage[y] == ["debugged"]


def test_tag_trace_begins_with_the_users_line() -> None:
    x = Op.add_tag_trace(number("x"))
    assert x.tag.trace[0].file == __file__
    assert "add_tag_trace" in x.tag.trace[0].text
    assert len(Op.add_tag_trace(number("y"), user_line=1).tag.trace) == 1


def test_operand_may_decide_what_applying_an_op_means() -> None:
    class Pattern:
        def __apply_op__(self, op: Op, inputs: Sequence[Any]) -> str:
            return f"{op} of {len(inputs)}"

    result: Any = add(number("x"), Pattern())
    assert result == "add of 2"


def test_test_values_run_along_while_the_graph_is_built() -> None:
    from treadle.config import config

    x = tt.dvector("x")
    x.tag.test_value = VALUES
    with config.change_flags(compute_test_value="raise"):
        y = x * 2.0
        np.testing.assert_array_equal(get_test_value(y), VALUES * 2)
        assert [float(v.sum()) for v in get_test_values(y)] == [12.0]
        with pytest.raises(TestValueError, match=r"Mul: input 0: test value: z of type .* has none"):
            tt.dvector("z") * 2.0


def test_missing_test_value_is_reported_as_the_option_says() -> None:
    from treadle.config import config

    z = tt.dvector("z")
    assert get_test_values(z) == []
    with config.change_flags(compute_test_value="warn"), pytest.warns(UserWarning, match="argument 0"):
        assert get_test_values(z) == []
    with config.change_flags(compute_test_value="ignore"):
        assert get_test_values(z) == []
    with pytest.raises(TestValueError, match=r"Set var\.tag\.test_value"):
        get_test_value(z)


def test_test_value_of_a_destroyed_input_is_kept() -> None:
    from treadle.config import config

    x = tt.dvector("x")
    x.tag.test_value = VALUES.copy()
    with config.change_flags(compute_test_value="raise"):
        y = Halve()(x)
    np.testing.assert_array_equal(y.tag.test_value, VALUES / 2)
    np.testing.assert_array_equal(x.tag.test_value, VALUES)


def test_make_node_that_returns_no_node_is_refused() -> None:
    class Careless(Typed):
        def make_node(self, *inputs: Any) -> Apply:
            return super().make_node(*inputs).outputs[0]  # type: ignore[return-value]  # what the test is about

    with pytest.raises(GraphTypeError, match=r"Careless: make_node must return an Apply, got Careless\.out\."):
        Careless()(number("x"), number("y"))


@pytest.mark.parametrize("index", [2, -1])
def test_default_output_that_does_not_exist_is_refused(index: int) -> None:
    class Pointed(SquareAndCube):
        def __init__(self) -> None:
            self.default_output = index

    with pytest.raises(
        GraphValueError, match=rf"Pointed: default_output is {index}, but the node has 2 outputs, built"
    ):
        Pointed()(tt.dvector("x"))


def test_default_output_may_be_chosen_for_one_op() -> None:
    op = SquareAndCube()
    op.default_output = 1
    assert op(tt.dvector("x")).index == 1
    assert SquareAndCube()(tt.dvector("x")).index == 0


def test_line_is_that_of_the_call_not_of_the_users_make_node() -> None:
    y = SquareAndCube()(tt.dvector("x"))
    assert y.user_line.text == 'y = SquareAndCube()(tt.dvector("x"))'
