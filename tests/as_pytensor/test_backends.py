"""What ops are on PyTensor's backends, by its registries; and the functions that its programs have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numba
import numpy as np
import pytest

import treadle.tensor as tt
from treadle.as_pytensor.resolution import resolve
from treadle.compile import function, shared
from treadle.compile.stored.programs import FUNCTIONS
from treadle.graph import Apply, Cell, FunctionGraph, Op, Value
from treadle.link import jax as link_jax
from treadle.link import numba as link_numba
from treadle.tensor.elementwise.scalar_op import SCALAR_OPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class Doubled(Op):
    __props__ = ("times",)

    def __init__(self, times: int = 2) -> None:
        self.times = times

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, inputs, [inputs[0].type()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        msg = "Python is not to compute it"
        raise AssertionError(msg)


@pytest.fixture(autouse=True)
def _restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget after each test what it registers."""
    monkeypatch.setattr(SCALAR_OPS, "_scalar_ops", dict(SCALAR_OPS._scalar_ops))
    for table, scalars in ((link_numba.TABLE, link_numba.SCALARS), (link_jax.JAX, link_jax.SCALARS)):
        table.load()
        monkeypatch.setattr(table, "_rules", dict(table._rules))
        monkeypatch.setattr(table, "_added", list(table._added))
        monkeypatch.setattr(scalars, "_finders", list(scalars._finders))


def _rule(function: Callable[..., Any]) -> Callable[..., Callable[..., Any]]:
    """Return a rule that gives the same function for every node."""

    def rule(op: object, node: Apply | None = None, **kwargs: object) -> Callable[..., Any]:
        del op, node, kwargs
        return function

    return rule


def _itself(x: Any) -> Any:
    return x


def _itself_unchecked(x: Any, *conditions: Any) -> Any:
    del conditions
    return x


def _half(x: Any) -> Any:
    return x / 2


@pytest.fixture
def jax_funcify() -> Iterator[Any]:
    """The registry, with the precision that its first import sets."""
    before = jax.config.jax_enable_x64  # type: ignore[attr-defined]  # JAX does not say
    with jax.enable_x64(True):
        yield resolve("pytensor.link.jax.dispatch", "jax_funcify")
    jax.config.update("jax_enable_x64", before)  # type: ignore[no-untyped-call]  # JAX does not say


def test_a_function_registered_for_numba_computes_the_op() -> None:
    numba_funcify: Any = resolve("pytensor.link.numba.dispatch", "numba_funcify")
    njit: Any = resolve("pytensor.link.numba.dispatch.basic", "numba_njit")

    class OnNumba(Doubled):
        pass

    @numba_funcify.register(OnNumba)  # type: ignore[untyped-decorator]  # by its name
    def first(op: Doubled, node: Apply, **kwargs: object) -> Callable[..., Any]:
        del node, kwargs
        times = op.times
        return njit(lambda x: times * x)  # type: ignore[no-any-return]  # numba has no types

    x = tt.dvector("x")
    y = OnNumba(3)(x)
    run = function([x], y + 1, mode="NUMBA")
    assert run([1.0, 2.0]).tolist() == [4.0, 7.0]

    # A later one takes its place.
    numba_funcify.register(OnNumba, _rule(njit(_itself)))
    assert function([x], y + 1, mode="NUMBA")([1.0, 2.0]).tolist() == [2.0, 3.0]


def test_graphs_and_ops_are_functions_of_numba() -> None:
    numba_funcify: Any = resolve("pytensor.link.numba.dispatch", "numba_funcify")
    x = tt.dvector("x")
    y: Any = tt.exp(x)
    of_graph, of_op = numba_funcify(FunctionGraph([x], [y])), numba_funcify(y.owner.op, node=y.owner)

    assert of_graph(np.zeros(2))[0].tolist() == of_op(np.zeros(2)).tolist() == [1.0, 1.0]


def test_a_program_in_mode_numba_has_a_function_of_numba() -> None:
    x, a = tt.dvector("x"), shared(np.array([1.0, 2.0]), name="a")
    run = function([x], [(x * a).sum(), x + a], mode="NUMBA")
    inner = run.vm.jit_fn  # type: ignore[attr-defined]  # given by an entry point
    assert run.vm.jit_fn is inner  # type: ignore[attr-defined]  # as above
    values = [variable.get_value() for variable in run.get_shared()]

    value, moved = inner(np.ones(2), *values)
    assert value == 3.0
    assert moved.tolist() == [2.0, 3.0]


def test_a_function_registered_for_jax_computes_the_op_in_place_of_treadles_own(jax_funcify: Any) -> None:
    class Checked(tt.CheckAndRaise):
        pass

    x = tt.dvector("x")
    checked = Checked(ValueError, "negative")(x, (x > 0).all())
    with pytest.raises(ValueError, match="negative"):
        function([x], checked + 1, mode="JAX")([-1.0])

    @jax_funcify.register(Checked)  # type: ignore[untyped-decorator]  # as above
    def passed(op: Op, **kwargs: object) -> Callable[..., Any]:
        del op, kwargs
        return _itself_unchecked

    run = jax_funcify(FunctionGraph([x], [checked + 1]))
    assert jax.jit(run)(np.array([-1.0]))[0].tolist() == [0.0]
    assert jax.grad(lambda x: run(x)[0].sum())(np.array([-1.0])).tolist() == [1.0]


def test_a_program_in_mode_jax_has_a_function_of_jax(jax_funcify: Any) -> None:
    assert jax_funcify.registry is not None
    x, a = tt.dvector("x"), shared(2.0, name="a")
    run = function([x], [(x * a).sum()], mode="JAX")
    inner: Any = run.vm.jit_fn  # type: ignore[attr-defined]  # given by an entry point
    assert inner(np.ones(2), 2.0)[0] == 4.0
    # What is under the compiled function is traced by JAX's other transformations.
    assert jax.grad(lambda x: inner._fun(x, 2.0)[0])(np.ones(2)).tolist() == [2.0, 2.0]


def test_functions_registered_for_scalar_ops_compute_elements(jax_funcify: Any) -> None:
    numba_funcify: Any = resolve("pytensor.link.numba.dispatch", "numba_funcify")
    base: Any = resolve("pytensor.scalar", "UnaryScalarOp")

    class Halved(base):  # type: ignore[misc]  # a class of PyTensor's
        def impl(self, x: float) -> float:
            msg = "Python is not to compute it"
            raise AssertionError(msg)

    numba_funcify.register(Halved, _rule(numba.njit(_half)))
    jax_funcify.register(Halved, _rule(_half))
    x = tt.dmatrix("x")
    halved = 1 + tt.Elemwise(Halved(name="halved"))(x) ** 2
    for mode in ("NUMBA", "JAX"):
        assert function([x], halved, mode=mode)([[2.0, 4.0]]).tolist() == [[2.0, 5.0]]
    # Programs without such ops are kept as before.
    unkept = FUNCTIONS.counts.unkept
    function([x], tt.exp(x) + 1, mode="NUMBA")
    assert FUNCTIONS.counts.unkept == unkept


def test_a_program_of_another_mode_has_none() -> None:
    x = tt.dvector("x")
    program = function([x], x + 1, mode="VM").vm
    assert not hasattr(program, "jit_fn")


def test_values_are_what_jax_takes(jax_funcify: Any) -> None:
    del jax_funcify
    typify: Any = resolve("pytensor.link.jax.dispatch", "jax_typify")
    assert typify(np.array(2.0)) == 2.0
    assert isinstance(typify(np.ones(2)), jax.Array)
    assert typify("text") == "text"
