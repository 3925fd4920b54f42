"""Shapes are computed from lengths: the tensors themselves are not in the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import rewrite, run, text
from treadle.graph import Apply, Op
from treadle.tensor import Alloc, CheckAndRaise, DimShuffle, Elemwise, Join, Shape, ShapeI
from treadle.tensor.rewrites import SymbolicShapes
from treadle.testing.parts import as_tuple
from treadle.testing.records.table import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable
    from treadle.testing import Sample


# Composed functions have the shapes that their ops give.
FAMILIES = [f for f in SAMPLES.families() if not f.startswith("composed.")]


def works_on_lengths_only(node: Apply) -> bool:
    """Whether a node only reads lengths, checks or computes with scalars, or joins these."""
    if isinstance(node.op, Shape | ShapeI | Join | DimShuffle):
        return True
    if isinstance(node.op, Alloc) and getattr(node.outputs[0].type, "shape", None) == (2,):  # [n, n]
        return True
    return isinstance(node.op, Elemwise | CheckAndRaise) and all(getattr(x.type, "ndim", 0) == 0 for x in node.inputs)


@pytest.mark.parametrize("query", ["fast_run", "fast_compile"])
@pytest.mark.parametrize("variant", ["plain", "broadcast", "empty"])
@pytest.mark.parametrize("family", FAMILIES)
def test_shape_of_every_op_computes_nothing_but_lengths(family: str, variant: str, query: str) -> None:
    for sample in SAMPLES.of(family):
        check_shapes(sample, variant, query)


def check_shapes(sample: Sample, variant: str, query: str) -> None:
    dtype = "float64" if "float64" in sample.dtypes else sample.dtypes[0]
    arrays = sample.arrays(dtype, variant)
    pairs = enumerate(zip(arrays, sample.operands, strict=True))
    inputs = [tt.tensor(f"x{i}", dtype=a.dtype, shape=o.static_shape(known=False)) for i, (a, o) in pairs]
    results = as_tuple(sample.build(*inputs))
    plain, _ = rewrite(inputs, results, "merge")
    fgraph, _ = rewrite(inputs, [tt.shape(var) for var in results], query)
    assert sample.computed_shape or all(works_on_lengths_only(node) for node in fgraph.apply_nodes), sample
    for lengths, value in zip(run(fgraph, arrays), run(plain, arrays), strict=True):
        assert tuple(lengths) == value.shape, sample


def test_shape_of_a_choice_computes_nothing_where_its_branches_have_one_shape() -> None:
    c, x, y = tt.lscalar("c"), tt.dmatrix("x"), tt.dmatrix("y")
    fgraph, _ = rewrite([c, x, y], [tt.ifelse(c, tt.exp(x), x[::-1] * 2).shape])
    assert all(works_on_lengths_only(node) for node in fgraph.apply_nodes)
    # Elsewhere the branch taken is computed: compilers that need one shape for both look at the choice itself.
    fgraph, _ = rewrite([c, x, y], [tt.ifelse(c, tt.exp(x), y).shape])
    assert text(fgraph.outputs[0]) == "shape(if{}(c, exp(x), y))"
    values = [np.zeros((2, 3)), np.zeros((4, 5))]
    assert [run(fgraph, [np.array(n), *values])[0].tolist() for n in (1, 0)] == [[2, 3], [4, 5]]


def test_slices_of_unknown_bounds_have_lengths_without_being_taken() -> None:
    x = tt.dvector("x")
    bounds = [tt.lscalar(name) for name in "abc"]
    fgraph, _ = rewrite([x, *bounds], [tt.exp(x)[bounds[0] : bounds[1] : bounds[2]].shape[0]])
    assert all(works_on_lengths_only(node) for node in fgraph.apply_nodes)
    for n in (0, 1, 4):
        for a in (-6, -2, 0, 1, 3, 6):
            for b in (-6, -1, 0, 2, 6):
                for c in (-2, -1, 1, 3):
                    length = run(fgraph, [np.zeros(n), np.array(a), np.array(b), np.array(c)])[0]
                    assert length == len(range(n)[a:b:c])


@pytest.mark.parametrize("step", [1, 2, -1, -3])
@pytest.mark.parametrize(("start", "stop"), [(None, None), (1, None), (None, -1), (-3, 2), (2, 9), (-9, -1)])
def test_slices_of_known_bounds_have_lengths_without_being_taken(start: Any, stop: Any, step: int) -> None:
    x = tt.dvector("x")
    fgraph, _ = rewrite([x], [tt.exp(x)[start:stop:step].shape[0]])
    assert all(works_on_lengths_only(node) for node in fgraph.apply_nodes)
    for n in range(7):
        assert run(fgraph, [np.zeros(n)])[0] == len(range(n)[start:stop:step])


@pytest.mark.parametrize(("first", "last", "step"), [(0, 5, 1), (5, 0, -2), (3, 3, 1), (5, 0, 1), (-3, 8, 4)])
@pytest.mark.parametrize("dtype", ["int64", "int8", "float64", "float32"])
def test_ranges_of_unknown_bounds_have_lengths_without_being_made(first: int, last: int, step: int, dtype: str) -> None:
    bounds = [tt.scalar(name, dtype=dtype) for name in "abc"]
    fgraph, _ = rewrite(bounds, [tt.arange(bounds[0], bounds[1], bounds[2]).shape[0]])
    assert all(works_on_lengths_only(node) for node in fgraph.apply_nodes)
    values = [np.array(v, dtype) for v in (first, last, step)]
    assert run(fgraph, values)[0] == len(np.arange(first, last, step))


@pytest.mark.parametrize("rest", [-1, 6])
def test_reshape_to_a_scalar_that_may_stand_for_the_rest(rest: int) -> None:
    m, n = tt.dmatrix("m"), tt.lscalar("n")
    fgraph, _ = rewrite([m, n], [tt.exp(m).reshape((n, 2)).shape])
    assert all(works_on_lengths_only(node) for node in fgraph.apply_nodes)
    assert run(fgraph, [np.zeros((3, 4)), np.array(rest)])[0].tolist() == [6, 2]


def test_sum_of_many_vectors_of_unknown_lengths_is_not_computed_for_its_shape() -> None:
    vectors = [tt.dvector(str(i)) for i in range(40)]
    total = vectors[0]
    for v in vectors[1:]:
        total = total + v
    fgraph, _ = rewrite(vectors, [total.shape[0]])
    assert all(works_on_lengths_only(node) for node in fgraph.apply_nodes)
    values = [np.zeros(5 if i == 33 else 1) for i in range(40)]
    assert run(fgraph, values)[0] == 5


class Doubled(Op):
    """A user's op: each element twice."""

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [tt.dvector()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        del node
        output_storage[0][0] = np.repeat(inputs[0], 2)

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> Sequence[Any]:
        del node
        return [(shapes[0][0] * 2,)]


class Halved(Doubled):
    """Another, whose infer_shape has the older signature: every second element."""

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        del node
        output_storage[0][0] = inputs[0][::2]

    def infer_shape(self, fgraph: Any, node: Apply, shapes: Sequence[Any]) -> Sequence[Any]:  # type: ignore[override]  # the older form
        del fgraph, node
        return [((shapes[0][0] + 1) // 2,)]


def test_infer_shape_of_a_users_op_is_asked() -> None:
    x = tt.dvector("x")
    fgraph, _ = rewrite([x], [tt.exp(Doubled()(tt.exp(x))).shape[0]])
    assert text(fgraph.outputs[0]) == "mul(shapei(axis=0)(x), 2)"
    fgraph, _ = rewrite([x], [tt.exp(Halved()(Doubled()(x))).shape[0]])
    assert all(works_on_lengths_only(node) for node in fgraph.apply_nodes)
    assert run(fgraph, [np.zeros(3)])[0] == 3


def test_op_that_says_nothing_about_its_shape_is_computed_for_it() -> None:
    class Kept(Doubled):
        def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> Any:
            del node, shapes

    x = tt.dvector("x")
    fgraph, _ = rewrite([x], [tt.exp(Kept()(x)).shape[0]])
    assert run(fgraph, [np.zeros(3)])[0] == 6
    assert {type(node.op).__name__ for node in fgraph.apply_nodes} == {"Kept", "ShapeI"}


def chain(n: int) -> tuple[list[Variable], Any]:
    x = tt.dvector("x")
    var: Any = x
    for i in range(n // 4):
        var = tt.concatenate([tt.exp(var)[1:], x[:1] * i])
    return [x], var


def test_lengths_are_found_once_for_each_variable() -> None:
    _, var = chain(8_000)
    shapes = SymbolicShapes()
    shapes.of(var)
    once = shapes.computed
    shapes.of(var)
    assert shapes.computed == once
    assert once < 8_000 * 2


def test_work_on_a_shape_grows_with_the_graph_only() -> None:
    def work(n: int) -> float:
        inputs, var = chain(n)
        fgraph, report = rewrite(inputs, [var.shape[0]])
        del fgraph
        return report.visits / n

    assert work(6_000) < 1.5 * work(300)
