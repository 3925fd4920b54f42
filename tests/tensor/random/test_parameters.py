"""Functions about the parameters of random variables, and random variables of the user's own."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import treadle.tensor.random as tr
from treadle.compile import function
from treadle.config import TreadleError
from treadle.graph import shared
from treadle.tensor import lscalar, matrix, tensor3, vector
from treadle.tensor.errors import ShapeError
from treadle.tensor.shapes.shape import static_lengths

same = np.testing.assert_array_equal


def test_parameters_are_broadcast_batch_by_batch() -> None:
    mean, cov = np.arange(3.0), np.stack([np.eye(3), 2 * np.eye(3)])
    values = tr.broadcast_params([mean, cov], [1, 2])
    assert [v.shape for v in values] == [(2, 3), (2, 3, 3)]
    x, y = vector(), tensor3()
    for got, wanted in zip(
        function([x, y], tr.broadcast_params([x, y], [1, 2]), mode="VM")(mean, cov), values, strict=True
    ):
        same(got, wanted)


def test_shapes_of_parameters_are_broadcast_batch_by_batch() -> None:
    assert tr.params_broadcast_shapes([(2, 1, 3), (5, 3, 3)], [1, 2], use_pytensor=False) == [(2, 5, 3), (2, 5, 3, 3)]
    assert tr.params_broadcast_shapes([(4,), ()], [1, 0], use_pytensor=False) == [(4,), ()]


def test_parameters_get_as_many_batch_dimensions() -> None:
    x, y = vector(), tensor3()
    assert [p.type.shape for p in tr.explicit_expand_dims([x, y], [1, 2])] == [(1, None), (None, None, None)]
    assert [p.ndim for p in tr.explicit_expand_dims([x, y], [1, 2], size_length=2)] == [3, 4]


def test_the_shape_of_a_batch_is_that_of_the_parameters() -> None:
    x, y = matrix(), tensor3()
    f = function([x, y], tr.compute_batch_shape([x, y], [1, 2]), mode="VM")
    same(f(np.ones((4, 3)), np.ones((1, 3, 3))), [4])
    assert function([], tr.compute_batch_shape([1.0], [0]), mode="VM")().shape == (0,)


def test_lengths_of_draws_are_those_of_a_parameter() -> None:
    x = matrix(shape=(None, 7))
    length: Any
    (length,) = tr.supp_shape_from_ref_param_shape(ndim_supp=1, dist_params=[x], ref_param_idx=0)
    assert static_lengths([length]) == (7,)
    lengths = tr.supp_shape_from_ref_param_shape(
        ndim_supp=2, dist_params=[x], param_shapes=[(4, 5, 6)], ref_param_idx=0
    )
    assert lengths == (5, 6)
    with pytest.raises(ShapeError, match="rank 1 to 2"):
        tr.supp_shape_from_ref_param_shape(ndim_supp=3, dist_params=[x], ref_param_idx=0)


class ScipyLomax(tr.ScipyRandomVariable):
    name = "lomax"
    signature = "()->()"
    dtype = "float64"

    @classmethod
    def rng_fn_scipy(cls, rng: Any, c: Any, size: Any) -> Any:
        return stats.lomax.rvs(c, size=size, random_state=rng)


def test_scipy_draws_random_variables_of_the_users() -> None:
    held = shared(np.random.default_rng(1))
    following, x = ScipyLomax()(2.0, size=3, rng=held, return_next_rng=True)
    f = function([], x, updates={held: following})
    rng = np.random.default_rng(1)
    for _ in range(2):
        same(f(), stats.lomax.rvs(2.0, size=3, random_state=rng))


@pytest.mark.parametrize("backend", ["VM", "C"])
def test_a_random_variable_is_by_default_what_the_generators_method_of_its_name_draws(backend: str) -> None:
    op = tr.RandomVariable("laplace", signature="(),()->()", dtype="float64")
    old = tr.RandomVariable("rayleigh", ndim_supp=0, ndims_params=[0], dtype="float64")
    x = op(1.0, 2.0, size=3, rng=tr.shared_rng(seed=1))
    y = old(2.0, size=3, rng=tr.shared_rng(seed=1))
    a, b = function([], [x, y], mode=backend)()
    same(a, np.random.default_rng(1).laplace(1.0, 2.0, size=3))
    same(b, np.random.default_rng(1).rayleigh(2.0, size=3))


def test_a_random_variable_without_a_method_of_its_name_is_refused_when_it_runs() -> None:
    x = tr.RandomVariable("nothing", signature="()->()", dtype="float64")(1.0, rng=tr.shared_rng(seed=1))
    with pytest.raises(TreadleError, match="nothing: Generator has no such method"):
        function([], x, mode="VM")()


class Walk(tr.RandomVariable):
    """A walk whose number of steps is a parameter."""

    name = "walk"
    signature = "(),()->(t)"
    dtype = "float64"

    def _supp_shape_from_params(self, dist_params: Any, param_shapes: Any = None) -> Any:
        return [dist_params[1]]

    def rng_fn(self, rng: Any, scale: Any, steps: Any, size: Any) -> Any:
        return (scale[..., None] * rng.normal(size=(*size, int(steps)))).cumsum(-1)


def test_lengths_of_a_draw_may_depend_on_values_of_parameters() -> None:
    held, steps = tr.shared_rng(seed=1), lscalar()
    x = Walk()([1.0, 2.0], steps, rng=held)
    assert x.type.shape == (2, None)
    assert Walk()([1.0, 2.0], 7, rng=held).type.shape == (2, 7)
    f = function([steps], [x, x.shape[1]])
    value, length = f(5)
    assert value.shape == (2, 5)
    assert length == 5
    only = function([steps], x.shape[1])
    assert not any(isinstance(node.op, Walk) for node in only.maker.fgraph.apply_nodes)


def test_a_signature_may_hold_numbers() -> None:
    op = tr.RandomVariable("pair", signature="()->(2)", dtype="float64")
    assert op(1.0, size=3).type.shape == (3, 2)
    with pytest.raises(NotImplementedError, match="does not say"):
        tr.RandomVariable("any", signature="()->(n)", dtype="float64")._supp_shape_from_params([1.0])
