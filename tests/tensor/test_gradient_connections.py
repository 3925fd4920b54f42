"""Which gradients flow where: connection patterns, undefined gradients, variables held constant."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import Apply, DisconnectedType, GraphTypeError, GraphValueError, NullType, Op, Variable, toposort
from treadle.tensor import DisconnectedInputError, NullTypeGradError, ShapeError, grad

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Linear(Op):
    """Sums of weighted inputs; an input may have no part in an output, or no gradient.

    Parameters
    ----------
    weights
        For each input, for each output, its weight; None where the output does not depend on it smoothly.
    undefined
        Positions of inputs whose gradient is not defined.
    """

    def __init__(self, weights: Sequence[Sequence[int | None]], undefined: Sequence[int] = ()) -> None:
        self.weights = weights
        self.undefined = undefined

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, inputs, [tt.dscalar() for _ in self.weights[0]])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        del node
        for o, cell in enumerate(output_storage):
            cell[0] = np.array(sum((row[o] or 0) * x for row, x in zip(self.weights, inputs, strict=True)), "float64")

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        del node
        return [[weight is not None for weight in row] for row in self.weights]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        del inputs, outputs
        assert all(isinstance(c.type, tt.TensorType) for c in cotangents)
        terms: list[Any] = []
        for i, row in enumerate(self.weights):
            flowing = [tt.mul(c, float(w)) for c, w in zip(cotangents, row, strict=True) if w is not None]
            undefined = NullType(f"input {i}")() if i in self.undefined else None
            terms.append((undefined or sum(flowing[1:], flowing[0])) if flowing else None)
        return terms


def value_of(var: Variable, values: Mapping[Any, Any]) -> Any:
    """Return the value of a variable, given those of some, by `perform` alone."""
    known: dict[Variable, Any] = {var: np.asarray(value) for var, value in values.items()}
    for node in toposort([var], list(values)):
        inputs = [known[x] if x in known else np.asarray(x.data) for x in node.inputs]  # type: ignore[attr-defined]  # a constant
        cells: list[list[Any]] = [[None] for _ in node.outputs]
        node.op.perform(node, inputs, cells)
        known.update(zip(node.outputs, (cell[0] for cell in cells), strict=True))
    return np.asarray(known[var] if var in known else getattr(var, "data", None))


def test_undefined_gradient_reaches_connected_inputs_only() -> None:
    x, y = tt.dscalar("x"), tt.dscalar("y")
    f, g = Linear([[2, None], [3, 5]])(x, y)
    cost = Linear([[7], [11]], undefined=[1])(f, g)
    assert value_of(grad(cost, x), {x: 0.0, y: 0.0}) == 14
    with pytest.raises(NullTypeGradError, match="with respect to y is not defined: input 1"):
        grad(cost, y)


def test_ops_without_a_gradient_do_no_harm_where_nothing_flows_through_them() -> None:
    class Silent(Op):
        def make_node(self, x: Any) -> Apply:
            return Apply(self, [x], [tt.dscalar()])

        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            raise NotImplementedError

    x = tt.dscalar("x")
    unconnected = Linear([[None]])(x)
    assert value_of(grad(Silent()(unconnected) + 3 * x, x), {x: 0.0}) == 3


def test_gradient_by_a_variable_held_constant_is_what_reaches_it() -> None:
    x = tt.dscalar("x")
    inner = tt.exp(x)
    cost = inner * x
    by_inner, by_x = grad(cost, [inner, x], consider_constant=[inner])
    assert value_of(by_inner, {x: 2.0}) == 2
    assert value_of(by_x, {x: 2.0}) == pytest.approx(np.exp(2.0))
    assert value_of(grad(x * x, x, consider_constant=[x]), {x: 3.0}) == 6
    with pytest.raises(DisconnectedInputError, match="does not depend on x"):
        grad(cost, x, consider_constant=[cost])


@pytest.mark.parametrize("constants", ["abc", tt.dscalar("c"), [1.0], 3])
def test_what_is_held_constant_is_a_list_of_variables(constants: Any) -> None:
    x = tt.dscalar("x")
    with pytest.raises(GraphTypeError, match="consider_constant takes a list of variables"):
        grad(x * x, x, consider_constant=constants)


@pytest.mark.parametrize("word", ["none", "None", "NONE"])
def test_words_of_a_choice_may_be_written_in_any_case(word: str) -> None:
    x, y = tt.dscalar("x"), tt.dscalar("y")
    assert grad(x * x, y, disconnected_inputs="ignore", return_disconnected=word) is None


@pytest.mark.parametrize("name", ["disconnected_inputs", "return_disconnected", "null_gradients"])
@pytest.mark.parametrize("word", ["nothing", None, 3])
def test_other_words_are_refused(name: str, word: Any) -> None:
    x = tt.dscalar("x")
    with pytest.raises(GraphValueError, match=f"{name} must be one of"):
        grad(x * x, x, **{name: word})


def test_known_gradients_may_be_plain_values_of_the_right_rank() -> None:
    x = tt.dvector("x")
    y = x * 2
    gradient = grad(None, x, known_grads={y: np.array([1.0, 3.0])})
    np.testing.assert_array_equal(value_of(gradient, {x: np.zeros(2)}), [2, 6])
    with pytest.raises(ShapeError, match="given in known_grads has rank 0"):
        grad(None, x, known_grads={y: 1.0})
    with pytest.raises(GraphTypeError, match="known_grads holds gradients by variable"):
        grad(None, x, known_grads={"y": y})  # type: ignore[dict-item]  # the subject


class Failing(Op):
    """An op whose gradient is passed to it."""

    def __init__(self, terms: Any) -> None:
        self.terms = terms

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        raise NotImplementedError

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> Any:
        del inputs, outputs, output_grads
        if isinstance(self.terms, Exception):
            raise self.terms
        return self.terms

    def __str__(self) -> str:
        return "Failing"


@pytest.mark.parametrize("terms", [None, tt.dscalar("g"), [], 3])
def test_gradient_that_is_not_a_list_of_terms_is_refused(terms: Any) -> None:
    x = tt.dscalar("x")
    out = Failing(terms)(x)
    with pytest.raises(GraphTypeError, match="Failing: the gradient must be a list with one term for each of 1 inputs"):
        grad(out, x)


@pytest.mark.parametrize("terms", [KeyError("own"), NotImplementedError("own"), ["own"]])
def test_failing_gradient_names_op_and_line_and_keeps_its_class(terms: Any) -> None:
    x = tt.dscalar("x")
    out = Failing(terms)(x)
    with pytest.raises(type(terms) if isinstance(terms, Exception) else TypeError) as caught:
        grad(out, x)
    (note,) = caught.value.__notes__
    assert note.startswith("Raised by Failing.pullback of Failing, built at test_gradient_connections.py")
    assert "out = Failing(terms)(x)" in note


def test_failing_connection_pattern_names_op_and_line() -> None:
    class Unsure(Linear):
        def connection_pattern(self, node: Apply) -> list[list[bool]]:
            raise KeyError(node)

        def __str__(self) -> str:
            return "Unsure"

    x = tt.dscalar("x")
    out = Unsure([[1]])(x)
    with pytest.raises(KeyError) as caught:
        grad(out, x)
    assert caught.value.__notes__[0].startswith("Raised by Unsure.connection_pattern of Unsure, built at")


@pytest.mark.parametrize("op", [tt.mul, tt.add, tt.true_div, tt.maximum])
def test_documented_grad_of_an_elementwise_op_takes_inputs_of_any_rank(op: Any) -> None:
    a, m, g = tt.dscalar("a"), tt.dmatrix("m"), tt.dmatrix("g")
    gradients = op.grad([a, m], [g])
    assert [t.ndim for t in gradients] == [0, 2]
    wanted = grad(tt.sum(op(a, m) * g), [a, m])
    rng = np.random.default_rng(3)
    values = {a: 1.5, m: rng.normal(size=(2, 3)), g: rng.normal(size=(2, 3))}
    for mine, theirs in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(value_of(mine, values), value_of(theirs, values))


def test_documented_grad_takes_plain_numbers() -> None:
    m, g = tt.dmatrix("m"), tt.dmatrix("g")
    inputs: list[Any] = [m, 2.0]
    mul: Any = tt.mul
    gradients: list[Any] = list(mul.grad(inputs, [g]))
    assert [t.ndim for t in gradients] == [2, 2]


# Random graphs, compared with the sum over all paths.


def _graph(rng: random.Random) -> tuple[list[Variable], list[Apply], Variable]:
    leaves: list[Variable] = [tt.dscalar(name) for name in "abc"]
    known = list(leaves)
    nodes = []
    for _ in range(rng.randrange(1, 7)):
        nin, nout = rng.randrange(1, 4), rng.randrange(1, 4)
        weights = [[rng.choice([None, 1, 2, -1, 3]) for _ in range(nout)] for _ in range(nin)]
        undefined = [i for i in range(nin) if rng.random() < 0.12]
        node = Linear(weights, undefined).make_node(*[rng.choice(known[-5:]) for _ in range(nin)])
        nodes.append(node)
        known += node.outputs
    return leaves, nodes, rng.choice(nodes[-1].outputs)


def _by_paths(
    var: Variable, cost: Variable, nodes: Sequence[Apply], constants: Sequence[Variable]
) -> float | str | None:
    """Return the sum over all paths to the cost of the product of weights; "null", or None where there is no path."""
    total: float | str | None = 1.0 if var is cost else None
    for node in nodes:
        op: Any = node.op
        for i, x in enumerate(node.inputs):
            for o, out in enumerate(node.outputs):
                weight = op.weights[i][o]
                if x is not var or weight is None or out in constants:
                    continue
                rest = _by_paths(out, cost, nodes, constants)
                if rest is None:
                    continue
                if isinstance(rest, str) or isinstance(total, str) or i in op.undefined:
                    total = "null"
                else:
                    total = (total or 0.0) + weight * rest
    return total


def _check(seed: int) -> None:
    rng = random.Random(seed)
    leaves, nodes, cost = _graph(rng)
    outputs = [out for node in nodes for out in node.outputs]
    targets = rng.sample([*leaves, *outputs], k=rng.randrange(1, 4))
    constants = rng.sample([*leaves, *outputs], k=rng.randrange(3))
    gradients = grad(
        cost, targets, consider_constant=constants, disconnected_inputs="ignore",
        return_disconnected="disconnected", null_gradients="return",
    )  # fmt: skip
    for target, gradient in zip(targets, gradients, strict=True):
        wanted = _by_paths(target, cost, nodes, constants)
        if isinstance(gradient.type, DisconnectedType):
            assert wanted is None, (seed, target)
        elif isinstance(gradient.type, NullType):
            assert wanted == "null", (seed, target)
        else:
            assert value_of(gradient, dict.fromkeys(leaves, np.array(0.0))) == wanted, (seed, target)


@pytest.mark.parametrize("start", range(0, 600, 200))
def test_gradient_is_the_sum_over_all_paths(start: int) -> None:
    for seed in range(start, start + 200):
        _check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(10_000, 60_000, 5000))
def test_gradient_is_the_sum_over_all_paths_in_many_graphs(start: int) -> None:
    for seed in range(start, start + 5000):
        _check(seed)


def test_known_gradient_takes_the_place_of_what_flows_from_the_cost() -> None:
    v = tt.dscalar("v")
    inner = tt.sin(v)
    cost = inner**2 + v
    slopes = [
        grad(cost, v),
        grad(cost, v, known_grads={inner: grad(cost, inner)}),
        grad(cost, v, known_grads={inner: 0.0}),
        grad(cost, inner, known_grads={inner: 5.0}),
        grad(cost, v, known_grads={cost: 3.0}),
    ]
    exact = np.sin(1.0) + 1
    np.testing.assert_allclose(function([v], slopes, mode="VM")(0.5), [exact, exact, 1.0, 5.0, 3 * exact])


def test_known_gradients_do_not_flow_into_one_another_and_cotangents_do() -> None:
    v = tt.dscalar("v")
    first = v**2
    second = first * 3
    known = grad(None, v, known_grads={first: 1.0, second: 10.0})
    together = tt.pullback([first, second], v, [tt.constant(1.0), tt.constant(10.0)])
    assert function([v], [known, together], mode="VM")(1.0) == [2.0, 62.0]
