"""``f.map`` by real workers: processes of pools, of joblib, of a Dask cluster."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from ast import literal_eval
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.pool import Pool
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import pytest

import treadle.tensor as tt
from tests.repo.tree import ROOT
from tests.scale_out.work import counts, positive_root, slow_root
from treadle.compile import Function, TaskError, function, shared
from treadle.compile.functions.maps.parcels import PARCELS
from treadle.tensor.random import RandomStream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.context import ForkServerContext

CLIENTS = ("executor", "pool", "joblib", "dask")


@pytest.fixture(scope="module")
def pool(server: ForkServerContext) -> Iterator[Pool]:
    with server.Pool(2) as made:
        yield made


@pytest.fixture(scope="module")
def dask(server: ForkServerContext) -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    config = pytest.importorskip("dask.config")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    with (
        pytest.MonkeyPatch.context() as patch,
        config.set(
            {
                "distributed.worker.multiprocessing-method": server.get_start_method(),
                "distributed.comm.timeouts.connect": "120s",  # processes begin slowly on a busy machine
            }
        ),
    ):
        patch.setattr("distributed.utils._forkserver_preload_set", True)  # it is set above
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
            yield client


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> Any:
    return joblib.Parallel(n_jobs=2) if request.param == "joblib" else request.getfixturevalue(request.param)


def worker_counts(client: Any) -> set[tuple[int, int, int]]:
    """Return what each worker has counted."""
    if isinstance(client, ProcessPoolExecutor):
        return {future.result() for future in [client.submit(counts, 0.1) for _ in range(4)]}
    if isinstance(client, Pool):
        return set(client.map(counts, [0.1] * 4, chunksize=1))
    if isinstance(client, joblib.Parallel):
        return set(client(joblib.delayed(counts)(0.1) for _ in range(4)))
    return set(client.run(counts).values())


def test_workers_load_a_function_once(client: Any) -> None:
    stream, w, x = RandomStream(11), shared(np.arange(3.0), name="w"), tt.dvector("x")
    f: Function = function([x], (x * w).sum() + stream.normal(), mode="C")
    here = f.map(np.eye(3), chunk_size=2)
    dumps, before = PARCELS.dumps, {pid: loads for pid, loads, _ in worker_counts(client)}
    stream.seed(11)
    np.testing.assert_array_equal(f.map(np.eye(3), client=client, chunk_size=1), here)
    stream.seed(11)
    w.set_value(np.arange(3.0) + 1)
    np.testing.assert_allclose(f.map(np.eye(3), client=client), np.array(here) + 1, rtol=1e-12)
    assert PARCELS.dumps == dumps + 1
    for pid, loads, _ in worker_counts(client):
        assert loads - before.get(pid, 0) <= 1


# In a process of its own: lowerings and rules that other tests register here are not those of workers, whose keys are
# then other ones.
_COMPILING_NOTHING = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import treadle.tensor as tt
from tests.scale_out.work import counts
from treadle.compile import function, shared
from treadle.tensor.random import RandomStream

if __name__ == "__main__":
    stream, w, x = RandomStream(11), shared(np.arange(3.0)), tt.dvector("x")
    f = function([x], (x * w).sum() + stream.normal(), mode="C")
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("forkserver")) as pool:
        f.map(np.eye(3), client=pool, chunk_size=1)
        w.set_value(np.ones(3))
        f.map(np.eye(3), client=pool)
        print({future.result()[1:] for future in [pool.submit(counts, 0.1) for _ in range(4)]})
"""


def test_workers_compile_nothing(tmp_path: Path) -> None:
    script = tmp_path / "mapping.py"
    script.write_text(_COMPILING_NOTHING, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    found = literal_eval(done.stdout)  # how many functions each worker has loaded, and made
    assert (1, 0) in found
    assert found <= {(0, 0), (1, 0)}  # one worker may have done all tasks


def test_a_failure_on_a_worker_names_the_task(client: Any) -> None:
    x = tt.dscalar("x")
    f = function([x], tt.wrap_py([tt.dscalar], [tt.dscalar])(positive_root)(x), mode="VM")
    with pytest.raises(TaskError, match=r"task 1 of 3 \(x=-4.0\)") as failure:
        f.map([1.0, -4.0, 9.0], client=client)
    assert "negative: -4.0" in str(failure.value.__cause__)
    assert [float(value) for value in f.map([1.0, 9.0], client=client)] == [1.0, 3.0]


@pytest.mark.parametrize("name", ["executor", "pool", "dask"])
def test_tasks_that_have_not_begun_are_given_up(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    client, x = request.getfixturevalue(name), tt.dscalar("x")
    folder = tt.constant(np.frombuffer(bytes(tmp_path), "int8"))
    f = function([x], tt.wrap_py([tt.dscalar, tt.bvector], [tt.dscalar])(slow_root)(x, folder), mode="VM")
    f.map([1.0, 2.0], client=client, chunk_size=1)
    with pytest.raises(TaskError, match="task 0 of 200"):
        f.map([-1.0, *range(199)], client=client, chunk_size=1)
    # Had they not been given up, they would come before this.
    f.map([1.0, 2.0], client=client)
    assert len(list(tmp_path.iterdir())) < 150


def test_files_go_with_the_function(
    executor: ProcessPoolExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    w, x = shared(np.zeros(3), name="w"), tt.dvector("x")
    f = function([x], x + w, mode="VM")
    for value in range(3):
        w.set_value(np.full(3, value))
        f.map(np.eye(3), client=executor)
    (made,) = tmp_path.iterdir()
    assert len(list(made.iterdir())) == 2  # the function, and the value that it has now
    del f
    gc.collect()
    assert not made.exists()
