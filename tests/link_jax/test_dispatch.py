"""Rules for JAX that are registered by the documented decorator."""

from collections.abc import Callable, Sequence
from typing import Any

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import Apply, Cell, Op, Value
from treadle.link.jax.dispatch import jax_funcify


class Doubled(Op):
    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        x = tt.as_tensor(inputs[0])
        return Apply(self, [x], [x.type.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        output_storage[0][0] = 2 * inputs[0]


def test_registered_function_is_what_jax_runs() -> None:
    seen: list[Any] = []

    @jax_funcify.register(Doubled)
    def doubled(op: Op, node: Apply, **kwargs: object) -> Callable[..., Any]:
        del op, kwargs
        seen.append(node)
        return lambda x: x + x

    x = tt.dvector("x")
    y = Doubled()(x)
    assert function([x], y, mode="JAX")([1.0, 2.0]).tolist() == [2.0, 4.0]
    assert len(seen) > 0
    run: Any = jax_funcify(y.owner.op, y.owner)
    assert run(3) == 6
