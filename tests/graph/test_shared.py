"""Shared variables, their cells, and the converters that make them."""

import os
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.graph.arithmetic import NUMBER, number
from treadle.graph import (
    CONVERTERS,
    Container,
    DuplicateRegistrationError,
    GraphTypeError,
    SharedVariable,
    shared,
    shared_constructor,
)


@pytest.mark.documents("shared", "shared.value", "SharedVariable.type")
def test_class_of_the_value_decides_the_type() -> None:
    assert shared(np.zeros((2, 3))).type == tt.TensorType("float64", (None, None))
    assert shared(1.5).type == tt.TensorType("float64", ())
    assert shared(np.zeros(3, "int8")).type.dtype == "int8"


def test_value_of_an_unknown_class_is_refused() -> None:
    with pytest.raises(GraphTypeError, match="no type is known for a value of class object"):
        shared(object())


def test_variables_are_not_values() -> None:
    with pytest.raises(GraphTypeError, match="got the variable x"):
        shared(tt.dscalar("x"))
    with pytest.raises(GraphTypeError, match="got the constant"):
        shared(tt.constant(1.0))


def test_converter_for_a_class_is_registered_once() -> None:
    CONVERTERS.type_of(1.0)
    with pytest.raises(DuplicateRegistrationError, match="float has a converter already"):
        CONVERTERS.register(float, tt.TensorType)


@pytest.mark.documents("SharedVariable.get_value", "shared.borrow", "SharedVariable.get_value.borrow")
def test_value_is_copied_in_and_out_unless_borrowed() -> None:
    value = np.zeros(3)
    state, borrowing = shared(value), shared(value, borrow=True)
    value[0] = 1.0
    assert state.get_value()[0] == 0.0
    assert borrowing.get_value()[0] == 1.0
    state.get_value()[1] = 5.0
    assert state.get_value()[1] == 0.0
    state.get_value(borrow=True)[1] = 5.0
    assert state.get_value()[1] == 5.0


@pytest.mark.documents(
    "SharedVariable.set_value", "SharedVariable.set_value.new_value", "SharedVariable.set_value.borrow"
)
def test_set_value_copies_unless_borrowed() -> None:
    state = shared(np.zeros(2))
    value = np.ones(2)
    state.set_value(value)
    value[:] = 7.0
    assert state.get_value().tolist() == [1.0, 1.0]
    state.set_value(value, borrow=True)
    assert state.get_value(borrow=True) is value


@pytest.mark.documents("SharedVariable.strict", "shared.strict")
def test_value_that_does_not_fit_is_refused_and_the_old_one_stays() -> None:
    state = shared(np.zeros(2), strict=True)
    for wrong in (np.zeros((2, 2)), np.zeros(2, "float32"), [0.0, 0.0]):
        with pytest.raises(TypeError):
            state.set_value(wrong)
    assert state.get_value().tolist() == [0.0, 0.0]


@pytest.mark.documents("SharedVariable.zero", "SharedVariable.zero.borrow")
def test_zero_writes_zeros() -> None:
    state = shared(np.ones(2))
    kept = state.get_value(borrow=True)
    state.zero()
    assert kept.tolist() == [1.0, 1.0]
    state.set_value(kept, borrow=True)
    state.zero(borrow=True)
    assert kept.tolist() == [0.0, 0.0]


@pytest.mark.documents("SharedVariable.clone", "SharedVariable.container", "SharedVariable.clone.name")
def test_clone_uses_the_same_cell() -> None:
    state = SharedVariable(NUMBER, 1.0, name="state")
    twin = state.clone(name="twin")
    twin.set_value(2.0)
    assert (state.get_value(), twin.name, twin.container is state.container) == (2.0, "twin", True)


def test_type_can_be_given_options() -> None:
    assert shared(np.zeros((1, 3)), shape=(None, 3)).type.shape == (None, 3)


def test_native_value_is_fetched_once_when_a_host_value_is_asked_for() -> None:
    cell = Container(NUMBER, 1.0)
    calls: list[Any] = []

    def fetch(native: Any) -> float:
        calls.append(native)
        return float(native)

    cell.write_native("2.5", fetch)
    assert cell.read() == "2.5"
    assert calls == []
    assert (cell.read_host(), cell.read_host()) == (2.5, 2.5)
    assert calls == ["2.5"]
    cell.write(3.0)
    assert (cell.read(), cell.read_host()) == (3.0, 3.0)


@pytest.mark.documents("SharedVariable.get_value", "SharedVariable.get_value.return_internal_type")
def test_internal_form_is_returned_on_demand() -> None:
    state = SharedVariable(NUMBER, 1.0)
    state.container.write_native("4.0", float)
    assert state.get_value(return_internal_type=True) == "4.0"
    assert state.get_value() == 4.0


def test_cells_have_locks_in_an_order() -> None:
    first, second = Container(NUMBER, 1.0), Container(NUMBER, 2.0)
    assert first.order < second.order
    reached = threading.Event()

    def read() -> None:
        first.read_host()
        reached.set()

    with first.lock, first.lock:  # re-entrant
        thread = threading.Thread(target=read)
        thread.start()
        assert not reached.wait(0.05)
    thread.join()
    assert reached.is_set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only systems with fork have the danger")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_cell_can_be_used_after_a_fork_while_another_thread_holds_its_lock() -> None:
    cell = Container(NUMBER, 1.5)
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with cell.lock:
            held.set()
            release.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if cell.read_host() == 1.5 else 1)
    _, status = os.waitpid(child, 0)
    release.set()
    thread.join()
    assert status == 0


@pytest.mark.documents("SharedVariable.name")
def test_shared_variable_shows_its_name_or_type() -> None:
    assert str(SharedVariable(NUMBER, 1.0, name="state")) == "state"
    assert str(SharedVariable(NUMBER, 1.0)) == "<shared Number(1)>"
    assert str(number("x")) == "x"


@pytest.mark.documents("SharedVariable.default_update")
def test_default_update_must_be_of_the_variables_type() -> None:
    state, other = SharedVariable(NUMBER, 1.0, name="state"), shared(np.zeros(2), name="other")
    state.default_update = state
    assert state.default_update is state
    with pytest.raises(GraphTypeError, match=r"state: the default update must be of type .*, got other of type"):
        state.default_update = other
    assert state.default_update is state
    state.default_update = None
    assert state.default_update is None


@pytest.mark.documents("SharedVariable.container", "Container")
def test_cell_shows_and_takes_its_value() -> None:
    cell = Container(NUMBER, 1.0)
    cell.value = 2
    assert (cell.data, cell.value, cell.read()) == (2.0, 2.0, 2.0)


@pytest.mark.documents("shared_constructor")
def test_registered_constructors_are_called_for_their_class() -> None:
    class Money:
        pass

    class Euro(Money):
        pass

    def of_money(value: Any, **options: Any) -> SharedVariable:
        return SharedVariable(NUMBER, 5.0, name=f"{type(value).__name__} {options['name']}")

    assert shared_constructor.register(Money)(of_money) is of_money
    assert shared(Euro(), name="m").name == shared_constructor(Euro(), name="m").name == "Euro m"
    with pytest.raises(DuplicateRegistrationError, match="Money has a constructor already"):
        shared_constructor.register(Money, of_money)


@pytest.mark.documents("shared.device")
@pytest.mark.parametrize("name", ["", 3, ["gpu"]])
def test_device_that_is_no_name_is_refused(name: object) -> None:
    with pytest.raises(GraphTypeError, match=r"shared: device must be the name of a device, such as 'gpu:1', or None"):
        shared(1.5, device=name)  # type: ignore[arg-type]  # what the test is about


def test_device_stays_with_the_cell() -> None:
    w = shared(np.zeros(3), name="w", device="gpu:1")
    assert w.clone().container.device == "gpu:1"
    assert pickle.loads(pickle.dumps(w)).container.device == "gpu:1"
    assert shared(np.zeros(3)).container.device is None
