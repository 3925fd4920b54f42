"""Large texts are compiled by two runs of the compiler at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.config import config
from treadle.graph import Apply, FunctionGraph, Op
from treadle.link.c import CFunction, c_function
from treadle.link.c.errors import CompileError
from treadle.link.c.text import division
from treadle.link.vm import PythonLinker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Link = Callable[[Sequence[Any], Sequence[Any]], Any]

SHARE = re.compile(rf"#if !defined {division.MACRO}.*?\n(.*?)^#endif", re.DOTALL | re.MULTILINE)
DEFINED = re.compile(r"^TR_LOCAL int(?:64_t)? (\w+)\(.*\{$", re.MULTILINE)


@pytest.fixture(autouse=True)
def _two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(division, "usable_processors", lambda: 2)


def model() -> tuple[list[Any], list[Any], list[Any]]:
    """A graph with kernels, reductions of each kind, products and normalisations; its values."""
    x, y = tt.dmatrix("x"), tt.dmatrix("y")
    outs = [
        tt.softmax(x @ y.T), tt.logsumexp(y, axis=0), tt.exp(x).sum(axis=0), (tt.sin(x) * y).max(axis=1), tt.prod(x),
        tt.log1p(abs(x)) + tt.cos(y) * 3, tt.tanh(x * y)[::-1, 1:], tt.where(x > y, x, y).min(),
        x.astype("float32").sum(), tt.concatenate([x, tt.exp(-y)], axis=1), tt.argmax(x, axis=1), (x > 0).all(axis=0),
    ]  # fmt: skip
    rng = np.random.default_rng(3)
    return [x, y], outs, [rng.normal(size=(4, 5)), rng.normal(size=(4, 5))]


def shares_of(source: str) -> list[list[str]]:
    return [DEFINED.findall(body) for body in SHARE.findall(source)]


def test_large_text_is_compiled_by_two_runs(link: Link, commands: list[list[str]]) -> None:
    inputs, outputs, values = model()
    program = link(inputs, outputs)
    shares = [[flag for flag in command if flag.startswith(f"-D{division.MACRO}")] for command in commands]
    assert sorted(filter(None, shares)) == [[f"-D{division.MACRO}=0"], [f"-D{division.MACRO}=1"]]
    # The objects of both shares, and that of helpers.
    assert sum(name.endswith(".o") for name in commands[-1]) == 3
    expected = PythonLinker().link(FunctionGraph(inputs, outputs))(*values)
    for result, right in zip(program(*values), expected, strict=True):
        np.testing.assert_allclose(result, right, rtol=1e-6)
        assert result.dtype == right.dtype


def test_functions_of_python_modules_are_there_for_both_runs(link: Link, commands: list[list[str]]) -> None:
    ins, outs, values = model()
    square = ins[0] @ ins[0].T + np.eye(4)
    outs = [*outs, tt.Cholesky()(square), tt.gammainc(2.0, abs(ins[1]) + 1.0), tt.Cholesky(lower=False)(square)]
    results = link(ins, outs)(*values)
    expected = PythonLinker().link(FunctionGraph(ins, outs))(*values)
    # The objects of both shares, and that of helpers.
    assert sum(name.endswith(".o") for name in commands[-1]) == 3
    for result, right in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, right, rtol=1e-12)


def test_shares_are_alike_in_size_and_hold_every_function_once(link: Link, commands: list[list[str]]) -> None:
    inputs, outputs, _ = model()
    source = link(inputs, outputs).source
    assert commands
    first, second = shares_of(source)
    assert not set(first) & set(second)
    declared = re.findall(r"^TR_LOCAL int(?:64_t)? (\w+)\(.*\);$", source, re.MULTILINE)
    assert sorted(first + second) == sorted(declared)
    assert first
    assert second


def test_one_processor_compiles_everything_at_once(
    link: Link, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(division, "usable_processors", lambda: 1)
    inputs, outputs, values = model()
    program = link(inputs, outputs)
    assert division.MACRO not in program.source
    assert not any(division.MACRO in word for command in commands for word in command)
    np.testing.assert_allclose(program(*values)[2], np.exp(values[0]).sum(axis=0))


def test_small_text_is_compiled_at_once(link: Link, commands: list[list[str]]) -> None:
    x = tt.dvector("x")
    assert division.MACRO not in link([x], [tt.exp(x) + 1]).source
    assert not any(division.MACRO in word for command in commands for word in command)


def test_failing_run_is_reported_with_its_line(link: Link, commands: list[list[str]]) -> None:
    inputs, outputs, values = model()
    with (
        config.change_flags(gcc__cxxflags="-Dtr_matmul_f64=1"),
        pytest.raises(CompileError, match=rf"-D{division.MACRO}=[01][^\n]*\n(.|\n)*\nC line \d+: "),
    ):
        link(inputs, outputs)
    assert commands
    assert len(link(inputs, outputs)(*values)) == len(outputs)


class Counting(Op):
    """Has C that remembers how often it ran."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        x = tt.as_tensor(inputs[0])
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        raise NotImplementedError


@c_function(Counting)
def counting(op: Counting, node: Apply) -> CFunction:
    del op, node
    text = (
        "static double runs;\nstatic int counting(const treadle_array *x, treadle_array *y) {\n"
        "  runs += 1; for (int64_t i = 0; i < x->shape[0]; i++) ((double *)y->data)[i] = runs;\n  return 0;\n}\n"
    )
    return CFunction(name="counting", text=text)


def test_c_of_users_is_there_once(link: Link, commands: list[list[str]]) -> None:
    inputs, outputs, values = model()
    one, other = Counting()(inputs[0][0]), Counting()(inputs[0][1])
    program = link(inputs, [*outputs, one, other])
    assert commands
    assert len(program.source) > division.LEAST
    assert division.MACRO not in program.source
    *_, a, b = program(*values)
    assert {a[0], b[0]} == {1.0, 2.0}
