"""What type checkers infer for the public functions of treadle.graph. Checked by mypy; nothing here is run."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, assert_type

from tests.graph.arithmetic import NUMBER, Number, add
from treadle.graph import (
    EVALUATOR,
    VECTORIZERS,
    Apply,
    Constant,
    DisconnectedType,
    HasInnerGraph,
    LoweringTable,
    NullType,
    Op,
    ScratchPad,
    SharedVariable,
    ThunkType,
    Type,
    UserLine,
    Variable,
    Vectorizer,
    ancestors,
    as_index,
    compile_inner,
    compute_test_value,
    current_scope,
    get_test_values,
    io_connection_pattern,
    is_thunk_type,
    missing_test_message,
    name_scope,
    node_error,
    shared,
    static_op,
    toposort,
    user_line,
    vectorize_node,
)


def variables(x: Variable, c: Constant, s: SharedVariable) -> None:
    assert_type(x.type, Type)
    assert_type(x.owner, Apply | None)
    assert_type(x.index, int | None)
    assert_type(x.name, str | None)
    assert_type(x.tag, ScratchPad)
    assert_type(x.clone(), Variable)
    assert_type(x.get_parents(), list[Apply])
    assert_type(x.user_line, UserLine | None)
    assert_type(c.clone(name="c"), Constant)
    assert_type(c.signature(), bytes)
    assert_type(c.stable_key(), str)
    assert_type(c.equals(c), bool)
    assert_type(s.clone(), SharedVariable)
    assert_type(s.default_update, Variable | None)
    assert_type(as_index(c), int | None)


def variables_of_a_type(x: Variable[Number], node: Apply[Variable[Number]]) -> None:
    assert_type(x.type, Number)
    assert_type(x.clone(), Variable[Number])
    assert_type(NUMBER(), Variable[Number])
    assert_type(NUMBER.make_constant(1), Constant[Number])
    assert_type(node.inputs, list[Variable[Number]])
    assert_type(node.out.type, Number)
    plain: tuple[Variable, Apply] = x, node
    del plain
    # Which class of variable a value becomes depends on the value.
    assert_type(shared(1.0), Any)


def nodes(node: Apply) -> None:
    assert_type(node.op, Op)
    assert_type(node.inputs, list[Variable])
    assert_type(node.outputs, list[Variable])
    assert_type(node.nin, int)
    assert_type(node.nout, int)
    assert_type(node.out, Variable)
    assert_type(node.default_output(), Variable)
    assert_type(node.clone(), Apply)
    assert_type(node.clone_with_new_inputs([]), Apply)
    assert_type(node.user_line, UserLine | None)
    assert_type(node.scope, str)
    assert_type(node.where(), str)
    assert_type(node_error(node, ValueError("x")), Exception)
    assert_type(compute_test_value(node), None)
    assert_type(vectorize_node(node, node.inputs[0]), list[Variable])


def ops(op: Op, node: Apply) -> None:
    assert_type(op.make_node(), Apply)
    assert_type(op(1, return_list=True), list[Variable])
    # The op decides whether it returns one variable or several, and of which class.
    assert_type(op(1), Any)
    assert_type(add(1.0, 2.0, name="sum", return_list=True), list[Variable])
    assert_type(op.default_output, int | None)
    assert_type(op.view_map, dict[int, list[int]])
    assert_type(op.destroy_map, dict[int, list[int]])
    assert_type(op.do_constant_folding(None, node), bool)
    assert_type(op.inplace_on_inputs([0]), Op)
    assert_type(op.make_py_thunk(node, {}, None, []), ThunkType)
    assert_type(op.make_thunk(node, {}, None, []), Callable[[], Any])
    assert_type(op.connection_pattern(node), list[list[bool]])
    assert_type(op.pullback([], [], []), Sequence[Variable | None])
    assert_type(op.pushforward([], [], []), Sequence[Variable | None])
    assert_type(op.canonical(), bytes)
    assert_type(op.stable_key(), str)
    assert_type(op.infer(), Sequence[Type])
    assert_type(io_connection_pattern([], []), list[list[bool]])


@static_op
class Scaled(Op):
    """A declarative op: type checkers know its fields and its constructor."""

    factor: float
    times: int = 1

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0] * self.factor


def static_ops() -> None:
    assert_type(Scaled(2.0), Scaled)
    assert_type(Scaled(2.0, times=3).times, int)
    Scaled("two")  # type: ignore[arg-type]  # fields are checked
    Scaled(2.0).factor = 3.0  # type: ignore[misc]  # and frozen


def types(kind: Type, x: Variable) -> None:
    assert_type(kind(), Variable)
    assert_type(kind.make_variable("x"), Variable)
    assert_type(kind.make_constant(1), Constant)
    assert_type(kind.filter_variable(x), Variable)
    assert_type(kind.convert_variable(x), Variable | None)
    assert_type(kind.is_valid_value(1), bool)
    assert_type(kind.is_super(kind), bool)
    assert_type(kind.in_same_class(kind), bool)
    assert_type(kind.values_eq(1, 1), bool)
    assert_type(kind.values_eq_approx(1, 1), bool)
    assert_type(kind.may_share_memory([], []), bool)
    assert_type(NUMBER, Number)
    assert_type(NUMBER.filter(1), float)
    assert_type(NullType("why").why, str)
    assert_type(DisconnectedType()(), Variable[DisconnectedType])


def inner_graphs(op: HasInnerGraph) -> None:
    assert_type(op.inner_inputs, list[Variable])
    assert_type(op.inner_outputs, list[Variable])
    assert_type(op.fn, Callable[..., Sequence[Any]])
    assert_type(op.clone(), HasInnerGraph)
    assert_type(compile_inner(op.fgraph), Callable[..., Any])


def traversal(x: Variable) -> None:
    assert_type(ancestors([x]), Iterator[Variable])
    assert_type(toposort([x]), list[Apply])


def scopes() -> None:
    with name_scope("encoder") as path:
        assert_type(path, str)
    assert_type(current_scope(), str)
    assert_type(user_line(), UserLine | None)

    @name_scope("encoder")
    def encode(x: int, times: float = 1.0) -> str:
        return f"{x}{times}"

    assert_type(encode(1, times=2.0), str)
    encode("one")  # type: ignore[arg-type]  # the decorator keeps the signature

    @name_scope("encoder")
    async def encode_later(x: int) -> bytes:
        return bytes(x)

    async def use() -> None:
        assert_type(await encode_later(1), bytes)


def test_values(x: Variable) -> None:
    for value in get_test_values(x):
        assert_type(value, Any)
    assert_type(missing_test_message("none"), None)


def registries(table: LoweringTable, op: Op) -> None:
    assert_type(table.op_types(), list[type])
    assert_type(VECTORIZERS.find(op), Vectorizer | None)
    assert_type(EVALUATOR.get(), Callable[..., Any])
    assert_type(is_thunk_type(lambda: None), ThunkType)

    @VECTORIZERS.register(Scaled)
    def vectorize_scaled(op: Scaled, node: Apply, x: Any) -> Apply:
        assert_type(node.op, Op)
        return op.make_node(x)

    assert_type(vectorize_scaled(Scaled(1.0), op.make_node(), 1), Apply)
