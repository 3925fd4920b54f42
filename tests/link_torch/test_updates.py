"""Updates of shared variables: written into the old values' memory, where nobody else holds that."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import treadle.tensor as tt
from treadle.compile import In, Out, function, get_mode, shared
from treadle.config import config
from treadle.graph import NodeError
from treadle.link.torch.programs import compilation, static_compilation, updates
from treadle.link.torch.programs.updates import targets_of

if TYPE_CHECKING:
    from collections.abc import Callable

LARGE = updates._LEAST_REUSED // 8
i, k = tt.lvector("i"), tt.lscalar("k")
x, m, s = tt.dvector("x"), tt.dmatrix("m"), tt.dscalar("s")
ROWS = np.array([3, -1, 3])
VALUES = np.arange(6.0).reshape(3, 2)


def inside(variable: Any) -> Any:
    """Return the value in the form in which the cell holds it."""
    return variable.get_value(borrow=True, return_internal_type=True)


def memory(variable: Any) -> int:
    return int(inside(variable).data_ptr())


def start() -> Any:
    return np.arange(10.0).reshape(5, 2)


def inc_rows(w: Any) -> None:
    np.add.at(w, ROWS, VALUES)


def set_rows(w: Any) -> None:
    w[[3, -1]] = VALUES[:2]


def set_one(w: Any) -> None:
    w[-2] = VALUES[0]


def inc_backwards(w: Any) -> None:
    w[3:0:-1, ::-1] += VALUES


def inc_to(w: Any) -> None:
    w[:2] += 1.5


def inc_column(w: Any) -> None:
    w += VALUES.sum() * np.array([1, 2])


def inc_pairs(w: Any) -> None:
    np.add.at(w, ([3, -1, 3], [0, 1, 0]), VALUES[:, 0])


def from_itself(w: Any) -> None:
    w[1:] = w[:-1].copy()


def several(w: Any) -> None:
    w[0] += w[1]
    w[1:3] = VALUES[:2]
    inc_rows(w)


CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], None]]] = {
    "inc rows": (lambda w: w[i].inc(m), inc_rows),
    "set rows": (lambda w: w[i[:2]].set(m[:2]), set_rows),
    "set one": (lambda w: w[k].set(m[0]), set_one),
    "inc backwards": (lambda w: w[3:0:-1, ::-1].inc(m), inc_backwards),
    "inc to": (lambda w: w[: k + 4].inc(1.5), inc_to),
    "inc column": (lambda w: w[:, [1, 1, 0]].inc(m.sum()), inc_column),
    "inc pairs": (lambda w: w[i, [0, 1, 0]].inc(m[:, 0]), inc_pairs),
    "from itself": (lambda w: w[1:].set(w[:-1]), from_itself),
    "several": (lambda w: w[0].inc(w[1])[1:3].set(m[:2])[i].inc(m), several),
}


@pytest.mark.parametrize("case", CASES)
def test_a_partial_update_is_written_into_the_old_value(case: str) -> None:
    change, reference = CASES[case]
    w = shared(start(), name="w")
    f = function([i, m, k], [w.sum()], updates={w: change(w)}, mode="PYTORCH", on_unused_input="ignore")
    expected, place = start(), 0
    for at in range(4):
        assert f(ROWS, VALUES, -2)[0] == expected.sum()
        reference(expected)
        np.testing.assert_array_equal(w.get_value(), expected)
        # The first call is given an array, and writes into a copy.
        assert at < 1 or place == memory(w)
        place = memory(w)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float16", "float32", "complex128"])
@pytest.mark.parametrize("form", ["set", "inc"])
def test_parts_of_every_dtype_are_written_as_they_are_computed(dtype: str, form: str) -> None:
    values = np.array([1, 0, 250, 3]).astype(dtype)
    y = tt.tensor("y", dtype=dtype, shape=(None,))
    for index in (slice(0, 4), [0, 2, 2, 3]):
        w, new = shared(values, name="w"), shared(values, name="new")
        steps = {v: getattr(v[index], form)(y) for v in (w, new)}
        f = function([y], [], updates={w: steps[w]}, mode="PYTORCH")
        g = function([y], [], updates={new: steps[new]}, mode="VM")
        for at in range(3):
            f(values[::-1] if at % 2 else values)
            g(values[::-1] if at % 2 else values)
            np.testing.assert_array_equal(w.get_value(), new.get_value())


def test_large_values_take_the_memory_of_old_ones() -> None:
    w, average = shared(np.ones(LARGE)), shared(np.zeros(LARGE))
    f = function([x], [], updates={w: w - 0.5 * x, average: 0.5 * average + w}, mode="PYTORCH")
    expected_w, expected_average, places = np.ones(LARGE), np.zeros(LARGE), (0, 0)
    for at in range(4):
        f(np.full(LARGE, 2.0))
        expected_w, expected_average = expected_w - 1, 0.5 * expected_average + expected_w
        np.testing.assert_array_equal(w.get_value(), expected_w)
        np.testing.assert_array_equal(average.get_value(), expected_average)
        assert at < 1 or places == (memory(w), memory(average))
        places = memory(w), memory(average)


def test_a_value_that_changes_its_shape_is_new() -> None:
    w = shared(np.ones(LARGE))
    f = function([m], [], updates={w: (w + m)[0]}, mode="PYTORCH")
    g = function([x], [], updates={w: w + x}, mode="PYTORCH")
    for _ in range(3):
        f(np.ones((2, 1)))
        g(np.ones(LARGE))
    assert w.get_value().tolist() == [7] * LARGE
    small = shared(np.ones(1))
    h = function([x], [], updates={small: small + x}, mode="PYTORCH")
    h(np.ones(1))
    h(np.ones(LARGE))
    assert small.get_value().tolist() == [3] * LARGE


@pytest.mark.parametrize("hold", ["value", "view", "alias", "array", "saved"])
def test_what_somebody_holds_keeps_its_value(hold: str) -> None:
    w = shared(np.ones(4))
    f = function([s], [], updates={w: w[0].inc(s)}, mode="PYTORCH")
    f(1.0)
    holders: dict[str, Callable[[Any], Any]] = {
        "value": lambda tensor: tensor,
        "view": lambda tensor: tensor[:2],
        "alias": torch.Tensor.detach,
        "array": torch.Tensor.numpy,
        "saved": lambda tensor: torch.ones(4, dtype=torch.float64, requires_grad=True) * tensor,
    }
    held = holders[hold](inside(w))
    for at in range(3):
        f(1.0)
        assert w.get_value().tolist() == [3 + at, 1, 1, 1]
    if hold == "saved":
        (slope,) = torch.autograd.grad(held.sum(), held.grad_fn.next_functions[0][0].variable)
        assert slope.tolist() == [2, 1, 1, 1]
    else:
        assert held[:2].tolist() == [2, 1]


def test_arrays_that_the_user_gave_are_never_written_into() -> None:
    given, y = np.ones(LARGE), np.ones(LARGE)
    w = shared(given, borrow=True)
    f = function([x], [], updates={w: w + x}, mode="PYTORCH")
    for _ in range(3):
        f(y)
    w.set_value(given, borrow=True)
    f(y)
    tensor = torch.ones(LARGE, dtype=torch.float64)
    w.set_value(tensor)
    f(tensor)
    f(tensor)
    assert (given.max(), y.max(), tensor.max(), w.get_value().min()) == (1, 1, 1, 3)


def test_the_old_value_that_a_call_returns_stays_the_old_one() -> None:
    w = shared(start())
    outputs = [w, Out(w[3], borrow=True), Out(w.T, borrow=True), Out(w[::-1].reshape((10,)), borrow=True)]
    mode = get_mode("PYTORCH").clone(link_kwargs={"device_outputs": True})
    for chosen in ("PYTORCH", mode):
        w.set_value(start())
        f = function([], outputs, updates={w: w[3].inc(1)}, mode=chosen)
        results = [f() for _ in range(3)]
        for at, (all_of_it, row, turned, flat) in enumerate(results):
            expected = start()
            expected[3] += at
            np.testing.assert_array_equal(np.asarray(all_of_it), expected)
            np.testing.assert_array_equal(np.asarray(row), expected[3])
            np.testing.assert_array_equal(np.asarray(turned), expected.T)
            np.testing.assert_array_equal(np.asarray(flat), expected[::-1].reshape(10))


def test_the_new_value_that_a_call_returns_is_a_copy() -> None:
    w = shared(np.zeros(3))
    new = w[k].inc(1)
    f = function([k], [new], updates={w: new}, mode="PYTORCH")
    results = [f(1)[0] for _ in range(3)]
    assert [r.tolist() for r in results] == [[0, 1, 0], [0, 2, 0], [0, 3, 0]]


@pytest.mark.parametrize("swap", ["whole", "parts"])
def test_values_that_are_computed_from_each_other_are_read_before_they_change(swap: str) -> None:
    a, b = shared(np.zeros(LARGE)), shared(np.ones(LARGE))
    if swap == "whole":
        updates = {a: b + 0.0 * a, b: a + 0.0 * b}
    else:
        updates = {a: a[:].set(b), b: b[: LARGE // 2].set(a[: LARGE // 2])[LARGE // 2 :].set(a[LARGE // 2 :])}
    f = function([], [], updates=updates, mode="PYTORCH")
    for at in range(4):
        f()
        assert (a.get_value().tolist(), b.get_value().tolist()) == ([1 - at % 2] * LARGE, [at % 2] * LARGE)


def test_a_call_that_fails_leaves_all_values_as_they_were() -> None:
    a, b, c = shared(np.zeros(LARGE)), shared(np.zeros(3)), shared(np.zeros(LARGE))
    updates = {a: a + 1, b: b[i].inc(1), c: c[i].set(x[i])}
    f = function([i, x], [], updates=updates, mode="PYTORCH")
    f([0, 1], np.ones(LARGE))
    f([0, 1], np.ones(LARGE))
    before = [v.get_value() for v in (a, b, c)]
    for bad in ([0, 3], [-4, 0], [1, LARGE]):
        with pytest.raises(IndexError) as caught:
            f(bad, np.ones(LARGE))
        assert isinstance(caught.value, NodeError)
        for v, old in zip((a, b, c), before, strict=True):
            np.testing.assert_array_equal(v.get_value(), old)
    g = function([x], [], updates={b: b[:2].inc(x)}, mode="PYTORCH")
    g([1.0, 1.0])
    with pytest.raises(NodeError):
        g([1.0, 2.0, 3.0])
    assert b.get_value().tolist() == [3, 3, 0]


def test_changes_are_undone_when_one_of_them_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    # Not the calls themselves, which hold what they change.
    calls: list[str] = []

    def apply(change: Callable[[], object]) -> object:
        calls.append(repr(change))
        if len(calls) == 9:
            msg = "out of memory"
            raise RuntimeError(msg)
        return change()

    monkeypatch.setattr(updates, "call", apply)
    a, b, c = shared(np.zeros(4)), shared(np.zeros(3)), shared(np.zeros(5))
    f = function([i, s], [], updates={a: a[i].inc(s), b: b[1:].set(s), c: c[i].set(s)}, mode="PYTORCH")
    places = []
    for _ in range(3):
        f([0, 1], 1.0)
        places.append({memory(v) for v in (a, b, c)})
    # The first two calls made three changes each, and the third two: all of it was then computed in new memory.
    assert len(calls) == 9
    assert places[0] == places[1]
    assert not places[1] & places[2]
    assert [v.get_value().tolist() for v in (a, b, c)] == [[3, 3, 0, 0], [0, 1, 1], [1, 1, 0, 0, 0]]


def test_a_function_that_reads_and_one_that_writes_share_a_value() -> None:
    w = shared(np.zeros(LARGE))
    add = function([s], [], updates={w: w + s}, mode="PYTORCH")
    first = function([s], [], updates={w: w[0].set(s)}, mode="PYTORCH")
    read = function([], [w.sum(), w[:2]], mode="PYTORCH")
    add(1.0)
    place = memory(w)
    total, head = read()
    first(5.0)
    add(1.0)
    assert (total, head.tolist(), memory(w)) == (LARGE, [1, 1], place)
    assert (read()[0], read()[1].tolist()) == (2 * LARGE + 4, [6, 2])


@pytest.mark.parametrize("layout", ["turned", "every second", "backwards", "read-only", "gradient", "empty", "float"])
def test_operands_of_every_layout_are_written(layout: str) -> None:
    values = np.arange(12.0).reshape(3, 4)
    given: Any = {
        "turned": np.asfortranarray(values),
        "every second": np.repeat(values, 2, axis=1)[:, ::2],
        "backwards": values[::-1].copy()[::-1],
        "read-only": values.copy(),
        "gradient": torch.tensor(values, requires_grad=True),
        "empty": values[:0],
        "float": values.astype("float32"),
    }[layout]
    if layout == "read-only":
        given.flags.writeable = False
    expected = np.zeros((5, 4))
    w = shared(expected)
    f = function([m, i], [], updates={w: w[1:4].inc(m.sum(0))[i].inc(m)}, mode="PYTORCH")
    rows = np.array([4, 0, 4])[: len(given)]
    array = given.detach().numpy() if layout == "gradient" else given
    for _ in range(3):
        f(given, rows)
        expected[1:4] += array.sum(0)
        np.add.at(expected, rows, array)
        np.testing.assert_array_equal(w.get_value(), expected)
    assert not inside(w).requires_grad


def test_values_made_in_inference_mode_are_replaced_outside_of_it() -> None:
    w, v = shared(np.zeros(3)), shared(np.zeros(LARGE))
    one = function([k], [], updates={w: w[k].inc(1)}, mode="PYTORCH")
    two = function([k], [], updates={w: w[k].inc(1), v: v + 1}, mode="PYTORCH")
    with torch.inference_mode():
        one(0)
        two(0)
    for f in (one, two, one, two):
        f(1)
    with torch.inference_mode():
        one(2)
    assert (w.get_value().tolist(), v.get_value().min()) == ([2, 4, 1], 3)


def test_compiled_functions_write_into_old_values_too(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []

    def compile_static(*args: Any) -> Any:
        compiled.append(args)
        return static_compilation.compile_static(*args)

    monkeypatch.setattr(compilation, "compile_static", compile_static)
    w, v = shared(np.zeros((50, 4))), shared(np.ones(LARGE))
    loss = (w[k] * m[0]).sum()
    with config.change_flags(torch__compile=True):
        f = function([k, m], [loss], updates={w: w[k].inc(tt.exp(m[0])), v: v * tt.exp(loss - loss)}, mode="PYTORCH")
    f(3, np.zeros((1, 4)))
    f(3, np.zeros((1, 4)))
    places = memory(w), memory(v)
    assert f(3, np.ones((1, 4)))[0] == 8
    assert f(3, np.zeros((1, 4)))[0] == 0
    assert places == (memory(w), memory(v))
    assert len(compiled) == 1
    np.testing.assert_allclose(w.get_value()[3], np.full(4, 3 + np.e))


def test_a_call_makes_no_tensor_of_the_size_of_what_it_changes() -> None:
    w = shared(np.zeros((200, 200)))
    f = function([k, x], [], updates={w: w[k].inc(2 * x)}, mode="PYTORCH")
    for _ in range(3):
        f(0, np.ones(200))
    with torch.profiler.profile(profile_memory=True) as profile:
        f(1, np.ones(200))
    taken = [e.cpu_memory_usage for e in profile.events() if e.cpu_memory_usage > 0]
    assert sum(taken) < 8 * 200 * 3


def test_what_an_update_writes_into_is_found_in_the_graph() -> None:
    w, v = shared(np.zeros((3, 3))), shared(np.zeros(()))
    new = w[0].inc(x)
    graphs = {w: new, v: v + 1}
    f: Any = function([x], [], updates=graphs, mode="PYTORCH")
    # A number takes no less time in old memory.
    assert [t.input for t in targets_of(f.program.fgraph, [(1, 0), (2, 1)])] == [1]
    g: Any = function([x], [new.sum()], updates={w: new}, mode="PYTORCH")
    assert targets_of(g.program.fgraph, [(1, 1)]) == []


def test_defaults_and_mutable_arguments_beside_updates() -> None:
    w = shared(np.zeros(3))
    f = function([In(x, mutable=True), In(s, value=2.0)], [x * s], updates={w: w[:].inc(x * s)}, mode="PYTORCH")
    given = np.ones(3)
    for at in range(1, 4):
        assert f(given)[0].tolist() == [2, 2, 2]
        assert w.get_value().tolist() == [2 * at] * 3
    assert sys.getrefcount(given) == 2


@pytest.mark.parametrize("how", ["operations", "compiled", "update"])
@pytest.mark.parametrize("count", [6, 40])
def test_the_last_of_the_values_for_one_position_is_set(how: str, count: int) -> None:
    # PyTorch's threads set long rows in any order.
    rng = np.random.default_rng(count)
    positions, values = rng.integers(-3, 3, count), rng.normal(size=(count, 4096))
    expected = np.zeros((5, 4096))
    expected[positions] = values
    w, target = shared(np.zeros((5, 4096))), tt.dmatrix("target")
    with config.change_flags(torch__compile=how == "compiled"):
        f = function([target, i, m], target[i].set(m), mode="PYTORCH")
        g = function([i, m], [], updates={w: w[i].set(m)}, mode="PYTORCH")
    for _ in range(5):
        if how == "update":
            g(positions, values)
            np.testing.assert_array_equal(w.get_value(), expected)
        else:
            np.testing.assert_array_equal(f(np.zeros((5, 4096)), positions, values), expected)


@pytest.mark.parametrize("form", ["loop", "while loop", "choice", "loop of large steps"])
def test_functions_with_loops_and_choices_write_into_old_values_too(form: str) -> None:
    zero, eye = tt.constant(0.0), tt.eye(3)
    value = {
        "loop": tt.scan(lambda r, a: 0.5 * a + r, sequences=[x], outputs_info=[zero])[0][-1],
        "while loop": tt.while_loop(lambda a: a < 10, lambda a: 2 * a, x[0] + 1),
        "choice": tt.ifelse(x.sum() > 0, x[0], 2 * x[1]),
        "loop of large steps": tt.scan(lambda r, a: tt.linalg.eigh(a @ a.T)[1] * r, sequences=[x], outputs_info=[eye])[
            0
        ][-1].sum(),
    }[form]
    rows, whole = shared(np.ones((40, 3))), shared(np.ones(2 * LARGE))
    updates = {rows: tt.inc_subtensor(rows[k], value), whole: whole - value * whole.sum() / LARGE}
    f = function([x, k], [value, whole.sum()], updates=updates, mode="PYTORCH")
    expected = [np.ones((40, 3)), np.ones(2 * LARGE)]
    held, places = None, None
    for at in range(5):
        result, total = f([0.5, 0.25, -0.125], at)
        np.testing.assert_allclose(total, expected[1].sum())
        expected[0][at] += result
        expected[1] = expected[1] - result * expected[1].sum() / LARGE
        for variable, wanted in zip((rows, whole), expected, strict=True):
            np.testing.assert_allclose(variable.get_value(), wanted, rtol=1e-12)
        if at == 3:
            assert [memory(rows), memory(whole)] == places
            held = rows.get_value(borrow=True, return_internal_type=True)
            before = held.clone()
        places = [memory(rows), memory(whole)]
    assert held is not None
    assert torch.equal(held, before)
    assert memory(rows) != held.data_ptr()
