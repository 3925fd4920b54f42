"""The names of the gradient methods, on an op whose gradients are only recorded."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.graph.arithmetic import Arithmetic, add, div_mod, inverse, number
from treadle.graph import (
    Apply,
    DisconnectedType,
    GraphValueError,
    MethodNotDefinedError,
    NullType,
    Op,
    Type,
    Variable,
    io_connection_pattern,
)


class Silent(Arithmetic):
    """An op without any gradient."""

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Do nothing."""

    def infer(self, *types: Type) -> Sequence[Type]:
        return [types[0]]


class ByGrad(Silent):
    def grad(self, inputs: Sequence[Variable], output_grads: Sequence[Variable]) -> Sequence[Variable | None]:
        return [add(output_grads[0], 1.0)]


class ByLop(Silent):
    def L_op(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], output_grads: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        return [add(outputs[0], 2.0)]


class ByPullback(Silent):
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        return [add(outputs[0], 3.0)]


def mark(terms: Sequence[Variable | None]) -> float:
    """Return the number that shows which method made the terms."""
    (term,) = terms
    assert term is not None
    assert term.owner is not None
    value = term.owner.inputs[1]
    return float(value.data)  # type: ignore[attr-defined]  # a constant


def answers(op: Any) -> list[float]:
    """Return the answer under each name."""
    x = number("x")
    inputs, outputs, ct = [x], op(x, return_list=True), [number("ct")]
    return [mark(op.pullback(inputs, outputs, ct)), mark(op.L_op(inputs, outputs, ct)), mark(op.grad(inputs, ct))]


@pytest.mark.parametrize(("kind", "number_"), [(ByGrad, 1.0), (ByLop, 2.0), (ByPullback, 3.0)])
def test_every_name_answers_through_the_one_defined(kind: type[Op], number_: float) -> None:
    assert answers(kind()) == [number_] * 3


def test_gradients_call_the_most_derived_definition() -> None:
    class LopOverPullback(ByPullback):
        L_op = ByLop.L_op

    class GradOverLop(LopOverPullback):
        grad = ByGrad.grad

    class Unchanged(GradOverLop):
        pass

    assert [answers(kind())[0] for kind in (LopOverPullback, GradOverLop, Unchanged)] == [2.0, 1.0, 1.0]


def test_definition_in_a_mixin_counts_by_its_place_among_the_bases() -> None:
    class Mixin:
        grad = ByGrad.grad

    class First(Mixin, ByPullback):
        pass

    class Last(ByPullback, Mixin):
        pass

    assert answers(First())[0] == 1.0
    assert answers(Last())[0] == 3.0


def test_extended_method_may_use_the_one_it_extends() -> None:
    class More(ByGrad):
        def L_op(
            self, inputs: Sequence[Variable], outputs: Sequence[Variable], output_grads: Sequence[Variable]
        ) -> Sequence[Variable | None]:
            (term,) = self.grad(inputs, output_grads)
            return [add(term, 5.0)]

    assert answers(More())[0] == 5.0


def test_op_without_gradient_says_so_under_every_name() -> None:
    op, x = Silent(), number("x")
    for name, count in (("pullback", 3), ("L_op", 3), ("grad", 2)):
        with pytest.raises(MethodNotDefinedError, match=r"Silent: the op defines no gradient. Implement pullback"):
            getattr(op, name)(*[[x]] * count)
    for name, count in (("pushforward", 3), ("R_op", 2)):
        with pytest.raises(NotImplementedError, match=r"Silent: the op defines no R_op. Implement pushforward"):
            getattr(op, name)(*[[x]] * count)


def test_super_call_to_a_missing_gradient_ends_with_the_error() -> None:
    class Asks(Silent):
        def pullback(
            self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
        ) -> Sequence[Variable | None]:
            return super().pullback(inputs, outputs, cotangents)

    x = number("x")
    with pytest.raises(MethodNotDefinedError, match="defines no gradient"):
        Asks().pullback([x], [x], [x])


def test_forward_names_translate_what_does_not_move() -> None:
    seen: list[Any] = []

    class ByRop(Silent):
        def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]) -> list[Variable | None]:
            seen.append(list(eval_points))
            return [None]

    class ByPushforward(Silent):
        def pushforward(
            self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
        ) -> list[Variable | None]:
            seen.append([type(t.type) if t is not None else None for t in tangents])
            return [None]

    x = number("x")
    ByRop().pushforward([x], [x], [DisconnectedType()()])
    ByRop().pushforward([x], [x], [None])
    other: Any = ByPushforward()
    other.R_op([x], [None])
    assert seen == [[None], [None], [DisconnectedType]]


def test_types_of_absent_gradients_have_no_values() -> None:
    with pytest.raises(TypeError, match="a disconnected gradient has no values"):
        DisconnectedType().filter(1.0)
    with pytest.raises(TypeError, match=r"this gradient is not defined \(it jumps\)"):
        NullType("it jumps").filter(1.0)
    assert NullType("a") == NullType("a")
    assert NullType("a") != NullType("b")
    assert str(DisconnectedType()) == "Disconnected"
    assert str(NullType()) == "Null"


class Second(Silent):
    """Connects its second output to its first input only."""

    def infer(self, *types: Type) -> Sequence[Type]:
        return [types[0], types[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False, True], [False, False]]


def test_connection_pattern_follows_the_ops_between() -> None:
    x, y = number("x"), number("y")
    nothing, by_x = Second()(x, y)
    outputs = [nothing, by_x, add(by_x, y), inverse(nothing), x, number("z")]
    assert io_connection_pattern([x, y], outputs) == [
        [False, True, True, False, True, False],
        [False, False, True, False, False, False],
    ]


def test_connection_pattern_takes_inputs_inside_the_graph_as_given() -> None:
    x = number("x")
    inner = inverse(x)
    assert io_connection_pattern([inner, x], [add(inner, 1.0)]) == [[True], [False]]
    assert io_connection_pattern([], [inner]) == []
    assert io_connection_pattern([x, x], [inner]) == [[True], [True]]


def test_pattern_of_the_wrong_size_is_refused() -> None:
    class Wrong(Silent):
        def connection_pattern(self, node: Apply) -> list[list[bool]]:
            return [[True, True]]

    x = number("x")
    with pytest.raises(GraphValueError, match=r"must have 1 rows of 1, got \[\[True, True\]\], built"):
        io_connection_pattern([x], [Wrong()(x)])


def test_every_output_is_connected_by_default() -> None:
    x, y = number("x"), number("y")
    assert io_connection_pattern([x, y], div_mod(x, y)) == [[True, True], [True, True]]
