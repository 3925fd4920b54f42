"""The records cover every op, and the contract catches backends that break it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from inspect import isabstract
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.graph import IfElse, Op, applys_between
from treadle.surface.ops.op_kinds import OpKind
from treadle.tensor import ExternalOp, GradientError
from treadle.testing import SAMPLES, VARIANTS, Check, Sample, SampleTable, checks, contract, verify_grad
from treadle.testing import contract as contract_function
from treadle.testing.contract import run_check
from treadle.testing.errors import ContractError, DuplicateSampleError, UnknownBackendError
from treadle.testing.parts import as_tuple, variables
from treadle.testing.records.table import left_out
from treadle.testing.sample import OPTIONAL_DTYPES, REALS


def op_classes() -> set[type[Op]]:
    """Return the classes of all ops of the package, except bases, what stands for others, graphs as ops, and draws."""
    kinds: set[type[Op]] = set()
    pending: list[type[Any]] = [Op]
    while pending:
        more = pending.pop().__subclasses__()
        pending += [kind for kind in more if kind is not tt.OpFromGraph]
        kinds.update(more)
    packages = ("treadle.tensor.", "treadle.surface.", "treadle.sparse.")
    ours = {
        kind
        for kind in kinds
        if kind.__module__.startswith(packages) and not isabstract(kind) and not isinstance(kind, OpKind)
    }
    drawing = ("treadle.tensor.random.", "treadle.tensor.loops.states")
    recorded = {kind for kind in ours if not kind.__module__.startswith(drawing) and not kind.__name__.startswith("_")}
    return (recorded | {IfElse}) - {ExternalOp}


def ops_of(sample: Sample) -> set[Op]:
    inputs = variables(sample, sample.dtypes[-1], known=False)
    return {node.op for node in applys_between(inputs, list(as_tuple(sample.build(*inputs))))}


@pytest.fixture(scope="module")
def all_ops() -> set[Op]:
    return {op for sample in SAMPLES for op in ops_of(sample)}


def test_every_scalar_op_has_a_record(all_ops: set[Op]) -> None:
    covered = {op.scalar_op.name for op in all_ops if isinstance(op, tt.Elemwise)}
    assert set(tt.SCALAR_OPS.names()) - covered == set()


def test_every_op_of_the_package_has_a_record(all_ops: set[Op]) -> None:
    # Ops on named tensors become plain ones; tests/named has each of them.
    recorded = {type(op) for op in all_ops if not type(op).__module__.startswith("treadle.named.")}
    assert recorded == op_classes()


def test_every_kind_of_reduction_has_a_record(all_ops: set[Op]) -> None:
    assert {op.kind for op in all_ops if isinstance(op, tt.Reduction)} == set(tt.KINDS)
    assert {op.kind for op in all_ops if isinstance(op, tt.ArgReduction)} == {"argmax", "argmin"}


@pytest.mark.parametrize("dtype", REALS)
def test_every_op_is_checked_at_every_dtype(dtype: str) -> None:
    met = {op for sample in SAMPLES if dtype in sample.dtypes for op in ops_of(sample)}
    wanted = {kind for kind in op_classes() if dtype not in left_out().get(kind, ())}
    assert wanted - {type(op) for op in met} == set()
    kinds = {op.kind for op in met if isinstance(op, tt.Reduction | tt.ArgReduction)}
    assert kinds == {*tt.KINDS, "argmax", "argmin"}
    writes = {(type(op), op.set) for op in met if isinstance(op, tt.IncSubtensor | tt.AdvancedIncSubtensor)}
    assert len(writes) == 4


REFUSED = [(s, dtype) for s in SAMPLES if s.takes_all for dtype in REALS if dtype not in s.dtypes]
DIFFERENTIABLE = [s for s in SAMPLES if s.wrt and "first" in s.kinds]


@pytest.mark.parametrize(("sample", "dtype"), REFUSED, ids=str)
def test_a_dtype_that_a_record_leaves_out_is_refused(sample: Sample, dtype: str) -> None:
    inputs = variables(sample, dtype, known=False)
    with pytest.raises(tt.DtypeError):
        sample.build(*inputs)


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_derivatives_have_the_dtypes_of_what_they_belong_to(dtype: str) -> None:
    wrong = []
    for sample in DIFFERENTIABLE:
        if dtype not in sample.dtypes and not (dtype == "float16" and sample.any_rank and "float32" in sample.dtypes):
            continue
        inputs = variables(sample, dtype, known=False)
        wrt = [inputs[i] for i in sample.wrt]
        outputs = [y for y in as_tuple(sample.build(*inputs)) if y.type.numpy_dtype.kind in "fc"]
        ones: Any = [tt.ones_like(y) for y in outputs]
        pairs = (
            list(zip(tt.pullback(outputs, wrt, ones, disconnected_inputs="ignore"), wrt, strict=True))
            if outputs
            else []
        )
        moves = [tt.ones_like(x) for x in wrt]
        pairs += zip(tt.pushforward(outputs, wrt, moves, disconnected_outputs="ignore"), outputs, strict=True)
        if any(derivative.dtype != like.dtype for derivative, like in pairs):
            wrong.append(f"{sample.family} {sample.name}")
    assert wrong == []


def test_second_sample_of_one_name_is_refused() -> None:
    sample = next(iter(SAMPLES))
    with pytest.raises(DuplicateSampleError, match="Choose another name"):
        SampleTable(sample, sample)


def test_samples_are_the_same_each_time() -> None:
    for sample in SAMPLES:
        for variant in VARIANTS:
            once, again = (sample.arrays(sample.dtypes[-1], variant) for _ in range(2))
            for a, b in zip(once, again, strict=True):
                np.testing.assert_array_equal(a, b)


def test_layouts_hold_the_plain_values() -> None:
    sample = SAMPLES.of("arithmetic")[0]
    plain = sample.arrays("float64", "plain")
    for layout in ("fortran", "strided", "reversed", "readonly"):
        np.testing.assert_array_equal(sample.arrays("float64", layout), plain)
    assert sample.arrays("float64", "reversed")[0].strides[0] < 0
    assert not sample.arrays("float64", "strided")[0].flags.c_contiguous
    assert not sample.arrays("float64", "readonly")[0].flags.writeable


def test_gap_is_checked_alone_and_expected_to_fail() -> None:
    params = contract("vm", kinds=("values",), gaps={"arithmetic-int8-*/add": "because"})
    alone = [p for p in params if str(p.values[1]) == "arithmetic-int8-values/add"]
    assert [mark.name for mark in alone[0].marks] == ["xfail"]
    group = next(p.values[1] for p in params if str(p.values[1]) == "arithmetic-int8-values")
    assert "add" not in [sample.name for sample in group.samples()]


def test_every_dtype_occurs_in_a_check() -> None:
    assert {check.dtype for check in checks()} == {*REALS, *OPTIONAL_DTYPES}


def test_unknown_backend_is_an_error_with_names() -> None:
    with pytest.raises(UnknownBackendError, match="vm"):
        run_check("wm", Check("arithmetic", "float64", "values"))


# Backends that break the contract


@contextmanager
def broken(monkeypatch: pytest.MonkeyPatch, spoil: Any) -> Iterator[None]:
    """Pass the linked programs' results through a function of (values, results)."""
    module = __import__("treadle.testing.contract", fromlist=["linked"])
    original = module.linked

    def linked(backend: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        run = original(backend, inputs, outputs)
        return lambda *values: spoil(values, list(run(*values)))

    with monkeypatch.context() as patch:
        patch.setattr(module, "linked", linked)
        patch.setattr(module, "compiled", linked)
        yield


def first_changed(change: Any) -> Any:
    return lambda _, results: [change(results[0]), *results[1:]]


class Repeating:
    """Returns the memory of its first results again and again."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def __call__(self, values: Any, results: list[Any]) -> list[Any]:
        del values
        if not self.kept or self.kept[0].shape != results[0].shape:
            self.kept = results
        for old, new in zip(self.kept, results, strict=True):
            old[...] = new
        return self.kept


def write_input(values: Any, results: list[Any]) -> list[Any]:
    if values[0].flags.writeable and values[0].size:
        values[0][...] = 0
    return results


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (first_changed(lambda x: x + 1e-6), "elements differ"),
        (first_changed(lambda x: x.astype("float32")), "dtype float32, expected float64"),
        (first_changed(lambda x: x[None]), "shape"),
        (first_changed(lambda x: x.tolist()), "a NumPy array is needed"),
        (first_changed(lambda x: np.broadcast_to(x, x.shape)), "read-only"),
        (lambda _, results: [results[1], *results[1:]], "shares memory with another result"),
        (lambda _, results: results[1:], "results, expected"),
        (Repeating(), "a second call"),
        (write_input, "an input was changed"),
    ],
)
def test_broken_backend_is_caught(monkeypatch: pytest.MonkeyPatch, spoil: Any, message: str) -> None:
    with broken(monkeypatch, spoil), pytest.raises(ContractError, match=message):
        run_check("vm", Check("dimshuffle", "float64", "values", without=("constant_as_output",)))


@pytest.mark.parametrize("kind", ["first", "second"])
def test_wrong_derivative_is_caught(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    with (
        broken(monkeypatch, lambda _, results: [1.001 * x for x in results]),
        pytest.raises(ContractError, match="finite differences give"),
    ):
        run_check("vm", Check("exponential", "float64", kind))


def test_sample_at_fault_is_named_when_a_group_cannot_be_called() -> None:
    good, other = SAMPLES.of("joining")[:2]
    bad = replace(other, build=lambda x, y: tt.join(0, x, y[:, 1:]))
    with pytest.raises(ContractError, match=f"{bad.name}.*NodeValueError") as caught:
        run_check("vm", Check("joining", "float64", "values", records=SampleTable(good, bad)))
    assert f"{good.name}[" not in str(caught.value)


def test_contract_of_a_backend_holds_all_checks() -> None:
    assert len(contract_function("vm")) == len(checks())


# verify_grad


def test_right_gradient_is_accepted() -> None:
    verify_grad(lambda x, y: tt.tanh(x) * y, [np.ones((2, 3)), np.full((3,), 0.5)], mode="VM")


def test_wrong_gradient_is_refused_with_both_numbers() -> None:
    with pytest.raises(GradientError, match=r"argument 0 .* expected"):
        verify_grad(lambda x: x * tt.floor(x), [np.array([1.0])], mode="VM")


def test_integers_are_refused() -> None:
    with pytest.raises(TypeError, match="argument 0 must be a float or complex array"):
        verify_grad(tt.exp, [np.array([1])], mode="VM")


def test_gradient_by_complex_numbers_is_checked_in_both_directions() -> None:
    points = [np.array([1 + 2j, 0.5j]), np.array([0.5, 2.0])]
    verify_grad(lambda z, x: tt.exp(z * x) / z.conj(), points, mode="VM")
    with pytest.raises(GradientError, match=r"argument 0 .* expected"):
        verify_grad(lambda z, x: x * tt.switch(tt.eq(z.imag, 2), z.real, tt.floor(z.real)), points, mode="VM")


def test_gradient_in_complex64_is_checked_loosely() -> None:
    verify_grad(lambda z: tt.sin(z) * z, [np.array([1 + 2j], "complex64")], mode="VM")


def test_function_that_works_in_place_is_checked() -> None:
    exp = tt.exp.inplace_on_inputs([0])
    verify_grad(lambda x: exp(x) * x, [np.array([0.5, -1.0])], mode="VM")
