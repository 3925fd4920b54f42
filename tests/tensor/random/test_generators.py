"""Generators as values of graphs: shared ones, inputs, outputs, constants, and their methods."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.tensor.random as tr
from treadle.compile import function
from treadle.config import change_flags
from treadle.graph import shared
from treadle.tensor import lscalar
from treadle.tensor.errors import ArgumentError, TensorTypeError
from treadle.tensor.random import namespace


@pytest.mark.parametrize("make", [np.random.default_rng, tr.PortableGenerator])
def test_shared_keeps_generators(make: Callable[[int], Any]) -> None:
    generator = make(3)
    variable = shared(generator, "r")
    assert isinstance(variable, tr.RandomGeneratorSharedVariable)
    assert variable.name == "r"
    assert variable.get_value(borrow=True) is not generator
    assert shared(generator, borrow=True).get_value(borrow=True) is generator
    assert variable.type.values_eq(variable.get_value(), generator)


def test_a_legacy_random_state_is_refused() -> None:
    with pytest.raises(TensorTypeError, match="legacy RandomState"):
        shared(np.random.RandomState(1))


def test_shared_rng_takes_a_generator_or_a_seed() -> None:
    held = tr.shared_rng(seed=3).get_value()
    assert tr.random_generator_type.values_eq(held, np.random.default_rng(3))
    with pytest.raises(ArgumentError, match="both"):
        tr.shared_rng(np.random.default_rng(1), seed=3)


def test_generators_are_set_by_value_or_by_seed() -> None:
    held = tr.shared_rng(seed=3)
    held.set_value(seed=4)
    assert held.type.values_eq(held.get_value(), np.random.default_rng(4))
    held.set_value(np.random.default_rng(5))
    assert held.type.values_eq(held.get_value(), np.random.default_rng(5))
    kept: Any = held
    for wrong in ({}, {"new_value": np.random.default_rng(5), "seed": 1}):
        with pytest.raises(ArgumentError, match="either a generator or a seed"):
            kept.set_value(**wrong)
    with pytest.raises(TensorTypeError, match="PortableGenerator"):
        held.set_value(tr.PortableGenerator(1))


def test_distributions_are_methods_that_return_the_next_generator_and_the_draw() -> None:
    r = tr.rng()
    next_rng, x = r.normal(1, 2, size=3)
    last, y = next_rng.uniform(size=2)
    generator, expected = np.random.default_rng(3), np.random.default_rng(3)
    following, a, b = function([r], [last, x, y], mode="VM")(generator)
    np.testing.assert_array_equal(a, expected.normal(1, 2, size=3))
    np.testing.assert_array_equal(b, expected.uniform(size=2))
    assert following.random() == expected.random()
    assert generator.random() == np.random.default_rng(3).random()


def test_generators_list_distributions_and_refuse_other_names() -> None:
    r = tr.rng()
    assert {"normal", "uniform"} <= set(dir(r))
    assert not hasattr(r, "shared_rng")
    with pytest.raises(AttributeError, match=r"Did you mean .*normal"):
        r.norml  # noqa: B018 - reading it is what is tested


def test_names_are_compared_once_for_an_attribute_that_generators_do_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs ask their variables for attributes that some have: of generators that took longer than the graph."""
    calls: list[object] = []

    def names(module: object) -> list[str]:
        calls.append(module)
        return ["normal"]

    monkeypatch.setattr(namespace, "distribution_names", names)
    r = tr.rng()
    assert not any(hasattr(r, "container_that_is_not_there") for _ in range(3))
    assert len(calls) == 1


@pytest.mark.parametrize("seed", [5, [1, 2, 3], 2**100 + 7, np.int32(4)])
def test_default_rng_makes_generators_in_graphs(seed: Any) -> None:
    _, x = tr.default_rng(seed).normal(size=3)
    f = function([], x, mode="VM")
    np.testing.assert_array_equal(f(), np.random.default_rng(seed).normal(size=3))
    _, y = tr.portable_rng(seed).normal(size=3)
    np.testing.assert_array_equal(function([], y, mode="VM")(), tr.PortableGenerator(seed).normal(size=3))


def test_default_rng_takes_symbolic_seeds() -> None:
    seed = lscalar("seed")
    f = function([seed], tr.default_rng(seed).uniform()[1], mode="VM")
    assert f(3) == np.random.default_rng(3).uniform()
    assert f(4) == np.random.default_rng(4).uniform()
    with pytest.raises(ValueError, match="non-negative"):
        f(-1)
    with pytest.raises(TensorTypeError, match="integer"):
        tr.default_rng(1.5)


def test_default_rng_without_a_seed_is_fresh_in_each_node_and_call() -> None:
    f = function([], [tr.default_rng().uniform()[1], tr.default_rng(None).uniform()[1]])
    assert len({float(x) for x in (*f(), *f())}) == 4


@pytest.mark.parametrize("make", [np.random.default_rng, tr.PortableGenerator])
def test_generators_are_spawned_in_graphs(make: Callable[[int], Any]) -> None:
    held = shared(make(3))
    after, children = held.spawn(2)
    f = function([], [child.uniform()[1] for child in children], updates={held: after}, mode="VM")
    expected = make(3)
    for _ in range(2):
        assert f() == [child.uniform() for child in expected.spawn(2)]
    assert held.get_value().uniform() == expected.uniform()


def test_integers_are_folded_into_portable_generators_in_graphs() -> None:
    held, data = tr.shared_rng(tr.PortableGenerator(3)), lscalar("data")
    f = function([data], held.fold_in(data).uniform()[1], mode="VM")
    assert f(7) == tr.PortableGenerator(3).fold_in(7).uniform()
    with pytest.raises(TensorTypeError, match="portable"):
        tr.rng(generator="numpy").fold_in(3)


def test_the_dtype_of_a_draw_is_that_of_floatx_when_it_was_made() -> None:
    with change_flags(floatX="float32"):
        draw = tr.normal(rng=tr.shared_rng(seed=1), size=2)
    assert draw.dtype == "float32"
    assert function([], draw, mode="VM")().dtype == "float32"


def test_types_of_generators_tell_states_apart() -> None:
    kind = tr.random_generator_type
    assert kind == tr.RandomGeneratorType()
    assert hash(kind) == hash(tr.RandomGeneratorType())
    assert kind != tr.portable_generator_type
    assert kind.is_valid_value(np.random.default_rng(1))
    assert not kind.is_valid_value(tr.PortableGenerator(1))
    assert kind.values_eq(kind.sample(3), np.random.default_rng(3))
    assert not kind.values_eq(np.random.default_rng(1), np.random.default_rng(2))
    assert not kind.values_eq(np.random.default_rng(1), np.random.Generator(np.random.SFC64(1)))
    one = np.random.default_rng(1)
    assert kind.may_share_memory(one, np.random.Generator(one.bit_generator))
    assert not kind.may_share_memory(one, np.zeros(2))
    assert kind.nbytes(one) == 48


def test_constants_are_equal_where_states_and_seeds_are() -> None:
    make = tr.random_generator_type.make_constant
    spawned = np.random.default_rng(1)
    spawned.spawn(1)
    assert make(np.random.default_rng(1)).equals(make(np.random.default_rng(1)))
    assert not make(np.random.default_rng(1)).equals(make(np.random.default_rng(2)))
    assert not make(np.random.default_rng(1)).equals(make(spawned))
    assert str(make(spawned)) == "Generator(PCG64)"


def test_programs_without_generators_do_not_import_those_of_numpy() -> None:
    program = """
import sys
import treadle.tensor as tt
from treadle.compile import function, shared
x = tt.dscalar()
function([x], x + shared(1.0), mode="C")(1.0)
assert "numpy.random" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
