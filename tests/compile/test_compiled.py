"""compiled: Python functions over tensors, a program for each kind of arguments."""

from __future__ import annotations

import gc
import inspect
import pickle
import threading
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import CallError, CompiledFunction, FunctionTypeError, compiled
from treadle.graph import GraphValueError

A = np.array([1.0, 2.0])


@compiled(mode="VM")
def square(x: Any) -> Any:
    return x**2


def counted(fun: Any, **options: Any) -> tuple[Any, list[None]]:
    """Return a function compiled, and a list that grows when a graph is made of it."""
    traces: list[None] = []

    def inner(*args: Any, **kwargs: Any) -> Any:
        traces.append(None)
        return fun(*args, **kwargs)

    inner.__signature__ = inspect.signature(fun)  # type: ignore[attr-defined]  # of functions
    inner.__name__ = fun.__name__
    return compiled(inner, mode="VM", **options), traces


@pytest.mark.documents("compiled", "CompiledFunction")
def test_there_is_one_program_for_each_dtype_and_rank() -> None:
    f, traces = counted(lambda x: x + 1)
    for value in (A, A[:1], A.astype("float32"), A.astype("float32"), A.reshape(2, 1), np.arange(2)):
        result = f(value)
        assert result.dtype == value.dtype
        np.testing.assert_array_equal(result, value + 1)
    assert len(traces) == 4
    assert f.cache_info() == (2, 4, 4)
    assert f(np.float64(1)) == f(np.array(1.0)) == f(1.0) == 2.0
    assert f.cache_info() == (4, 5, 5)  # a number is a tensor of rank 0
    f.clear()
    assert f.cache_info() == (0, 0, 0)
    f(A)
    assert len(traces) == 6


def test_shapes_are_part_of_the_kind_if_asked_for() -> None:
    shapes: list[Any] = []

    @compiled(mode="VM", shapes=True)
    def f(x: Any) -> Any:
        shapes.append(x.type.shape)
        return x * len(shapes)

    assert [f(np.ones(n)).sum() for n in (2, 3, 2)] == [2.0, 6.0, 2.0]
    assert shapes == [(2,), (3,)]


def test_arguments_and_results_are_nested_and_given_by_name() -> None:
    @dataclass
    class Layer:
        w: Any
        b: Any

    @compiled(mode="VM")
    def step(params: Any, *rest: Any, rate: Any = 0.5, **more: Any) -> Any:
        cost = ((params["l"].w - params["l"].b) ** 2).sum()
        slopes = tt.grad(cost, params)
        new = {"l": Layer(params["l"].w - rate * slopes["l"].w, None)}
        return {"cost": cost, "new": new, "rest": (rest, more), "one": 1}

    result = step({"l": Layer(A, A + 1)}, 1.0, name=[2.0])
    assert (float(result["cost"]), int(result["one"])) == (2.0, 1)
    np.testing.assert_array_equal(result["new"]["l"].w, A + 1)
    assert result["new"]["l"].b is None
    assert result["rest"] == ((1.0,), {"name": [2.0]})
    assert step(rate=0.25, params={"l": Layer(A, A + 1)})["new"]["l"].w[0] == 1.5


def test_static_arguments_decide_what_the_graph_is() -> None:
    f, traces = counted(lambda x, n, kind="sum": getattr(tt, kind)(x) * n if n else x, static=("n", "kind"))
    assert (f(A, 2), f(A, n=2), f(A, 3, kind="max"), list(f(A, 0)), f(A, True)) == (6.0, 6.0, 6.0, [1.0, 2.0], 3.0)
    assert len(traces) == 4
    with pytest.raises(CallError, match=r"the static argument n must be hashable.* got \[2\]"):
        f(A, [2])
    with pytest.raises(FunctionTypeError, match="static names a parameter 'm', and <lambda> has x"):
        compiled(lambda x: x, static="m")
    with pytest.raises(FunctionTypeError, match="a function over tensors is needed, got 3"):
        compiled(3)  # type: ignore[call-overload]  # on purpose


def test_python_floats_have_the_width_of_the_floats_beside_them() -> None:
    f = compiled(lambda x, rate: x * rate, mode="VM")
    assert f(A.astype("float32"), 0.1).dtype == "float32"
    assert f(A, 0.1).dtype == "float64"
    assert f(np.arange(2), 0.1).dtype == "float64"
    assert f(A.astype("float32"), 1j).dtype == "complex64"


def test_updates_are_returned_and_default_updates_are_found() -> None:
    total = tt.shared(0.0, name="total")
    stream = tt.random.RandomStream(3)

    @compiled(mode="VM")
    def add(x: Any) -> Any:
        return total, {total: total + x}

    @compiled(mode="VM")
    def draw(mean: Any) -> Any:
        return stream.normal(mean, 1.0, size=2)

    assert [float(add(x)) for x in (1.0, 2.0)] == [0.0, 1.0]
    assert total.get_value() == 3.0
    assert compiled(lambda: {total: total * 2}, mode="VM")() is None
    assert total.get_value() == 6.0
    assert not np.array_equal(draw(0.0), draw(0.0))

    @compiled(mode="VM")
    def sets(x: Any) -> Any:
        total.set_value(3.0)
        return x

    with pytest.raises(GraphValueError, match="total is set inside sets, which is called once"):
        sets(A)
    generator = np.random.default_rng(5)
    rolled = compiled(lambda rng: tt.random.normal(0.0, 1.0, rng=rng), mode="VM")(generator)
    assert rolled == np.random.default_rng(5).normal()


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (lambda x: x if x.sum() else -x, "truth value"),
        (lambda x: float(x[0]) * x, "float: "),
        (lambda x: [x for _ in range(x.sum())], "index: "),
        (lambda x: [row for row in x], "iteration: "),  # noqa: C416 - what users write
    ],
)
def test_variables_taken_for_values_are_refused_with_the_cure(misuse: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message) as caught:
        compiled(misuse, mode="VM")(A)
    (note,) = caught.value.__notes__
    assert "its arguments (x) are variables without values" in note
    assert "static" in note


def test_arguments_that_do_not_fit_are_refused() -> None:
    f = compiled(lambda x, y=1.0: x + y, mode="VM", name="f")
    with pytest.raises(CallError, match=r"x: expected an array or a number, got 'a'. .*static='x'"):
        f("a")
    with pytest.raises(CallError, match=r'x\["w"\]: expected an array or a number, got \'a\'. .*static=\'x\''):
        f({"w": "a"})
    with pytest.raises(CallError, match=r"too many positional arguments\. Call <lambda>"):
        f(1, 2, 3)
    with pytest.raises(CallError, match="missing a required argument: 'x'"):
        f(y=1)
    with pytest.raises(FunctionTypeError, match=r'result\["a"\]: a compiled function returns tensors.* got \'text\''):
        compiled(lambda x: {"a": "text", "x": x}, mode="VM")(A)
    with pytest.raises(CallError, match="the graph is made for values, got variables"):
        f.lower(tt.dvector())


def test_graph_and_function_can_be_looked_at() -> None:
    traced = square.lower(A)
    assert traced.arguments["x"].type == tt.dvector().type
    assert traced.function.maker.fgraph.outputs
    assert traced.call([A]).tolist() == [1.0, 4.0]
    assert "square(x: Vector" in str(traced.function)


def test_compiled_functions_call_each_other_and_are_parts_of_graphs() -> None:
    x = tt.dvector("x")
    assert tt.grad(square(x).sum(), x).eval({x: A}).tolist() == [2.0, 4.0]
    twice = compiled(lambda x: square(square(x)), mode="VM")
    assert twice(A).tolist() == [1.0, 16.0]


class Model:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    @compiled(mode="VM")
    def scaled(self, x: Any) -> Any:
        """Multiply."""
        return x * self.factor


@dataclass(frozen=True)
class Line:
    slope: Any

    @compiled(mode="VM")
    def at(self, x: Any) -> Any:
        return self.slope * x


def test_methods_have_programs_for_each_object_and_do_not_keep_it() -> None:
    one, two = Model(2.0), Model(3.0)
    assert one.scaled(A).tolist() == [2.0, 4.0]
    assert two.scaled(A).tolist() == [3.0, 6.0]
    assert one.scaled.cache_info().currsize == 1
    assert one.scaled(A).tolist() == [2.0, 4.0]
    assert one.scaled.cache_info() == (1, 1, 1)
    assert one.scaled.__doc__ == "Multiply."
    reference = weakref.ref(one)
    del one
    gc.collect()
    assert reference() is None


def test_objects_that_are_trees_are_arguments() -> None:
    assert Line(2.0).at(A).tolist() == [2.0, 4.0]
    assert Line(3.0).at(A).tolist() == [3.0, 6.0]
    assert Line.at.cache_info().currsize == 1
    assert Line(3.0).at.lower(A).arguments["self"].slope.ndim == 0


def test_threads_make_each_program_once() -> None:
    f, traces = counted(lambda x: x + 1)
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(f(A))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(traces) == 1
    assert all(np.array_equal(result, A + 1) for result in results)
    assert f.cache_info() == (3, 1, 1)


def test_decorated_functions_are_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(square)) is square
    made = pickle.loads(pickle.dumps(compiled(np.square, mode="VM")))
    assert isinstance(made, CompiledFunction)
    assert made(A).tolist() == [1.0, 4.0]
