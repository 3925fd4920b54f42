"""The state of generators under updates, copies of functions, failed calls, threads, processes."""

import copy
import multiprocessing
import os
import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.tensor.random as tr
from treadle.compile import In, function, get_mode
from treadle.graph import shared
from treadle.tensor import scalar, vector

MAKERS: dict[str, Callable[[int], Any]] = {
    "PCG64": np.random.default_rng,
    "PCG64DXSM": lambda seed: np.random.Generator(np.random.PCG64DXSM(seed)),
    "SFC64": lambda seed: np.random.Generator(np.random.SFC64(seed)),
    "Philox": lambda seed: np.random.Generator(np.random.Philox(seed)),
    "MT19937": lambda seed: np.random.Generator(np.random.MT19937(seed)),
    "portable": tr.PortableGenerator,
}
BACKENDS = ["VM", "C"]
COMPILED = [("PCG64", "C"), ("portable", "C")]
# One generator of each kind, and all of NumPy's.
FEW = [("PCG64", "VM"), ("portable", "VM"), *COMPILED]
CASES = [*((kind, "VM") for kind in MAKERS), *COMPILED]
same = np.testing.assert_array_equal


def is_after(held: Any, kind: str, draws: int) -> bool:
    """Whether a shared generator of seed 1 has made this many draws of three normals."""
    expected = MAKERS[kind](1)
    for _ in range(draws):
        expected.normal(size=3)
    return bool(held.type.values_eq(held.get_value(), expected))


@pytest.mark.parametrize(("kind", "backend"), CASES)
def test_functions_move_generators_on_by_updates_only(kind: str, backend: str) -> None:
    held = shared(MAKERS[kind](1))
    following, x = held.normal(size=3)
    _, again = held.normal(size=3)
    last, y = following.normal(size=3)
    still = function([], [x, again, y], mode=backend)
    a, b, c = still()
    same(a, b)
    assert (a != c).all()
    same(still()[0], a)
    held.default_update = last
    moving = function([], [x, y], mode=backend)
    frozen = function([], x, no_default_updates=True, mode=backend)
    listed = function([], x, no_default_updates=[held], mode=backend)
    explicit = function([], x, updates={held: following}, mode=backend)
    same(moving(), [a, c])
    assert is_after(held, kind, 2)
    same(frozen(), listed())
    assert is_after(held, kind, 2)
    same(frozen(), explicit())
    assert is_after(held, kind, 3)


@pytest.mark.parametrize(("kind", "backend"), CASES)
def test_a_failed_call_moves_no_generator_on(kind: str, backend: str) -> None:
    held, total, other, scale = shared(MAKERS[kind](1)), shared(np.zeros(3)), vector(), scalar()
    following, x = held.normal(0, scale, size=3)
    last, y = following.normal(size=3)
    f = function([scale, other], [x, y], updates={held: last, total: total + other}, mode=backend)
    with pytest.raises(ValueError, match="scale < 0"):
        f(-1.0, np.ones(3))
    with pytest.raises(ValueError, match=r"shape|broadcast|length"):
        f(1.0, np.ones(2))
    assert is_after(held, kind, 0)
    f(1.0, np.ones(3))
    assert is_after(held, kind, 2)


@pytest.mark.parametrize(("kind", "backend"), FEW)
def test_threads_that_share_a_generator_draw_no_number_twice(kind: str, backend: str) -> None:
    held = shared(MAKERS[kind](1))
    drawn: list[Any] = []
    following, x = held.normal(size=3)
    f = function([], x, updates={held: following}, mode=backend)
    barrier = threading.Barrier(8)

    def draw() -> None:
        barrier.wait()
        drawn.extend(f() for _ in range(10))

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({float(v) for array in drawn for v in array}) == 240
    assert is_after(held, kind, 80)


@pytest.mark.parametrize("kind", ["PCG64", "portable"])
def test_callers_own_the_generators_that_they_give_and_get(kind: str) -> None:
    make = MAKERS[kind]
    type_of = shared(make(1)).type
    rng = type_of.make_variable("r")
    following, x = rng.normal(size=3)
    f = function([rng], [following, x], mode="VM")
    mine = make(1)
    got, a = f(mine)
    assert type_of.values_eq(mine, make(1))
    same(f(mine)[1], a)
    same(f(got)[1], function([rng], following.normal(size=3)[1], mode="VM")(mine))
    held = shared(make(1))
    returned = function([], held, mode="VM")()
    returned.normal()
    updated, _ = function([], list(held.normal(size=3)), updates={held: held.normal(size=3)[0]}, mode="VM")()
    updated.normal()
    assert is_after(held, kind, 1)


@pytest.mark.parametrize("kind", ["PCG64", "portable"])
def test_inputs_may_have_generators_as_defaults(kind: str) -> None:
    make = MAKERS[kind]
    rng = shared(make(1)).type.make_variable("r")
    following, x = rng.normal(size=3)
    own = make(1)
    fixed = function([In(rng, value=own)], x, mode="VM")
    moving = function([In(rng, value=own, update=following)], x, mode="VM")
    expected = make(1)
    first, second = expected.normal(size=3), expected.normal(size=3)
    for f, wanted in ((fixed, (first, first)), (moving, (first, second))):
        for values in wanted:
            same(f(), values)
    same(fixed(make(2)), make(2).normal(size=3))
    assert shared(own).type.values_eq(own, make(1))


def test_a_generator_given_as_mutable_may_be_drawn_with_itself() -> None:
    rng = tr.rng()
    following, x = rng.normal(size=3)
    f = function([In(rng, mutable=True)], x, mode="VM")
    mine = np.random.default_rng(1)
    same(f(mine), np.random.default_rng(1).normal(size=3))
    assert not tr.random_generator_type.values_eq(mine, np.random.default_rng(1))
    got, _ = function([In(rng, mutable=True)], [following, x], mode="VM")(np.random.default_rng(1))
    expected = np.random.default_rng(1)
    expected.normal(size=3)
    assert tr.random_generator_type.values_eq(got, expected)


@pytest.mark.parametrize("kind", ["PCG64", "portable"])
def test_constants_are_copies_that_never_move_on(kind: str) -> None:
    mine = MAKERS[kind](1)
    fixed: Any = shared(mine).type.make_constant(mine)
    mine.normal()
    f = function([], [*fixed.normal(size=3), fixed], mode="VM")
    for _ in range(2):
        following, x, itself = f()
        same(x, MAKERS[kind](1).normal(size=3))
        following.normal()
        itself.normal()


@pytest.mark.parametrize(("kind", "backend"), FEW)
def test_copies_of_functions_have_the_generators_that_they_should(kind: str, backend: str) -> None:
    held, other = shared(MAKERS[kind](1)), shared(MAKERS[kind](2))
    following, x = held.normal(size=3)
    f = function([], x, updates={held: following}, mode=backend)
    first = f.copy(swap={held: other})()
    held.set_value(MAKERS[kind](2))
    same(f(), first)
    held.set_value(MAKERS[kind](1))
    f.copy()()
    assert is_after(held, kind, 1)
    own = copy.deepcopy(f)
    stored = pickle.loads(pickle.dumps(f))
    values = own()
    assert is_after(held, kind, 1)
    same(stored(), values)
    same(f(), values)


@pytest.mark.parametrize("kind", MAKERS)
def test_shared_generators_are_pickled_and_copied_with_their_state(kind: str) -> None:
    held = shared(MAKERS[kind](1), "r")
    held.set_value(function([], held.normal(size=3)[0], mode="VM")())
    for other in (pickle.loads(pickle.dumps(held)), copy.deepcopy(held)):
        assert other.name == "r"
        assert is_after(other, kind, 1)
        assert other.container is not held.container


def test_state_is_read_and_set_between_calls() -> None:
    held = tr.shared_rng(seed=1)
    following, x = held.normal(size=3)
    f = function([], x, updates={held: following}, mode="VM")
    before = held.get_value(borrow=True).bit_generator.state
    a = f()
    value = held.get_value()
    value.bit_generator.state = before
    value.bit_generator.seed_seq.spawn(1)
    assert held.get_value(borrow=True).bit_generator.seed_seq.n_children_spawned == 0
    assert is_after(held, "PCG64", 1)
    held.set_value(value, borrow=True)
    assert held.get_value(borrow=True) is value
    same(f(), a)


class OwnBits(np.random.PCG64):
    """A bit generator with a constructor and an attribute of its own."""

    def __init__(self, seed: int, size: int) -> None:
        super().__init__(seed)
        self.size = size


class OwnGenerator(np.random.Generator):
    """A generator with a constructor and an attribute of its own."""

    def __init__(self, bits: np.random.BitGenerator, label: str) -> None:
        super().__init__(bits)
        self.label = label


@pytest.mark.parametrize("backend", BACKENDS)
def test_generators_of_derived_classes_keep_class_and_attributes(backend: str) -> None:
    held = tr.shared_rng(OwnGenerator(OwnBits(1, 4), "mine"))
    following, x = held.normal(size=3)
    expected = np.random.default_rng(1)
    same(function([], x, updates={held: following}, mode=backend)(), expected.normal(size=3))
    kept: Any = held.get_value()
    assert type(kept) is OwnGenerator
    assert type(kept.bit_generator) is OwnBits
    assert (kept.label, kept.bit_generator.size) == ("mine", 4)
    same(kept.normal(size=3), expected.normal(size=3))


def test_draws_after_the_first_use_the_generator_itself() -> None:
    held = tr.shared_rng(seed=1)
    following, x = held.normal(size=3)
    last, y = following.uniform(size=2)

    def in_place(mode: Any) -> list[bool]:
        f = function([], [x, y], updates={held: last}, mode=mode)
        return [n.op.inplace for n in f.maker.fgraph.toposort() if isinstance(n.op, tr.RandomVariable)]

    assert in_place("VM") == [False, True]
    for mode in ("FAST_COMPILE", *(get_mode("VM").excluding(tag) for tag in ("inplace", "random_make_inplace"))):
        assert in_place(mode) == [False, False]


def test_a_generator_that_several_draws_need_is_not_drawn_with_itself() -> None:
    rng = tr.rng()
    following, x = rng.normal(size=3)
    f = function([rng], [x, following.normal(size=3)[1], following.normal(size=3)[1]], mode="VM")
    _, a, b = f(np.random.default_rng(1))
    same(a, b)


def test_debug_mode_takes_graphs_with_generators() -> None:
    held = tr.shared_rng(seed=1)
    following, x = held.normal(size=3)
    last, y = following.uniform(size=2)
    f = function([], [x, y], updates={held: last}, mode=get_mode("DebugMode"))
    expected = np.random.default_rng(1)
    same(f()[0], expected.normal(size=3))


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_forked_child_goes_on_from_the_same_state(backend: str) -> None:
    held = tr.shared_rng(tr.PortableGenerator(1))
    following, x = held.normal(size=3)
    f = function([], x, updates={held: following}, mode=backend)
    f()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, f().tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 24) == f().tobytes()
    os.close(reading)
    os.close(writing)


def drawn_in_child(f: Any) -> Any:
    return f()


@pytest.mark.slow
def test_a_spawned_process_takes_a_function_with_its_generator() -> None:
    held = tr.shared_rng(seed=1)
    following, x = held.normal(size=3)
    f = function([], x, updates={held: following}, mode="VM")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        same(pool.apply(drawn_in_child, (f,)), np.random.default_rng(1).normal(size=3))
    assert is_after(held, "PCG64", 0)
