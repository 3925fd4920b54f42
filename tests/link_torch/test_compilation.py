"""torch.compile: shapes, threads, the compiler, and whole small graphs."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch._dynamo.utils import counters

import treadle.tensor as tt
from tests.link_torch.programs import check, link, reference
from treadle.compile import function
from treadle.config import OptionValueError, config
from treadle.graph import FunctionGraph, GraphValueError
from treadle.link.torch import BACKEND, PyTorchWarning
from treadle.link.torch.linker import TorchLinker
from treadle.link.torch.programs import compilation
from treadle.link.torch.programs.static_compilation import compile_static

if TYPE_CHECKING:
    from collections.abc import Callable


def compiled_graphs() -> int:
    """Return how many graphs torch.compile has made in this process."""
    return int(counters["stats"]["unique_graphs"])


@pytest.fixture(autouse=True)
def static_forms(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list of the forms that are compiled for exact shapes."""
    forms: list[Any] = []

    def counted(*args: Any) -> Any:
        forms.append(compile_static(*args))
        return forms[-1]

    monkeypatch.setattr("treadle.link.torch.programs.compilation.compile_static", counted)
    return forms


def test_new_shapes_do_not_compile_again_and_again(static_forms: list[Any]) -> None:
    x, n = tt.dmatrix("x"), tt.lscalar("n")
    program = link([x, n], [tt.tanh(x).sum(axis=0) + tt.zeros((x.shape[1],)), tt.zeros((n,)) + x.sum()], compiled=True)
    before = compiled_graphs()
    for size in range(2, 22):
        value = np.ones((size, size + 3))
        column, filled = program(value, np.array(size * 2))
        np.testing.assert_allclose(column, np.tanh(value).sum(axis=0))
        assert filled.shape == (size * 2,)
    assert len(static_forms) == 1
    assert compiled_graphs() - before <= 2


def test_lengths_0_and_1_broadcast_and_empty_are_right_when_compiled() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    program = link([x, y], [x * y + 1], compiled=True)
    for a, b in ((3, 3), (1, 3), (4, 1), (0, 1), (0, 0), (1, 1), (7, 7)):
        result = program(np.full(a, 2.0), np.full(b, 3.0))[0]
        np.testing.assert_array_equal(result, np.full(a, 2.0) * np.full(b, 3.0) + 1)


def _run_together(work: Callable[[int], None], threads: int = 8) -> None:
    barrier = threading.Barrier(threads)

    def start(at: int) -> None:
        barrier.wait()
        work(at)

    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(start, at) for at in range(threads)]:
            done.result()


def test_8_threads_call_one_function_20_000_times(static_forms: list[Any]) -> None:
    x, y = tt.dvector("x"), tt.dscalar("y")
    program = link([x, y], [x * y, x[::-1]], compiled=True)
    before = compiled_graphs()

    def work(at: int) -> None:
        value = np.arange(5.0) + at
        for i in range(2500):
            product, reverse = program(value, np.array(float(i)))
            assert product[1] == value[1] * i
            assert reverse[0] == value[4]

    _run_together(work)
    assert len(static_forms) == 1
    assert compiled_graphs() == before


def test_threads_that_meet_new_shapes_while_others_call_get_right_answers() -> None:
    x = tt.dmatrix("x")
    program = link([x], [tt.exp(x).sum(axis=1)], compiled=True)

    def work(at: int) -> None:
        for i in range(30):
            value = np.full((at % 3 + 1, i % 4), 0.5)
            np.testing.assert_allclose(program(value)[0], np.exp(value).sum(axis=1))

    _run_together(work)


def test_threads_that_compile_different_functions_do_not_disturb_each_other() -> None:
    x = tt.dvector("x")
    programs = [link([x], [x * float(at) + tt.sin(x)], compiled=True) for at in range(8)]
    value = np.arange(3.0)

    def work(at: int) -> None:
        for program in (programs[at], programs[0], programs[-1]):
            program(value)
        np.testing.assert_allclose(programs[at](value)[0], value * at + np.sin(value))

    _run_together(work)


def test_a_logistic_regression_agrees_with_the_python_vm_when_compiled() -> None:
    x, y, w, b = tt.dmatrix("x"), tt.dvector("y"), tt.dvector("w"), tt.dscalar("b")
    score = tt.dot(x, w) + b
    loss = (tt.softplus(score) - y * score).mean() + 0.01 * (w**2).sum()
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(1000, 20)), (rng.random(1000) < 0.5) * 1.0, rng.normal(size=20), np.array(0.1)]
    check([x, y, w, b], [loss, tt.grad(loss, w), tt.grad(loss, b)], values, compiled=True)


def test_a_transcendental_expression_agrees_with_numpy_when_compiled() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    a, b = np.random.default_rng(0).normal(size=(2, 100_000))
    (result,) = link([x, y], [tt.tanh(2 * x + 1) * tt.exp(-x * x) + tt.sin(y)], compiled=True)(a, b)
    np.testing.assert_allclose(result, np.tanh(2 * a + 1) * np.exp(-a * a) + np.sin(b), 1e-12, 1e-14)


def test_the_option_turns_compiling_off(static_forms: list[Any]) -> None:
    x = tt.dvector("x")
    before = compiled_graphs()
    with config.change_flags(torch__compile=False):
        program = TorchLinker().link(FunctionGraph([x], [x + 1]))
    assert program(np.zeros(1))[0].tolist() == [1.0]
    assert compiled_graphs() == before
    assert not static_forms


def test_without_a_compiler_programs_run_uncompiled_with_one_warning(
    monkeypatch: pytest.MonkeyPatch, static_forms: list[Any]
) -> None:
    x = tt.dvector("x")
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setattr(compilation, "NOTICES", compilation._Notices())
    before = compiled_graphs()
    with pytest.warns(PyTorchWarning, match=r"C\+\+ compiler"):
        program = link([x], [x + 1], compiled=True)
    again = link([x], [x + 2], compiled=True)
    assert program(np.zeros(1))[0].tolist() == [1.0]
    assert again(np.zeros(1))[0].tolist() == [2.0]
    assert compiled_graphs() == before
    assert not static_forms


def test_beyond_the_limit_of_recompilations_programs_run_uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "RECOMPILATIONS", 1)
    monkeypatch.setattr(compilation, "NOTICES", compilation._Notices())
    x = tt.dvector("x")
    program = link([x], [x + 1], compiled=True)
    program(np.zeros(3))
    program(np.zeros(4))
    with pytest.warns(PyTorchWarning, match="compiled 1 times"):
        results = program(np.zeros(1))
    assert results[0].tolist() == [1.0]


def test_a_device_that_is_not_there_is_an_option_error() -> None:
    x = tt.dvector("x")
    with config.change_flags(torch__device="cuda:99"), pytest.raises(OptionValueError, match="torch__device"):
        link([x], [x + 1])


def test_a_device_of_a_shared_variable_that_is_not_there_is_refused_by_the_variables_name() -> None:
    w = tt.shared(np.ones(2), name="w", device="gpu:7")
    text = r"shared variable w: its device 'gpu:7' cannot be used \(.*\)\. Give .* PyTorch finds here: cpu"
    with pytest.raises(GraphValueError, match=text):
        function([], w * 2, mode="PYTORCH")


def test_the_callers_default_dtype_device_and_gradient_mode_do_not_matter() -> None:
    x, i = tt.fvector("x"), tt.lvector("i")
    outputs = [tt.sigmoid(x), x[i], x.mean(), tt.arange(x.shape[0])]
    values = [np.arange(3, dtype="float32"), np.array([0, 2])]
    torch.set_default_dtype(torch.float64)
    try:
        with torch.enable_grad():
            results = link([x, i], outputs)(*values)
    finally:
        torch.set_default_dtype(torch.float32)
    for got, want in zip(results, reference([x, i], outputs, values), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, 1e-6)


def test_finding_the_backend_imports_no_pytorch() -> None:
    code = (
        "import sys; from treadle.link.torch import BACKEND; BACKEND.version(); BACKEND.unavailable(); "
        "print('torch' in sys.modules)"
    )
    process = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "False"


def test_the_backend_says_how_to_install_pytorch_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert BACKEND.unavailable() is None

    def find_nothing(name: str) -> Any:
        del name

    monkeypatch.setattr("treadle.link.torch.backend.find_spec", find_nothing)
    reason = BACKEND.unavailable()
    assert reason is not None
    assert "pip install --find-links DIR 'compile[torch]'" in reason
