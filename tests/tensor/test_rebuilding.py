"""An expression rebuilt on inputs of other static shapes equals the expression built on them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import TreadleError
from treadle.graph import clone_replace, vectorize_graph
from treadle.testing import SAMPLES, Sample, linked
from treadle.testing.parts import as_tuple

SHAPES = ("plain", "broadcast", "long", "empty")
# Messages of errors where an expression that was built for some shapes refuses others.
REFUSALS = ("SpecifyShape", "must be of type", "has other rows than")


def dtype_of(sample: Sample) -> str:
    return "float64" if "float64" in sample.dtypes else sample.dtypes[-1]


def inputs_of(sample: Sample, variant: str | None) -> list[Any]:
    """Return inputs with the static shapes of a variant, or as few known lengths as the sample needs."""
    return [
        tt.tensor(
            f"x{i}",
            dtype=operand.dtype or dtype_of(sample),
            shape=operand.static_shape(False)
            if variant is None
            else operand.shapes.get(variant, operand.shapes["plain"]),
        )
        for i, operand in enumerate(sample.operands)
    ]


def built(sample: Sample, inputs: Sequence[Any]) -> list[Any]:
    """Return the results and their first derivatives."""
    results = list(as_tuple(sample.build(*inputs)))
    smooth = [v for v in results if v.type.numpy_dtype.kind in "fc"]
    if not sample.wrt or not smooth or "first" not in sample.kinds:
        return results
    cost = tt.add(0.0, *(tt.sum(tt.sin(v) if v.type.numpy_dtype.kind == "f" else tt.sqr(abs(v))) for v in smooth))
    return [*results, *tt.grad(cost, [inputs[i] for i in sample.wrt], disconnected_inputs="ignore")]


def outcome(run: Any, arrays: Sequence[Any]) -> Any:
    """Return the results of a program, or its error."""
    try:
        with np.errstate(all="ignore"):
            return run(*arrays)
    except (TreadleError, ArithmeticError, ValueError, IndexError) as error:
        return error


def difference(result: Any, expected: Any) -> str | None:
    """Return what is wrong with results, compared with those of the expression built from scratch."""
    if isinstance(expected, Exception):
        return None if isinstance(result, Exception) else f"no error, where there is one anew: {expected}"
    if isinstance(result, Exception):
        return str(result)
    for at, (x, y) in enumerate(zip(result, expected, strict=True)):
        if (x.dtype, x.shape) != (y.dtype, y.shape):
            return f"result {at} is {x.dtype} of shape {x.shape}, anew {y.dtype} of shape {y.shape}"
        if not np.allclose(x, y, rtol=1e-7, atol=1e-10, equal_nan=True):
            return f"result {at} has other values than anew"
    return None


def problems(sample: Sample) -> list[str]:
    """Return how an expression built on one shape and rebuilt on unknown ones differs from one built on these."""
    shapes = [v for v in SHAPES if v == "plain" or v in sample.variants]
    inputs = inputs_of(sample, None)
    from_scratch = built(sample, inputs)
    run = linked("vm", inputs, from_scratch)
    arrays = {v: sample.arrays(dtype_of(sample), v) for v in shapes}
    expected = {v: outcome(run, arrays[v]) for v in shapes}
    texts = []
    for source in shapes[:2]:
        old = inputs_of(sample, source)
        try:
            again = clone_replace(built(sample, old), dict(zip(old, inputs, strict=True)), rebuild_strict=False)
        except TreadleError as error:
            texts.append(f"built for {source}: {error}")
            continue
        texts += [
            f"built for {source}: type {mine.type}, anew {its.type}"
            for mine, its in zip(again, from_scratch, strict=True)
            if not its.type.is_super(mine.type)
        ]
        run = linked("vm", inputs, again)
        wrong = {v: difference(outcome(run, arrays[v]), expected[v]) for v in shapes}
        texts += [f"built for {source}, run on {v}: {text}" for v, text in wrong.items() if text is not None]
    if sample.fixed_shapes:
        return [text for text in texts if not any(part in text for part in REFUSALS)]
    return texts


FAMILIES = SAMPLES.families()
FIRST = [max(SAMPLES.of(family), key=lambda s: ("broadcast" in s.variants, len(s.wrt))) for family in FAMILIES]


@pytest.mark.parametrize("sample", FIRST, ids=str)
def test_a_rebuilt_expression_equals_one_built_from_scratch(sample: Sample) -> None:
    assert problems(sample) == []


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_rebuilt_expression_equals_one_built_from_scratch(family: str) -> None:
    assert {str(s): texts for s in SAMPLES.of(family) if (texts := problems(s))} == {}


S, T = tt.vector("s", shape=(50,)), tt.vector("t", shape=(100,))
Z = tt.vector("z")
NUMBERS = np.arange(100.0)


@pytest.mark.parametrize(
    "build",
    [
        tt.mean, tt.var, tt.std, tt.median, tt.zeros_like, tt.flatten, tt.cumsum, tt.fft.fft, tt.fft.irfft, tt.polyder,
        lambda x: x[x.shape[0] - 1],
        lambda x: tt.arange(x.shape[0]),
        lambda x: tt.zeros(x.shape) + x,
        lambda x: tt.grad(x.mean(), x),
        lambda x: tt.grad(x.var(), x),
        lambda x: tt.grad(tt.sum(x * x[:1]), x),
        lambda x: tt.linspace(0.0, 1.0, x.shape[0]),
        lambda x: tt.repeat(x, 2),
        lambda x: tt.tile(x, 2),
        lambda x: tt.eye(x.shape[0]) @ x,
        lambda x: tt.tril(tt.outer(x, x)),
        lambda x: tt.roll(x, 3),
        lambda x: tt.concatenate([x, tt.ones(x.size)]),
        lambda x: tt.broadcast_to(x, (2, x.shape[0])),
        lambda x: tt.max(x, initial=0.0),
        lambda x: tt.put(x, [-1], 5.0),
        lambda x: tt.array_equal(x, x * 1.0),
        lambda x: tt.sqrt(tt.sum(x * x)),
    ],
)  # fmt: skip
def test_replacing_a_vector_by_a_longer_one_gives_the_longer_ones_result(build: Any) -> None:
    old = build(S)
    expected = build(T).eval({T: NUMBERS})
    for new in (T, Z):
        rebuilt = clone_replace(old, {S: new}, rebuild_strict=False)
        run = function([new], [rebuilt, old], givens={S: new}, rebuild_strict=False, mode="VM")
        for result in run(NUMBERS):
            np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_a_batch_in_front_of_a_longer_vector_is_reduced_over_its_own_length() -> None:
    batch = tt.matrix("M", shape=(3, 100))
    mean, slope = vectorize_graph([S.mean(), tt.grad(S.mean(), S)], {S: batch})
    results = function([batch], [mean, slope], mode="VM")(np.ones((3, 100)))
    np.testing.assert_allclose(results[0], np.ones(3))
    np.testing.assert_allclose(results[1], np.full((3, 100), 0.01))


def test_draws_of_the_size_of_a_tensor_follow_its_length() -> None:
    draws = tt.random.normal(size=S.shape)
    assert draws.type.shape == (50,)
    assert clone_replace(draws, {S: Z}, rebuild_strict=False).eval({Z: NUMBERS}).shape == (100,)


def test_one_number_replaced_by_many_is_summed_back_to_as_many() -> None:
    one, many, y = tt.vector("one", shape=(1,)), tt.vector("many", shape=(3,)), tt.vector("y", shape=(3,))
    slope = clone_replace(tt.grad(tt.sum(one * y), one), {one: many}, rebuild_strict=False)
    np.testing.assert_array_equal(slope.eval({many: np.zeros(3), y: [1.0, 2.0, 3.0]}), [1.0, 2.0, 3.0])
    slope = clone_replace(tt.grad(tt.sum(many * y), many), {many: one}, rebuild_strict=False)
    np.testing.assert_array_equal(slope.eval({one: np.zeros(1), y: [1.0, 2.0, 3.0]}), [6.0])


def test_static_shapes_of_results_stay_known() -> None:
    x = tt.matrix("x", shape=(3, 4))
    results = [tt.zeros(x.shape), tt.arange(x.shape[1])[None], x.reshape((x.shape[1], -1)), tt.alloc(0.0, *x.shape)]
    assert [v.type.shape for v in results] == [(3, 4), (1, 4), (4, 3), (3, 4)]
    assert [v.type.shape for v in tt.grad((x.mean(0) * x.var()).sum(), [x])] == [(3, 4)]


@pytest.mark.parametrize("build", [list, tt.unstack, lambda x: [tt.polyval(x, 2.0)]])
def test_a_list_of_parts_refuses_another_number_of_parts(build: Any) -> None:
    three, four, unknown = tt.vector("x", shape=(3,)), tt.vector("y", shape=(4,)), tt.vector("z")
    parts = build(three)
    with pytest.raises(tt.ShapeError, match="cannot have length 3"):
        clone_replace(parts, {three: four}, rebuild_strict=False)
    again = clone_replace(parts[0], {three: unknown}, rebuild_strict=False)
    assert again.eval({unknown: [1.0, 2.0, 3.0]}) == parts[0].eval({three: [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match="must have length 3"):
        again.eval({unknown: np.zeros(4)})
