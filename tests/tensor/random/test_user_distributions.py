"""Random variables that users define, in the documented style: NumPy or SciPy code, which runs in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import treadle.tensor as tt
from treadle.compile import function, shared
from treadle.config import config
from treadle.graph import Apply, vectorize_graph
from treadle.link.vm import PythonStepWarning
from treadle.tensor import ShapeError
from treadle.tensor import random as tr
from treadle.tensor.random import RandomVariable, RNGConsumerOp


class MaxwellRV(RandomVariable):
    """Drawn by SciPy."""

    name = "maxwell"
    signature = "(),()->()"
    dtype = "floatX"
    _print_name = ("Maxwell", "\\operatorname{Maxwell}")

    def __call__(self, loc: Any, scale: Any = 1.0, size: Any = None, **kwargs: Any) -> Any:  # type: ignore[override]  # as documented
        return super().__call__(loc, scale, size=size, **kwargs)

    @classmethod
    def rng_fn(cls, rng: Any, loc: Any, scale: Any, size: Any) -> Any:
        return stats.maxwell.rvs(loc, scale, size=size, random_state=rng)


class RepeatedRV(RandomVariable):
    """Vectors whose length is a parameter's value, by ranks in place of a signature."""

    name = "repeated"
    ndim_supp = 1
    ndims_params = [0, 0]  # noqa: RUF012 - as documented
    dtype = "int64"

    def _supp_shape_from_params(self, dist_params: Any, param_shapes: Any = None) -> Any:
        del param_shapes
        return (dist_params[1],)

    @classmethod
    def rng_fn(cls, rng: Any, high: Any, length: Any, size: Any) -> Any:
        shape = () if size is None else tuple(size)
        return rng.integers(high, size=(*shape, int(length)))


def test_scipy_code_draws_with_the_generator() -> None:
    r = tr.shared_rng(seed=3)
    following, x = MaxwellRV()(1.0, [1.0, 2.0], size=(3, 2), rng=r, return_next_rng=True)
    draw = function([], x, updates={r: following}, mode="VM")
    rng = np.random.default_rng(3)
    for _ in range(2):
        np.testing.assert_array_equal(draw(), stats.maxwell.rvs(1.0, [1.0, 2.0], size=(3, 2), random_state=rng))


@pytest.mark.slow
def test_compiled_backends_run_it_in_python_and_say_so() -> None:
    x = MaxwellRV()(1.0, size=3, rng=tr.shared_rng(seed=3))
    with pytest.warns(PythonStepWarning, match="maxwell_rv"):
        draw = function([], 2 * x + 1, mode="NUMBA")
    np.testing.assert_allclose(draw(), 2 * stats.maxwell.rvs(1.0, size=3, random_state=np.random.default_rng(3)) + 1)


def test_c_runs_it_between_compiled_parts() -> None:
    x = MaxwellRV()(1.0, size=3, rng=tr.shared_rng(seed=3))
    draw = function([], 2 * x + 1, mode="CVM")
    np.testing.assert_allclose(draw(), 2 * stats.maxwell.rvs(1.0, size=3, random_state=np.random.default_rng(3)) + 1)


def test_ranks_in_place_of_a_signature_and_lengths_by_the_subclass() -> None:
    n = tt.lscalar("n")
    x = RepeatedRV()(7, n, size=(2,), rng=tr.shared_rng(seed=3))
    assert x.type.ndim == 2
    np.testing.assert_array_equal(function([n], x, mode="VM")(4), np.random.default_rng(3).integers(7, size=(2, 4)))
    shape = function([n], x.shape, mode="VM")
    assert shape(4).tolist() == [2, 4]
    assert not any(isinstance(node.op, RandomVariable) for node in shape.maker.fgraph.toposort())


def test_instance_made_by_its_constructor_needs_a_method_of_its_own_only() -> None:
    class Own(RandomVariable):
        @classmethod
        def rng_fn(cls, rng: Any, mu: Any, size: Any) -> Any:
            return mu + rng.random(size)

    x = Own("own", signature="()->()", dtype="float32")(5.0, size=2, rng=tr.shared_rng(seed=3))
    assert x.dtype == "float32"
    np.testing.assert_allclose(x.eval(), 5 + np.random.default_rng(3).random(2), rtol=1e-6)


def test_draws_without_derivatives_are_refused_by_name_and_line() -> None:
    mu = tt.dscalar("mu")
    x = MaxwellRV()(mu, rng=tr.shared_rng(seed=3))
    with pytest.raises(tt.NullTypeGradError, match=r"(?s)maxwell.*test_user_distributions\.py"):
        tt.grad(x, mu)


def test_parameters_of_users_distributions_are_vectorised() -> None:
    mu, mus = tt.dscalar("mu"), tt.dvector("mus")
    x = MaxwellRV()(mu, rng=tr.shared_rng(seed=3))
    many = function([mus], vectorize_graph(x, {mu: mus}), mode="VM")
    scales = np.array([1.0, 2.0])
    expected = stats.maxwell.rvs(scales, 1.0, size=2, random_state=np.random.default_rng(3))
    np.testing.assert_array_equal(many(scales), expected)


class Doubled(RNGConsumerOp):
    """An op of the user's own that draws."""

    __props__ = ()

    def make_node(self, rng: Any) -> Apply:
        return Apply(self, [rng], [rng.type.make_variable(), tt.dscalar()])

    def update(self, node: Apply) -> dict[Any, Any]:
        return {node.inputs[0]: node.outputs[0]}

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        rng = node.inputs[0].type.copy_value(inputs[0])
        output_storage[1][0] = np.asarray(2 * rng.random())
        output_storage[0][0] = rng


def test_ops_that_draw_are_not_constants_and_move_the_generator() -> None:
    r = tr.shared_rng(seed=3)
    following, x = Doubled()(r, return_list=True)
    draw = function([], x, updates={r: following}, mode="VM")
    rng = np.random.default_rng(3)
    assert [draw().item(), draw().item()] == [2 * rng.random(), 2 * rng.random()]


@pytest.mark.parametrize("floats", ["float64", "float32"])
def test_distribution_without_a_dtype_draws_floats(floats: str) -> None:
    with config.change_flags(floatX=floats):
        draw = RandomVariable("normal", signature="(),()->()")([0], [1])
        assert (draw.dtype, draw.type.shape) == (floats, (1,))
        assert RandomVariable("normal", 0, [0, 0])(0, 1).dtype == floats
        assert function([], draw, mode="VM")().shape == (1,)


def test_ranks_can_be_read_of_a_class() -> None:
    assert (MaxwellRV.ndim_supp, MaxwellRV.ndims_params) == (0, [0, 0])
    assert (tr.MvNormalRV.ndim_supp, tr.MvNormalRV.ndims_params) == (1, [1, 2])
    assert (RepeatedRV.ndim_supp, RepeatedRV().ndim_supp) == (1, 1)
    assert getattr(RandomVariable, "ndim_supp", 3) is None
    assert RandomVariable.ndims_params is None
    assert RandomVariable("free", signature="(n)->(n)").ndims_params == [1]


class SumOfUniformsRV(RandomVariable):
    """A distribution that is only a definition."""

    name = "sum_of_uniforms"
    signature = "(),()->()"
    dtype = "floatX"
    parameters = {"low": 0.0, "high": 1.0}  # noqa: RUF012 - as documented

    def definition(self, rng: Any, low: Any, high: Any, *, size: Any) -> Any:
        return rng.uniform(low, high, size=size) + rng.normal(low, 1.0, size=size) * rng.standard_exponential(size=size)


@pytest.mark.parametrize("mode", ["VM", "C"])
@pytest.mark.parametrize("make", [np.random.default_rng, tr.PortableGenerator], ids=["numpy", "portable"])
def test_a_definition_gives_derivatives_with_the_elementary_draws_held(make: Any, mode: str) -> None:
    low = tt.dscalar("low")

    def drawn(value: Any) -> Any:
        return SumOfUniformsRV()(value, 3.0, size=(4,), rng=shared(make(5)))

    gradient = tt.grad(drawn(low).sum(), low)
    forward = tt.pushforward(drawn(low), low, tt.constant(1.0)).sum()
    f = function([low], [gradient, forward, drawn(low).sum()], mode=mode)
    slope, along, value = f(0.5)
    step = 1e-6
    np.testing.assert_allclose(slope, (f(0.5 + step)[2] - f(0.5 - step)[2]) / (2 * step), rtol=1e-6)
    np.testing.assert_allclose(along, slope, rtol=1e-12)
    assert np.isfinite(value)


def test_a_definition_by_draws_without_derivatives_has_none() -> None:
    class ByCounts(SumOfUniformsRV):
        name = "by_counts"

        def definition(self, rng: Any, low: Any, high: Any, *, size: Any) -> Any:
            return rng.poisson(low, size=size) * high

    low = tt.dscalar("low")
    with pytest.raises(tt.NullTypeGradError, match="poisson"):
        tt.grad(ByCounts()(low, 2.0, size=(3,), rng=shared(np.random.default_rng(1))).sum(), low)


def test_class_may_leave_its_ranks_to_the_signature() -> None:
    class Shifted(RandomVariable):
        name = "shifted"
        signature = "(),(n)->(n)"
        ndim_supp = None  # type: ignore[assignment]  # as some classes have it
        ndims_params = None  # type: ignore[assignment]  # as above
        dtype = "floatX"

        def rng_fn(self, rng: Any, centre: Any, steps: Any, size: Any) -> Any:
            del rng, size
            return np.asarray(centre)[..., None] + steps

    op: Any = Shifted()
    assert (op.ndims_params, op.ndim_supp, repr(op)) == ([0, 1], 1, "shifted_rv")
    drawn = op(np.zeros(3), np.arange(2.0))
    assert op.batch_ndim(drawn.owner) == 1
    assert function([], drawn, mode="VM")().tolist() == [[0.0, 1.0]] * 3
    lengths = op._infer_shape(None, drawn.owner.inputs[2:])
    assert [int(tt.as_tensor(n).eval()) for n in lengths] == [3, 2]
    known = op._infer_shape(None, drawn.owner.inputs[2:], ((4,), (5,)))
    assert [int(tt.as_tensor(n).eval()) for n in known] == [4, 5]
    given = op._infer_shape((7, 3), drawn.owner.inputs[2:])
    assert [int(tt.as_tensor(n).eval()) for n in given] == [7, 3, 2]


def test_classes_of_distributions_tell_their_ranks() -> None:
    kind: Any = tr.NormalRV
    assert (kind.ndim_supp, kind.ndims_params, kind.name) == (0, [0, 0], "normal")
    kind = tr.MvNormalRV
    assert (kind.ndim_supp, kind.ndims_params) == (1, [1, 2])
    base: Any = RandomVariable
    assert (base.ndim_supp, base.ndims_params, base.dtype) == (None, None, None)


def test_class_of_a_distribution_draws_as_its_op_does() -> None:
    kinds: Any = [(type(tr.normal), (1.0, 2.0)), (type(tr.categorical), (np.array([0.2, 0.3, 0.5]),))]
    kinds.append((MaxwellRV, (1.0, 2.0)))
    for kind, parameters in kinds:
        drawn = kind.rng_fn(np.random.default_rng(3), *parameters, (4,))
        np.testing.assert_array_equal(drawn, kind().rng_fn(np.random.default_rng(3), *parameters, (4,)))


def test_method_of_the_base_is_called_on_an_op() -> None:
    drawn = RandomVariable.rng_fn(tr.normal, np.random.default_rng(3), 1.0, 2.0, (4,))
    np.testing.assert_array_equal(drawn, np.random.default_rng(3).normal(1.0, 2.0, 4))


def test_size_is_compared_with_the_parameters_when_the_option_says() -> None:
    with pytest.raises(ShapeError, match="do not broadcast to the size"):
        tr.normal([0.0, 1.0], size=(3,))
    with config.change_flags(random__check_size="draw"):
        x = tr.normal([0.0, 1.0], size=(3,))
    for mode in ("VM", "C"):
        with pytest.raises(ValueError, match="broadcast"):
            function([], x, mode=mode)()
