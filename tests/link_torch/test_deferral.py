"""Option torch__compile at auto: functions are compiled when running operation by operation has cost more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_torch.programs import link, reference
from treadle.config import OptionValueError, config
from treadle.link.torch import PyTorchWarning
from treadle.link.torch.programs import compilation, deferral, steps
from treadle.link.torch.programs.deferral import Budget, When

if TYPE_CHECKING:
    from collections.abc import Sequence


class Compilations(list[Any]):
    """The functions that would have been compiled, which run as they are."""

    def __call__(self, function: Any, tensors: int, forms: Any, *, small: bool = False) -> Any:
        del tensors, forms, small

        def run(*args: Any) -> Any:
            if function not in self:
                self.append(function)
            return function(*args)

        return run


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> Compilations:
    """Count what is compiled, without compiling it."""
    counted = Compilations()
    monkeypatch.setattr(deferral, "Compiled", counted)
    monkeypatch.setattr(steps, "Compiled", counted)
    return counted


def automatic(inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
    with config.change_flags(torch__compile="auto", torch__whole_loops=False):
        return link(inputs, outputs, compiled=None)


def long_expression(x: Any) -> Any:
    for k in range(30):
        x = tt.sin(x) * float(k)
    return x


def test_auto_is_the_default_and_other_words_are_refused() -> None:
    (option,) = [o for o in config.options() if o.name == "torch__compile"]
    assert option.default == "auto"
    with config.change_flags(torch__compile="AUTO"):
        assert config.torch__compile == "auto"
    with config.change_flags(torch__compile="1"):
        assert config.torch__compile is True
    with pytest.raises(OptionValueError, match="'auto', True or False"), config.change_flags(torch__compile="later"):
        pass


def test_a_budget_is_spent_by_operations_and_elements_beyond_the_cost_of_a_compiled_call() -> None:
    few, many, at_once = Budget(3), Budget(30), Budget(30, When.AT_ONCE)
    for _ in range(1000):
        few.spend(3, 1)
    assert not few.is_spent
    assert at_once.is_spent
    calls = 0
    while not many.is_spent:
        many.spend(30, 10**6)
        calls += 1
    price = deferral.COMPILATION + 30 * deferral.COMPILED_OPERATION
    assert calls == np.ceil(price / (30 * (deferral.OPERATION + 10**6 * deferral.ELEMENT) - deferral.CALL))


def test_a_function_is_compiled_when_its_calls_have_cost_more_than_that(
    compilations: Compilations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deferral, "COMPILATION", 2000.0)
    monkeypatch.setattr(deferral, "COMPILED_OPERATION", 0.0)
    x = tt.dvector("x")
    outputs = [long_expression(x)]
    program = automatic([x], outputs)
    value = np.arange(5.0)
    counts = []
    for _ in range(60):
        np.testing.assert_allclose(program(value)[0], reference([x], outputs, [value])[0], 1e-12)
        counts.append(len(compilations))
    assert counts[0] == 0
    assert counts[-1] == 1


def test_large_arrays_have_a_function_compiled_earlier_than_small_ones(
    compilations: Compilations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deferral, "COMPILATION", 2e3)
    monkeypatch.setattr(deferral, "COMPILED_OPERATION", 0.0)
    x = tt.dvector("x")
    small, large = (automatic([x], [long_expression(x)]) for _ in range(2))
    for _ in range(4):
        small(np.ones(3))
        large(np.ones(10**4))
    assert len(compilations) == 1


def test_few_operations_on_small_arrays_are_never_compiled(
    compilations: Compilations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deferral, "COMPILATION", 1.0)
    monkeypatch.setattr(deferral, "COMPILED_OPERATION", 0.0)
    x = tt.dvector("x")
    program = automatic([x], [x * 2 + 1])
    for _ in range(200):
        program(np.ones(3))
    assert not compilations


def test_long_loops_are_compiled_when_their_steps_have_cost_more_than_that(
    compilations: Compilations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deferral, "COMPILATION", 5e3)
    monkeypatch.setattr(deferral, "COMPILED_OPERATION", 0.0)
    x = tt.dvector("x")
    last, rows = tt.scan_with_carry(lambda c, row: (tt.tanh(c) * row + 0.5, c), tt.constant(0.0), x)
    program = automatic([x], [last, rows])
    value = np.linspace(-1, 1, 256)
    expected = reference([x], [last, rows], [value])
    counts = []
    for _ in range(5):
        for got, want in zip(program(value), expected, strict=True):
            np.testing.assert_allclose(got, want, 1e-12)
        counts.append(len(compilations))
    assert counts[0] == 0
    assert counts[-1] == 1


def test_without_a_compiler_the_warning_comes_when_compiling_would_be_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setattr(compilation, "NOTICES", compilation._Notices())
    monkeypatch.setattr(deferral, "COMPILATION", 1.0)
    monkeypatch.setattr(deferral, "COMPILED_OPERATION", 0.0)
    x = tt.dvector("x")
    program = automatic([x], [long_expression(x)])
    with pytest.warns(PyTorchWarning, match=r"C\+\+ compiler"):
        program(np.ones(3))
    assert program(np.zeros(3))[0].tolist() == [0.0, 0.0, 0.0]
