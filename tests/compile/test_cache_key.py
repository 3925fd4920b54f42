"""Keys of functions: what must not share one, and what other processes cannot know."""

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.compile import redefined
from treadle.compile import FunctionMaker, Mode
from treadle.compile.cache_key import key_of
from treadle.compile.caching import is_cached
from treadle.compile.definitions import UndigestibleError
from treadle.config import config
from treadle.graph import Apply, Op, static_op
from treadle.rewrite import GraphRewriter


@static_op
class Pair(Op):
    """Two results of one type."""

    def infer(self, *types: Any) -> tuple[Any, ...]:
        return types * 2

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        outputs[0][0], outputs[1][0] = inputs[0] + 1, inputs[0] + 2


class AddSum(Op):
    """Adds the sum of an array that is a parameter."""

    __props__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        outputs[0][0] = inputs[0] + np.sum(self.array)


def key(inputs: Any, outputs: Any, mode: Any = "VM") -> str:
    maker = FunctionMaker(inputs, outputs, mode=mode, on_unused_input="ignore")
    with config.using(maker.options):
        return key_of(maker).text


def test_output_that_is_an_input_as_well_tells_graphs_apart() -> None:
    x, other = tt.dvector(), tt.dvector()
    first, second = Pair()(x)
    assert key([x, first], [second]) != key([x, other], [first])


@pytest.mark.parametrize("changed", [np.arange(4).reshape(2, 2), np.arange(4).view("float64"), np.arange(4).tobytes()])
def test_array_in_an_op_enters_by_dtype_and_shape(changed: Any) -> None:
    x = tt.dvector()
    plain = key([x], [AddSum(np.arange(4))(x), AddSum(np.arange(4))(x)])
    assert key([x], [AddSum(np.arange(4))(x), AddSum(changed)(x)]) != plain
    assert key([x], [AddSum(np.arange(4))(x), AddSum(np.arange(4))(x)]) == plain


def local_op(factor: int) -> Op:
    @static_op
    class Times(Op):
        def infer(self, *types: Any) -> tuple[Any, ...]:
            return types

        def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
            outputs[0][0] = inputs[0] * factor

    made: Op = Times()
    return made


class Nothing(GraphRewriter):
    """Does nothing, with a parameter."""

    def __init__(self, parameter: Any) -> None:
        self.parameter = parameter

    def apply(self, fgraph: Any) -> None:
        pass


def local_rewriter(parameter: int) -> GraphRewriter:
    class Local(GraphRewriter):
        def apply(self, fgraph: Any) -> Any:
            return parameter and None

    return Local()


def test_classes_made_inside_functions_have_no_key() -> None:
    x = tt.dvector()
    with pytest.raises(UndigestibleError, match=r"Times.*made inside a function"):
        key([x], [local_op(2)(x)])
    with pytest.raises(UndigestibleError, match=r"Local.*made inside a function"):
        key([x], [x + 1], Mode("vm", local_rewriter(1)))


def test_class_whose_name_was_given_away_has_no_key() -> None:
    x = tt.dvector()
    assert key([x], [redefined.Times()(x)])
    with pytest.raises(UndigestibleError, match=r"holds something else under its name"):
        key([x], [redefined.FIRST()(x)])


def test_variable_of_a_module_that_an_op_uses_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tt.dvector()
    before = key([x], [redefined.Times()(x)])
    monkeypatch.setattr(redefined, "FACTOR", 5)
    assert key([x], [redefined.Times()(x)]) != before
    monkeypatch.undo()
    assert key([x], [redefined.Times()(x)]) == before


def test_method_that_was_exchanged_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tt.dvector()
    before = key([x], [redefined.Times()(x)])
    monkeypatch.setattr(redefined.Times, "perform", Pair.perform)
    assert key([x], [redefined.Times()(x)]) != before


def test_parameters_of_a_rewriter_are_part_of_the_key() -> None:
    x = tt.dvector()
    parameters = [1, True, 1.0, "1", np.arange(4), np.arange(4).reshape(2, 2)]
    keys = {key([x], [x + 1], Mode("vm", Nothing(parameter))) for parameter in parameters}
    assert len(keys) == len(parameters)


@pytest.mark.parametrize(
    ("option", "value"), [("optimizer_verbose", True), ("profile_optimizer", True), ("check_stack_trace", "warn")]
)
def test_what_rewriting_is_asked_to_tell_needs_rewriting(option: str, value: Any) -> None:
    x = tt.dvector()
    maker = FunctionMaker([x], [x + 1], mode="VM")
    assert is_cached(maker)
    with config.change_flags(**{option: value}):
        assert not is_cached(maker)
