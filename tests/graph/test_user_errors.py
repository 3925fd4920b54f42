"""Errors in the user's own code name the op or feature, and the user's line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.graph.arithmetic import NUMBER, Number, add, mul, number
from treadle.graph import (
    VECTORIZERS,
    Apply,
    Feature,
    FunctionGraph,
    InconsistencyError,
    NodeError,
    Op,
    Type,
    Variable,
    debugprint,
    dot_text,
    graph_replace,
    note_op,
    pprint,
    vectorize_node,
)
from treadle.link.vm import PythonLinker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class OwnError(Exception):
    """An error class of the user's own."""


class Meters(Number):
    """A type that converts nothing."""

    def filter_variable(self, other: Any, allow_convert: bool = True) -> Variable:
        raise OwnError


class Picky(Op):
    """An op that takes plain numbers only."""

    def make_node(self, *inputs: Any) -> Apply:
        if inputs[0].type != NUMBER:
            raise OwnError
        return Apply(self, inputs, [NUMBER()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        raise NotImplementedError

    def __str__(self) -> str:
        return "picky"


def note_of(run: Callable[[], Any]) -> str:
    """Return the only note of what a function raises."""
    with pytest.raises(OwnError) as caught:
        run()
    (note,) = caught.value.__notes__
    return str(note)


def test_make_node_that_refuses_new_inputs_names_op_and_line() -> None:
    x = number("x")
    out = Picky()(x)
    wider: Type = Number("m")
    note = note_of(lambda: out.owner.clone_with_new_inputs([wider("y")], strict=False))
    assert note.startswith("Raised by Picky.make_node of picky, built at test_user_errors.py")
    assert "out = Picky()(x)" in note


def test_type_that_refuses_new_inputs_names_op_and_line() -> None:
    x = Meters("m")("x")
    out = add(x, x)
    note = note_of(lambda: graph_replace(out, {x: number("y")}))
    assert note.startswith("Raised by Binary.clone_with_new_inputs of add, built at test_user_errors.py")


def test_rule_for_vectorising_names_op_and_line() -> None:
    class Batched(Picky):
        pass

    @VECTORIZERS.register(Batched)
    def batched(op: Op, node: Apply, *inputs: Variable) -> Apply:
        raise OwnError((op, node, inputs))

    node = Batched().make_node(number("x"))
    assert "rule for vectorising of picky, built at" in note_of(lambda: vectorize_node(node, number("y")))


@pytest.mark.parametrize("callback", ["on_import", "on_change_input", "on_prune"])
def test_callback_names_feature_and_node_and_undoes_the_edit(callback: str) -> None:
    def fail(*args: Any) -> None:
        raise OwnError(args)

    feature = type("Watcher", (Feature,), {callback: fail})()
    x = number("x")
    product = mul(x, x)
    graph = FunctionGraph([x], [add(product, x)], clone=False, features=[feature])
    note = note_of(lambda: graph.replace(product, mul(x, add(x, x))))
    assert note.startswith(f"Raised by Watcher.{callback}")
    assert callback == "on_prune" or ", built at test_user_errors.py" in note
    assert str(graph.toposort()) == "[mul(x, x), add(mul.out, x)]"


@pytest.mark.parametrize("callback", ["on_attach", "validate"])
def test_callback_without_a_node_names_the_feature(callback: str) -> None:
    def fail(*args: Any) -> None:
        raise OwnError(args)

    x = number("x")
    graph = FunctionGraph([x], [add(x, x)])
    feature = type("Watcher", (Feature,), {callback: fail})()

    def run() -> None:
        graph.attach_feature(feature)
        graph.validate()

    assert note_of(run) == f"Raised by Watcher.{callback}."


def test_feature_that_refuses_a_change_gets_no_note() -> None:
    class Refusing(Feature):
        def validate(self, fgraph: FunctionGraph) -> None:
            msg = "no"
            raise InconsistencyError(msg)

    x = number("x")
    graph = FunctionGraph([x], [add(x, x)], features=[Refusing()])
    with pytest.raises(InconsistencyError) as caught:
        graph.validate()
    assert not hasattr(caught.value, "__notes__")


class Wordless(Picky):
    """An op whose text fails."""

    def __str__(self) -> str:
        raise OwnError


@pytest.mark.parametrize("show", [lambda v: debugprint(v, file="str"), dot_text, pprint])
def test_op_whose_text_fails_is_named_by_its_class_and_line(show: Callable[[Variable], Any]) -> None:
    out = Wordless()(number("x"))
    note = note_of(lambda: show(out))
    assert note.startswith("Raised by Wordless.__str__ of <Wordless: its text failed with OwnError>, built at")


def test_op_whose_text_fails_does_not_hide_what_failed_at_run_time() -> None:
    x = number("x")
    program = PythonLinker().link(FunctionGraph([x], [Wordless()(x)]))
    with pytest.raises(NodeError, match="<Wordless: its text failed with OwnError>: NotImplementedError, built at"):
        program(1.0)


def test_error_is_noted_once_with_the_innermost_op() -> None:
    error = OwnError()
    note_op(error, add, "perform", ", built at a.py:1")
    note_op(error, mul, "perform", ", built at a.py:2")
    assert error.__notes__ == ["Raised by Binary.perform of add, built at a.py:1."]


def test_error_that_names_op_and_line_gets_no_note() -> None:
    error = OwnError("add: wrong, built at a.py:1.")
    note_op(error, add, "perform", ", built at a.py:1")
    assert not hasattr(error, "__notes__")
