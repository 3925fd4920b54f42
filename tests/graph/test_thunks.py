"""Thunks: how the documentation runs one node, and ops that bring their own."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.graph.arithmetic import NUMBER, Inverse, add, div_mod, inverse, number
from treadle.graph import (
    EVALUATOR,
    Apply,
    FunctionGraph,
    GraphError,
    GraphTypeError,
    GraphValueError,
    NodeError,
    NodeIndexError,
    Op,
    ScratchPad,
    Type,
    Variable,
    compute_test_value,
    get_test_value,
    is_thunk_type,
    node_error,
    raise_node_error,
)
from treadle.surface.thunks import VMLinker


class Bag(Type):
    """Lists that may be changed."""

    __props__ = ()

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> list[int]:
        return list(data)


class Drain(Op):
    """Move all of one bag into another, by a thunk of its own; the first is emptied before the second is read."""

    __props__ = ()
    destroy_map = {0: [0]}  # noqa: RUF012 - as the documentation writes it

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [Bag()()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        drained, kept = inputs
        taken = list(drained)
        drained.clear()
        drained += [*kept, *taken]
        output_storage[0][0] = drained

    def make_thunk(
        self,
        node: Apply,
        storage_map: dict[Variable, list[Any]],
        compute_map: dict[Variable, list[bool]] | None,
        no_recycling: Sequence[Variable],
        impl: str | None = None,
    ) -> Callable[[], Any]:
        return self.make_py_thunk(node, storage_map, compute_map, no_recycling)


def test_overwritten_input_that_is_read_too_is_kept_apart() -> None:
    bag = Bag()("bag")
    items = [1, 2]
    assert VMLinker().link(FunctionGraph([bag], [Drain()(bag, bag)]))(items) == ([1, 2, 1, 2],)
    assert items == [1, 2]


def test_test_value_of_an_overwritten_input_that_is_read_too_is_right() -> None:
    bag = Bag()("bag")
    bag.tag.test_value = [1, 2]
    node = Drain()(bag, bag).owner
    compute_test_value(node)
    assert get_test_value(node.outputs[0]) == [1, 2, 1, 2]
    assert bag.tag.test_value == [1, 2]


def test_node_without_repeated_overwritten_inputs_is_left_as_it_is() -> None:
    x = number("x")
    for node in (add(x, x).owner, Drain()(Bag()("a"), Bag()("b")).owner):
        assert node.with_distinct_inputs() is node


def test_thunk_carries_its_cells() -> None:
    x, y = number("x"), number("y")
    node = div_mod(x, y)[0].owner
    storage: dict[Variable, list[Any]] = {x: [7.0], y: [2.0], node.outputs[0]: [None], node.outputs[1]: [None]}
    thunk = node.op.make_py_thunk(node, storage, None, [])
    assert thunk.inputs == [[7.0], [2.0]]
    assert not thunk.lazy
    thunk()
    assert thunk.outputs == [[3.0], [1.0]]


@pytest.mark.parametrize(("impl", "prepared"), [(None, ["py"]), ("py", ["py"]), ("c", ["c", "py"])])
def test_node_is_prepared_before_each_thunk(impl: str | None, prepared: list[str]) -> None:
    seen: list[Any] = []

    class Prepared(Inverse):
        def prepare_node(self, node: Apply, storage_map: Any, compute_map: Any, impl: str | None) -> None:
            seen.append(impl)

    x = number("x")
    y = Prepared()(x)
    storage: dict[Variable, list[Any]] = {x: [4.0], y: [None]}
    y.owner.op.make_thunk(y.owner, storage, None, [], impl=impl)()
    assert (seen, storage[y]) == (prepared, [0.25])


def test_unknown_implementation_is_refused() -> None:
    x = number("x")
    y = inverse(x)
    with pytest.raises(GraphValueError, match=r"Inverse: impl must be 'py', 'c' or None, got 'cuda'"):
        y.owner.op.make_thunk(y.owner, {x: [1.0], y: [None]}, None, [], impl="cuda")


def test_value_that_cannot_be_called_is_not_a_thunk() -> None:
    with pytest.raises(GraphTypeError, match=r"a callable without arguments is needed, got 3"):
        is_thunk_type(3)  # type: ignore[arg-type]  # what the test is about
    assert is_thunk_type(print) is print


def test_op_knows_no_shapes_and_no_other_variant_of_itself_by_default() -> None:
    node = inverse(number("x")).owner
    assert inverse.infer_shape(node, [()]) is None
    assert inverse.inplace_on_inputs([0]) is inverse
    assert inverse.do_constant_folding(None, node) is True


def test_failure_of_a_node_is_reported_once() -> None:
    node = inverse(number("x")).owner
    reported = node_error(node, IndexError("too far"), [1.0])
    assert isinstance(reported, NodeIndexError)
    assert node_error(node, reported) is reported
    with pytest.raises(NodeError, match="too far"):
        raise_node_error(node, reported)


def test_evaluator_must_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treadle.graph.ir.inner_graph.discover", lambda _: {})
    EVALUATOR.set(None)
    with pytest.raises(GraphError, match=r"no installed distribution offers an evaluator\. Install `compile`"):
        number("x").eval({})


def test_evaluator_can_be_exchanged() -> None:
    EVALUATOR.set(lambda variable, values, mode, **kwargs: (variable.name, values, mode, kwargs))
    try:
        assert number("x").eval({"a": 1}, "fast", on_unused_input="ignore") == (
            "x",
            {"a": 1},
            "fast",
            {"on_unused_input": "ignore"},
        )
    finally:
        EVALUATOR.set(None)
    x = number("x")
    assert add(x, 1).eval({x: 2.0}) == 3.0


def test_tag_shows_its_attributes() -> None:
    x = number("x")
    x.tag.unit = "m"
    assert repr(x.tag) == "ScratchPad(unit='m')"
    assert isinstance(x.clone().tag, ScratchPad)
    assert x.clone().tag.unit == "m"


def test_named_copy_of_a_constant_is_another_constant() -> None:
    one = NUMBER.make_constant(1.0)
    assert one.clone() is one
    named = one.clone(name="one")
    assert (named.name, named.equals(one)) == ("one", True)


def test_clone_of_a_node_computes_the_same_from_the_same_inputs() -> None:
    node = div_mod(number("x"), 2.0, name="part")[0].owner
    node.tag.note = "kept"
    copy = node.clone()
    assert copy.inputs == node.inputs
    assert [out.name for out in copy.outputs] == ["part_0", "part_1"]
    assert (copy.tag.note, copy.user_line) == ("kept", node.user_line)


def test_node_of_one_output_stands_for_it_and_of_several_for_none() -> None:
    y = inverse(number("x"))
    assert y.owner.out is y
    with pytest.raises(GraphValueError, match=r"DivMod: the node has 2 outputs and no default one, built at .*"):
        div_mod(number("x"), 2.0)[0].owner.default_output()
