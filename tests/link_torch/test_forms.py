"""Compiled forms for exact shapes: what they compute, and how they are kept between processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import treadle.tensor as tt
from tests.link_torch.programs import link, reference
from treadle.cache import default_cache
from treadle.config import config
from treadle.graph import FunctionGraph
from treadle.link.torch.linker import TorchLinker
from treadle.link.torch.programs import forms
from treadle.link.torch.programs.static_compilation import compile_static
from treadle.link.torch.programs.wrapper_text import run_text
from treadle.link.vm import ProgramGraph

if TYPE_CHECKING:
    from collections.abc import Iterator

# A step of logistic regression, its loss and its state after two calls, in a new process.
MODEL = """
import json, sys
import numpy as np
import treadle.tensor as tt
from treadle.compile import function
from treadle.link.torch.programs import compilation
compiled = []
compile_static = compilation.compile_static
compilation.compile_static = lambda *args: (compiled.append(args), compile_static(*args))[1]
x, y = tt.dmatrix("x"), tt.dvector("y")
w, b = tt.shared(np.zeros(3), name="w"), tt.shared(0.0, name="b")
score = x @ w + b
loss = (tt.softplus(score) - y * score).mean()
gw, gb = tt.grad(loss, [w, b])
step = function([x, y], loss, updates={w: w - 0.5 * gw, b: b - 0.5 * gb}, mode="PYTORCH")
rng = np.random.default_rng(0)
data = rng.normal(size=(20, 3)), (rng.random(20) < 0.5) * 1.0
values = [float(step(*data)) for _ in range(3)] + w.get_value().tolist()
compiler = [name for name in ("torch._dynamo", "torch._inductor") if name in sys.modules]
print(json.dumps([values, compiler, len(compiled)]))
"""


def started(folder: Path) -> tuple[list[float], list[str], int]:
    """Return the values of a new process, what it imported of PyTorch's compiler, and how often that ran."""
    flags = f"base_compiledir={folder},torch__compile=True"
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MODEL], env={**os.environ, "TREADLE_FLAGS": flags},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    values, compiler, compiled = json.loads(process.stdout)
    return values, compiler, compiled


def entries(folder: Path) -> list[Path]:
    """Return the files that forms are in: their texts and their libraries."""
    return [
        path
        for path in folder.glob("*/??/*")
        if path.suffix == ".so" or (path.suffix == ".entry" and b'"pytorch"' in path.read_bytes()[:4096])
    ]


@pytest.mark.slow
def test_a_second_process_compiles_nothing_and_a_damaged_file_is_made_again(tmp_path: Path) -> None:
    cold = started(tmp_path)
    assert cold[2] == 1
    assert started(tmp_path) == (cold[0], [], 0)
    libraries = [path for path in entries(tmp_path) if path.suffix == ".so"]
    assert libraries
    for path in libraries:
        path.write_bytes(path.read_bytes()[:100])
    values, _, compiled = started(tmp_path)
    assert compiled == 1
    assert values == cold[0]
    assert started(tmp_path)[1:] == ([], 0)


@pytest.fixture
def compile_folder(tmp_path: Path) -> Iterator[Path]:
    """Use an empty compile directory."""
    with config.change_flags(base_compiledir=tmp_path):
        yield tmp_path


def linked(inputs: list[Any], outputs: list[Any], compiled: bool | str = True) -> tuple[TorchLinker, Any]:
    """Return a linker and a program that is kept."""
    linker = TorchLinker(compiled)  # type: ignore[arg-type]  # "auto" or a bool
    return linker, linker.link(FunctionGraph(inputs, outputs))


def loaded(linker: TorchLinker, program: Any, compiled: bool | str = True) -> Any:
    """Return the program as another process would have it."""
    data = linker.dump(program)
    assert data is not None
    return TorchLinker(compiled).load(data, ProgramGraph.of(program.fgraph))  # type: ignore[arg-type]  # as above


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the list of what is compiled for exact shapes."""
    made: list[Any] = []

    def counted(*args: Any) -> Any:
        made.append(compile_static(*args))
        return made[-1]

    monkeypatch.setattr("treadle.link.torch.programs.compilation.compile_static", counted)
    return made


def test_a_program_is_loaded_with_its_forms_and_other_shapes_are_compiled(
    compile_folder: Path, compilations: list[Any]
) -> None:
    del compile_folder
    x, y = tt.dmatrix("x"), tt.dvector("y")
    outputs = [tt.tanh(x @ y) * 2, x.sum(axis=0), y]
    linker, program = linked([x, y], outputs)
    linker.dump(program)
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(4, 3)), rng.normal(size=3)]
    first = program(*values)
    assert len(compilations) == 1
    assert compilations[0][1] is not None
    again = loaded(linker, program)
    for got, want in zip(again(*values), first, strict=True):
        np.testing.assert_array_equal(got, want)
    assert len(compilations) == 1
    others = [rng.normal(size=(5, 3)), rng.normal(size=3)]
    for got, want in zip(again(*others), reference([x, y], outputs, others), strict=True):
        np.testing.assert_allclose(got, want, 1e-13)
    assert len(compilations) == 2


def test_auto_takes_forms_that_are_there_and_runs_other_shapes_operation_by_operation(
    compile_folder: Path, compilations: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    del compile_folder
    x = tt.dvector("x")
    outputs = [tt.sin(x) * tt.exp(x)]
    linker, program = linked([x], outputs)
    linker.dump(program)
    value = np.linspace(0, 1, 7)
    program(value)
    again = loaded(linker, program, "auto")
    called: list[Any] = []
    call = forms.FunctionForms.call

    def counted(self: Any, form: Any, met: Any, args: Any) -> Any:
        called.append(met)
        return call(self, form, met, args)

    monkeypatch.setattr(forms.FunctionForms, "call", counted)
    for size in (7, 3, 7):
        given = np.linspace(0, 1, size)
        np.testing.assert_allclose(again(given)[0], np.sin(given) * np.exp(given), 1e-13)
    assert len(called) == 2
    assert len(compilations) == 1


def test_forms_are_no_longer_looked_for_where_there_was_none_often(
    compile_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del compile_folder
    x = tt.dvector("x")
    linker, program = linked([x], [tt.sin(x) * tt.exp(x)])
    linker.dump(program)
    again = loaded(linker, program, "auto")
    looked: list[Any] = []
    get = forms.FunctionForms.get

    def counted(self: Any, met: Any) -> Any:
        looked.append(met)
        return get(self, met)

    monkeypatch.setattr(forms.FunctionForms, "get", counted)
    value = np.linspace(0, 1, 7)
    for _ in range(3 * forms.AGAIN):
        np.testing.assert_allclose(again(value)[0], np.sin(value) * np.exp(value), 1e-13)
    assert len(looked) == forms.AGAIN + 1


def test_a_form_of_another_version_of_pytorch_is_not_taken(
    compile_folder: Path, compilations: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    del compile_folder
    x = tt.dvector("x")
    linker, program = linked([x], [tt.cos(x) + 1])
    linker.dump(program)
    value = np.zeros(5)
    program(value)
    monkeypatch.setattr(torch, "__version__", "2.99.0")
    assert loaded(linker, program)(value)[0].tolist() == [2.0] * 5
    assert len(compilations) == 2


def test_a_damaged_entry_counts_as_missing(compile_folder: Path, compilations: list[Any]) -> None:
    x = tt.dvector("x")
    linker, program = linked([x], [tt.cos(x) + 2])
    linker.dump(program)
    value = np.zeros(6)
    program(value)
    files = entries(compile_folder)
    assert {path.suffix for path in files} == {".entry", ".so"}
    for path in files:
        path.write_bytes(path.read_bytes()[:-7])
    assert loaded(linker, program)(value)[0].tolist() == [3.0] * 6
    assert len(compilations) == 2
    assert loaded(linker, program)(value)[0].tolist() == [3.0] * 6
    assert len(compilations) == 2


def test_an_entry_whose_text_does_not_run_here_counts_as_missing(
    compile_folder: Path, compilations: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    del compile_folder
    x = tt.dvector("x")
    linker, program = linked([x], [tt.cos(x) + 3])
    linker.dump(program)
    get = type(default_cache()).get

    def without_call(self: Any, key: str) -> bytes | None:
        payload: bytes | None = get(self, key)
        if payload is None or b"def call" not in payload:
            return payload
        text, *rest = json.loads(payload)
        return json.dumps(["from torch._inductor.later import other\n" + text, *rest]).encode()

    value = np.zeros(6)
    program(value)
    monkeypatch.setattr(type(default_cache()), "get", without_call)
    assert loaded(linker, program)(value)[0].tolist() == [4.0] * 6
    assert len(compilations) == 2


def test_arguments_of_other_strides_and_negated_views_are_read_right(compilations: list[Any]) -> None:
    x = tt.dmatrix("x")
    program = link([x], [tt.exp(x) - 1], compiled=True)
    value = np.arange(12.0).reshape(3, 4) / 10
    np.testing.assert_allclose(program(value)[0], np.exp(value) - 1, 1e-13)
    negated = torch.conj(torch.from_numpy(value * -1j)).imag
    assert negated.is_neg()
    np.testing.assert_allclose(program(negated)[0], np.exp(value) - 1, 1e-13)
    spread = np.zeros((3, 8))
    spread[:, ::2] = value
    for other in (np.asfortranarray(value), spread[:, ::2], value[::-1]):
        np.testing.assert_allclose(program(other)[0], np.exp(other) - 1, 1e-13)
    assert len(compilations) == 1


def test_parts_of_arguments_of_other_strides_are_read_right() -> None:
    # Code that takes parts of an argument, and nothing else of it, checks no strides by itself.
    x = tt.dvector("x")
    program = link([x], [x[1], x[2:], x[0] + 1], compiled=True)
    value = np.arange(10.0)
    for given in (value[:5], value[::2], value[4::-1], value[5:], value[1::2]):
        for got, want in zip(program(given), (given[1], given[2:], given[0] + 1), strict=True):
            np.testing.assert_array_equal(got, want)


def test_results_of_forms_are_the_callers_own() -> None:
    x = tt.dmatrix("x")
    value = np.arange(6.0).reshape(2, 3)
    program = link([x], [x, x.T, x + 1, x.sum(axis=0)], compiled=True)
    for _ in range(2):
        results = program(value)
        for result in results:
            assert not np.shares_memory(result, value)
            result[...] = -1
        assert not np.shares_memory(results[0], results[1])
    assert value.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_text_that_needs_the_compiler_is_refused() -> None:
    with pytest.raises(ImportError, match=r"torch\._inductor\.later"):
        run_text("from torch._inductor.later import other", lambda types, text: lambda *_: None)  # noqa: ARG005
