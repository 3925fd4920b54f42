"""Expressions above an input are not used, and which cells inputs may have."""

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import In, UnusedInputError, function, shared
from treadle.graph import CycleError
from treadle.surface.thunks import Container


def test_default_update_above_an_input_is_not_made() -> None:
    a = shared(0, name="a")
    a.default_update = a + 1
    b = 2 * a
    f = function([b], b + 1, mode="VM")
    assert f(21) == 22
    assert a.get_value() == 0
    assert f.get_shared() == []


def test_default_update_of_a_given_expression_stops_at_the_inputs() -> None:
    a = shared(0, name="a")
    a.default_update = a + 1
    b = 2 * a
    x = tt.lscalar("x")
    function([b], x + 1, givens={x: b}, mode="VM")(21)
    assert a.get_value() == 0


def test_update_that_is_computed_from_an_input_reads_nothing_above_it() -> None:
    a, total = shared(3, name="a"), shared(0, name="total")
    b = 2 * a
    f = function([b], updates={total: total + b}, mode="VM")
    f(10)
    assert total.get_value() == 10
    assert f.get_shared() == [total]


def test_copies_and_subsets_read_nothing_above_an_input() -> None:
    a = shared(3, name="a")
    b = 2 * a
    f = function([b], [b + 1, b + 2], mode="VM")
    assert f(1, output_subset=[1]) == [3]
    assert f.copy(delete_updates=True).get_shared() == []


def test_input_stays_itself_where_what_it_was_built_from_is_replaced() -> None:
    c = tt.dscalar("c")
    d = 2 * c
    assert function([d], d + c, givens={c: tt.constant(5.0)}, mode="VM")(1.0) == 6.0


def test_input_that_another_input_hides_is_unused() -> None:
    m = tt.matrix("m")
    turned = m.T
    with pytest.raises(UnusedInputError, match=r"input 0, m of type .* is not used.*inputs that are used: DimShuffle"):
        function([m, turned], turned * 2, mode="VM")
    x = tt.dscalar("x")
    twice = x * 2
    with pytest.raises(UnusedInputError, match="input 1, x of type"):
        (twice + 1).eval({twice: 3.0, x: 2.5})


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA", "JAX"])
def test_documented_container_is_the_cell_of_an_input(mode: str) -> None:
    a = tt.dscalar("a")
    box = Container(a, storage=[np.array(0.0)])
    f = function([In(a, value=box, update=a + 1)], a * 1, mode=mode)
    assert [float(f()), float(f())] == [0.0, 1.0]
    assert isinstance(box.data, np.ndarray)
    assert box.storage[0] == 2.0
    box.data = 10.0
    assert f() == 10.0


@pytest.mark.parametrize("name", ["lambda", "class", "None", "def", "a b"])
def test_signature_of_an_input_with_a_name_that_python_refuses(name: str) -> None:
    x = tt.dscalar(name)
    f = function([x], x + 1, mode="VM")
    assert list(inspect.signature(f).parameters) == ["args", "output_subset", "kwargs"]
    assert f(**{name: 1.0}) == 2.0


class Wordless:
    """An object whose text fails."""

    def __repr__(self) -> str:
        msg = "no text"
        raise RuntimeError(msg)


def test_argument_whose_text_fails_gets_the_message_about_it() -> None:
    x = tt.dscalar("x")
    f = function([x], x + 1, mode="VM")
    calls: list[Callable[[Any], Any]] = [
        f,
        lambda v: f(x=v),
        lambda v: f(1.0, output_subset=v),
        lambda v: function(v, x),
        lambda v: function([v], x),
        lambda v: function([x], v),
        lambda v: function([x], x, updates=v),
        lambda v: function([x], x, updates={v: x}),
        lambda v: function([x], x, givens={v: x}),
        lambda v: function([x], x, mode=v),
        lambda v: function([x], x, name=v),
        lambda v: function([x], x, no_default_updates=v),
        lambda v: function([x], x, on_unused_input=v),
        lambda v: function([x], x, profile=v),
        lambda v: In(x, value=v),
        In,
        shared,
        lambda v: shared(1.0).set_value(v),
        lambda v: x.eval({v: 1.0}),
    ]
    for call, argument in itertools.product(calls, [Wordless()]):
        with pytest.raises((TypeError, ValueError), match="<Wordless: its text failed with RuntimeError>"):
            call(argument)


def test_cycle_is_reported_before_inputs_that_it_hides() -> None:
    x = tt.dscalar("x")
    inner = tt.exp(x)
    outer = inner + 1
    assert inner.owner is not None
    inner.owner.inputs[0] = outer
    with pytest.raises(CycleError):
        function([x], outer)


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_python_numbers_are_arguments_and_strict_inputs_refuse_them(mode: str) -> None:
    x, k, s = tt.dvector("x"), tt.bscalar("k"), tt.dscalar("s")
    f = function([x, k, In(s, value=2.0)], [x[k] * s, k], mode=mode)
    for number in (1, np.int8(1), np.array(1, "int8")):
        for value, other in (((), 2), ((3,), 3), ((0.5,), 0.5)):
            results = f([1.0, 5.0], number, *value)
            assert [float(r) for r in results] == [5 * other, 1]
        assert float(f(np.array([1.0, 5.0]), k=number, s=4)[0]) == 20
    for bad in (300, 1.5, "1", None):
        with pytest.raises(TypeError, match="argument 1, k"):
            f(np.ones(2), bad)
    g = function([In(k, strict=True), s], k * s, mode=mode)
    with pytest.raises(TypeError, match="strict"):
        g(1, 2)
    assert float(g(np.array(3, "int8"), 2)) == 6
    with pytest.raises(TypeError, match="missing"):
        f(np.ones(2))
