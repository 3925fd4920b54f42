"""Threads, 64-bit dtypes, forks, and what importing loads."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent

import jax
import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_jax.programs import link


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", dedent(code)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# Each thread uses a length of its own: one that comes after another has compiled is told so.
@pytest.mark.filterwarnings("ignore::treadle.link.jax.RecompilationWarning")
def test_eight_threads_compute_in_64_bits_at_once() -> None:
    x, n = tt.dvector("x"), tt.lscalar("n")
    programs = [link([x, n], [x * n + 1e-12, x.sum()]), link([x, n], [x[:n] + 1e-12, tt.arange(n)])]
    barrier = threading.Barrier(8)

    def work(k: int) -> list[list[np.ndarray]]:
        barrier.wait()
        return [list(program(np.arange(9.0) + k, np.array(k + 1))) for _ in range(20) for program in programs]

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(work, range(8)))
    for k, results in enumerate(done):
        value = np.arange(9.0) + k
        for first, second in zip(results[::2], results[1::2], strict=True):
            assert (first[0] == value * (k + 1) + 1e-12).all()
            assert first[1] == value.sum()
            assert (second[0] == value[: k + 1] + 1e-12).all()
            assert second[1].dtype == "int64"
            assert second[1].tolist() == list(range(k + 1))


def test_64_bits_are_not_switched_on_for_others() -> None:
    x = tt.dvector("x")
    link([x], [x + 1])(np.arange(3.0))
    assert jax.numpy.ones(1).dtype == "float32"


def test_a_program_works_inside_code_that_asks_for_32_bits() -> None:
    x = tt.dvector("x")
    with jax.enable_x64(False):
        assert link([x], [x + 1e-12])(np.ones(1))[0][0] == 1 + 1e-12


def test_a_program_of_the_parent_raises_in_a_forked_child() -> None:
    text = run("""
        import multiprocessing
        import numpy as np
        import treadle.tensor as tt
        from treadle.graph import FunctionGraph
        from treadle.link.jax import BACKEND

        x = tt.dvector("x")
        graph = FunctionGraph([x], [x + 1])
        program = BACKEND.linker().link(graph)

        def child(queue):
            for attempt in (lambda: program(np.ones(2)), lambda: BACKEND.linker().link(graph)):
                try:
                    attempt()
                    queue.put("no error")
                except RuntimeError as error:
                    queue.put(f"{type(error).__name__} {'spawn' in str(error)}")

        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        process = context.Process(target=child, args=(queue,))
        process.start()
        print(queue.get(timeout=60), queue.get(timeout=60))
        process.join(60)
        print(program(np.ones(2))[0].tolist())
    """)
    assert text.splitlines() == ["ForkedProcessError True ForkedProcessError True", "[2.0, 2.0]"]


def test_importing_the_package_does_not_import_jax() -> None:
    text = run("""
        import sys
        from treadle.link.jax import BACKEND
        print("jax" in sys.modules, BACKEND.name, BACKEND.unavailable(), BACKEND.version().split()[0])
        print("jax" in sys.modules)
    """)
    assert text.splitlines() == ["False jax None jax", "False"]


def test_a_missing_library_is_reported_with_what_to_do() -> None:
    text = run("""
        import importlib.util
        from treadle.link.jax import backend
        backend.find_spec = lambda name: None
        print(backend.BACKEND.unavailable())
    """)
    assert text.startswith("jax is not installed. Install it: pip install --find-links DIR 'compile[jax]'")


def test_a_program_out_of_the_compile_cache_is_neither_traced_nor_compiled(tmp_path: Path) -> None:
    code = f"""
        import sys
        import numpy as np
        import treadle.tensor as tt
        from treadle.compile import function, shared
        from treadle.config import config

        config.base_compiledir = {str(tmp_path)!r}
        x, i, w = tt.dmatrix("x"), tt.lscalar("i"), shared(np.ones(3))
        f = function([x, i], tt.logsumexp(x @ w) + x[i, 0], updates={{w: w / 2}}, mode="JAX")
        import jax
        compiled = jax.stages.Lowered.compile
        count = 0
        def counted(self, *args, **kwargs):
            global count
            count += 1
            return compiled(self, *args, **kwargs)
        jax.stages.Lowered.compile = counted
        values = [float(f(np.ones((4, 3)), at)) for at in (0, 3)]
        names = ("counts", "staging", "tracing")
        print(values, count, [name for name in names if "treadle.link.jax.programs." + name in sys.modules])
    """
    first, second = run(code), run(code)
    values, _, rest = first.partition("]")
    assert rest == " 1 ['counts', 'staging', 'tracing']"
    assert second == f"{values}] 0 []"
