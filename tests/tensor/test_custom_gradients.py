"""Functions with derivatives that the user defines."""

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle import scan
from treadle.compile import OpFromGraph, function, shared
from treadle.graph import vectorize_graph


@tt.custom_vjp
def scaled(x: Any, y: Any) -> Any:
    """Return a product whose gradient by x is three times too large."""
    return tt.sin(x) * y


def scaled_fwd(x: Any, y: Any) -> Any:
    return scaled(x, y), (tt.cos(x), tt.sin(x), y)


def scaled_bwd(kept: Any, ct: Any) -> Any:
    cosine, sine, y = kept
    return 3 * ct * cosine * y, ct * sine


scaled.defvjp(scaled_fwd, scaled_bwd)


@tt.custom_jvp
def softplus(x: Any) -> Any:
    return tt.log1p(tt.exp(x))


@softplus.defjvp
def softplus_rule(primals: Any, tangents: Any) -> Any:
    (x,), (move,) = primals, tangents
    return softplus(x), tt.sigmoid(x) * move


MODES = ["VM", "FAST_RUN", pytest.param("JAX", marks=pytest.mark.slow), pytest.param("NUMBA", marks=pytest.mark.slow)]


@pytest.mark.parametrize("mode", MODES)
def test_the_given_gradient_is_taken(mode: str) -> None:
    x, y = tt.dscalars("x", "y")
    out = scaled(x, y)
    values = function([x, y], [out, *tt.grad(out, [x, y])], mode=mode)(0.5, 2.0)
    assert [float(v) for v in values] == pytest.approx([2 * np.sin(0.5), 6 * np.cos(0.5), np.sin(0.5)])


def test_second_derivatives_and_forward_mode_take_it_too() -> None:
    x, y = tt.dscalars("x", "y")
    slope = tt.grad(scaled(x, y), x)
    ahead = tt.pushforward(scaled(x, y), x, tt.constant(1.0))
    # The function is 3 cos(x) y, whose own gradient is the usual one.
    derivatives = function([x, y], [tt.grad(slope, x), tt.grad(slope, y), ahead])(0.5, 2.0)
    assert [float(v) for v in derivatives] == pytest.approx([-6 * np.sin(0.5), 3 * np.cos(0.5), 6 * np.cos(0.5)])


def test_batches_keep_the_given_gradient() -> None:
    x, y, many = tt.dscalar("x"), tt.dscalar("y"), tt.dvector("many")
    out = vectorize_graph(scaled(x, y), {x: many})
    by_x, by_y = tt.grad(out.sum(), [many, y])
    values = function([many, y], [out, by_x, by_y])([0.5, 1.0], 2.0)
    assert values[1] == pytest.approx(6 * np.cos([0.5, 1.0]))
    assert values[2] == pytest.approx(np.sin([0.5, 1.0]).sum())


def test_rewriting_and_pickles_keep_the_given_gradient() -> None:
    x, y = tt.dscalars("x", "y")
    out = scaled(x, y)
    (x2, y2), out2 = pickle.loads(pickle.dumps(((x, y), out)))
    assert float(tt.grad(out2, x2).eval({x2: 0.5, y2: 2.0})) == pytest.approx(6 * np.cos(0.5))
    first, second = scaled(x, y), scaled(x, y)
    assert first.owner.op == second.owner.op


def test_steps_of_loops_keep_the_given_gradient() -> None:
    x = tt.dscalar("x")
    last = tt.fori_loop(0, 2, lambda _, s: scaled(s, 1.0), x)
    assert float(tt.grad(last, x).eval({x: 0.5})) == pytest.approx(9 * np.cos(0.5) * np.cos(np.sin(0.5)))


@pytest.mark.parametrize("mode", MODES)
def test_directional_derivative_gives_the_gradient(mode: str) -> None:
    x = tt.dvector("x")
    out = softplus(x)
    derivatives = function([x], [tt.grad(out.sum(), x), tt.pushforward(out, x, tt.ones_like(x))], mode=mode)(
        [0.0, 1000.0]
    )
    assert derivatives[0].tolist() == [0.5, 1.0]
    assert derivatives[1].tolist() == [0.5, 1.0]
    slope = tt.grad(tt.grad(out.sum(), x).sum(), x)
    assert function([x], slope, mode="VM")([0.0]).tolist() == [0.25]


def test_rules_of_each_argument_add_up() -> None:
    @tt.custom_jvp
    def product(x: Any, y: Any) -> Any:
        return x * y

    product.defjvps(lambda move, _out, _x, y: 5 * move * y, None)
    x, y = tt.dscalars("x", "y")
    by_x, by_y = tt.grad(product(x, y), [x, y], disconnected_inputs="ignore")
    assert [float(v) for v in function([x, y], [by_x, by_y], on_unused_input="ignore")(2.0, 3.0)] == [15.0, 0.0]


def test_trees_and_arguments_without_derivative() -> None:
    @partial(tt.custom_vjp, nondiff_argnums=(1,))
    def applied(weights: Any, act: Any, x: Any) -> Any:
        return {"out": act(weights["w"] * x + weights["b"]), "x": x}

    def fwd(weights: Any, act: Any, x: Any) -> Any:
        return applied(weights, act, x), x

    def bwd(act: Any, x: Any, ct: Any) -> Any:
        del act
        return {"b": ct["out"], "w": 2 * ct["out"] * x}, None

    applied.defvjp(fwd, bwd)
    w, b, x = tt.dscalars("w", "b", "x")
    results = applied({"w": w, "b": b}, tt.tanh, x=x)
    by_w, by_b, by_x = tt.grad(results["out"], [w, b, x], disconnected_inputs="ignore")
    gradients = function([w, b, x], [by_w, by_b, by_x], on_unused_input="ignore")(1.0, 2.0, 3.0)
    assert [float(v) for v in gradients] == [6.0, 1.0, 0.0]


def test_bad_rules_are_refused_with_the_reason() -> None:
    x, y = tt.dscalars("x", "y")
    with pytest.raises(NotImplementedError, match=r"no derivative is given. Call <lambda>.defvjp"):
        tt.custom_vjp(lambda x: x)(x)
    uses_other = tt.custom_vjp(lambda x: x * y)
    uses_other.defvjp(lambda x: (x, None), lambda _, ct: (ct,))
    with pytest.raises(ValueError, match=r"uses y of type .* which is none of its arguments"):
        uses_other(x)
    wrong = tt.custom_vjp(lambda x: x * 2)
    wrong.defvjp(lambda x: (x, None), lambda _, ct: (ct, ct))
    with pytest.raises(TypeError, match="the gradient that bwd returned must have the form"):
        tt.grad(wrong(x), x)
    with pytest.raises(TypeError, match="a function is needed"):
        tt.custom_jvp(3)  # type: ignore[arg-type]  # what is refused


def test_gradient_that_is_the_same_for_each_part_of_a_batch_has_the_batch() -> None:
    x, batch = tt.dvector("x"), tt.dmatrix("batch")
    op = OpFromGraph([x], [x**2], lop_overrides=lambda *_: [tt.constant([1.0, 2.0])])
    cost = vectorize_graph(op(x), {x: batch}).sum()
    assert function([batch], tt.grad(cost, batch))(np.ones((3, 2))).tolist() == [[1.0, 2.0]] * 3


WEIGHTS = shared(np.arange(3.0))
# Values of other kinds that functions of a vector use.
BODIES: dict[str, Callable[[Any], Any]] = {
    "number": lambda q: 2 * q,
    "power": lambda q: q**2,
    "sum": lambda q: 1 + q,
    "clip": lambda q: tt.clip(q, -1, 1),
    "where": lambda q: tt.where(q > 0, q, 0),
    "zeros": lambda q: q + tt.zeros(3),
    "arange": lambda q: q * tt.arange(3.0),
    "eye": lambda q: tt.dot(tt.eye(3), q),
    "shared": lambda q: q * (WEIGHTS + 1),
    "constant": lambda q: q + tt.constant([1.0, 2.0, 3.0]) * 2,
    "array": lambda q: q[::-1] * np.arange(3.0),
    "ones_like": lambda q: tt.exp(q / 2) + tt.ones_like(q),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("form", ["vjp", "jvp"])
def test_function_of_a_vector_may_hold_numbers_and_constants(form: str, body: Callable[[Any], Any]) -> None:
    rule: Any
    if form == "vjp":
        rule = tt.custom_vjp(body)
        rule.defvjp(lambda q: (body(q), q), lambda kept, ct: (2 * ct * kept,))
    else:
        rule = tt.custom_jvp(body)
        rule.defjvp(lambda primals, tangents: (body(*primals), 2 * tangents[0] * primals[0]))
    v, stack = tt.dvector("v"), tt.dmatrix("stack")
    outputs = [rule(v), body(v), tt.grad(rule(v).sum(), v)]
    batches = (tt.vmap(rule)(stack), scan.map(rule, stack, return_updates=False))
    outputs += [tt.grad(batch.sum(), stack) for batch in batches]
    values = np.array([1.0, -2.0, 3.0])
    result, wanted, slope, *slopes = function([v, stack], outputs, mode="VM")(values, [values, -values])
    np.testing.assert_array_equal(result, wanted)
    np.testing.assert_array_equal(slope, 2 * values)
    for each in slopes:
        np.testing.assert_array_equal(each, [2 * values, -2 * values])
