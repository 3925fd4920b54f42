"""Running graphs on the Python VM."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.graph.arithmetic import NUMBER, Arithmetic, add, inverse, mul, number
from treadle.config import config
from treadle.graph import (
    Apply,
    FunctionGraph,
    LoweringTable,
    MissingInputError,
    NodeArithmeticError,
    NodeError,
    NodeIndexError,
    NodeMemoryError,
    NodeTypeError,
    NodeValueError,
    SharedVariable,
    Variable,
    get_test_value,
)
from treadle.link.vm import BACKEND, TABLE, Backend, Program, ProgramLinker, PythonLinker, evaluate, lower_node, replay


def run(inputs: list[Variable], outputs: list[Variable], *values: Any) -> Sequence[Any]:
    return PythonLinker().link(FunctionGraph(inputs, outputs, clone=False))(*values)


def test_program_keeps_no_state_between_calls() -> None:
    x = number("x")
    run = PythonLinker().link(FunctionGraph([x], [inverse(x)]))
    assert [run(2.0), run(4.0), run(2.0)] == [(0.5,), (0.25,), (0.5,)]


class DoubledInPlace(Arithmetic):
    """Twice a number, by an assignment to its list of inputs."""

    __props__ = ()

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        assert isinstance(inputs, list)
        inputs[0] *= 2
        output_storage[0][0] = inputs[0]


def test_perform_may_assign_to_its_list_of_inputs() -> None:
    x = number("x")
    assert run([x], [DoubledInPlace()(x)], 3.0) == (6.0,)


class Fail(Arithmetic):
    """Raises the error that it was constructed with."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        raise self.error


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (ValueError("bad"), NodeValueError),
        (IndexError("bad"), NodeIndexError),
        (TypeError("bad"), NodeTypeError),
        (ZeroDivisionError("bad"), NodeArithmeticError),
        (MemoryError("bad"), NodeMemoryError),
        (RuntimeError("bad"), NodeError),
    ],
)
def test_error_keeps_its_nearest_builtin_class(raised: Exception, kind: type[NodeError]) -> None:
    x = number("x")
    with pytest.raises(kind) as caught:
        run([x], [Fail(raised)(x)], 1.0)
    assert isinstance(caught.value, type(raised))
    assert caught.value.__cause__ is raised


@pytest.mark.documents("error:NodeError")
def test_error_names_node_line_and_values() -> None:
    x = number("x")
    bad = inverse(mul(x, 0.0))
    with pytest.raises(NodeArithmeticError) as caught:
        run([x], [add(bad, x)], 3.0)
    message = str(caught.value)
    assert message.startswith("Inverse: float division by zero, built at test_machine.py:")
    assert message.endswith('"bad = inverse(mul(x, 0.0))". The inputs are float.')


def test_error_of_an_op_with_several_failing_copies_names_the_right_one() -> None:
    x = number("x")
    good = inverse(x)
    bad = inverse(add(x, -1.0))
    with pytest.raises(NodeArithmeticError, match=r'"bad = inverse\(add\(x, -1.0\)\)"'):
        run([x], [good, bad], 1.0)


def test_op_may_name_a_better_culprit() -> None:
    x = number("x")
    culprit = inverse(x)

    class Fused(Fail):
        def blame(self, node: Apply, values: Sequence[Any]) -> Apply | None:
            owner: Apply = culprit.owner
            return owner

    with pytest.raises(NodeValueError, match=r'^Inverse: bad, built at .*"culprit = inverse\(x\)"'):
        run([x], [Fused(ValueError("bad"))(x)], 1.0)


def test_shared_variable_that_is_not_an_input_is_read_when_linked() -> None:
    state = SharedVariable(NUMBER, 2.0)
    assert run([], [inverse(state)]) == (0.5,)


class Counting(Arithmetic):
    """An op whose thunk is its own and not safe to run twice at once."""

    __props__ = ()

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0

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
        pause = threading.Event()

        def thunk() -> None:
            self.inside += 1
            self.most = max(self.most, self.inside)
            pause.wait(0.001)
            target[0] = source[0] + 1.0
            self.inside -= 1

        return thunk


def test_op_with_its_own_thunk_runs_in_one_thread_at_a_time() -> None:
    x = number("x")
    op = Counting()
    run = PythonLinker().link(FunctionGraph([x], [op(x)], clone=False))
    barrier = threading.Barrier(8)
    results: list[float] = []

    def call(value: float) -> None:
        barrier.wait()
        results.extend(run(value)[0] - value for _ in range(5))

    threads = [threading.Thread(target=call, args=(float(i),)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [1.0] * 40
    assert op.most == 1


class OtherNames(Arithmetic):
    """An op with a thunk of its own, made with other parameter names."""

    __props__ = ()

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        raise NotImplementedError

    def make_thunk(self, node: Apply, cells: Any, flags: Any, keep: Any, impl: str | None = None) -> Callable[[], Any]:
        def thunk() -> None:
            cells[node.outputs[0]][0] = sum(cells[v][0] for v in node.inputs)

        return thunk


def test_own_thunk_may_name_its_parameters_differently() -> None:
    x = number("x")
    assert run([x], [OtherNames()(x, x)], 2.0) == (4.0,)
    with config.change_flags(compute_test_value="raise"):
        assert get_test_value(OtherNames()(NUMBER.make_constant(1.0))) == 1.0


def test_own_thunk_of_a_wide_node_is_linked_in_linear_time(width: int) -> None:
    inputs: list[Variable] = [number() for _ in range(width)]
    assert run(inputs, [OtherNames()(*inputs)], *[1.0] * width) == (float(width),)


def test_program_gives_right_answers_from_many_threads_at_once() -> None:
    x = tt.dvector("x")
    run = PythonLinker().link(FunctionGraph([x], [tt.exp(x * 2.0) + x]))
    barrier = threading.Barrier(8)
    wrong: list[int] = []

    def call(seed: int) -> None:
        value = np.random.default_rng(seed).normal(size=50)
        expected = np.exp(value * 2.0) + value
        barrier.wait()
        wrong.extend(seed for _ in range(200) if not np.array_equal(run(value)[0], expected))

    threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_rule_of_the_table_takes_the_place_of_perform() -> None:
    class Special(Arithmetic):
        __props__ = ()

        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            output_storage[0][0] = "performed"

    x = number("x")
    node = Special()(x).owner
    assert lower_node(node)(1.0) == "performed"
    answers: list[Any] = ["lowered".replace, None]

    def special(op: Special, node: Apply) -> Any:
        return answers.pop(0) if node.op is op else None

    TABLE.register(Special)(special)
    assert lower_node(node)("w", "W") == "loWered"
    assert lower_node(node)(1.0) == "performed"


def test_replay_explains_another_backends_failure() -> None:
    x = number("x")
    graph = FunctionGraph([x], [inverse(x)])
    explained = replay(graph, [0.0], RuntimeError("unclear"))
    assert isinstance(explained, NodeArithmeticError)
    unclear = RuntimeError("unclear")
    assert replay(graph, [1.0], unclear) is unclear


def test_evaluation_takes_values_by_variable_or_name() -> None:
    x, y = number("x"), number("y")
    assert evaluate(add(x, y), {x: 1.0, "y": 2}) == 3.0
    with pytest.raises(MissingInputError, match=r"eval: no value is given for y of type Number\(1\)"):
        evaluate(add(x, y), {x: 1.0})


def test_backend_is_declared_for_everyone_to_find() -> None:
    from treadle.config import discover

    assert discover("treadle.backends")["vm"].load() is BACKEND
    assert isinstance(BACKEND, Backend)
    assert BACKEND.unavailable() is None
    assert isinstance(BACKEND.linker(), ProgramLinker)


def test_program_interface_fetches_native_values_through_the_type() -> None:
    class Remote(Program):
        host = False

        def __call__(self, *inputs: Any) -> Sequence[Any]:
            return inputs

    assert Remote().fetch(3, NUMBER) == 3.0


def test_scope_of_the_table_surrounds_programs() -> None:
    x = tt.dscalar("x")
    run = PythonLinker().link(FunctionGraph([x], [tt.log(x)]))
    with np.errstate(all="raise"):
        assert np.isneginf(run(np.array(0.0))[0])


def test_table_of_another_backend_is_empty() -> None:
    assert LoweringTable("nowhere").find(add) is None
