"""Calls of programs through cffi and through the helper extension, which may differ in speed only."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import In, function, shared
from treadle.config import config
from treadle.graph import FunctionGraph, NodeError
from treadle.link.c.linker import CLinker
from treadle.link.c.support import libraries
from treadle.link.c.support.libraries import SUPPORT, SupportLibraries
from treadle.link.c.support.pool import Pool
from treadle.link.c.toolchain import Toolchain, find_toolchain
from treadle.tensor import SHORT_VECTOR as SHORT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PATIENCE = 60


@pytest.fixture
def extension(link: Callable[..., Any]) -> Any:
    x = tt.dscalar("x")
    link([x], [x + 1])
    assert SUPPORT.wait(PATIENCE)
    assert SUPPORT.extension is not None
    return SUPPORT.extension


class _Fallback:
    """Records what it was called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> str:
        self.calls.append((args, kwargs))
        return "fallback"


def _caller(inputs: Sequence[Any], outputs: Sequence[Any], fallback: Any = None, single: bool = False) -> Any:
    program = CLinker().link(FunctionGraph(inputs, outputs))
    taken: list[Any] = []
    program.offer_caller(fallback or program, single, taken.append)
    (caller,) = taken
    return caller


@pytest.mark.usefixtures("extension")
def test_caller_returns_a_list_or_the_single_output() -> None:
    x, y = tt.dvector("x"), tt.dscalar("y")
    data = np.arange(4.0)
    both = _caller([x, y], [x * y, y + 1])(data, np.array(3.0))
    assert type(both) is list
    np.testing.assert_array_equal(both[0], data * 3)
    assert both[1] == 4
    one = _caller([x], [x + 1], single=True)(data)
    assert type(one) is np.ndarray
    np.testing.assert_array_equal(one, data + 1)
    assert _caller([], [])() == []


@pytest.mark.usefixtures("extension")
@pytest.mark.parametrize("args", [
    (), (np.arange(3.0), np.arange(3.0)), (1.0,), ([1.0, 2.0],), (np.arange(3),), (np.zeros((2, 2)),),
    (np.arange(3.0, dtype=">f8"),), (np.arange(4.0),), (None,), (np.arange(3.0).view(np.recarray),),
], ids=repr)  # fmt: skip
def test_caller_leaves_other_arguments_to_the_fallback(args: tuple[Any, ...]) -> None:
    x = tt.tensor("x", dtype="float64", shape=(3,))
    fallback = _Fallback()
    caller = _caller([x], [x + 1], fallback)
    assert caller(*args) == "fallback"
    assert len(fallback.calls) == 1
    positional, named = fallback.calls[0]
    assert all(a is b for a, b in zip(positional, args, strict=True))
    assert named == {}


def test_quick_calls_hold_the_interpreters_lock_only_where_programs_cannot_take_long(link: Callable[..., Any]) -> None:
    n, x, y, m = tt.lscalar("n"), tt.dscalar("x"), tt.dvector("y"), tt.dmatrix("m")
    loop = tt.scan(lambda total: total + 1, outputs_info=[x], n_steps=n, return_updates=False)
    programs: dict[str, list[tuple[list[Any], Any]]] = {
        "hold": [([x], x + 1)],
        "release if long": [([y], tt.exp(y) + np.ones(SHORT)), ([y], (y * 2).sum()), ([x, y], x + y)],
        "release": [([n], tt.arange(n)), ([y], y + np.ones(SHORT + 1)), ([m], m + 1), ([x, n], loop)],
    }
    for lock, graphs in programs.items():
        assert [link(inputs, [out]).recipe.lock for inputs, out in graphs] == [lock] * len(graphs)


@pytest.mark.usefixtures("extension")
@pytest.mark.parametrize("size", [0, 1, SHORT, SHORT + 1])
def test_calls_that_hold_the_interpreters_lock_give_what_others_do(size: int) -> None:
    y = tt.dvector("y")
    data = np.arange(float(size))
    np.testing.assert_array_equal(_caller([y], [y + 1], single=True)(data), data + 1)


@pytest.mark.usefixtures("extension")
def test_caller_leaves_named_arguments_to_the_fallback() -> None:
    x = tt.dvector("x")
    fallback = _Fallback()
    assert _caller([x], [x + 1], fallback)(x=1) == "fallback"
    assert fallback.calls == [((), {"x": 1})]


@pytest.mark.usefixtures("extension")
def test_caller_leaves_misaligned_arrays_to_the_fallback() -> None:
    x = tt.dvector("x")
    misaligned = np.zeros(17, "uint8")[1:].view("float64")
    assert _caller([x], [x + 1], _Fallback())(misaligned) == "fallback"


@pytest.mark.usefixtures("extension")
def test_what_the_fallback_raises_passes_through() -> None:
    x, i = tt.dvector("x"), tt.lscalar("i")

    def fallback(*args: Any) -> None:
        msg = f"seen {len(args)}"
        raise KeyError(msg)

    caller = _caller([x, i], [x[i]], fallback)
    with pytest.raises(KeyError, match="seen 2"):
        caller(np.arange(3.0), np.array(5))
    assert caller(np.arange(3.0), np.array(2)) == [2]


@pytest.mark.usefixtures("extension")
def test_caller_follows_changing_lengths() -> None:
    x = tt.dvector("x")
    caller = _caller([x], [x * 2, x[1:], tt.sum(x)], _Fallback())
    kept = []
    for n in (3, 3, 1, 100, 0, 20000, 20000, 5, 30000, 3):
        data = np.arange(float(n))
        kept.append((data, caller(data)))
    for data, (doubled, rest, total) in kept:
        np.testing.assert_array_equal(doubled, data * 2)
        np.testing.assert_array_equal(rest, data[1:])
        assert total == data.sum()
        assert all(a.flags.writeable and type(a) is np.ndarray for a in (doubled, rest))


@pytest.mark.usefixtures("extension")
def test_caller_takes_many_arguments_and_results() -> None:
    xs = [tt.dscalar(f"x{k}") for k in range(300)]
    caller = _caller(xs, [x * 2 for x in xs])
    assert [float(v) for v in caller(*(np.array(float(k)) for k in range(300)))] == [2.0 * k for k in range(300)]


@pytest.mark.usefixtures("extension")
def test_caller_does_not_leak() -> None:
    x = tt.dvector("x")
    caller = _caller([x], [x + 1, x[1:]])
    data = np.arange(10.0)
    before = sys.getrefcount(data), sys.getrefcount(data.dtype)
    for _ in range(1000):
        caller(data)
        caller(data[:5])
    assert sys.getrefcount(data) == before[0]
    assert abs(sys.getrefcount(data.dtype) - before[1]) < 20


@pytest.mark.usefixtures("extension")
def test_caller_and_what_it_calls_are_collected_together() -> None:
    x = tt.dvector("x")

    class Owner:
        def __init__(self) -> None:
            self.caller = _caller([x], [x + 1], self.fall)

        def fall(self, *args: Any) -> None:
            del args

    owner = Owner()
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


@pytest.mark.usefixtures("extension")
def test_caller_runs_in_threads() -> None:
    x = tt.dvector("x")
    caller = _caller([x], [tt.exp(x), tt.sum(x)], _Fallback())
    wrong: list[int] = []
    barrier = threading.Barrier(8)

    def work(k: int) -> None:
        rng = np.random.default_rng(k)
        barrier.wait()
        for n in rng.integers(0, 20000, size=60):
            data = rng.normal(size=n)
            exp, total = caller(data)
            if not (np.allclose(exp, np.exp(data)) and np.isclose(total, data.sum())):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


# Functions


@pytest.mark.usefixtures("extension")
def test_function_takes_the_caller_and_keeps_its_behaviour() -> None:
    x = tt.dvector("x")
    f = function([x], x + 1, mode="C")
    assert type(f.__call__).__name__ == "Caller"
    np.testing.assert_array_equal(f([1, 2]), [2, 3])
    np.testing.assert_array_equal(f(x=np.arange(2.0)), [1, 2])
    np.testing.assert_array_equal(f(np.arange(2, dtype="int8")), [1, 2])
    with pytest.raises(TypeError, match="missing"):
        f()
    with pytest.raises(TypeError, match="x"):
        f("a")
    again = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(again(np.arange(3.0)), [1, 2, 3])


@pytest.mark.usefixtures("extension")
def test_failing_node_names_the_users_line() -> None:
    x, i = tt.dvector("x"), tt.lscalar("i")
    f = function([x, i], x[i] * 2, mode="C")
    assert type(f.__call__).__name__ == "Caller"
    with pytest.raises(NodeError, match="x\\[i\\]"):
        f(np.arange(3.0), np.array(9))
    assert f(np.arange(3.0), np.array(1)) == 2


@pytest.mark.usefixtures("extension")
def test_state_goes_through_the_caller() -> None:
    state = shared(np.zeros(3), name="state")
    f = function([], state.sum(), updates=[(state, state + 1)], mode="C")
    assert [float(f()) for _ in range(4)] == [0, 3, 6, 9]
    np.testing.assert_array_equal(state.get_value(), 4)


@pytest.mark.usefixtures("extension")
def test_default_arguments_stay() -> None:
    x = tt.dvector("x")
    f = function([x, In(tt.dscalar("y"), value=2.0, name="y")], x * 1, mode="C", on_unused_input="ignore")
    np.testing.assert_array_equal(f(np.arange(2.0)), [0, 1])


# The support libraries


def test_nothing_is_made_without_the_option(tmp_path: Path) -> None:
    text = (
        "import numpy as np, time, treadle.tensor as tt\n"
        "from treadle.compile import function\n"
        "from treadle.link.c.support.libraries import SUPPORT\n"
        "from treadle.link.c.support.pool import POOL\n"
        "x = tt.dvector('x')\n"
        "f = function([x], x + 1, mode='C')\n"
        "print(f(np.arange(3.0)), f(np.arange(30000.0)).sum(), SUPPORT.wait(0.5))\n"
        "print(POOL.ready, SUPPORT.extension)\n"
    )
    flags = f"base_compiledir={tmp_path},c__support_libraries=False"
    env = {**os.environ, "TREADLE_FLAGS": flags}
    done = subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[1. 2. 3.] 450015000.0 False\nFalse None"
    assert not list(tmp_path.rglob("support/**/*.so"))


def test_failing_compiler_is_not_noticed(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    compiler = find_toolchain()
    assert isinstance(compiler, Toolchain)
    with config.change_flags(base_compiledir=str(tmp_path)):
        mine = SupportLibraries()
        mine.begin(compiler.extended(["-no-such-flag-at-all"], ()))
        assert mine.wait(PATIENCE)
    assert mine.extension is None
    assert not recwarn.list


@pytest.mark.usefixtures("extension")
def test_extension_that_cannot_be_loaded_does_not_keep_the_pool_away(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolchain = find_toolchain()
    assert isinstance(toolchain, Toolchain)
    # As where the file belongs to another Python: it lacks an init function of that name.
    monkeypatch.setattr(libraries, "EXTENSION", "another_module")
    for _ in range(2):
        pool = Pool()
        monkeypatch.setattr(libraries, "POOL", pool)
        mine = SupportLibraries()
        with config.change_flags(base_compiledir=str(directory)):
            mine.begin(toolchain)
            assert mine.wait(PATIENCE)
        assert mine.extension is None
        assert pool.ready


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="this system does not list what a process has loaded")
@pytest.mark.usefixtures("extension")
def test_library_of_the_pool_stays_to_the_end_of_the_process() -> None:
    # Python tears modules down in no fixed order, and arrays give their blocks back whenever they die.
    text = (
        "import gc, sys\n"
        "from pathlib import Path\n"
        "from treadle.link.c.support.pool import Pool\n"
        "pool = Pool()\n"
        "pool.install(Path(sys.argv[1]))\n"
        "del pool\n"
        "gc.collect()\n"
        "print(sys.argv[1] in Path('/proc/self/maps').read_text())\n"
    )
    loaded = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/support/" in line}
    libraries = [path for path in loaded if b"treadle_pool_take" in Path(path).read_bytes()]
    assert libraries
    done = subprocess.run([sys.executable, "-c", text, libraries[0]], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_functions_made_before_take_the_caller_later(tmp_path: Path) -> None:
    text = (
        "import numpy as np, treadle.tensor as tt\n"
        "from treadle.compile import function\n"
        "from treadle.link.c.support.libraries import SUPPORT\n"
        "x = tt.dvector('x')\n"
        "f = function([x], x + 1, mode='C')\n"
        "before = type(f.__call__).__name__, f(np.arange(2.0)).tolist()\n"
        "assert SUPPORT.wait(60)\n"
        "print(before, type(f.__call__).__name__, f(np.arange(2.0)).tolist())\n"
    )
    env = {**os.environ, "TREADLE_FLAGS": f"base_compiledir={tmp_path}"}
    outputs = [
        subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True, check=True).stdout.strip()
        for _ in range(2)
    ]
    assert outputs[0] == "('function', [1.0, 2.0]) Caller [1.0, 2.0]"
    # In a second process both are there from the start.
    assert outputs[1] == "('Caller', [1.0, 2.0]) Caller [1.0, 2.0]"
