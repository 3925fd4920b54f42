"""RandomStream: seeds, kinds of generators, default updates, seeding again."""

import copy
import pickle
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import treadle.tensor.random as tr
from treadle.compile import function
from treadle.config import change_flags
from treadle.tensor.errors import ArgumentError


def generator_of(draw: Any) -> Any:
    return draw.owner.inputs[0]


def test_draws_are_those_of_generators_seeded_by_spawned_sequences() -> None:
    stream = tr.RandomStream(7)
    f = function([], [stream.normal(size=2), stream.uniform(1, 3, size=4)], mode="VM")
    a, b = (np.random.default_rng(s) for s in np.random.SeedSequence(7).spawn(2))
    for _ in range(2):
        x, y = f()
        np.testing.assert_array_equal(x, a.normal(size=2))
        np.testing.assert_array_equal(y, b.uniform(1, 3, size=4))


def test_portable_streams_draw_from_portable_generators() -> None:
    stream = tr.RandomStream(7, generator="portable")
    f = function([], stream.normal(size=2), mode="VM")
    (seed,) = np.random.SeedSequence(7).spawn(1)
    np.testing.assert_array_equal(f(), tr.PortableGenerator(seed).normal(size=2))


def test_the_option_says_which_generators_are_made() -> None:
    with change_flags(random__generator="portable"):
        rngs = generator_of(tr.RandomStream(1).normal()), tr.shared_rng(seed=1), tr.rng(), generator_of(tr.normal())
    assert all(x.type == tr.portable_generator_type for x in rngs)


def test_seeding_again_changes_compiled_functions() -> None:
    stream = tr.RandomStream(7)
    f = function([], [stream.normal(size=2), stream.uniform()], mode="VM")
    first, second = f(), f()
    stream.seed()
    np.testing.assert_equal(f(), first)
    stream.seed(8)
    assert f()[1] != second[1]
    other = tr.RandomStream(8)
    stream.seed(8)
    np.testing.assert_array_equal(f()[0], function([], other.normal(size=2), mode="VM")())


def test_a_stream_lists_its_generators_and_their_updates() -> None:
    stream = tr.RandomStream(1)
    x: Any = stream.normal()
    ((generator, update),) = stream.updates()
    assert (generator, update) == (generator_of(x), x.owner.outputs[0])
    assert generator.default_update is update
    assert generator.name == "normal_rng_0"
    assert stream.updates() is not stream.state_updates


def test_generators_are_made_by_the_constructor_given() -> None:
    stream = tr.RandomStream(3, rng_ctor=lambda seed: np.random.Generator(np.random.SFC64(seed)))
    held = generator_of(stream.normal()).get_value()
    assert isinstance(held.bit_generator, np.random.SFC64)
    with pytest.raises(ArgumentError, match="either rng_ctor or generator"):
        tr.RandomStream(3, rng_ctor=np.random.default_rng, generator="numpy")


def test_distributions_of_another_module_can_be_drawn() -> None:
    module = ModuleType("own")
    module.__dict__.update(mine=tr.normal, other=3)
    stream = tr.RandomStream(1, namespace=module)
    assert generator_of(stream.mine()) is stream.updates()[0][0]
    assert not hasattr(stream, "other")
    assert not hasattr(stream, "normal")


def test_an_unknown_distribution_is_refused_with_near_names() -> None:
    with pytest.raises(AttributeError, match=r"RandomStream: .* 'norml'\. Did you mean .*normal"):
        tr.RandomStream(1).norml  # noqa: B018 - reading it is what is tested
    with pytest.raises(AttributeError, match="shared_rng"):
        tr.RandomStream(1).shared_rng  # noqa: B018 - as above


def test_a_failed_draw_uses_up_no_seed() -> None:
    stream, other = tr.RandomStream(1), tr.RandomStream(1)
    with pytest.raises(ArgumentError):
        stream.normal(1, 2, 3, 4, 5)
    with pytest.raises(ArgumentError, match="rng"):
        stream.normal(rng=tr.rng())
    values = [generator_of(s.normal()).get_value() for s in (stream, other)]
    assert tr.random_generator_type.values_eq(*values)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies_of_a_stream_go_on_by_themselves(copied: Callable[[Any], Any]) -> None:
    stream = tr.RandomStream(5)
    stream.normal()
    other = copied(stream)
    a, b = stream.normal(size=2), other.normal(size=2)
    np.testing.assert_array_equal(function([], a, mode="VM")(), function([], b, mode="VM")())
    assert generator_of(a).container is not generator_of(b).container


def test_streams_list_distributions() -> None:
    listed = dir(tr.RandomStream(1))
    assert {"normal", "uniform", "seed", "updates"} <= set(listed)
    assert not {"shared_rng", "rng", "RandomVariable", "normalize_size_param"} & set(listed)


@pytest.mark.parametrize("generator", ["numpy", "portable"])
def test_a_call_draws_from_all_generators_before_they_are_seeded_or_from_all_after(
    generator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = tr.RandomStream(1, generator=generator)
    f = function([], [stream.normal(), stream.normal(), stream.normal()], mode="VM")
    results: list[Any] = []
    other = threading.Thread(target=lambda: results.append(f()))
    kind = type(stream.state_updates[0][0])
    set_value = kind.set_value

    def slow(self: Any, *args: Any, **kwargs: Any) -> None:
        set_value(self, *args, **kwargs)
        if other.ident is None:
            other.start()
            # The call has time to draw here, if nothing prevents it.
            other.join(0.2)

    monkeypatch.setattr(kind, "set_value", slow)
    stream.seed(2)
    other.join()
    same = tr.RandomStream(2, generator=generator)
    np.testing.assert_array_equal(results, [function([], [same.normal(), same.normal(), same.normal()], mode="VM")()])


def test_a_stream_that_cannot_be_seeded_stays_as_it_was() -> None:
    stream = tr.RandomStream(1)
    f = function([], [stream.normal(), stream.normal()], mode="VM")
    make = stream.rng_ctor
    seeds: list[Any] = []

    def failing(seed: Any) -> Any:
        if seeds:
            raise KeyError(seed.entropy)
        seeds.append(seed)
        return make(seed)

    stream.rng_ctor = failing
    with pytest.raises(KeyError, match="2"):
        stream.seed(2)
    same = tr.RandomStream(1)
    expected = function([], [same.normal(), same.normal()], mode="VM")
    np.testing.assert_array_equal(f(), expected())
    np.testing.assert_array_equal(f(), expected())
