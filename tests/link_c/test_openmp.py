"""Loops shared among threads: the same numbers for any number of threads, and none unless asked for."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_c.test_portable_draws import PLAIN
from treadle.compile import function
from treadle.config import config
from treadle.link.c.errors import CompilerWarning
from treadle.link.c.toolchain import Toolchain, find_toolchain
from treadle.tensor import PortableDraws

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    with config.change_flags(openmp=True, openmp_elemwise_minsize=1000):
        toolchain = find_toolchain()
        assert isinstance(toolchain, Toolchain)
        if not toolchain.threads:
            pytest.skip("the compiler of this machine has no OpenMP")
        yield


def expressions(x: Any) -> list[Any]:
    """Every kind of loop: elementwise, reductions over some or all axes, and both fused."""
    return [
        tt.tanh(x) * tt.exp(-x), x.T + 1, x[::-1, ::2] * 2, tt.concatenate([x, x * 2]),
        tt.sum(x), tt.sum(x, axis=0), tt.sum(x, axis=1), tt.max(x), tt.min(x, axis=0), tt.prod(1 + x * 1e-4),
        tt.sum(tt.exp(x)), tt.sum(tt.exp(x) * x, axis=0), tt.sum(tt.exp(x) * x, axis=1), tt.mean(x > 0),
        tt.all(x > -100), tt.any(x > 100, axis=0), tt.var(x), tt.softmax(x, axis=1), tt.sum(tt.exp(x.T), axis=0),
    ]  # fmt: skip


SHAPES = [(1, 5000), (5000, 1), (3, 2000), (2000, 3), (100, 100), (64, 300), (2, 2), (0, 5), (70, 1)]

PROGRAM = """
import sys
import numpy as np
import treadle.tensor as tt
from tests.link_c.test_openmp import SHAPES, expressions
from treadle.compile import function
x = tt.dmatrix("x")
f = function([x], [e for e in expressions(x)][:7] + [e for e in expressions(x)][9:13], mode="C")
results = []
for k, shape in enumerate(SHAPES):
    if 0 in shape: continue
    data = np.random.default_rng(k).normal(size=shape)
    results += [r.tobytes().hex() for r in f(data)] + [r.tobytes().hex() for r in f(np.asfortranarray(data))]
print("\\n".join(results))
"""


@cache
def compiled(dtype: str, *, is_empty: bool) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the function of all expressions that an array of this kind has, with threads and without."""
    x = tt.matrix("x", dtype=dtype)
    outputs = [out for k, out in enumerate(expressions(x)) if not (is_empty and k in {7, 8, 13, 16, 17})]
    shared = function([x], outputs, mode="C")
    with config.change_flags(openmp=False):
        return shared, function([x], outputs, mode="C")


@pytest.mark.documents("option:openmp", "option:openmp_elemwise_minsize")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_loop_computes_what_one_thread_does(shape: tuple[int, int], dtype: str) -> None:
    shared, alone = compiled(dtype, is_empty=0 in shape)
    rtol = 1e-12 if dtype == "float64" else 2e-5
    data = np.random.default_rng(0).normal(size=shape).astype(dtype)
    for layout in (data, np.asfortranarray(data), np.repeat(data, 2, axis=1)[:, ::2], data[::-1]):
        for result, expected in zip(shared(layout), alone(layout), strict=True):
            assert result.dtype == expected.dtype
            np.testing.assert_allclose(result, expected, rtol=rtol, atol=rtol)


def test_results_do_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    flags = f"openmp=True,openmp_elemwise_minsize=1000,base_compiledir={tmp_path}"
    outputs = set()
    for count in ("1", "2", "3", "7"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "TREADLE_FLAGS": flags, "OMP_NUM_THREADS": count},
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
    assert len(outputs.pop()) > 1000


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint16", "float16"])
def test_reductions_of_every_kind_of_dtype_are_combined(dtype: str) -> None:
    x = tt.vector("x", dtype=dtype)
    outputs = [tt.sum(x), tt.max(x), tt.min(x), tt.prod(x), tt.all(x), tt.any(x)]
    data = np.random.default_rng(0).integers(0, 3, 40000).astype(dtype)
    results = function([x], outputs, mode="C")(data)
    with config.change_flags(openmp=False):
        expected = function([x], outputs, mode="C")(data)
    for a, b in zip(results, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_sums_stay_accurate_and_nan_and_infinity_pass(link: Callable[..., Any]) -> None:
    x = tt.dvector("x")
    program = link([x], [tt.sum(x), tt.max(x), tt.sum(tt.exp(x))])
    data = np.random.default_rng(0).normal(size=300000) * 10.0 ** np.random.default_rng(1).integers(-8, 8, 300000)
    exact = float(np.sum(data.astype(np.longdouble)))
    assert abs(program(data)[0] - exact) <= max(abs(np.sum(data) - exact), 2 * np.spacing(abs(exact)))
    data[200000] = np.nan
    assert all(np.isnan(v) for v in program(data))
    data[200000] = np.inf
    assert program(data)[0] == np.inf


def test_error_in_one_thread_is_raised() -> None:
    x, y = tt.lvector("x"), tt.lvector("y")
    f = function([x, y], x**y, mode="C")
    powers = np.full(50000, 2)
    np.testing.assert_array_equal(f(np.full(50000, 3), powers), np.full(50000, 9))
    powers[40001] = -1
    with pytest.raises(ValueError, match="negative integer powers"):
        f(np.full(50000, 3), powers)


def test_off_means_no_openmp_in_the_program(link: Callable[..., Any]) -> None:
    x = tt.dvector("x")
    assert "omp parallel" in link([x], [tt.exp(x)]).source
    with config.change_flags(openmp=False):
        toolchain = find_toolchain()
        assert isinstance(toolchain, Toolchain)
        assert "-fopenmp" not in toolchain.flags
        assert "omp parallel" not in link([x], [tt.exp(x)]).source


def test_forked_child_computes_by_itself() -> None:
    program = """
import os, sys
import numpy as np
import treadle.tensor as tt
from treadle.compile import function
x = tt.dvector("x")
data = np.linspace(0, 1, 50000)
f = function([x], [tt.exp(x), tt.sum(x * 2)], mode="C")
expected = f(data)
child = os.fork()
if child == 0:
    import signal
    signal.alarm(60)
    same = all(np.array_equal(a, b) for a, b in zip(f(data), expected))
    compiled_here = function([x], tt.sum(tt.log1p(x)), mode="C")
    os._exit(0 if same and np.isclose(compiled_here(data), np.log1p(data).sum()) else 1)
print(os.waitpid(child, 0)[1])
"""
    flags = "openmp=True,openmp_elemwise_minsize=1000"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TREADLE_FLAGS": flags, "OMP_NUM_THREADS": "3"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "0"


def test_compiler_without_openmp_is_reported_once(tmp_path: Path, link: Callable[..., Any]) -> None:
    driver = tmp_path / "plaincc"
    driver.write_text(
        '#!/bin/sh\nfor a in "$@"; do if [ "$a" = -fopenmp ]; then echo "error: no OpenMP" >&2; exit 1; fi; done\n'
        'exec cc "$@"\n'
    )
    driver.chmod(driver.stat().st_mode | stat.S_IXUSR)
    x = tt.dvector("x")
    with config.change_flags(cxx=str(driver)):
        with pytest.warns(CompilerWarning, match="cannot use OpenMP: .*no OpenMP") as caught:
            programs = [link([x], [x * k]) for k in (2.0, 3.0)]
        assert len(caught) == 1
    assert programs[1](np.ones(2))[0].tolist() == [3, 3]


@pytest.mark.parametrize("count", [999, 1000, 2049, 100_003])
def test_draws_that_threads_share_are_those_of_one(count: int) -> None:
    state, n, shape = tt.tensor("state", dtype="int64", shape=(3,)), tt.lscalar("n"), tt.dvector("shape")
    outputs = [PortableDraws(name, dtype, 1)(state, n) for name, dtype in PLAIN]
    outputs += [
        PortableDraws("poisson", "int64", 1)(state, n, shape),
        PortableDraws("integers", "int64", 1)(state, n, 3, 9),
    ]
    outputs += [PortableDraws("standard_gamma", "float64", 1)(state, n, shape)]
    values = [np.array([-123456789012345, 7, 2**32 - 3]), count, np.random.default_rng(0).uniform(0.3, 40, count)]
    results = function([state, n, shape], outputs, mode="C")(*values)
    with config.change_flags(openmp=False):
        alone = function([state, n, shape], outputs, mode="C")(*values)
    for result, expected in zip(results, alone, strict=True):
        assert result.tobytes() == expected.tobytes()
