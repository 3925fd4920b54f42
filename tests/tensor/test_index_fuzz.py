"""Random index expressions against NumPy: values, shapes, dtypes, and refusals."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor.index_cases import Maker
from tests.tensor_rewrites.graphs import rewrite, run
from treadle.compile import function
from treadle.config import config
from treadle.graph import FunctionGraph, vectorize_graph

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.tensor.index_cases import Built, Case

# The long form: `INDEX_SEEDS=100000 pytest -m slow`, from seed `INDEX_FIRST` on.
FIRST, MANY = (int(os.environ.get(name, n)) for name, n in (("INDEX_FIRST", "0"), ("INDEX_SEEDS", "20000")))


def as_written(built: Built) -> Any:
    return run(FunctionGraph(built.inputs, [built.output], clone=True), built.values)[0]


def as_rewritten(built: Built) -> Any:
    return run(rewrite(built.inputs, [built.output])[0], built.values)[0]


def compiled(mode: str) -> Callable[[Built], Any]:
    return lambda built: function(built.inputs, built.output, mode=mode, on_unused_input="ignore")(*built.values)


def case_of(seed: int) -> Case:
    return Maker(np.random.default_rng(seed)).case()


def assert_as_numpy(result: Any, want: Any, where: str) -> None:
    assert result.dtype == want.dtype, where
    np.testing.assert_array_equal(result, want, err_msg=where, strict=True)


def check(seed: int, compute: Callable[[Built], Any]) -> None:
    case = case_of(seed)
    want = case.expected()
    where = f"seed {seed}: {case}"
    if want is None:
        with pytest.raises((IndexError, ValueError, TypeError)):
            pytest.fail(f"{where} is accepted: {compute(case.built())}")
        return
    assert_as_numpy(compute(case.built()), want, where)


@pytest.mark.parametrize("first", range(0, 2000, 500))
def test_expressions_as_written_are_numpys(first: int) -> None:
    for seed in range(first, first + 500):
        check(seed, as_written)


@pytest.mark.parametrize("first", range(5000, 5400, 100))
def test_rewritten_expressions_are_numpys(first: int) -> None:
    with config.change_flags(on_opt_error="raise"):
        for seed in range(first, first + 100):
            check(seed, as_rewritten)


def test_many_expressions_in_one_compiled_function_are_numpys() -> None:
    check_together("C", range(7000, 7060))


def check_together(mode: str, seeds: range) -> None:
    """Compile the cases that NumPy accepts into one function."""
    cases = [(case, want) for case in map(case_of, seeds) if (want := case.expected()) is not None]
    built = [case.built() for case, _ in cases]
    inputs = [x for b in built for x in b.inputs]
    f = function(inputs, [b.output for b in built], mode=mode, on_unused_input="ignore")
    for result, (case, want) in zip(f(*(v for b in built for v in b.values)), cases, strict=True):
        assert_as_numpy(result, want, str(case))


def check_gradient(seed: int) -> None:
    """Compare the gradient of a weighted sum of a read part with the weights put at the same places by NumPy."""
    case = case_of(seed)
    case.kind, case.then = "get", (Ellipsis,)
    case.x = case.x.astype("float64")
    part = case.expected()
    if part is None:
        return
    weights = np.arange(1.0, part.size + 1).reshape(part.shape)
    built = case.built()
    built.output = tt.grad(tt.sum(built.output * weights), built.inputs[0])
    case.x, case.kind, case.y = np.zeros_like(case.x), "inc", weights
    assert_as_numpy(as_rewritten(built), case.expected(), f"seed {seed}: {case}")


def test_gradient_of_a_part_is_scattered_as_numpy_does() -> None:
    for seed in range(9000, 9200):
        check_gradient(seed)


def check_vectorized(seed: int) -> None:
    """Compare an expression along a batch of tensors with NumPy's, tensor by tensor."""
    case = case_of(seed)
    want = case.expected()
    if want is None:
        return
    built = case.built()
    batch = np.stack([case.x, case.x[::-1] if case.x.ndim else case.x])
    x: Any = built.inputs[0]
    many = tt.TensorType(x.type.dtype, (None, *x.type.shape))()
    vectorized = vectorize_graph(built.output, {x: many})
    both = []
    for value in batch:
        case.x = np.asarray(value)
        both.append(case.expected())
    fgraph = FunctionGraph([many, *built.inputs[1:]], [vectorized], clone=True)
    assert_as_numpy(run(fgraph, [batch, *built.values[1:]])[0], np.stack(both), f"seed {seed}: {case}")


def test_expressions_along_a_batch_are_numpys() -> None:
    for seed in range(12000, 12300):
        check_vectorized(seed)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["written", "rewritten", "gradient", "batch"])
def test_many_expressions_are_numpys(way: str) -> None:
    for seed in range(FIRST, FIRST + MANY):
        if way == "gradient":
            check_gradient(seed)
        elif way == "batch":
            check_vectorized(seed)
        else:
            check(seed, as_written if way == "written" else as_rewritten)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["C", "NUMBA", "JAX", "PYTORCH"])
def test_many_compiled_expressions_are_numpys(mode: str) -> None:
    with config.change_flags(torch__compile=False):
        for seed in range(FIRST, FIRST + MANY // 20):
            check(seed, compiled(mode))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(FIRST, FIRST + MANY // 2, 100))
def test_many_expressions_in_one_c_function_are_numpys(first: int) -> None:
    check_together("C", range(first, first + 100))
