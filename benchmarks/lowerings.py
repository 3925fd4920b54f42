"""How many times quicker the rules and kernels of backends are than what their ops decompose into.

``./dev bench lowerings [BACKEND ...]`` writes tools/lowering_ratios.tsv, which docs/lowerings.md shows. Each backend is
measured in a process of its own; ``--op NAME`` measures some ops only. What is not measured keeps its line.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

import treadle.tensor as tt
from benchmarks.tables import CONDITIONS
from tools.lowering_ratios import TABLE, Ratio, ratios, write
from tools.lowerings import pairs
from treadle.config import config
from treadle.graph import Apply, FunctionGraph, LoweringError, LoweringTable, Op, Unsupported
from treadle.testing import find_backend

ROUNDS = 5
# Seconds of the processor that the calls of one round fill.
BUDGET = 0.03
# Sizes of an op: what the table says, and a maker of the op and its inputs. A Python integer is a constant.
Case = tuple[Op, Sequence[Any]]
Make = Callable[[np.random.Generator], Case]


def _square(n: int, *stack: int) -> Callable[[np.random.Generator], np.ndarray]:
    """Return a maker of well-conditioned matrices."""
    return lambda rng: rng.normal(size=(*stack, n, n)) / n**0.5 + 2 * np.eye(n)


def _of_matrix(op: Op, sides: int = 0) -> dict[str, Make]:
    """Return the sizes of an op on matrices, and right sides."""

    def make(n: int, *stack: int) -> Make:
        def case(rng: np.random.Generator) -> Case:
            right = [rng.normal(size=(*stack, n, sides))] if sides else []
            return op, [_square(n, *stack)(rng), *right]

        return case

    return {"8 rows": make(8), "200 rows": make(200), "1,000 of 4 rows": make(4, 1000)}


def _of_lu(n: int, *stack: int) -> Make:
    def case(rng: np.random.Generator) -> Case:
        pivots = np.minimum(np.arange(n) + rng.integers(0, 3, (*stack, n)), n - 1).astype("int32")
        return tt.LUSolve(), [_square(n, *stack)(rng), pivots, rng.normal(size=(*stack, n, 3))]

    return case


def _pivots(n: int) -> Make:
    return lambda rng: (
        tt.PivotToPermutations(), [np.minimum(np.arange(n) + rng.integers(0, 3, n), n - 1).astype("int32")]
    )  # fmt: skip


def _over_axes(op: Callable[[tuple[int, ...]], Op]) -> dict[str, Make]:
    return {
        "10 of 10": lambda rng: (op((1,)), [rng.normal(size=(10, 10))]),
        "500 of 500": lambda rng: (op((1,)), [rng.normal(size=(500, 500))]),
    }


def _banded(op: Op, rows: int) -> dict[str, Make]:
    def make(n: int) -> Make:
        def case(rng: np.random.Generator) -> Case:
            diagonals = rng.normal(size=(rows, n)) / 8
            diagonals[1 if rows == 3 else 0] += 4
            return op, [diagonals, rng.normal(size=(n, 2))]

        return case

    return {"10 rows": make(10), "200 rows": make(200)}


def _tridiagonal(n: int) -> Make:
    return lambda rng: (tt.LUFactorTridiagonal(), [rng.normal(size=n - 1), 4 + rng.normal(size=n), np.ones(n - 1)])


def _tridiagonal_solve(n: int) -> Make:
    def case(rng: np.random.Generator) -> Case:
        pivots = np.arange(1, n + 1, dtype="int32")
        factors = [rng.normal(size=n - 1) / 4, 4 + rng.normal(size=n) / 4, np.ones(n - 1), np.zeros(n - 2), pivots]
        return tt.SolveLUFactorTridiagonal(), [*factors, rng.normal(size=(n, 2))]

    return case


def _fused(n: int) -> Make:
    def case(rng: np.random.Generator) -> Case:
        kinds = ("float64", "float64")
        steps = (
            tt.Step(tt.SCALAR_OPS["mul"], (0, 1), kinds, "float64"),
            tt.Step(tt.SCALAR_OPS["add"], (2, 0), kinds, "float64"),
        )
        (total,) = tt.sum(tt.dmatrix(), axis=1).get_parents()
        assert isinstance(total.op, tt.Reduction)
        composite = tt.Composite(2, kinds, steps, (3,))
        return tt.FusedReduction(composite, (total.op,)), [rng.normal(size=(n, n)) for _ in range(2)]

    return case


def _accumulated(n: int) -> Make:
    def case(rng: np.random.Generator) -> Case:
        c, a, b = rng.normal(size=(3, n, n))
        return tt.Gemm(), [c, np.array(0.5), a, b, np.array(2.0)]

    return case


def _draws(sampler: str, n: int, *parameters: float) -> Make:
    values = [np.array(p) for p in parameters]
    return lambda rng: (tt.PortableDraws(sampler, "float64", 1), [np.array([7, 8, 9]), n, *values])


def _counts(n: int) -> Make:
    return lambda rng: (tt.BinCount(weighted=False, bounded=True), [rng.integers(0, 50, n), 50])


def _statistics(n: int) -> Make:
    return lambda rng: (tt.OrderStatistics(0), [rng.normal(size=n), np.array([n // 2])])


def _partition(n: int) -> Make:
    # Of sorted numbers both leave the others in order; neither is quicker for that.
    return lambda rng: (tt.Partition(0), [np.sort(rng.normal(size=n)), np.array(n // 2)])


def _members(n: int) -> Make:
    return lambda rng: (tt.IsIn(), [rng.integers(0, 50, n), np.arange(5) * 7])


def _householder(n: int) -> Make:
    def case(rng: np.random.Generator) -> Case:
        below = np.tril(rng.normal(size=(n, n)), -1) + np.eye(n)
        return tt.HouseholderProduct(), [below, 2 / (below**2).sum(axis=0)]

    return case


def _fitted(n: int) -> Make:
    return lambda rng: (tt.Lstsq(), [rng.normal(size=(2 * n, n)), rng.normal(size=(2 * n, 2)), np.array(1e-12)])


def _repeated(n: int) -> Make:
    return lambda rng: (tt.RepeatedPositions(), [rng.integers(0, 4, n), n])


def _recurrence(n: int, *more: int) -> Make:
    return lambda rng: (tt.LinearRecurrence(0), [rng.uniform(size=(n - 1, *more)), rng.normal(size=(n, *more))])


def _convolved(part: str, batch: int, n: int) -> Make:
    def case(rng: np.random.Generator) -> Case:
        op = tt.ConvND(part, (1, 1), (1, 1), ((1, 1), (1, 1)), 1)
        images, filters, outputs = (
            rng.normal(size=(*ns, m, m)) for ns, m in (((batch, 4), n), ((8, 4), 3), ((batch, 8), n))
        )
        given: dict[str, list[Any]] = {
            "output": [images, filters],
            "input": [outputs, filters, n, n],
            "filter": [images, outputs, 3, 3],
        }
        return op, given[part]

    return case


def _blocks(n: int) -> Make:
    return lambda rng: (tt.BlockDiagonal(2), [rng.normal(size=(n, n)) for _ in range(2)])


CASES: Mapping[str, Mapping[str, Make]] = {
    "AllocDiag": {
        "10 rows": lambda rng: (tt.AllocDiag(), [rng.normal(size=10), 10, 10]),
        "1,000 rows": lambda rng: (tt.AllocDiag(), [rng.normal(size=1000), 1000, 1000]),
    },
    "BinCount": {"100 integers": _counts(100), "100,000 integers": _counts(100_000)},
    "BlockDiagonal": {"2 of 4 rows": _blocks(4), "2 of 200 rows": _blocks(200)},
    "CheckMask": {"100 elements": lambda rng: (tt.CheckMask(), [rng.uniform(size=100) < 0.5, np.array(100)])},
    "ConvND": {
        "3 x 3 over 16 x 16": _convolved("output", 1, 16), "3 x 3 over 8 of 64 x 64": _convolved("output", 8, 64),
        "by images": _convolved("input", 8, 32), "by filters": _convolved("filter", 8, 32),
    },
    "CholeskyPullback": {
        "8 rows": lambda rng: (tt.CholeskyPullback(), [_square(8)(rng), rng.normal(size=(8, 8))]),
        "200 rows": lambda rng: (tt.CholeskyPullback(), [_square(200)(rng), rng.normal(size=(200, 200))]),
    },
    "CholeskySolve": _of_matrix(tt.CholeskySolve(), 3),
    "Det": _of_matrix(tt.Det()),
    "Expm": _of_matrix(tt.Expm()),
    "FusedReduction": {"10 x 10": _fused(10), "1,000 x 1,000": _fused(1000)},
    "Gemm": {"8 rows": _accumulated(8), "300 rows": _accumulated(300)},
    "HouseholderProduct": {"8 rows": _householder(8), "200 rows": _householder(200)},
    "IsIn": {"100 elements": _members(100), "100,000 elements": _members(100_000)},
    "LUFactorTridiagonal": {"10 rows": _tridiagonal(10), "200 rows": _tridiagonal(200)},
    "LUSolve": {"8 rows": _of_lu(8), "200 rows": _of_lu(200), "1,000 of 4 rows": _of_lu(4, 1000)},
    "LinearRecurrence": {"100 steps": _recurrence(100), "1,000 steps of 100": _recurrence(1000, 100)},
    "LogSoftmax": _over_axes(tt.LogSoftmax),
    "LogSumExp": _over_axes(tt.LogSumExp),
    "Lstsq": {"16 rows": _fitted(8), "200 rows": _fitted(100)},
    "MatrixInverse": _of_matrix(tt.MatrixInverse()),
    "MatrixSign": _of_matrix(tt.MatrixSign()),
    "OrderStatistics": {"100 elements": _statistics(100), "100,000 elements": _statistics(100_000)},
    "Partition": {"100 elements": _partition(100), "100,000 elements": _partition(100_000)},
    "Peak": _over_axes(tt.Peak),
    "PivotToPermutations": {"8 rows": _pivots(8), "200 rows": _pivots(200)},
    "PortableDraws": {
        "gamma, 10": _draws("standard_gamma", 10, 2.5), "gamma, 10,000": _draws("standard_gamma", 10_000, 2.5),
    },
    "RepeatedPositions": {"100 positions": _repeated(100), "10,000 positions": _repeated(10_000)},
    "SLogDet": _of_matrix(tt.SLogDet()),
    "Softmax": _over_axes(tt.Softmax),
    "SolveBanded": _banded(tt.SolveBanded(1, 1), 3),
    "SolveHermitianBanded": _banded(tt.SolveHermitianBanded(lower=True), 2),
    "SolveLUFactorTridiagonal": {"10 rows": _tridiagonal_solve(10), "200 rows": _tridiagonal_solve(200)},
}  # fmt: skip


@contextmanager
def _ruleless(kind: type[Op]) -> Iterator[list[Apply]]:
    """Have no table a rule for an op: a context in which programs are linked. It lists the nodes refused."""
    original_rule, original_find = LoweringTable.rule, LoweringTable.find
    refused: list[Apply] = []

    def rule(table: LoweringTable, node: Apply) -> Any:
        if isinstance(node.op, kind):
            refused.append(node)
            raise Unsupported
        return original_rule(table, node)

    def find(table: LoweringTable, op: Op) -> Any:
        return None if isinstance(op, kind) else original_find(table, op)

    with patch.object(LoweringTable, "rule", rule), patch.object(LoweringTable, "find", find):
        yield refused


def _linked(backend: str, case: Case) -> tuple[Callable[..., Any], list[Any]]:
    """Return a program of an op, and its arguments."""
    op, given = case
    inputs = [tt.constant(x) if isinstance(x, int) else tt.tensor(dtype=x.dtype, ndim=x.ndim) for x in given]
    if isinstance(op, tt.PortableDraws):
        inputs[0] = op.storage.make_variable()
    free = [v for v, x in zip(inputs, given, strict=True) if not isinstance(x, int)]
    program = find_backend(backend).linker().link(FunctionGraph(free, op(*inputs, return_list=True), clone=True))
    return program, [x for x in given if not isinstance(x, int)]


def _seconds(run: Callable[..., Any], values: Sequence[Any], calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        run(*values)
    return (time.process_time() - start) / calls


def measured(backend: str, name: str, make: Make) -> float:
    """Return the time of what an op decomposes into over that of the rule, medians of rounds in turns.

    It is infinite where the backend cannot lower what the op decomposes into.
    """
    case = make(np.random.default_rng(3))
    ruled, values = _linked(backend, case)
    with _ruleless(type(case[0])) as refused:
        try:
            simpler, _ = _linked(backend, case)
        except LoweringError:
            return math.inf
        # Compilers that wait for the first call look for rules then.
        others = simpler(*values)
    assert refused, f"{backend} asked for no rule of {name}"
    for result, other in zip(ruled(*values), others, strict=True):
        np.testing.assert_allclose(np.asarray(result), np.asarray(other), rtol=1e-5, atol=1e-5, err_msg=name)
    calls = [max(1, min(5000, int(BUDGET / max(_seconds(run, values, 1), 1e-7)))) for run in (ruled, simpler)]
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for run, count, own in zip((ruled, simpler), calls, times, strict=True):
            own.append(_seconds(run, values, count))
    return statistics.median(times[1]) / statistics.median(times[0])


def work(backend: str, names: Sequence[str]) -> None:
    """Measure ops on a backend; print a line of JSON for each size."""
    # PyTorch's compiler takes seconds for each graph: its functions are called one by one.
    with config.change_flags(torch__compile=False, on_python_step="ignore"):
        for name in names:
            for size, make in CASES[name].items():
                ratio = measured(backend, name, make)
                print(json.dumps({"op": name, "size": size, "ratio": ratio}), flush=True)


def main(arguments: Sequence[str]) -> int:
    """Measure what the command line asks for, and write the table."""
    parser = argparse.ArgumentParser(prog="./dev bench lowerings", description=__doc__)
    parser.add_argument("backend", nargs="*", help="which backends; all by default")
    parser.add_argument("--op", action="append", help="which ops; all by default")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    choice = parser.parse_args(arguments)
    if choice.work:
        work(choice.backend[0], choice.op)
        return 0
    wanted: dict[str, list[str]] = {}
    ruled = pairs()
    for op, backend in ruled:
        if (not choice.backend or backend in choice.backend) and (not choice.op or op in choice.op):
            wanted.setdefault(backend, []).append(op)
    failed = False
    with tempfile.TemporaryDirectory() as directory:
        env = {**os.environ, **CONDITIONS, "TREADLE_FLAGS": f"base_compiledir={directory}"}
        for backend, names in wanted.items():
            command = [sys.executable, "-m", "benchmarks.lowerings", backend, "--work"]
            command += [part for name in names for part in ("--op", name)]
            answers = []
            with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                for text in process.stdout:
                    answers.append(json.loads(text))
                    print(f"  {' | '.join(map(str, answers[-1].values()))}", flush=True)
            failed |= process.returncode != 0
            # Of what has no rule any more nothing is kept.
            kept = ratios() if TABLE.exists() else []
            lines = {line[:3]: line for line in kept if line[:2] in ruled and line.size in CASES[line.op]}
            for answer in answers:
                key = answer["op"], backend, answer["size"]
                reason = lines[key].reason if key in lines else ""
                lines[key] = Ratio(*key, float(f"{answer['ratio']:.2f}"), reason)
            write(lines.values())
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
