"""Interrupts at every instruction of a call: no lock stays held, and state is that before the call or that after it."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from treadle.compile import function, shared
from treadle.graph import CALL_FILE, Apply, Container, Op

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

STRIDE = int(os.environ.get("TREADLE_INTERRUPT_STRIDE", "1"))
CELL_METHODS = (Container.read, Container.read_host, Container.write, Container.write_native, Container.change)
CONTAINER_CODES = {f.__code__ for f in CELL_METHODS}


class Interrupter:
    """Raises KeyboardInterrupt at one of the instructions of callers and of cells' methods."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.seen = 0

    def __call__(self, frame: Any, event: str, arg: Any) -> Any:
        if event == "call" and frame.f_code.co_filename != CALL_FILE and frame.f_code not in CONTAINER_CODES:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            self.seen += 1
            if self.seen == self.at:
                raise KeyboardInterrupt
        return self


def interrupted(work: Callable[[], Any], at: int) -> bool:
    """Run something, interrupted at an instruction; return whether it ran that far."""
    before = sys.gettrace()
    sys.settrace(Interrupter(at))
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def held_by_this_thread(cells: Sequence[Container]) -> list[int]:
    def look() -> list[int]:
        free = []
        for k, cell in enumerate(cells):
            if cell.lock.acquire(blocking=False):
                cell.lock.release()
                free.append(k)
        return free

    with ThreadPoolExecutor(1) as others:
        free = others.submit(look).result()
    return [k for k in range(len(cells)) if k not in free]


def check_every_instruction(work: Callable[[], Any], variables: Sequence[Any], check: Callable[[], None]) -> int:
    cells = [v.container for v in variables]
    count, at = 0, 1
    while interrupted(work, at):
        assert held_by_this_thread(cells) == [], f"after an interrupt at instruction {at}"
        check()
        count, at = count + 1, at + STRIDE
    return count


def counters(count: int) -> list[Any]:
    return [shared(np.zeros(2), name=f"c{k}") for k in range(count)]


def check_equal(variables: Sequence[Any]) -> None:
    assert len({float(v.get_value(borrow=True)[0]) for v in variables}) == 1
    assert len({float(v.get_value(borrow=True, return_internal_type=True)[0]) for v in variables}) == 1


@pytest.mark.parametrize("mode", ["VM", "C"])
@pytest.mark.parametrize("count", [1, 3, 8, 9, 60])
def test_an_interrupt_at_any_instruction_of_a_call_leaves_no_lock_held(count: int, mode: str) -> None:
    variables = counters(count)
    f = function([], variables[0].sum(), updates=[(v, v + 1) for v in variables], mode=mode)
    f()
    assert check_every_instruction(f, variables, lambda: check_equal(variables)) > 8 * count // STRIDE
    before = variables[0].get_value()
    f()
    np.testing.assert_array_equal(variables[-1].get_value(), before + 1)


@pytest.mark.parametrize("count", [3, 20])
def test_an_interrupt_at_any_instruction_of_a_call_that_only_reads_leaves_no_lock_held(count: int) -> None:
    variables = counters(count)
    f = function([], sum(variables[1:], variables[0]), mode="VM")
    assert check_every_instruction(f, variables, lambda: None) > 6 * count // STRIDE


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_an_interrupt_at_any_instruction_of_a_call_that_writes_parts_changes_all_or_nothing(mode: str) -> None:
    variables = [shared(np.zeros(4), name=f"c{k}") for k in range(3)]
    updates = [(variables[0], variables[0][:1].inc(1)), (variables[1], variables[1][[0, 2]].inc(1))]
    f = function([], [], updates=[*updates, (variables[2], variables[2] + 1)], mode=mode)
    f()
    assert check_every_instruction(f, variables, lambda: check_equal(variables)) > 50 // STRIDE


def test_an_interrupt_at_any_instruction_of_reading_and_setting_a_value_leaves_no_lock_held() -> None:
    (variable,) = counters(1)
    for work in (variable.get_value, lambda: variable.set_value(np.ones(2)), lambda: variable.zero(borrow=True)):
        assert check_every_instruction(work, [variable], lambda: None) > 10 // STRIDE


class _Nested(Op):
    """Return the input, after a call of another function."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.work = work

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        del node
        self.work()
        output_storage[0][0] = inputs[0]


def test_an_interrupt_in_an_inner_call_leaves_the_outer_one_its_lock() -> None:
    (variable,) = counters(1)
    inner = function([], [], updates={variable: variable + 1}, mode="VM")
    at, more, held = 1, True, []

    def work() -> None:
        nonlocal more
        more = interrupted(inner, at)
        held.append(held_by_this_thread([variable.container]))

    outer = function([], [], updates={variable: _Nested(work)(variable) + 1}, mode="VM")
    while more:
        outer()
        assert held_by_this_thread([variable.container]) == [], f"after an interrupt at instruction {at}"
        at += STRIDE
    assert at > 20
    assert held == [[0]] * len(held)
