"""Rules about random variables, and rules that meet them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.tensor_rewrites.graphs import rewrite, text
from treadle import tensor as tt
from treadle.compile import function
from treadle.rewrite import RewriteDatabaseQuery
from treadle.tensor import random as tr
from treadle.tensor.random import GeneratorInState, GeneratorState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.tensor import TensorVariable


@pytest.mark.parametrize(
    "of", [lambda x: 2 * x, lambda x: x + x * 3, lambda x: x / x - 1, lambda x: tt.exp(2 * x) ** 2, tt.sum]
)
def test_rules_about_products_and_sums_take_draws_as_operands(of: Callable[[TensorVariable], TensorVariable]) -> None:
    x = tr.normal(1.0, 2.0, size=(3,), rng=tr.shared_rng(seed=5))
    function([], of(x), mode="VM")()


def steps(make: Callable[[Any], Sequence[Any]], inputs: Sequence[Any] = ()) -> list[str]:
    """Return the names of the ops in a graph of portable draws, as a backend that fuses gets it."""
    r = tr.shared_rng(tr.PortableGenerator(3))
    fgraph, _ = rewrite([*inputs, r], make(r), RewriteDatabaseQuery(["fast_run"]))
    return [str(getattr(node.op, "scalar_op", type(node.op).__name__)) for node in fgraph.toposort()]


def test_portable_draw_fuses_with_what_is_computed_of_it() -> None:
    def make(r: Any) -> list[Any]:
        following, x = tr.normal(1.0, 2.0, size=(3,), rng=r, return_next_rng=True)
        return [tt.exp(x) + 1, following]

    assert steps(make) == ["GeneratorState", "PortableDraws", "Composite{mul add exp add}", "add", "GeneratorInState"]


def test_chain_of_portable_draws_reads_and_keeps_the_state_once() -> None:
    def make(r: Any) -> list[Any]:
        following, x = tr.normal(size=(3,), rng=r, return_next_rng=True)
        following, y = tr.uniform(x, 9.0, rng=following, return_next_rng=True)
        following, z = tr.normal(y, rng=following, return_next_rng=True)
        return [z, following]

    names = steps(make)
    assert (names.count("GeneratorState"), names.count("GeneratorInState"), names.count("PortableDraws")) == (1, 1, 3)


def test_condition_on_a_parameter_that_is_not_constant_stays() -> None:
    scale = tt.dvector("scale")
    assert "CheckAndRaise" in steps(lambda r: [tr.normal(0.0, scale, rng=r)], [scale])


def test_order_of_generators_and_states_does_not_matter() -> None:
    r, state = tr.portable_generator_type.make_variable("r"), tt.tensor("state", dtype="int64", shape=(3,))
    later = GeneratorInState()(GeneratorInState()(r, state), state + 1)
    fgraph, _ = rewrite([r, state], [GeneratorState()(later), later], RewriteDatabaseQuery(["canonicalize"]))
    assert [text(out) for out in fgraph.outputs] == ["add(state, [1])", "generatorinstate(r, add(state, [1]))"]


def test_generator_moves_on_by_a_draw_that_nothing_needs_unless_asked_otherwise() -> None:
    r = tr.portable_generator_type.make_variable("r")
    following, _ = tr.normal(rng=r, return_next_rng=True)
    kept, _ = rewrite([r], [following], RewriteDatabaseQuery(["fast_run"], exclude=["fusion"]))
    assert text(kept.outputs[0]) != "r"
    stepped, _ = rewrite([r], [following], RewriteDatabaseQuery(["random_unsafe"]))
    assert text(stepped.outputs[0]) == "r"


def test_equal_draws_of_one_generator_are_one_and_those_of_others_are_not() -> None:
    r, other = (tr.random_generator_type.make_variable(name) for name in "rs")
    fgraph, _ = rewrite([r, other], [tr.normal(rng=r), tr.normal(rng=r), tr.normal(rng=other)])
    first, second, third = fgraph.outputs
    assert first is second
    assert third is not first
