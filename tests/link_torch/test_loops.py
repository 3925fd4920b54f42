"""Loops: carries, stacked results, conditions, what steps may hold, errors, and loops that are compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import treadle.tensor as tt
from tests.link_torch.programs import check, link, reference, sample, tensor
from treadle.compile import function
from treadle.config import config
from treadle.graph import Apply, FunctionGraph, LoweringError, Op
from treadle.link.torch import whole_loops
from treadle.link.torch.programs import steps
from treadle.link.torch.programs.program import TorchProgram
from treadle.link.torch.whole_loops import with_whole_loops
from treadle.link.vm import PythonStepWarning, Segment
from treadle.tensor.random import PortableGenerator, shared_rng
from treadle.tensor.random.generators.portable_keys import NOTICE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DTYPES = ("bool", "int8", "uint16", "uint64", "int64", "float16", "float32", "float64", "complex64", "complex128")


@pytest.fixture
def _step_by_step() -> Iterator[None]:
    """Run loops by PyTorch's operations."""
    with config.change_flags(torch__whole_loops=False):
        yield


@pytest.fixture(params=[True, False], ids=["whole", "step_by_step"])
def _either_way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run loops as programs of the C backend, and by PyTorch's operations."""
    with config.change_flags(torch__whole_loops=request.param):
        yield


def running(x: Any, start: Any) -> list[Any]:
    """Return the last value and the rows of a loop over a sequence."""

    def step(carry: Any, row: Any) -> Any:
        new = carry | row if x.dtype == "bool" else carry * row + row
        return new, (new, row)

    last, rows = tt.scan_with_carry(step, start, x)
    return [last, *rows]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [0, 1, 70])
@pytest.mark.usefixtures("_either_way")
def test_loops_agree_with_the_vm_in_every_dtype(dtype: str, count: int) -> None:
    x, start = tensor(dtype, 2), tensor(dtype, 1)
    values = sample(dtype, (count, 3)), sample(dtype, (3,))
    if np.dtype(dtype).kind in "fc":
        values = values[0] / np.array(8, dtype), values[1]
    check([x, start], running(x, start), values)


@pytest.mark.usefixtures("_either_way")
def test_a_while_loop_ends_at_the_first_step_later_or_never_begins() -> None:
    x = tt.dscalar("x")
    outputs = [tt.while_loop(lambda y: y < 100, lambda y: y * y + 1, x)]
    for value in (200.0, 99.0, 1.0, 0.0):
        check([x], outputs, [np.array(value)])


@pytest.mark.usefixtures("_either_way")
def test_the_number_of_steps_may_be_computed_and_end_early() -> None:
    x, n = tt.dvector("x"), tt.lscalar("n")
    outputs = [*tt.scan_with_carry(lambda c, _: (c + x.sum(), c), tt.constant(0.0), None, length=n * 2)]
    for count in (0, 1, 40):
        check([x, n], outputs, [np.ones(3), np.array(count)])


@pytest.mark.usefixtures("_either_way")
def test_a_carry_may_grow() -> None:
    n = tt.lscalar("n")
    grown = tt.fori_loop(0, n, lambda i, v: tt.concatenate([v, v[-1:] + i]), tt.dvector("x")[:])
    (x,) = [v for v in grown.owner.inputs if v.type.ndim == 1]
    check([n, x], [grown], [np.array(80), np.ones(2)])


@pytest.mark.usefixtures("_either_way")
def test_loops_may_stand_in_loops_and_choices_in_steps() -> None:
    x, w = tt.dmatrix("x"), tt.dscalar("w")

    def inner(carry: Any, entry: Any) -> Any:
        return tt.ifelse(entry > 0, carry + entry, carry * w), carry

    last, rows = tt.scan_with_carry(lambda c, row: tt.scan_with_carry(inner, c, row), w, x)
    check([x, w], [last, rows], [sample("float64", (4, 5)), np.array(0.5)])


@pytest.mark.usefixtures("_either_way")
def test_a_loop_in_the_branch_not_taken_does_not_run() -> None:
    x, c = tt.dvector("x"), tt.bscalar("c")
    endless = tt.while_loop(lambda y: y > 0, lambda y: y + 1, x[0])
    program = link([x, c], [tt.ifelse(c, x.sum(), endless)])
    assert float(program(np.ones(2), np.array(1, "int8"))[0]) == 2.0


@pytest.mark.parametrize(
    ("build", "values", "message"),
    [
        (lambda x, n: tt.scan_with_carry(lambda c, r: (c, r), 0.0, x, length=n), (2, -1), "negative"),
        (lambda x, n: tt.scan_with_carry(lambda c, r: (c, r), 0.0, x, length=n), (2, 3), "length"),
        (lambda x, n: tt.fori_loop(0, 9, lambda i, c: c + x[i + n], 0.0), (5, 0), r"In step 5 of the loop Scan\{"),
        (
            lambda x, n: tt.scan_with_carry(lambda c, _: (c + 1, x[:c]), tt.constant(0), None, length=n)[1],
            (5, 3),
            "shape",
        ),
    ],
)
@pytest.mark.usefixtures("_either_way")
def test_errors_name_the_step_and_the_line(
    build: Callable[[Any, Any], Any], values: tuple[int, int], message: str
) -> None:
    x, n = tt.dvector("x"), tt.lscalar("n")
    built = build(x, n)
    outputs = [built] if not isinstance(built, tuple) else [*built]
    with pytest.raises(ValueError if "step" not in message else IndexError, match=message) as caught:
        link([x, n], outputs)(np.ones(values[0]), np.array(values[1]))
    assert "test_loops.py" in str(caught.value)


@pytest.mark.usefixtures("_either_way")
def test_results_share_memory_with_nothing() -> None:
    x = tt.dvector("x")
    last, (rows, same) = tt.scan_with_carry(lambda c, r: (r, (c, r)), x[0], x)
    value = np.arange(3.0)
    program = link([x], [last, rows, same, x], native=[0, 1])
    arrays = [np.asarray(a) for a in program(value)]
    assert isinstance(program(value)[0], torch.Tensor)
    for array in arrays:
        assert not np.shares_memory(array, value)
        array[...] = -1
    assert value.tolist() == [0.0, 1.0, 2.0]


@pytest.fixture
def _four_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile four steps together rather than sixteen, which takes longer."""
    monkeypatch.setattr(steps, "AT_ONCE", 4)


@pytest.mark.slow
@pytest.mark.usefixtures("_four_at_once", "_step_by_step")
def test_a_compiled_loop_agrees_with_the_vm_for_any_number_of_steps() -> None:
    x, w = tt.dvector("x"), tt.dscalar("w")
    last, rows = tt.scan_with_carry(lambda c, r: (tt.tanh(c * w + r), c * r), 0.0, x)
    outputs = [last, rows, *tt.grad(last + (rows**2).sum(), [x, w])]
    program = link([x, w], outputs, compiled=True)
    for count in (0, 1, 16, 19, 40):
        values = sample("float64", (count,)), np.array(0.7)
        for got, want in zip(program(*values), reference([x, w], outputs, values), strict=True):
            np.testing.assert_allclose(got, want, 1e-12, 1e-12)


@pytest.mark.usefixtures("_four_at_once", "_step_by_step")
def test_a_compiled_while_loop_ends_at_its_step_and_not_later() -> None:
    x = tt.dscalar("x")
    carries = tt.while_loop(lambda c: c[0] < x, lambda c: (c[0] + 1, c[1] * 0.5 + c[0]), (0.0, 1.0))
    program = link([x], carries, compiled=True)
    for count in (3.0, 64.0, 81.0, 200.0):
        np.testing.assert_allclose(program(np.array(count)), reference([x], carries, [np.array(count)]), 1e-14)


def _drawn(rng: Any, x: Any) -> tuple[Any, list[Any]]:
    """Draw in a loop, in a loop inside of it, and after that."""

    def inner(carry: Any, row: Any) -> tuple[Any, Any]:
        rng, total = carry
        rng, drawn = rng.normal(row, 1.0)
        return (rng, total + drawn), drawn

    def outer(carry: Any, row: Any) -> tuple[Any, Any]:
        (rng, total), drawn = tt.scan_with_carry(inner, carry, tt.stack([row, -row]))
        rng, uniform = rng.uniform(0, 1, size=(3,))
        return (rng, total), (drawn, uniform)

    (after, total), (drawn, uniform) = tt.scan_with_carry(outer, (rng, 0.0), x)
    return after, [total, drawn, uniform]


@pytest.mark.usefixtures("_either_way")
def test_portable_draws_in_a_loop_are_those_of_the_vm() -> None:
    x = tt.dvector("x")
    draws = []
    for mode in ("FAST_COMPILE", "PYTORCH"):
        rng = shared_rng(PortableGenerator(1))
        after, results = _drawn(rng, x)
        with config.change_flags(torch__compile=False):
            draw = function([x], results, updates={rng: after}, mode=mode)
        draws.append([np.concatenate([y.ravel() for y in draw(np.ones(4))]) for _ in range(2)])
    assert np.allclose(draws[0], draws[1])


@pytest.mark.usefixtures("_either_way")
def test_draws_from_a_generator_of_numpys_take_one_key_before_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NOTICE, "given", True)
    x, rng = tt.dvector("x"), shared_rng(np.random.default_rng(1))
    after, results = _drawn(rng, x)
    with config.change_flags(torch__compile=False):
        draw = function([x], results, updates={rng: after}, mode="PYTORCH")
    total, drawn, uniform = draw(np.zeros(20))
    assert np.isclose(total, drawn.sum())
    assert len({*drawn.ravel(), *uniform.ravel()}) == 100
    wanted = np.random.default_rng(1)
    wanted.integers(0, 2**64, 2, "uint64")
    assert rng.get_value().bit_generator.state == wanted.bit_generator.state
    assert not np.isin(draw(np.zeros(20))[1], drawn).any()


def _loop(x: Any) -> list[Any]:
    last, rows = tt.scan_with_carry(lambda c, row: (tt.tanh(c) * row + 0.5, c), tt.constant(0.0), x)
    return [last, rows]


def test_a_loop_is_a_program_of_the_c_backend_unless_the_option_says_no() -> None:
    x = tt.dvector("x")
    ops = [node.op for node in link([x], _loop(x)).fgraph.toposort()]
    (loop,) = [op for op in ops if isinstance(op, Segment)]
    assert type(loop.program).__module__.startswith("treadle.link.c")
    assert not any(isinstance(op, tt.Scan) for op in ops)
    with config.change_flags(torch__whole_loops=False):
        ops = [node.op for node in link([x], _loop(x)).fgraph.toposort()]
    assert any(isinstance(op, tt.Scan) for op in ops)


def test_without_the_c_backend_and_on_other_devices_loops_run_by_pytorchs_operations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = tt.dvector("x")
    graph = FunctionGraph([x], _loop(x))
    assert with_whole_loops(graph, torch.device("meta")) is graph
    monkeypatch.setattr(whole_loops, "BACKEND", "absent")
    assert with_whole_loops(graph, torch.device("cpu")) is graph


def test_tensors_enter_a_loop_where_they_are_and_gradients_come_back() -> None:
    x = tt.dvector("x")
    compiled: Any = function([x], _loop(x)[0], mode="PYTORCH")
    f = compiled.torch_function
    value = torch.linspace(-1, 1, 9, dtype=torch.float64, requires_grad=True)
    f(value).backward()
    assert torch.autograd.gradcheck(f, (value.detach()[::2].requires_grad_(),))
    expected = function([x], tt.grad(_loop(x)[0], x), mode="VM")(value.detach().numpy())
    np.testing.assert_allclose(value.grad.numpy(), expected, 1e-12)


class _Double(Op):
    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, [tt.as_tensor(inputs[0])], [tt.dscalar()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        output_storage[0][0] = np.asarray(2 * inputs[0])


def test_a_step_may_hold_an_op_that_runs_in_python_and_it_is_named() -> None:
    x = tt.dvector("x")
    total, _ = tt.scan_with_carry(lambda c, row: (_Double()(c) + row, None), 0.0, x)
    with pytest.warns(PythonStepWarning, match=r"no lowering for _Double, built at test_loops\.py:\d+"):
        program = link([x], [total])
    assert program(np.ones(3))[0] == 7
    with config.change_flags(on_python_step="raise"), pytest.raises(LoweringError, match=r"_Double.*test_loops"):
        link([x], [total])


def test_loops_of_few_steps_are_written_out_on_request() -> None:
    x, m = tt.dvector("x"), tt.dmatrix("m")
    last, rows = tt.scan_with_carry(
        lambda c, row: (tt.fori_loop(0, 2, lambda i, d: d * x[i] + row, c), c), x[0], m[0], length=3
    )
    values = np.array([0.5, 2.0]), np.arange(8.0).reshape(2, 4)
    with config.change_flags(torch__unroll=3):
        program = link([x, m], [last, rows])
        check([x, m], [last, rows], values)
    assert isinstance(program, TorchProgram)
    assert not isinstance(link([x, m], [last, rows]), TorchProgram)
    with pytest.raises(ValueError, match=r"shorter than its 3 steps"):
        program(values[0], values[1][:, :2])


@pytest.mark.parametrize(("shape", "axis"), [((70_001,), 0), ((2, 40_000), 1), ((300, 300), 0), ((3, 12_000, 2), 1)])
def test_long_linear_recurrences_are_those_of_the_virtual_machine(shape: tuple[int, ...], axis: int) -> None:
    decay, x = tensor("float64", len(shape), "decay"), tensor("float64", len(shape), "x")
    h = tt.LinearRecurrence(axis)(decay, x)
    rng = np.random.default_rng(axis)
    lengths = [n - (d == axis) for d, n in enumerate(shape)]
    check([decay, x], [h], [rng.uniform(-1, 1, lengths), rng.normal(size=shape)])
    with pytest.raises(ValueError, match="do not fit"):
        link([decay, x], [h])(np.ones(shape), np.ones(shape))
