"""Loops and their gradients: rewriting keeps their values, whatever rule is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import assert_same, rewrite, run
from tests.tensor_rewrites.rule_sets import RULE_SETS
from treadle.compile import function
from treadle.graph import FunctionGraph
from treadle.rewrite import RewriteDatabaseQuery, default_database
from treadle.scan import scan
from treadle.tensor.loops.loops import Scan

if TYPE_CHECKING:
    from collections.abc import Callable


STEPS = 5
LOOP_RULES = [item.name for rules in RULE_SETS if rules.name.startswith("loops_") for item in rules]


class Inputs(NamedTuple):
    """Inputs of the loops below."""

    x: Any
    h: Any
    w: Any
    u: Any
    s: Any


def inputs() -> Inputs:
    """Return inputs by name; the sequence is x, of vectors."""
    return Inputs(tt.matrix("x"), tt.vector("h"), tt.matrix("w"), tt.matrix("u"), tt.scalar("s"))


def values(steps: int = STEPS) -> list[Any]:
    rng = np.random.default_rng(1)
    shapes = ((steps, 3), (3,), (3, 3), (3, 3), ())
    return [rng.uniform(0.1, 0.6, shape) for shape in shapes]


def recurrent(v: Inputs) -> Any:
    def step(h: Any, x: Any) -> Any:
        new = tt.tanh(tt.dot(v.w, h) + tt.dot(v.u, x))
        return new, new

    return tt.scan_with_carry(step, v.h, v.x)[1].sum()


def variance(v: Inputs) -> Any:
    def step(carry: Any, x: Any) -> Any:
        var, total = carry
        return (v.s + v.h[0] * x[0] ** 2 + v.h[1] * var, total + tt.log(var) + x[1] / var), var

    return tt.scan_with_carry(step, (v.s, 0.0), v.x)[0][1]


def runge_kutta(v: Inputs) -> Any:
    def step(y: Any, _: Any) -> Any:
        k1 = tt.dot(v.w, y)
        return y + 0.1 * tt.dot(v.w, y + 0.05 * k1), None

    return (tt.scan_with_carry(step, v.h, length=v.x.shape[0])[0] ** 2).sum()


def moving(v: Inputs) -> Any:
    def step(carry: Any, x: Any) -> Any:
        before, last = carry
        new = v.s * last + v.h[0] * before + x
        return (last, new), new * last

    last, rows = tt.scan_with_carry(step, (v.h, v.h), v.x)
    return rows.sum() + last[1].sum()


def mapped(v: Inputs) -> Any:
    return tt.scan_with_carry(lambda _, x: (None, tt.exp(x) * v.s + tt.dot(v.w, x)), None, v.x)[1].sum()


def twins(v: Inputs) -> Any:
    def step(carry: Any, x: Any) -> Any:
        a, b, still, dead = carry
        return (tt.sin(a) + x * still, tt.sin(b) + x * still, still, dead * a), (a, b, x, still)

    (a, b, _, _), (c, d, e, f) = tt.scan_with_carry(step, (v.h, v.h, v.s, v.h), v.x)
    return (a * b).sum() + (c + d + e).sum() + f.sum()


def products(v: Inputs) -> Any:
    def step(carry: Any, x: Any) -> Any:
        h, total, other = carry
        return (tt.cos(h) * x, total + tt.outer(h, x) + tt.dot(v.w, tt.outer(x, x)), other + x), h

    (h, total, other), rows = tt.scan_with_carry(step, (v.h, v.w, v.h), v.x)
    return (total * v.u).sum() + h.sum() + (rows * other).sum()


def nested(v: Inputs) -> Any:
    def step(h: Any, x: Any) -> Any:
        inner = tt.scan_with_carry(lambda a, y: (tt.sin(a) + y * v.s, None), v.s, x)[0]
        return h * inner, inner

    last, rows = tt.scan_with_carry(step, v.h, v.x)
    return last.sum() + rows.sum()


def repeated(v: Inputs) -> Any:
    return tt.while_loop(lambda y: y.sum() < 30, lambda y: 1.5 * y + v.s, v.h).sum() + v.x.sum()


def accumulated(v: Inputs) -> Any:
    def step(carry: Any, x: Any) -> Any:
        total, product = carry
        return ((after := total + x[0]), (new := product * x)), (after * v.s + total, new)

    (total, _), (sums, products) = tt.scan_with_carry(step, (v.s, v.h), v.x)
    return total * sums.sum() + (tt.dot(v.w, products[-1]) + tt.dot(v.u, products.sum(axis=0))).sum()


def last_rows(v: Inputs) -> Any:
    def step(h: Any, x: Any) -> Any:
        new = tt.tanh(tt.dot(v.w, h) + x)
        return new, (new, tt.dot(v.u, new) * x)

    _, (states, rows) = tt.scan_with_carry(step, v.h, v.x)
    return (states[-1] * rows[-1]).sum() * v.s


LOOPS = [recurrent, variance, runge_kutta, moving, mapped, twins, products, nested, repeated, accumulated, last_rows]


def built(loop: Callable[[Inputs], Any]) -> tuple[Inputs, list[Any]]:
    """Return inputs, a loop's value and its gradients by all of them."""
    v = inputs()
    value = loop(v)
    return v, [value, *tt.grad(value, list(v), disconnected_inputs="ignore")]


def loops_in(fgraph: FunctionGraph) -> list[Scan]:
    """Return the loops of a graph."""
    return [node.op for node in fgraph.toposort() if isinstance(node.op, Scan)]


@pytest.mark.parametrize("steps", [STEPS, 1, 0])
@pytest.mark.parametrize("loop", LOOPS)
def test_rewritten_loop_and_its_gradient_give_the_same_values(loop: Callable[[Inputs], Any], steps: int) -> None:
    if loop in {accumulated, last_rows} and not steps:
        pytest.skip("there is no last row")
    v, outputs = built(loop)
    plain, _ = rewrite(v, outputs, RewriteDatabaseQuery())
    fgraph, _ = rewrite(v, outputs)
    pairs = list(zip(run(plain, values(steps)), run(fgraph, values(steps)), strict=True))
    # For results without elements, rewriting may know more about the shape.
    assert all(old.size == new.size for old, new in pairs)
    kept = [(old, new) for old, new in pairs if old.size]
    assert_same([old for old, _ in kept], [new for _, new in kept])


@pytest.mark.slow
@pytest.mark.parametrize("rule", LOOP_RULES)
@pytest.mark.parametrize("loop", LOOPS)
def test_values_stay_the_same_without_each_of_the_rules(loop: Callable[[Inputs], Any], rule: str) -> None:
    v, outputs = built(loop)
    plain, _ = rewrite(v, outputs, RewriteDatabaseQuery())
    fgraph, report = rewrite(v, outputs, RewriteDatabaseQuery(["fast_run"], exclude=["fusion", "inplace", rule]))
    assert rule not in report.fired()
    assert_same(run(plain, values()), run(fgraph, values()))


@pytest.mark.parametrize("loop", [recurrent, variance, moving])
def test_gradient_takes_one_loop_forward_and_one_backward(loop: Callable[[Inputs], Any]) -> None:
    v, outputs = built(loop)
    fgraph, _ = rewrite(v, outputs)
    assert len(loops_in(fgraph)) == 2


def test_gradient_by_weights_is_one_product_after_the_loop() -> None:
    v, outputs = built(recurrent)
    fgraph, _ = rewrite(v, outputs)
    _, backward = loops_in(fgraph)
    assert backward.n_carries == 1


@pytest.mark.parametrize("loop", [variance, repeated])
def test_every_change_of_a_loop_passes_the_checks_of_rules(loop: Callable[[Inputs], Any]) -> None:
    v, outputs = built(loop)
    fgraph = FunctionGraph(list(v), outputs, clone=True)
    report = (
        default_database().query(RewriteDatabaseQuery(["fast_run"], exclude=["inplace"])).rewrite(fgraph, checks=True)
    )
    assert report.checked > 0


def test_documented_names_leave_the_rules_of_loops_out() -> None:
    v, outputs = built(recurrent)
    _, report = rewrite(v, outputs, RewriteDatabaseQuery(["fast_run"], exclude=["scan"]))
    assert not set(LOOP_RULES).intersection(report.fired())
    _, report = rewrite(v, outputs, RewriteDatabaseQuery(["fast_run"], exclude=["scan_pushout"]))
    fired = set(report.fired())
    assert "merge_loops" in fired
    assert not {"rows_out_of_loop", "sums_out_of_loop", "results_out_of_loop"} & fired


def test_loop_of_which_the_last_row_is_read_stacks_nothing() -> None:
    v = inputs()
    fgraph, _ = rewrite(v, [last_rows(v)])
    (loop,) = loops_in(fgraph)
    assert loop.n_stacked == 0


def test_last_row_of_a_loop_without_steps_is_an_error_of_its_line() -> None:
    v = inputs()
    fgraph, _ = rewrite(v, [last_rows(v)])
    with pytest.raises(IndexError, match="the loop made no step"):
        run(fgraph, values(0))


def test_negative_number_of_steps_stays_an_error() -> None:
    v = inputs()
    n = tt.lscalar("n")
    outputs = [tt.scan_with_carry(lambda s, _: (tt.sin(s), s), v.s, length=n)[1]]
    fgraph, _ = rewrite([n, v.s], outputs)
    with pytest.raises(ValueError, match="negative"):
        run(fgraph, [np.array(-1), np.array(0.5)])


def test_loop_makes_no_more_steps_than_are_read() -> None:
    v = inputs()
    rows = tt.scan_with_carry(lambda h, x: ((new := tt.sin(h) + x), new), v.h, v.x)[1]
    fgraph, report = rewrite(v, [rows[:2] + rows[1]])
    assert "fewer_steps" in report.fired()
    results = run(fgraph, values(4))
    plain, _ = rewrite(v, [rows[:2] + rows[1]], RewriteDatabaseQuery())
    assert_same(run(plain, values(4)), results)


@pytest.mark.parametrize(
    "read",
    [
        lambda y: [y[-3:]],
        lambda y: [y[-3:][::-1], y[-2]],
        lambda y: [y[-2], y[-4:-1], y[-1, 0]],
        lambda y: [y[:-4:-1]],
        lambda y: [y[-4::2, 1]],
    ],
    ids=["slice", "reversed", "parts", "from the end", "every other row"],
)
def test_loop_keeps_no_more_rows_than_are_read_at_its_end(read: Any) -> None:
    n, h = tt.lscalar("n"), tt.dvector("h")
    plain = function([n, h], read(_stacked(h, n)), mode="FAST_COMPILE")
    known = function([n, h], read(_stacked(h, 9)), mode="FAST_COMPILE", on_unused_input="ignore")
    start = np.array([0.1, 0.2])
    for outputs, expected, counts in ((_stacked(h, n), plain, (4, 5, 7, 12)), (_stacked(h, 9), known, (1,))):
        compiled = function([n, h], read(outputs), mode="VM", on_unused_input="ignore")
        loops = [node.op for node in compiled.maker.fgraph.toposort() if isinstance(node.op, Scan)]
        assert [op.n_stacked for op in loops] == [0]
        for count in counts:
            for result, wanted in zip(compiled(count, start), expected(count, start), strict=True):
                np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_fewer_steps_than_rows_are_read_give_fewer_rows(count: int) -> None:
    n, h = tt.lscalar("n"), tt.dvector("h")
    compiled = function([n, h], _stacked(h, n)[-3:], mode="VM")
    assert compiled(count, np.array([0.1, 0.2])).shape == (min(count, 3), 2)


def _stacked(h: Any, n: Any) -> Any:
    return scan(lambda s: tt.tanh(s * 1.1 + 0.1), outputs_info=h, n_steps=n, return_updates=False)
