"""Functions in other processes: forked, spawned, started by a fork server, and unpickled from a file."""

from __future__ import annotations

import pickle
import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING

import numpy as np
import pytest

import treadle.tensor as tt
from tests.contract.backends import BACKENDS
from treadle.compile import In, function, shared

if TYPE_CHECKING:
    from pathlib import Path

# PyTorch takes most of the time of all of them.
on_every_backend = pytest.mark.parametrize(
    "backend",
    [pytest.param(n.upper(), marks=[pytest.mark.slow] if n == "pytorch" else []) for n in BACKENDS],
)


def run(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", dedent(code), *arguments],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@on_every_backend
def test_a_pickle_made_here_is_right_in_another_process(backend: str, tmp_path: Path) -> None:
    x, scale = tt.dvector("x"), tt.dscalar("scale")
    state = shared(np.arange(3.0), name="state")
    f = function(
        [x, In(scale, value=2.0)], {"sum": (x * state * scale).sum(), "state": state},
        updates=[(state, state + x)], mode=backend, name="step",
    )  # fmt: skip
    f(np.ones(3))
    file = tmp_path / "function.pickle"
    file.write_bytes(pickle.dumps(f))
    code = """
        import pickle, sys
        import numpy as np

        with open(sys.argv[1], "rb") as file:
            f = pickle.load(file)
        first = f(np.array([1.0, 0.0, 1.0]))
        second = f(np.array([1.0, 1.0, 1.0]), scale=1.0)
        print(f.name, str(f.maker.mode), float(first["sum"]), first["state"].tolist(), float(second["sum"]),
              second["state"].tolist(), f.get_shared()[0].get_value().tolist())
    """
    assert run(code, str(file)) == f"step {f.maker.mode} 8.0 [1.0, 2.0, 3.0] 8.0 [2.0, 2.0, 4.0] [3.0, 3.0, 5.0]"
    np.testing.assert_array_equal(state.get_value(), [1.0, 2.0, 3.0])


WORK = """
    import multiprocessing
    import os
    import sys

    import numpy as np

    import treadle.tensor as tt
    from treadle.compile import function, shared


    def make(mode):
        x = tt.dvector("x")
        state = shared(np.zeros(3), name="state")
        return function([x], (x * 2 + state).sum(), updates=[(state, state + x)], mode=mode)


    def call(f):
        return float(f(np.ones(3))), float(f(np.ones(3)))


    if __name__ == "__main__":
        mode, method = sys.argv[1:]
        f = make(mode)
        assert float(f(np.ones(3))) == 6.0
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(*pool.map(call, [f, f, f], chunksize=1), f.get_shared()[0].get_value().tolist())
"""


# A fork server gains PyTorch nothing over a spawned process.
TRAVELS = [
    pytest.param(name.upper(), method, marks=[pytest.mark.slow] if name == "pytorch" else [])
    for name in BACKENDS
    for method in ("spawn", "forkserver")
    if (name, method) != ("pytorch", "forkserver")
]


@pytest.mark.parametrize(("backend", "method"), TRAVELS)
def test_functions_travel_to_new_processes(backend: str, method: str, tmp_path: Path) -> None:
    script = tmp_path / "work.py"
    script.write_text(dedent(WORK))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), backend, method],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "(9.0, 12.0) (9.0, 12.0) (9.0, 12.0) [1.0, 1.0, 1.0]"


FORK = """
    import os, sys, threading
    import numpy as np
    import treadle.tensor as tt
    from treadle.compile import function, shared

    mode = sys.argv[1]
    x = tt.dvector("x")
    state = shared(np.zeros(3), name="state")
    f = function([x], (x * 2 + state).sum(), updates=[(state, state + x)], mode=mode)
    f(np.ones(3))
    held, go = threading.Event(), threading.Event()

    def hold():
        with state.container.lock:
            held.set()
            go.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    # The child is forked while another thread holds the lock of the shared variable.
    child = os.fork()
    if child == 0:
        status = 1
        try:
            old = float(f(np.ones(3)))
            new = float(function([x], tt.exp(x).sum() + state.sum(), mode=mode)(np.zeros(3)))
            status = 0 if (old, new) == (9.0, 9.0) else 2
        except RuntimeError as error:
            status = 3 if "spawn" in str(error) else 4
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    go.set()
    holder.join()
    print(os.waitstatus_to_exitcode(status), float(f(np.ones(3))))
"""


@on_every_backend
def test_a_forked_child_computes_or_is_told_to_be_spawned(backend: str) -> None:
    expected = 3 if backend in {"JAX", "PYTORCH"} else 0
    assert run(FORK, backend) == f"{expected} 9.0"
