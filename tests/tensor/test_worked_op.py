"""An op on arrays written from the documentation alone: the polar form of points in the plane.

Forward, gradient (under each of the documented names), in-place variant, several outputs, a default output, a view, a
shape rule, a refusal of constant folding, a thunk of its own, and a debug version of `perform`.
"""

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function, shared
from treadle.config import config
from treadle.graph import (
    Apply,
    Constant,
    DeepCopyOp,
    DisconnectedType,
    MethodNotDefinedError,
    NodeValueError,
    NullType,
    Op,
    ThunkType,
    Variable,
    clone_replace,
    compute_test_value,
    get_test_value,
    io_connection_pattern,
    is_thunk_type,
)
from treadle.testing import verify_grad

X = np.array([3.0, 1.0, -2.0])
Y = np.array([4.0, -1.0, 0.5])


class Polar(Op):
    """Radius and angle of points with coordinates x and y.

    Parameters
    ----------
    scale
        The radius is multiplied by this number.
    inplace
        Whether the radius may be written where x is.
    """

    __props__ = ("scale", "inplace")
    default_output = 0

    def __init__(self, scale: float = 1.0, inplace: bool = False) -> None:
        self.scale = scale
        self.inplace = inplace
        if inplace:
            self.destroy_map = {0: [0]}

    def make_node(self, *inputs: Any) -> Apply:
        x, y = (tt.as_tensor_variable(v) for v in inputs)
        if x.type.dtype != "float64" or y.type.dtype != "float64":
            msg = f"Polar: coordinates of dtype float64 are needed, got {x.type} and {y.type}. Cast them."
            raise TypeError(msg)
        if x.type.ndim != y.type.ndim:
            msg = f"Polar: coordinates of one rank are needed, got {x.type} and {y.type}. Reshape them."
            raise ValueError(msg)
        return Apply(self, [x, y], [x.type(), x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        x, y = inputs
        angle = np.arctan2(y, x)
        radius = np.hypot(x, y, out=x) if self.inplace else np.hypot(x, y)
        radius *= self.scale
        output_storage[0][0] = radius
        output_storage[1][0] = angle

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> Sequence[Any]:
        return [shapes[0], shapes[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True, True], [True, True]]

    def inplace_on_inputs(self, allowed_inplace_inputs: Sequence[int]) -> Op:
        return Polar(self.scale, inplace=0 in allowed_inplace_inputs)


def polar_terms(scale: float, inputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """Return what flows back to x and y."""
    x, y = inputs
    by_radius, by_angle = cotangents
    r2 = x * x + y * y
    r = tt.sqrt(r2)
    return [
        scale * by_radius * x / r - by_angle * y / r2,
        scale * by_radius * y / r + by_angle * x / r2,
    ]


class PolarByGrad(Polar):
    """The gradient under the oldest name: no outputs are given."""

    def grad(self, inputs: Sequence[Variable], output_grads: Sequence[Variable]) -> Sequence[Variable | None]:
        return polar_terms(self.scale, inputs, output_grads)


class PolarByLop(Polar):
    """The gradient under the documented name, which sees the outputs."""

    def L_op(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], output_grads: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        assert [v.index for v in outputs] == [0, 1]
        return polar_terms(self.scale, inputs, output_grads)


class PolarByPullback(Polar):
    """The gradient under treadle's own name."""

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        return polar_terms(self.scale, inputs, cotangents)


def dvectors(*names: str) -> list[Any]:
    """Return vectors of float64."""
    return [tt.dvector(name) for name in names]


KINDS = (PolarByGrad, PolarByLop, PolarByPullback)


def both(op: Op, x: Any, y: Any) -> Any:
    """Return one value that uses both outputs."""
    radius: Any
    angle: Any
    radius, angle = op(x, y).owner.outputs
    return (radius * radius + 3.0 * angle).sum()


# Forward


def test_default_output_is_the_radius() -> None:
    x, y = dvectors("x", "y")
    compiled = function([x, y], Polar(2.0)(x, y), mode="VM")
    np.testing.assert_allclose(compiled(X, Y), 2 * np.hypot(X, Y))


def test_all_outputs_are_computed() -> None:
    x, y = dvectors("x", "y")
    radius, angle = function([x, y], Polar()(x, y).owner.outputs, mode="VM")(X, Y)
    np.testing.assert_allclose(radius, np.hypot(X, Y))
    np.testing.assert_allclose(angle, np.arctan2(Y, X))


def test_bad_coordinates_are_refused_when_the_graph_is_built() -> None:
    with pytest.raises(TypeError, match="dtype float64 are needed, got Vector"):
        Polar()(tt.fvector("x"), tt.dvector("y"))
    with pytest.raises(ValueError, match="one rank are needed"):
        Polar()(tt.dmatrix("x"), tt.dvector("y"))


def test_shapes_that_differ_at_run_time_are_named_with_the_line() -> None:
    x, y = dvectors("x", "y")
    compiled = function([x, y], Polar()(x, y), mode="VM")
    with pytest.raises(NodeValueError, match=r"Polar\(scale=1\.0.*built at test_worked_op\.py:\d+ .*shape \(3,\)"):
        compiled(X, Y[:2])


# Gradient


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_is_right_under_every_documented_name(kind: type[Polar]) -> None:
    verify_grad(lambda x, y: both(kind(1.5), x, y), [X, Y])


@pytest.mark.parametrize("kind", KINDS)
def test_second_derivative_is_right(kind: type[Polar]) -> None:
    def slope(x: Any, y: Any) -> Any:
        return (tt.grad(both(kind(), x, y), x) ** 2).sum()

    verify_grad(slope, [X, Y])


@pytest.mark.parametrize("kind", KINDS)
def test_each_name_answers_through_the_one_that_is_defined(kind: type[Polar]) -> None:
    x, y = dvectors("x", "y")
    op: Any = kind(1.5)
    inputs, outputs = [x, y], op(x, y).owner.outputs
    by = [tt.ones_like(x), tt.ones_like(x)]
    ways = [op.grad(inputs, by), op.L_op(inputs, outputs, by), op.pullback(inputs, outputs, by)]
    derivatives = [function([x, y], list(terms), mode="VM")(X, Y) for terms in ways]
    np.testing.assert_allclose(derivatives[1], derivatives[0])
    np.testing.assert_allclose(derivatives[2], derivatives[0])


def test_output_that_does_not_matter_gives_zeros() -> None:
    x, y = dvectors("x", "y")
    op = PolarByLop()
    angle: Any = op(x, y).owner.outputs[1]
    slope = function([x, y], tt.grad(angle.sum(), y), mode="VM")(X, Y)
    np.testing.assert_allclose(slope, X / (X**2 + Y**2))


class Shifted(PolarByPullback):
    """A subclass that gives its gradient under another name than the class it extends."""

    def grad(self, inputs: Sequence[Variable], output_grads: Sequence[Variable]) -> Sequence[Variable | None]:
        x, y = inputs
        return [tt.ones_like(x) * 7.0, tt.zeros_like(y)]


def test_most_derived_class_decides_whatever_name_it_uses() -> None:
    x, y = dvectors("x", "y")
    slope = function([x, y], tt.grad(both(Shifted(), x, y), x) + 0 * y, mode="VM")
    np.testing.assert_array_equal(slope(X, Y), [7.0] * 3)


class Partly(Polar):
    """Nothing flows back to y, or an undefined gradient does; the parameter says how that is expressed."""

    __props__ = ("scale", "inplace", "how")  # type: ignore[assignment]  # a longer tuple

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        connected = self.how == "null"
        return [[True, True], [connected, connected]]

    def L_op(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], output_grads: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        return [output_grads[0], {"none": None, "type": DisconnectedType()(), "null": NullType("it jumps")()}[self.how]]


@pytest.mark.parametrize("how", ["none", "type"])
def test_disconnected_input_is_marked_by_none_or_by_type(how: str) -> None:
    x, y = dvectors("x", "y")
    cost = Partly(how)(x, y).sum()
    np.testing.assert_array_equal(function([x, y], tt.grad(cost, x), mode="VM")(X, Y), np.ones(3))
    with pytest.raises(tt.DisconnectedInputError, match="does not depend on y"):
        tt.grad(cost, y)


def test_undefined_gradient_is_refused_with_its_reason() -> None:
    x, y = dvectors("x", "y")
    with pytest.raises(tt.NullTypeGradError, match="with respect to y is not defined: it jumps"):
        tt.grad(Partly("null")(x, y).sum(), y)


def test_connection_pattern_is_followed_through_the_graph() -> None:
    x, y = dvectors("x", "y")
    out = Partly("none")(x, y)
    assert io_connection_pattern([x, y], [out, y * out, tt.exp(y)]) == [[True, True, False], [False, True, True]]


def test_op_without_gradient_says_what_to_implement() -> None:
    x, y = dvectors("x", "y")
    with pytest.raises(MethodNotDefinedError, match=r"Polar\(.*defines no gradient. Implement pullback \(or L_op"):
        tt.grad(Polar()(x, y).sum(), x)


class Forward(Polar):
    """A forward derivative under treadle's name."""

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        dx: Any = tangents[0]
        x: Any = inputs[0]
        assert tangents[1] is not None
        assert isinstance(tangents[1].type, DisconnectedType)
        return [dx * x / outputs[0], None]


class ForwardByRop(Polar):
    """A forward derivative under the documented name."""

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]) -> Sequence[Variable | None]:
        dx: Any = eval_points[0]
        x: Any = inputs[0]
        assert eval_points[1] is None
        return [dx * x / self(*inputs), None]


@pytest.mark.parametrize("kind", [Forward, ForwardByRop])
@pytest.mark.parametrize("still", [None, DisconnectedType()()])
def test_forward_derivative_answers_under_both_names(kind: type[Polar], still: Any) -> None:
    x, y = dvectors("x", "y")
    op: Any = kind()
    tangents = [tt.ones_like(x), still]
    outputs = op(x, y).owner.outputs
    if kind is Forward and still is None:
        tangents = [tt.ones_like(x), DisconnectedType()()]
    pushed = op.pushforward([x, y], outputs, tangents)[0]
    rop = op.R_op([x, y], [tt.ones_like(x), None])[0]
    assert pushed is not None
    assert rop is not None
    for derivative in (pushed, rop):
        np.testing.assert_allclose(function([x, y], derivative, mode="VM")(X, Y), X / np.hypot(X, Y))


# In place


def test_in_place_variant_computes_the_same() -> None:
    x, y = dvectors("x", "y")
    inplace = Polar().inplace_on_inputs([0])
    values = X.copy()
    outputs = inplace(x * 1.0, y).owner.outputs
    radius, angle = function([x, y], outputs, mode="VM", accept_inplace=True)(values, Y)
    np.testing.assert_allclose(radius, np.hypot(X, Y))
    np.testing.assert_allclose(angle, np.arctan2(Y, X))
    np.testing.assert_array_equal(values, X)


def test_in_place_variant_spares_the_caller_constants_shared_values_and_other_uses() -> None:
    x, y = dvectors("x", "y")
    inplace = Polar(inplace=True)
    state = shared(X.copy(), "state")
    fixed = tt.constant(X)
    twice = x * 2.0
    values = X.copy()
    outputs = [inplace(x, y), inplace(state, y), inplace(fixed, y), inplace(twice, y), twice]
    compiled = function([x, y], outputs, mode="VM", accept_inplace=True)
    for _ in range(2):
        a, b, c, d, e = compiled(values, Y)
        np.testing.assert_allclose([a, b, c], [np.hypot(X, Y)] * 3)
        np.testing.assert_allclose(d, np.hypot(2 * X, Y))
        np.testing.assert_array_equal(e, 2 * X)
    np.testing.assert_array_equal(values, X)
    np.testing.assert_array_equal(state.get_value(), X)
    np.testing.assert_array_equal(fixed.data, X)


def test_overwritten_value_may_be_the_same_variable_as_another_input() -> None:
    x = tt.dvector("x")
    z = x * 1.0
    np.testing.assert_allclose(
        function([x], Polar(inplace=True)(z, z), mode="VM", accept_inplace=True)(X), np.hypot(X, X)
    )


def test_in_place_variant_overwrites_a_value_that_nothing_else_needs() -> None:
    shares: list[bool] = []

    class Watched(Polar):
        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            super().perform(node, inputs, output_storage)
            shares.append(output_storage[0][0] is inputs[0])

    x, y = dvectors("x", "y")
    function([x, y], Watched(inplace=True)(tt.exp(x), y), mode="VM", accept_inplace=True)(X, Y)
    assert shares == [True]


# Running through thunks


def test_thunk_knows_its_cells_and_sets_the_flags() -> None:
    x, y = dvectors("x", "y")
    node = Polar()(x, y).owner
    storage: dict[Variable, list[Any]] = {v: [None] for v in (*node.inputs, *node.outputs)}
    computed = {v: [False] for v in storage}
    storage[x][0], storage[y][0] = X, Y
    thunk = is_thunk_type(node.op.make_thunk(node, storage, computed, [], impl="py"))
    assert thunk.inputs == [storage[x], storage[y]]
    assert thunk.outputs == [storage[v] for v in node.outputs]
    assert thunk.lazy is False
    thunk()
    np.testing.assert_allclose(storage[node.outputs[1]][0], np.arctan2(Y, X))
    assert [computed[v] for v in node.outputs] == [[True], [True]]


def test_node_is_prepared_for_both_implementations_before_its_thunk_is_made() -> None:
    seen: list[Any] = []

    class Prepared(Polar):
        def prepare_node(self, node: Apply, storage_map: Any, compute_map: Any, impl: str | None) -> None:
            seen.append(impl)
            node.tag.scale = 3.0

        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            super().perform(node, inputs, output_storage)
            output_storage[0][0] *= node.tag.scale

    x, y = dvectors("x", "y")
    node = Prepared()(x, y).owner
    storage: dict[Variable, list[Any]] = {v: [None] for v in (*node.inputs, *node.outputs)}
    node.op.make_thunk(node, storage, None, [], impl="c")
    assert seen == ["c", "py"]
    np.testing.assert_allclose(function([x, y], Prepared()(x, y), mode="VM")(X, Y), 3 * np.hypot(X, Y))
    with pytest.raises(ValueError, match="impl must be 'py', 'c' or None, got 'fortran'"):
        node.op.make_thunk(node, storage, None, [], impl="fortran")


class Lazy(Polar):
    """A thunk of its own that asks for its inputs one by one."""

    def make_thunk(
        self,
        node: Apply,
        storage_map: dict[Variable, list[Any]],
        compute_map: dict[Variable, list[bool]] | None,
        no_recycling: Sequence[Variable],
        impl: str | None = None,
    ) -> Callable[[], Any]:
        assert compute_map is not None

        def run() -> list[int] | None:
            missing = [i for i, v in enumerate(node.inputs) if not compute_map[v][0]]
            if missing:
                return missing
            cells = [storage_map[v] for v in node.outputs]
            self.perform(node, [storage_map[v][0] for v in node.inputs], cells)
            for v in node.outputs:
                compute_map[v][0] = True
            return None

        thunk: ThunkType = is_thunk_type(run)
        thunk.lazy = True
        return thunk


def test_lazy_thunk_of_its_own_runs() -> None:
    x, y = dvectors("x", "y")
    np.testing.assert_allclose(function([x, y], Lazy()(x, y), mode="VM")(X, Y), np.hypot(X, Y))


def test_in_place_op_with_a_thunk_of_its_own_may_be_given_one_variable_twice() -> None:
    x = tt.dvector("x")
    z = x * 1.0
    np.testing.assert_allclose(
        function([x], Lazy(inplace=True)(z, z), mode="VM", accept_inplace=True)(X), np.hypot(X, X)
    )


# Constants, copies, pickles


def test_op_may_refuse_constant_folding() -> None:
    nodes_asked: list[Any] = []

    class Kept(Polar):
        def do_constant_folding(self, fgraph: Any, node: Apply) -> bool:
            nodes_asked.append(node.op)
            return False

    folded = function([], Polar()(X, Y), mode="VM")
    kept = function([], Kept()(X, Y), mode="VM")
    # The value itself is not handed out.
    assert [type(node.op) for node in folded.maker.fgraph.apply_nodes] == [DeepCopyOp]
    assert [type(node.op) for node in kept.maker.fgraph.apply_nodes] == [Kept]
    assert nodes_asked
    np.testing.assert_allclose(kept(), folded())


def test_folding_an_in_place_op_leaves_the_constant_alone() -> None:
    fixed = tt.constant(X)
    np.testing.assert_allclose(
        function([], Polar(inplace=True)(fixed, Y), mode="VM", accept_inplace=True)(), np.hypot(X, Y)
    )
    np.testing.assert_array_equal(fixed.data, X)


class Padded(Op):
    """A vector of zeros whose static length is the value of a constant input."""

    __props__ = ()
    _output_type_depends_on_input_value = True

    def make_node(self, *inputs: Any) -> Apply:
        n = tt.as_tensor_variable(inputs[0])
        length = int(n.data) if isinstance(n, Constant) else None
        return Apply(self, [n], [tt.TensorType("float64", (length,))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = np.zeros(int(inputs[0]))


def test_type_that_depends_on_a_value_is_inferred_again_for_another_value() -> None:
    n: Any = tt.constant(3)
    out: Any = Padded()(n)
    assert out.type.shape == (3,)
    assert clone_replace(out, {n: tt.lscalar("m")}, rebuild_strict=False).type.shape == (None,)
    assert clone_replace(out, {n: tt.constant(5)}).type.shape == (5,)


def test_function_with_the_op_pickles() -> None:
    x, y = dvectors("x", "y")
    compiled = pickle.loads(pickle.dumps(function([x, y], PolarByLop(2.0)(x, y), mode="VM")))
    np.testing.assert_allclose(compiled(X, Y), 2 * np.hypot(X, Y))


# Test values


def test_test_values_of_all_outputs_are_computed() -> None:
    x, y = dvectors("x", "y")
    x.tag.test_value, y.tag.test_value = X.copy(), Y
    with config.change_flags(compute_test_value="raise"):
        radius = Polar(inplace=True)(x, y)
    np.testing.assert_allclose(get_test_value(radius), np.hypot(X, Y))
    np.testing.assert_allclose(get_test_value(radius.owner.outputs[1]), np.arctan2(Y, X))
    np.testing.assert_array_equal(x.tag.test_value, X)


def test_test_value_of_an_overwritten_input_that_is_read_too_is_right() -> None:
    x = tt.dvector("x")
    x.tag.test_value = X.copy()
    node = Lazy(inplace=True).make_node(x, x)
    compute_test_value(node)
    np.testing.assert_allclose(get_test_value(node.outputs[0]), np.hypot(X, X))
    np.testing.assert_array_equal(x.tag.test_value, X)


def test_shapes_that_do_not_fit_are_found_while_the_graph_is_built() -> None:
    x, y = dvectors("x", "y")
    x.tag.test_value, y.tag.test_value = X, Y[:2]
    with (
        config.change_flags(compute_test_value="raise"),
        pytest.raises(NodeValueError, match=r'Polar.*test_worked_op\.py:\d+ "Polar\(\)\(x, y\)".*shape \(2,\)'),
    ):
        Polar()(x, y)
