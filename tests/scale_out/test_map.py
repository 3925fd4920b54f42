"""``f.map`` in this process and by threads: arguments, results, state, streams, errors."""

from __future__ import annotations

import pickle
import re
import sys
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import pytest

import treadle.tensor as tt
from tests.scale_out.work import positive_root
from treadle.compile import (
    CallError,
    ClientError,
    Engine,
    Function,
    FunctionTypeError,
    FunctionValueError,
    In,
    TaskError,
    function,
    register_client,
    shared,
)
from treadle.compile.functions.maps.parcels import KEPT, PARCELS
from treadle.graph import DuplicateRegistrationError, GraphTypeError
from treadle.tensor.random import PortableGenerator, RandomStream, normal, shared_rng

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Elsewhere:
    """An executor of nobody's that runs what it is sent at once, by way of pickles as another process would."""

    def __init__(self, break_at: int | None = None) -> None:
        self.sent: list[int] = []
        self.break_at = break_at

    def submit(self, work: Callable[..., Any], *args: object) -> Future[Any]:
        future: Future[Any] = Future()
        if len(self.sent) == self.break_at:
            future.set_exception(MemoryError("the worker is gone"))
            return future
        data = pickle.dumps((work, args))
        self.sent.append(len(data))
        loaded, loaded_args = pickle.loads(data)
        future.set_result(pickle.loads(pickle.dumps(loaded(*loaded_args))))
        return future


def floats(results: list[Any]) -> list[float]:
    return [float(result) for result in results]


@pytest.fixture
def power() -> Function:
    x, y = tt.dscalars("x", "y")
    return function([x, In(y, value=2.0)], x**y, mode="VM")


def test_tasks_are_tuples_dictionaries_or_single_arguments(power: Function) -> None:
    assert floats(power.map([(2.0, 3.0), {"x": 3.0, "y": 3.0}, {"x": 4.0}, 5.0, (6.0,)])) == [
        8.0,
        27.0,
        16.0,
        25.0,
        36.0,
    ]


def test_arrays_give_their_rows() -> None:
    x = tt.dvector("x")
    values = np.arange(6.0).reshape(3, 2)
    assert floats(function([x], x.sum(), mode="VM").map(values)) == [1.0, 5.0, 9.0]


@pytest.mark.documents("Function.has_trees", "Function.leaves")
def test_arguments_and_results_have_the_form_of_calls() -> None:
    x = tt.dscalar("x")
    f = function([{"a": x}], {"double": [2 * x]}, mode="VM")
    assert f.map([({"a": 1.0},)]) == [{"double": [2.0]}]
    with pytest.raises(CallError, match="task 1: the arguments of the function are nested"):
        f.map([({"a": 1.0},), {"a": 1.0}])
    with pytest.raises(CallError, match='task 1: function: argument 0: expected a dict with the keys "a"'):
        f.map([({"a": 1.0},), ({"b": 1.0},)])
    with pytest.raises(CallError, match="task 0: function: argument 0 is missing"):
        f.map([()])


def test_no_tasks_are_no_results(power: Function) -> None:
    assert power.map([]) == []
    assert power.map(iter(())) == []


def test_threads_keep_the_order(power: Function) -> None:
    with ThreadPoolExecutor(3) as pool:
        assert floats(power.map(range(20), client=pool, chunk_size=3)) == [float(n**2) for n in range(20)]


# Random numbers


@pytest.fixture(params=["numpy", "portable"])
def draws(request: pytest.FixtureRequest) -> tuple[Function, RandomStream]:
    stream = RandomStream(5, generator=request.param)
    return function([], stream.normal(size=2), mode="VM"), stream


def test_tasks_draw_from_streams_of_their_own_by_number(draws: tuple[Function, RandomStream]) -> None:
    f, stream = draws
    first = np.array(f.map([()] * 6))
    assert len(np.unique(first)) == 12
    stream.seed(5)
    with ThreadPoolExecutor(2) as pool:
        np.testing.assert_array_equal(f.map([()] * 6, client=pool, chunk_size=2), first)
    stream.seed(5)
    np.testing.assert_array_equal(f.map([()] * 4, client=Elsewhere()), first[:4])


def test_the_generator_moves_on_by_spawning(draws: tuple[Function, RandomStream]) -> None:
    f, stream = draws
    first = np.array(f.map([()] * 3))
    assert not np.isin(f.map([()] * 3), first).any()
    stream.seed(5)
    ((generator, _),) = stream.updates()
    theirs = generator.get_value()
    children = theirs.spawn(3)
    stream.seed(5)
    f.map([()] * 3)
    assert generator.type.values_eq(generator.get_value(), theirs)
    np.testing.assert_array_equal(first, [child.normal(size=2) for child in children])


@pytest.mark.parametrize("client", [None, Elsewhere()])
@pytest.mark.parametrize("generator", ["numpy", "portable"])
def test_a_map_that_fails_leaves_shared_variables_as_they_were(client: object, generator: Any) -> None:
    stream, x, w = RandomStream(5, generator=generator), tt.dscalar("x"), shared(np.ones(2), name="w")
    op = tt.wrap_py([tt.dscalar], [tt.dscalar])(positive_root)
    f = function([x], op(x) + stream.normal() + w[0], updates={w: w[0].inc(x)}, mode="VM")
    ((rng, _),) = stream.updates()
    before = rng.get_value()
    with pytest.raises(TaskError, match="task 1 of 2"):
        f.map([1.0, -1.0], client=client, chunk_size=1, discard_updates=True)
    assert rng.type.values_eq(rng.get_value(), before)
    assert w.get_value().tolist() == [1.0, 1.0]
    with ThreadPoolExecutor(1) as closed:
        pass
    with pytest.raises(ClientError, match="takes no work"):
        f.map([1.0], client=closed, discard_updates=True)
    assert rng.type.values_eq(rng.get_value(), before)


def test_a_generator_that_nothing_moves_on_is_the_same_for_all() -> None:
    f = function([], normal(size=2, rng=shared_rng(PortableGenerator(3))), mode="VM")
    np.testing.assert_array_equal(f.map([(), ()]), [f(), f()])


def test_a_generator_that_cannot_spawn_is_named() -> None:
    class Fixed(np.random.bit_generator.ISeedSequence):
        def generate_state(self, n_words: int, dtype: Any = np.uint32) -> np.ndarray:
            return np.arange(n_words, dtype=dtype)

    fixed: Any = Fixed()
    rng = shared_rng(np.random.Generator(np.random.PCG64(fixed)), name="rng")
    after, x = normal(rng=rng, return_next_rng=True)
    f = function([], x, updates={rng: after}, mode="VM")
    with pytest.raises(FunctionValueError, match="rng cannot give each task a generator of its own"):
        f.map([()])


# Shared variables


def test_updates_are_refused_unless_they_may_be_lost() -> None:
    x, total = tt.dscalar("x"), shared(10.0, name="total")
    f = function([x], total + x, updates={total: total + x}, mode="VM", name="add")
    with pytest.raises(
        FunctionValueError, match=r"add of f\.map: the function updates total, and updates that tasks make"
    ):
        f.map([1.0])
    for client in (None, Elsewhere()):
        assert floats(f.map([1.0, 2.0, 3.0], client=client, discard_updates=True)) == [11.0, 12.0, 13.0]
    assert float(total.get_value()) == 10.0


def test_updates_of_a_part_are_lost_too() -> None:
    i, w = tt.lscalar("i"), shared(np.zeros(3), name="w")
    f = function([i], w.sum(), updates={w: w[i].inc(1.0)})
    assert floats(f.map([0, 1, 2], discard_updates=True)) == [0.0, 0.0, 0.0]
    assert w.get_value().tolist() == [0.0, 0.0, 0.0]


@pytest.mark.documents("FunctionMaker.apart", "Function.apart", "Function.map")
def test_tasks_begin_with_the_values_of_the_call() -> None:
    x, w = tt.dscalar("x"), shared(1.0, name="w")
    f, client = function([x], x * w, mode="VM"), Elsewhere()
    assert floats(f.map([2.0], client=client)) == [2.0]
    w.set_value(3.0)
    assert floats(f.map([2.0], client=client)) == [6.0]

    def values() -> Iterator[float]:
        yield 1.0
        w.set_value(100.0)
        yield 2.0

    # The values are read to their end before the tasks begin.
    assert floats(f.map(values())) == [100.0, 200.0]


# Travelling


def test_a_function_is_pickled_once_and_loaded_once_on_a_worker() -> None:
    x, w = tt.dscalar("x"), shared(np.arange(1000.0), name="w")
    f, client = function([x], x + w.sum(), mode="VM"), Elsewhere()
    before = PARCELS.dumps, KEPT.loads
    for shift in range(3):
        w.set_value(np.full(1000, shift))
        assert floats(f.map([1.0, 2.0], client=client, chunk_size=1)) == [1.0 + 1000 * shift, 2.0 + 1000 * shift]
    assert (PARCELS.dumps, KEPT.loads) == (before[0] + 1, before[1] + 1)


def test_a_function_with_a_new_default_is_pickled_again(power: Function) -> None:
    x = tt.dscalar("x")
    f, client = function([x], x + 1, mode="VM"), Elsewhere()
    assert floats(f.map([1.0], client=client)) == [2.0]
    f["x"] = 5.0
    assert floats(f.map([()], client=client)) == [6.0]
    power["y"] = 3.0
    assert floats(power.map([2.0], client=client)) == [8.0]


# Failures


@pytest.fixture
def root() -> Function:
    x = tt.dscalar("x")
    op = tt.wrap_py([tt.dscalar], [tt.dscalar])(positive_root)
    return function([x], op(x), mode="VM")


@pytest.mark.parametrize("client", [None, Elsewhere()])
@pytest.mark.documents("error:TaskError")
def test_a_failure_names_the_task(root: Function, client: object) -> None:
    with pytest.raises(TaskError, match=r"f.map: task 2 of 4 \(x=-1.0\) failed with") as failure:
        root.map([1.0, 4.0, -1.0, -2.0], client=client, chunk_size=2)
    assert failure.value.index == 2
    assert "negative: -1.0" in str(failure.value.__cause__)
    if client is not None:
        assert any("positive_root" in note for note in failure.value.__cause__.__notes__)  # type: ignore[union-attr]


def test_large_arguments_are_described_by_their_shape() -> None:
    x = tt.dvector("x")
    f = function([x], x.reshape((2, 2)), mode="VM")
    with pytest.raises(TaskError, match=re.escape("task 1 of 2 (x=ndarray of float64, shape (5,)) failed with")):
        f.map([np.zeros(4), np.zeros(5)])


def test_a_lost_worker_names_the_tasks(power: Function) -> None:
    with pytest.raises(
        TaskError, match="tasks 2 to 3 of 6: the client returned no result, but MemoryError: the worker"
    ):
        power.map(range(6), client=Elsewhere(break_at=1), chunk_size=2)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([(1.0, 2.0, 3.0)], "task 0: function: 2 arguments at most, got 3"),
        ([1.0, {"z": 1.0}], "task 1: function: no input has the name 'z'"),
        ([()], "task 0: function: argument 0, x of type .*, is missing"),
        ([{"x": 1.0, "output_subset": [0]}], "must have the names of inputs as keys"),
        (4, "values: a list with an item for each task is needed, got 4"),
        ({"x": 1.0}, "values: a list with an item for each task is needed"),
        (np.array(1.0), "values: a list with an item for each task is needed"),
    ],
)
def test_wrong_tasks_are_told_before_any_runs(power: Function, values: Any, message: str) -> None:
    with pytest.raises(CallError, match=message):
        power.map(values)


def test_a_function_without_arguments_takes_empty_tuples() -> None:
    f = function([], tt.ones(()), mode="VM")
    with pytest.raises(CallError, match=re.escape("For tasks without arguments give empty tuples: [()] * n.")):
        f.map([1, 2])


@pytest.mark.parametrize(
    ("client", "message"),
    [
        (4, r"got the number 4. Make the workers: concurrent.futures.ProcessPoolExecutor\(4\)"),
        (ProcessPoolExecutor, "got the class ProcessPoolExecutor. Make one"),
        (joblib, "got the module joblib"),
        ("threads", "got 'threads'. Pass"),
    ],
)
@pytest.mark.documents("error:ClientError")
def test_what_is_no_client_is_refused(power: Function, client: object, message: str) -> None:
    with pytest.raises(ClientError, match=message):
        power.map([1.0], client=client)


def test_a_client_that_is_closed_is_refused(power: Function) -> None:
    with ThreadPoolExecutor(1) as pool:
        pass
    with pytest.raises(ClientError, match=r"takes no work .*Call f.map while it is open"):
        power.map([1.0], client=pool)


def test_a_chunk_has_a_task_or_more(power: Function) -> None:
    with pytest.raises(GraphTypeError, match=r"f\.map: chunk_size must be an integer from 1"):
        power.map([1.0], chunk_size=0)


def test_a_function_that_cannot_be_sent_says_what_hinders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treadle.compile.functions.maps.parcels.find_spec", lambda _: None)
    x = tt.dscalar("x")
    op = tt.wrap_py([tt.dscalar], [tt.dscalar])(lambda v: v + 1)
    with pytest.raises(FunctionValueError, match=r"cannot be sent to other processes: .*install cloudpickle"):
        function([x], op(x), mode="VM").map([1.0], client=Elsewhere())


class Unpickled:
    """Something that cannot be unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return int, ("not there",)


def test_a_worker_that_cannot_load_the_function_is_no_failure_of_a_task() -> None:
    x, unpickled = tt.dscalar("x"), Unpickled()

    def plus_one(value: np.ndarray) -> np.ndarray:
        assert unpickled
        return value + 1

    f = function([x], tt.wrap_py([tt.dscalar], [tt.dscalar])(plus_one)(x), mode="VM")
    with pytest.raises(TaskError, match=r"^f\.map: a worker cannot load the function: ValueError: invalid literal"):
        f.map([1.0, 2.0], client=Elsewhere())


# Clients of others


class Loop:
    """A client that has an engine of the tests'."""


class LoopEngine(Engine):
    shares_memory = True

    def workers(self) -> int:
        return 2

    def outcomes(self, run: Any, parcels: Any, chunks: Any) -> Iterator[Any]:
        self.client.chunks = len(chunks)
        return (run(parcels, chunk) for chunk in chunks)


@pytest.mark.documents("Engine", "register_client")
def test_clients_of_others_are_registered(power: Function) -> None:
    with pytest.raises(ClientError, match="an executor or another client is needed"):
        power.map([1.0], client=Loop())
    register_client(Loop, LoopEngine)
    client: Any = Loop()
    assert floats(power.map(range(16), client=client)) == [float(n**2) for n in range(16)]
    assert client.chunks == 8
    with pytest.raises(DuplicateRegistrationError, match="has an engine"):
        register_client(Loop, LoopEngine)
    for known in ("joblib.Parallel", joblib.Parallel):
        with pytest.raises(DuplicateRegistrationError, match="has an engine"):
            register_client(known, LoopEngine)


CLIENTS_OF_ACME = """
class Acme:
    pass
"""
ENGINES_OF_ACME = """
from treadle.compile import Engine

class AcmeEngine(Engine):
    shares_memory = True

    def workers(self):
        return 1

    def outcomes(self, run, parcels, chunks):
        return (run(parcels, chunk) for chunk in chunks)
"""


def test_clients_of_installed_packages_are_found_by_their_entry_points(
    power: Function, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "acme_pool-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text(
        "[treadle.clients]\nacme_pool.Acme = acme_engines:AcmeEngine\nacme_pool.Wrong = acme_pool:Acme\n"
    )
    (tmp_path / "acme_pool.py").write_text(CLIENTS_OF_ACME + "class Wrong:\n    pass\n")
    (tmp_path / "acme_engines.py").write_text(ENGINES_OF_ACME)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    acme: Any = import_module("acme_pool")
    assert "acme_engines" not in sys.modules
    assert floats(power.map([1.0, 2.0], client=acme.Acme())) == [1.0, 4.0]
    with pytest.raises(FunctionTypeError, match="entry point acme_pool:Acme of acme-pool must be a class"):
        power.map([1.0], client=acme.Wrong())
    with pytest.raises(DuplicateRegistrationError, match="has an engine"):
        register_client(acme.Acme, LoopEngine)
