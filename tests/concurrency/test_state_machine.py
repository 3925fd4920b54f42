"""Any sequence of calls, copies, pickles and borrowed values agrees with plain NumPy, and changes nothing else."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import treadle.tensor as tt
from treadle.compile import In, Out, function, shared
from treadle.graph import Apply, Op

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXAMPLES = int(os.environ.get("TREADLE_STATE_EXAMPLES", "0"))
ROWS, COLUMNS = 5, 3
AT, YES = st.integers(0, 5), st.booleans()


class Fails(Op):
    """Return the input, unless it is negative."""

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        del node
        if inputs[0] < 0:
            msg = "negative"
            raise ValueError(msg)
        output_storage[0][0] = np.asarray(inputs[0])


def inc(x: Any, index: Any, y: Any) -> Any:
    if not isinstance(x, np.ndarray):
        return x[index].inc(y)
    new = x.copy()
    np.add.at(new, index, y)
    return new


def put(x: Any, index: Any, y: Any) -> Any:
    if not isinstance(x, np.ndarray):
        return x[index].set(y)
    new = x.copy()
    new[index] = y
    return new


# Outputs and new values of two variables, from the same expressions in both worlds: a, b, positions, a row, a number.
Step = tuple[list[Any], Any, Any]
STEPS: dict[str, Callable[[SimpleNamespace], Step]] = {
    "whole": lambda s: ([s.a.sum()], s.a + s.y, s.b * 0.5),
    "inc rows": lambda s: ([], inc(s.a, s.i, s.y), s.b),
    "inc rows of both": lambda s: ([s.a, s.b.sum()], inc(s.a, s.i, s.y), inc(s.b, s.i, s.y * 2)),
    "set row": lambda s: ([s.a[s.k]], put(s.a, s.k, s.y), s.b + 1),
    "set slice": lambda s: ([s.a[0], s.a], put(s.a, slice(1, 3), s.y), s.b),
    "several": lambda s: ([], put(inc(inc(s.a, s.i, s.y), s.k, s.a[0]), slice(0, 2), s.y), s.b),
    "exchange": lambda s: ([s.a, s.b], put(s.a, slice(0, 2), s.b[:2]), put(s.b, slice(0, 2), s.a[:2])),
    "take over": lambda s: ([], inc(s.a, s.i, s.y), s.a),
    "returned": lambda s: ([inc(s.a, s.i, s.y)], inc(s.a, s.i, s.y), put(s.b, s.k, s.y)),
    "columns": lambda s: ([s.b], inc(s.a, (slice(None, None, -1), slice(0, 1)), s.y[:1]), s.b),
}


def compiled(name: str, a: Any, b: Any, mode: str, fails: bool, borrow: bool) -> Any:
    i, y, k, bad = tt.lvector("i"), tt.dvector("y"), tt.lscalar("k"), tt.dscalar("bad")
    outs, new_a, new_b = STEPS[name](SimpleNamespace(a=a, b=b, i=i, y=y, k=k))
    if fails:
        new_a = inc(new_a, 0, Fails()(bad))
    return function(
        [i, y, k, bad], [Out(o, borrow=borrow) for o in outs], updates={a: new_a, b: new_b}, mode=mode,
        on_unused_input="ignore",
    )  # fmt: skip


class World:
    """Two shared variables, their expected values, and the functions on them."""

    cache: ClassVar[dict[Any, Any]] = {}

    def __init__(self, a: Any, b: Any, expected: list[Any], functions: dict[tuple[str, bool], Any]) -> None:
        self.variables = [a, b]
        self.expected = expected
        self.functions = functions

    def after(self, name: str, i: Any, y: Any, k: Any) -> tuple[list[Any], list[Any]]:
        a, b = self.expected
        outs, *new = STEPS[name](SimpleNamespace(a=a, b=b, i=i, y=y, k=k))
        return outs, [np.array(x) for x in new]

    def same(self) -> None:
        for variable, wanted in zip(self.variables, self.expected, strict=True):
            np.testing.assert_allclose(variable.get_value(borrow=True), wanted, rtol=1e-12)


class StateMachine(RuleBasedStateMachine):
    mode = "VM"
    fails = True

    def __init__(self) -> None:
        super().__init__()
        self.held: list[tuple[Any, Any]] = []
        self.worlds: list[World] = [self.world()]

    def world(self) -> World:
        start = [np.arange(15.0).reshape(ROWS, COLUMNS), np.ones((ROWS, COLUMNS))]
        # Compiled functions are copied onto fresh variables, because compiling takes long.
        key = (self.mode, self.fails)
        if key not in World.cache:
            a, b = shared(start[0], name="a"), shared(start[1], name="b")
            originals = {(n, o): compiled(n, a, b, self.mode, self.fails, o) for n in STEPS for o in (False, True)}
            World.cache[key] = a, b, originals
        a0, b0, originals = World.cache[key]
        a, b = shared(start[0], name="a"), shared(start[1], name="b")
        functions = {}
        for at, f in originals.items():
            used = set(f.get_shared())
            functions[at] = f.copy(swap={old: new for old, new in ((a0, a), (b0, b)) if old in used})
        return World(a, b, [x.copy() for x in start], functions)

    def pick(self, at: int) -> World:
        return self.worlds[at % len(self.worlds)]

    def hold(self, value: Any) -> None:
        if isinstance(value, np.ndarray):
            self.held.append((value, value.copy()))
            del self.held[:-12]

    arguments = st.tuples(
        st.lists(st.integers(-ROWS, ROWS - 1), min_size=0, max_size=4),
        st.integers(-3, 3),
        st.integers(-ROWS, ROWS - 1),
    )

    @rule(
        at=AT,
        name=st.sampled_from(list(STEPS)),
        borrow=YES,
        arguments=arguments,
        bad=st.booleans(),
        keep=st.booleans(),
    )
    def call(self, at: int, name: str, borrow: bool, arguments: Any, bad: bool, keep: bool) -> None:
        world = self.pick(at)
        f = world.functions[name, borrow]
        positions, scale, k = np.array(arguments[0], "int64"), arguments[1], arguments[2]
        y = np.arange(1.0, 1 + COLUMNS) * scale
        # The failure: a position far out of bounds, or an op in the middle.
        far = bad and (not self.fails or bool(k % 2))
        # Where only the row is out of bounds, positions have been written before.
        values = (positions if scale % 2 else np.append(positions, 99), y, 99) if far else (positions, y, k)
        outs: list[Any] = []
        new = world.expected
        with suppress(IndexError):
            outs, new = world.after(name, *values)
        try:
            results = f(*values, -1.0 if bad and not far and self.fails else 0.0)
        except (IndexError, ValueError):
            assert bad
            return
        for result, wanted in zip(results, outs, strict=True):
            np.testing.assert_allclose(result, wanted, rtol=1e-12)
            if keep:
                self.hold(result)
        world.expected = new

    @rule(
        at=AT,
        which=st.integers(0, 1),
        borrow=YES,
        part=st.sampled_from(["all", "row", "transposed"]),
    )
    def get(self, at: int, which: int, borrow: bool, part: str) -> None:
        value = self.pick(at).variables[which].get_value(borrow=borrow)
        self.hold({"all": value, "row": value[1:2], "transposed": value.T}[part])

    @rule()
    def drop(self) -> None:
        self.held.clear()

    @rule(
        at=AT,
        which=st.integers(0, 1),
        borrow=YES,
        scale=st.integers(-3, 3),
        view=YES,
    )
    def put_value(self, at: int, which: int, borrow: bool, scale: int, view: bool) -> None:
        world = self.pick(at)
        whole = np.full((ROWS + 2, COLUMNS), float(scale))
        value = whole[1:-1] if view else whole[1:-1].copy()
        world.variables[which].set_value(value, borrow=borrow)
        world.expected[which] = value.copy()
        self.hold(whole if view else value)

    @rule(at=AT, way=st.sampled_from(["pickle", "deepcopy"]))
    def duplicate(self, at: int, way: str) -> None:
        world = self.pick(at)
        names = [("several", False), ("inc rows of both", True)]
        world_parts = ([world.functions[n] for n in names], world.variables)
        functions, (a, b) = pickle.loads(pickle.dumps(world_parts)) if way == "pickle" else copy.deepcopy(world_parts)
        rest = {n: functions[0] if n[0] == "several" else functions[1] for n in names}
        rest = {n: rest.get(n) or _swapped(f, world.variables, (a, b)) for n, f in world.functions.items()}
        copied = World(a, b, [x.copy() for x in world.expected], rest)
        self.worlds = [*self.worlds[-2:], copied]

    @rule(at=AT, name=st.sampled_from(["inc rows", "inc rows of both", "set slice"]), borrow=YES)
    def call_from_threads(self, at: int, name: str, borrow: bool) -> None:
        world, barrier = self.pick(at), threading.Barrier(8)
        f, positions, y = world.functions[name, borrow], np.array([0, 2, 2]), np.ones(COLUMNS)
        failed: list[BaseException] = []

        def work() -> None:
            try:
                barrier.wait()
                for _ in range(3):
                    f(positions, y, 1, 0.0)
            except BaseException as error:  # noqa: BLE001 - shown by the assertion
                failed.append(error)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        for _ in range(24):
            _, world.expected = world.after(name, positions, y, 1)

    @invariant()
    def state_is_as_in_numpy(self) -> None:
        for world in self.worlds:
            world.same()

    @invariant()
    def what_was_borrowed_has_not_changed(self) -> None:
        for value, before in self.held:
            np.testing.assert_array_equal(value, before)


def _swapped(f: Any, old: Sequence[Any], new: Sequence[Any]) -> Any:
    used = set(f.get_shared())
    return f.copy(swap={a: b for a, b in zip(old, new, strict=True) if a in used})


def run(mode: str, fails: bool, examples: int) -> None:
    kind = type("Machine", (StateMachine,), {"mode": mode, "fails": fails})
    run_state_machine_as_test(
        kind,
        settings=settings(
            max_examples=examples, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )  # fmt: skip


@pytest.mark.parametrize(("mode", "fails"), [("VM", True), ("C", False), ("CVM", True)])
def test_state_is_as_in_numpy_after_any_sequence(mode: str, fails: bool) -> None:
    run(mode, fails, EXAMPLES or 6)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["NUMBA", "JAX", "PYTORCH"])
def test_state_is_as_in_numpy_after_any_sequence_on_slow_compilers(mode: str) -> None:
    run(mode, False, EXAMPLES or 4)


def test_a_mutable_argument_behaves_as_an_array_of_numpy() -> None:
    m, i, y = tt.dmatrix("m"), tt.lvector("i"), tt.dvector("y")
    f = function([In(m, mutable=True), i, y], Out(m[i].inc(y), borrow=True), mode="C")
    array = np.zeros((ROWS, COLUMNS))
    expected = array.copy()
    generator = np.random.default_rng(7)
    for _ in range(50):
        positions, row = generator.integers(-ROWS, ROWS, 3), generator.normal(size=COLUMNS)
        assert f(array, positions, row) is array
        np.add.at(expected, positions, row)
        np.testing.assert_allclose(array, expected)
