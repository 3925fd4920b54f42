"""What ops decompose into, on the Python VM, which has a reference for every op, in place of that.

A backend with rules for all ops that are primitive computes this. Elementwise functions have `tests/tensor`.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.graph import Apply, FunctionGraph, Op, Variable, applys_between, expand
from treadle.tensor import Elemwise
from treadle.testing import SAMPLES, Check, Sample, checks, find_backend, run_check
from treadle.testing.linking import Program
from treadle.testing.parts import as_tuple, variables


def is_primitive(node: Apply) -> bool:
    return isinstance(node.op, Elemwise) or type(node.op).decompose is Op.decompose


def decomposed(backend: str, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Program:
    """Return the graph as a program of a backend, with simpler ops in place of all that have them."""
    fgraph = expand(FunctionGraph(list(inputs), list(outputs), clone=True), is_primitive)
    program = find_backend(backend).linker().link(fgraph)
    return lambda *values: program(*(v.type.filter(x) for v, x in zip(inputs, values, strict=True)))


def has_decomposition(sample: Sample) -> bool:
    inputs = variables(sample, sample.dtypes[-1], known=False)
    return not all(map(is_primitive, applys_between(inputs, list(as_tuple(sample.build(*inputs))))))


DECOMPOSED = {(sample.family, sample.name) for sample in SAMPLES if has_decomposition(sample)}
FAMILIES = {family for family, _ in DECOMPOSED}
CHECKS = [
    Check(
        check.family,
        check.dtype,
        check.kind,
        without=tuple(s.name for s in check.samples() if (s.family, s.name) not in DECOMPOSED),
    )
    for check in checks(("values", "known", "first"))
    if check.family in FAMILIES
]


@pytest.mark.parametrize("check", [check for check in CHECKS if check.samples()], ids=str)
def test_what_ops_decompose_into_keeps_the_contract(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("linked", "compiled"):
        monkeypatch.setattr(import_module("treadle.testing.contract"), name, decomposed)
    run_check("vm", check, may_refuse=())


rng = np.random.default_rng(5)
STACK = rng.normal(size=(4, 3, 3))
# A matrix with NaN, one with infinity, and a singular one.
SPOILED = STACK.copy()
SPOILED[1, 0, 2], SPOILED[2, 2, 2], SPOILED[3] = np.nan, np.inf, np.ones((3, 3))
SIDES = rng.normal(size=(4, 3, 2))
PIVOTS = np.array([[1, 2, 2], [0, 1, 2], [0, 1, 2], [2, 2, 2]], "int32")
FAR = np.array([[1.0, 1e6, 0.0], [0.0, 1.0, 1e6], [0.0, 0.0, 1.0]])
PLACES = np.array([3, 0, 3, 5])
SEQUENCE = rng.normal(size=(4, 2))
LINEAR = tt.LinearRecurrence(0)
CASES: list[tuple[Op, tuple[Any, ...]]] = [
    *((op, (SPOILED,)) for op in (tt.Det(), tt.SLogDet(), tt.Expm(), tt.MatrixSign(), tt.MatrixInverse())),
    (tt.MatrixInverse(check_finite=False), (STACK,)),
    (tt.CholeskySolve(), (SPOILED, SIDES)),
    (tt.CholeskySolve(lower=False, check_finite=False), (STACK[:1], SIDES)),
    (tt.LUSolve(), (SPOILED, PIVOTS, SIDES)),
    (tt.LUSolve(), (STACK, PIVOTS + 1, SIDES)),
    (tt.LUSolve(adjoint=True, check_finite=False), (STACK[:1], PIVOTS, SIDES[:1])),
    (tt.LUSolve(adjoint=True), (STACK + 1j * STACK[::-1], PIVOTS, SIDES + 0j)),
    (tt.PivotToPermutations(), (PIVOTS,)),
    (tt.PivotToPermutations(inverse=False), (PIVOTS.astype("int64"),)),
    # Overflow of products of pivots, which the logarithms' sums do not have; and underflow.
    (tt.Det(), (np.diag([1e200, 1e200, 1e-250, 1e-150]),)),
    (tt.Det(), (np.diag([1e-200, -1e-200, 1e150, 1e150]).astype("complex128"),)),
    (tt.SLogDet(), (STACK + 1j * STACK[::-1],)),
    # Far from normal, of a large norm, diagonal beyond the range, and nilpotent.
    *((tt.Expm(), (x,)) for x in (FAR, 50 * STACK, np.diag([1.0, 800.0, -800.0]), np.eye(3, k=1), 1j * STACK)),
    (tt.MatrixSign(), (np.array([[1e8, 1.0], [0.0, -1e-8]]),)),
    (tt.MatrixSign(), (np.array([[0.0, 1.0], [-1.0, 0.0]]),)),
    *(
        (tt.BinCount(weighted, bounded), (x, np.array(bins), np.arange(float(len(x))))[: 3 if weighted else 2])
        for weighted in (False, True)
        for bounded, x, bins in (
            (False, PLACES, 2), (False, PLACES, 8), (False, PLACES[:0], 0), (True, PLACES - 2, 3), (True, PLACES, 0),
        )
    ),
    (tt.CheckMask(), (np.ones((2, 3), "bool"), np.array(3))),
    (tt.RepeatedPositions(), (np.array([2, 0, 3]), np.array(3))),
    (tt.RepeatedPositions(), (np.array([2]), np.array(3))),
    (tt.RepeatedPositions(), (np.array([2]), np.array(0))),
    (tt.RepeatedPositions(), (PLACES[:0], np.array(0))),
    (LINEAR, (SEQUENCE[1:], SEQUENCE)),
    (tt.LinearRecurrence(1), (SEQUENCE[:, 1:].astype("float32"), SEQUENCE.astype("float32"))),
    *((LINEAR, (SEQUENCE[:0], SEQUENCE[:n])) for n in (0, 1)),
    *(
        (op, tuple(np.empty((*batch, *(n for n in x.shape[1:])), x.dtype) for x in arrays))
        for batch in ((0,), (2, 0))
        for op, arrays in (
            (tt.Det(), (STACK,)), (tt.Expm(), (STACK,)), (tt.MatrixSign(), (STACK,)), (tt.MatrixInverse(), (STACK,)),
            (tt.CholeskySolve(), (STACK, SIDES)), (tt.LUSolve(), (STACK, PIVOTS, SIDES)),
            (tt.PivotToPermutations(), (PIVOTS,)),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("op", "arrays"), CASES, ids=lambda x: str(x) if isinstance(x, Op) else "")
def test_what_an_op_decomposes_into_has_its_values(op: Op, arrays: tuple[Any, ...]) -> None:
    variables = [tt.tensor(dtype=x.dtype, ndim=x.ndim) for x in arrays]
    outputs = op(*variables, return_list=True)
    expected = find_backend("vm").linker().link(FunctionGraph(variables, outputs, clone=True))(*arrays)
    results = decomposed("vm", variables, outputs)(*arrays)
    for result, wanted in zip(results, expected, strict=True):
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        exact = 1e-5 if wanted.dtype == "float32" else 1e-10
        largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
        np.testing.assert_allclose(result, wanted, rtol=exact, atol=exact * largest)


FAILING: list[tuple[Op, tuple[Any, ...], type[Exception]]] = [
    (tt.CholeskySolve(on_error="raise"), (SPOILED, SIDES), np.linalg.LinAlgError),
    (tt.LUSolve(on_error="raise"), (SPOILED[3:], PIVOTS[3:], SIDES[3:] * np.nan), np.linalg.LinAlgError),
    (tt.LUSolve(on_error="raise"), (STACK, PIVOTS + 1, SIDES), np.linalg.LinAlgError),
    (tt.PivotToPermutations(), (PIVOTS - 1,), np.linalg.LinAlgError),
    (tt.MatrixInverse(on_error="raise"), (SPOILED[3:],), np.linalg.LinAlgError),
    (tt.MatrixSign(on_error="raise"), (SPOILED[1:2],), np.linalg.LinAlgError),
    (tt.BinCount(False, False), (PLACES - 1, np.array(3)), ValueError),
    (tt.BinCount(False, True), (PLACES, np.array(-1)), ValueError),
    (tt.BinCount(True, True), (PLACES, np.array(3), np.ones(2)), ValueError),
    (tt.BinCount(False, False), (np.array([2**63 - 1]), np.array(3)), ValueError),
    (tt.CheckMask(), (np.ones((2, 3), "bool"), np.array(4)), IndexError),
    (tt.RepeatedPositions(), (np.array([2, -1]), np.array(2)), ValueError),
    (tt.RepeatedPositions(), (np.array([2, 1]), np.array(3)), ValueError),
    (tt.RepeatedPositions(), (np.array([2**62, 2**62]), np.array(2)), ValueError),
    (LINEAR, (SEQUENCE, SEQUENCE), ValueError),
]


@pytest.mark.parametrize(("op", "arrays", "error"), FAILING, ids=lambda x: str(x) if isinstance(x, Op) else "")
def test_what_an_op_decomposes_into_fails_where_it_fails(
    op: Op, arrays: tuple[Any, ...], error: type[Exception]
) -> None:
    variables = [tt.tensor(dtype=x.dtype, ndim=x.ndim) for x in arrays]
    outputs = op(*variables, return_list=True)
    plain = find_backend("vm").linker().link(FunctionGraph(variables, outputs, clone=True))
    for run in (plain, decomposed("vm", variables, outputs)):
        with pytest.raises(error, match="built at"):
            run(*arrays)
