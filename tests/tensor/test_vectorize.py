"""Every op along a batch: the vectorised graph equals the loop over the batch."""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function, shared
from treadle.graph import Variable, VectorizeError, applys_between, variable_depends_on, vectorize_graph
from treadle.testing import SAMPLES, Sample, linked
from treadle.testing.parts import as_tuple

# Composed functions are batched as their ops are.
OPS = [sample for sample in SAMPLES if not sample.family.startswith("composed.")]


def dtype_of(sample: Sample) -> str:
    return "float64" if "float64" in sample.dtypes else sample.dtypes[-1]


def sets_of_inputs(sample: Sample, count: int) -> list[list[Any]]:
    """Return this many sets of arrays that the sample takes."""
    rngs = [np.random.default_rng(zlib.crc32(f"{sample} {k}".encode())) for k in range(count)]
    return [[operand.array(rng, dtype_of(sample), "plain") for operand in sample.operands] for rng in rngs]


def declared(sample: Sample, arrays: Sequence[Any]) -> list[Any]:
    return [
        tt.TensorType(x.dtype, operand.static_shape(False))(f"x{i}")
        for i, (x, operand) in enumerate(zip(arrays, sample.operands, strict=True))
    ]


def widened(var: Any, batch: int, name: str) -> Any:
    """Return a variable with this many batch dimensions."""
    return tt.TensorType(var.dtype, (*[None] * batch, *var.type.shape))(name)


def built(sample: Sample, inputs: Sequence[Any]) -> list[Variable]:
    return list(as_tuple(sample.build(*inputs)))


def assert_same(result: Any, expected: Any, sample: Sample) -> None:
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    rtol, atol = sample.tolerance(expected.dtype.name)
    np.testing.assert_allclose(result, expected, rtol=rtol, atol=atol, equal_nan=True)


def subsets(sample: Sample) -> list[list[int]]:
    """Return which inputs to give a batch: each alone, and all that may have one."""
    free = [i for i in range(len(sample.operands)) if i not in sample.ragged]
    alone = [[i] for i in free]
    return [*alone, free] if len(free) > 1 else alone


@pytest.mark.parametrize("sample", [s for s in OPS if subsets(s)], ids=str)
def test_vectorised_op_equals_the_loop(sample: Sample) -> None:
    sets = sets_of_inputs(sample, 3)
    inputs = declared(sample, sets[0])
    outputs = built(sample, inputs)
    loop = linked("vm", inputs, outputs)
    for which in subsets(sample):
        wide = {inputs[i]: widened(inputs[i], 1, f"b{i}") for i in which}
        run = linked("vm", [wide.get(v, v) for v in inputs], vectorize_graph(outputs, wide))
        chosen = [[own[i] if i in which else sets[0][i] for i in range(len(inputs))] for own in sets]
        stacked = [np.stack([c[i] for c in chosen]) if i in which else sets[0][i] for i in range(len(inputs))]
        singles = [loop(*c) for c in chosen]
        for at, result in enumerate(run(*stacked)):
            parts = [single[at] for single in singles]
            # An output that does not depend on what is replaced gets no batch.
            batched = variable_depends_on(outputs[at], [inputs[i] for i in which])
            assert_same(result, np.stack(parts) if batched else parts[0], sample)


@pytest.mark.parametrize("sample", [s for s in OPS if len(subsets(s)) > 2], ids=str)
def test_batches_of_different_rank_are_broadcast_together(sample: Sample) -> None:
    sets = sets_of_inputs(sample, 6)
    inputs = declared(sample, sets[0])
    outputs = built(sample, inputs)
    first, *others = subsets(sample)[-1]
    # The first input has a batch of shape (2, 3), the others one of shape (3,), or (2, 1) for every second one.
    ranks = {first: 2, **{i: 1 + k % 2 for k, i in enumerate(others)}}
    wide = {inputs[i]: widened(inputs[i], rank, f"b{i}") for i, rank in ranks.items()}
    run = linked("vm", [wide.get(v, v) for v in inputs], vectorize_graph(outputs, wide))
    values: list[Any] = []
    place = {}
    for i in range(len(inputs)):
        own = [s[i] for s in sets]
        shape = {None: (), 2: (2, 1) if i != first else (2, 3), 1: (3,)}[ranks.get(i)]
        count = int(np.prod(shape))
        values.append(np.stack(own[:count]).reshape(shape + own[0].shape) if i in ranks else own[0])
        place[i] = np.broadcast_to(np.arange(count).reshape(shape), (2, 3))
    loop = linked("vm", inputs, outputs)
    singles = {
        (a, b): loop(*(sets[place[i][a, b] if i in ranks else 0][i] for i in range(len(inputs))))
        for a in range(2)
        for b in range(3)
    }
    for at, result in enumerate(run(*values)):
        expected = np.stack([np.stack([singles[a, b][at] for b in range(3)]) for a in range(2)])
        # An output that does not depend on what is replaced gets no batch.
        batched = variable_depends_on(outputs[at], [inputs[i] for i in ranks])
        assert_same(result, expected if batched else singles[0, 0][at], sample)


@pytest.mark.parametrize("sample", [s for s in OPS if subsets(s)], ids=str)
def test_empty_batch_gives_an_empty_result(sample: Sample) -> None:
    sets = sets_of_inputs(sample, 1)
    inputs = declared(sample, sets[0])
    outputs = built(sample, inputs)
    which = subsets(sample)[-1]
    wide = {inputs[i]: widened(inputs[i], 1, f"b{i}") for i in which}
    run = linked("vm", [wide.get(v, v) for v in inputs], vectorize_graph(outputs, wide))
    values = [np.zeros((0, *x.shape), x.dtype) if i in which else x for i, x in enumerate(sets[0])]
    singles = linked("vm", inputs, outputs)(*sets[0])
    for out, result, single in zip(outputs, run(*values), singles, strict=True):
        batched = variable_depends_on(out, [inputs[i] for i in which])
        assert result.shape == ((0, *single.shape) if batched else single.shape)


@pytest.mark.parametrize(("sample", "at"), [(sample, i) for sample in SAMPLES for i in sample.ragged], ids=str)
def test_lengths_that_vary_along_the_batch_are_refused(sample: Sample, at: int) -> None:
    inputs = declared(sample, sets_of_inputs(sample, 1)[0])
    outputs = built(sample, inputs)
    with pytest.raises(VectorizeError, match=r"would differ along the batch.*Give it no batch dimensions, built at"):
        vectorize_graph(outputs, {inputs[at]: widened(inputs[at], 1, "b")})


def test_every_op_has_a_rule() -> None:
    from treadle.graph import VECTORIZERS, Op

    def below(kind: Any) -> set[type]:
        kinds: set[type] = {kind}
        return kinds.union(*map(below, kind.__subclasses__()))

    ops = {k for k in below(Op) if k.__module__.startswith("treadle.tensor.") and not k.__name__.startswith("_")}
    concrete = [k for k in ops if not getattr(k, "__abstractmethods__", None)]
    assert len(concrete) > 15
    # SciPy searches for one optimum after the other, as `Blockwise` does with any op.
    without = {"Optimum"}
    # Values that are not tensors have no batch dimensions: an op that takes or gives one needs no rule.
    for sample in SAMPLES.of("composed.values"):
        inputs = declared(sample, sets_of_inputs(sample, 1)[0])
        for node in applys_between(inputs, built(sample, inputs)):
            if not all(isinstance(x.type, tt.TensorType) for x in (*node.inputs, *node.outputs)):
                without.add(type(node.op).__name__)
    without |= {k.__name__ for k in concrete if getattr(k, "on_host", False)}
    # Ops of modules that nothing has loaded yet are not listed.
    assert {k.__name__ for k in concrete if VECTORIZERS.find(object.__new__(k)) is None} <= without
    assert "Elemwise" not in without


def test_whole_model_is_vectorised() -> None:
    x, w, b = tt.dmatrix("x"), tt.dmatrix("w"), tt.dvector("b")
    logits = tt.dot(x, w) + b
    loss = -tt.log_softmax(logits, axis=1)[:, 0].mean()
    slope = tt.grad(loss, w)
    many = tt.dtensor3("many")
    rng = np.random.default_rng(0)
    xs, ws, bs = rng.normal(size=(5, 4)), rng.normal(size=(7, 4, 3)), rng.normal(size=3)
    run = function([x, many, b], vectorize_graph([loss, slope], {w: many}), mode="VM")
    single = function([x, w, b], [loss, slope], mode="VM")
    expected = [single(xs, one, bs) for one in ws]
    losses, slopes = run(xs, ws, bs)
    np.testing.assert_allclose(losses, [e[0] for e in expected])
    np.testing.assert_allclose(slopes, [e[1] for e in expected])


def test_gradient_of_a_vectorised_graph_is_that_of_each() -> None:
    x = tt.dvector("x")
    wide = tt.dmatrix("wide")
    cost = (x[1:] * tt.exp(-x[:-1])).sum() / x.shape[0]
    slopes = tt.grad(vectorize_graph(cost, {x: wide}).sum(), wide)
    values = np.random.default_rng(1).normal(size=(4, 5))
    single = function([x], tt.grad(cost, x), mode="VM")
    np.testing.assert_allclose(function([wide], slopes, mode="VM")(values), [single(v) for v in values])


def test_position_may_vary_with_a_table_that_does_not() -> None:
    table, at = tt.dmatrix("table"), tt.lscalar("at")
    many = tt.lmatrix("many")
    run = function([table, many], vectorize_graph(table[:, at], {at: many}), mode="VM")
    values = np.arange(12.0).reshape(3, 4)
    positions = np.array([[0, -1], [2, 1]])
    np.testing.assert_array_equal(run(values, positions), np.moveaxis(values[:, positions], 0, -1))


def test_static_lengths_survive() -> None:
    x: Any = tt.TensorType("float64", (3, 4))("x")
    wide = tt.TensorType("float64", (5, 3, 4))("wide")
    outs: list[Any] = [x.sum(axis=0), x.T, x[1:], x.reshape((6, 2)), tt.concatenate([x, x], axis=1), tt.dot(x, x.T)]
    shapes = [out.type.shape for out in vectorize_graph(outs, {x: wide})]
    assert shapes == [(5, 4), (5, 4, 3), (5, 2, 4), (5, 6, 2), (5, 3, 8), (5, 3, 3)]


def test_length_as_result_gets_the_batch() -> None:
    x, wide = tt.dvector("x"), tt.dtensor3("wide")
    run = function([wide], vectorize_graph([x.shape[0], x.shape], {x: wide}), mode="VM")
    lengths, shapes = run(np.zeros((2, 3, 4)))
    np.testing.assert_array_equal(lengths, np.full((2, 3), 4))
    np.testing.assert_array_equal(shapes, np.full((2, 3, 1), 4))


def test_shared_variable_may_be_replaced() -> None:
    scale = shared(2.0, "scale")
    x, scales = tt.dvector("x"), tt.dvector("scales")
    run = function([x, scales], vectorize_graph(x * scale, {scale: scales}), mode="VM")
    np.testing.assert_array_equal(run([1.0, 2.0], [1.0, 10.0]), [[1.0, 2.0], [10.0, 20.0]])


def test_wrong_dtype_or_rank_is_refused() -> None:
    x = tt.dvector("x")
    with pytest.raises(TypeError, match=r"replacement for x of type .* must have the same element type, got y of type"):
        vectorize_graph(x * 2, {x: tt.fmatrix("y")})
    with pytest.raises(TypeError, match=r"as many dimensions, or more in front, got y of type Scalar"):
        vectorize_graph(x * 2, {x: tt.dscalar("y")})


def test_lines_and_scopes_are_those_of_the_original() -> None:
    from treadle.graph import name_scope, toposort

    x, wide = tt.dvector("x"), tt.dmatrix("wide")
    with name_scope("model"):
        out = tt.exp(x)[::-1].sum() + tt.concatenate([x, x]).max()
    known = {node.user_line for node in toposort([out])}
    vectorized = vectorize_graph(out, {x: wide})
    assert {node.user_line for node in toposort([vectorized])} <= known
    assert {node.scope for node in toposort([vectorized])} == {"model"}
