"""Documented classes that stand for scalar ops and kinds of ops."""

import copy
import importlib
import pickle
from abc import ABC
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np
import pytest
import scipy.special

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import rewrite, run, text
from treadle.compile import function
from treadle.graph import vectorize_graph
from treadle.surface.values.scalar_values import ScalarType, as_scalar, scalar_from_tensor, tensor_from_scalar

scalar: Any = importlib.import_module("treadle.scalar")
math: Any = importlib.import_module("treadle.tensor.math")
basic: Any = importlib.import_module("treadle.tensor.basic")
extra_ops: Any = importlib.import_module("treadle.tensor.extra_ops")


def op_of(x: tt.TensorVariable) -> Any:
    assert x.owner is not None
    return x.owner.op


def test_scalar_ops_are_instances_of_their_documented_classes() -> None:
    x = tt.dvector("x")
    assert isinstance(op_of(x * 2).scalar_op, scalar.Mul)
    assert isinstance(op_of(x + 2).scalar_op, (scalar.Mul, scalar.Add))
    assert not isinstance(op_of(x + 2).scalar_op, scalar.Mul)
    assert not isinstance(op_of(x.sum()), scalar.Add)
    assert isinstance(op_of(tt.cast(x, "int8")).scalar_op, scalar.Cast)
    assert isinstance(op_of(tt.exp(x)).scalar_op, scalar.UnaryScalarOp)
    assert not isinstance(op_of(x / 3).scalar_op, scalar.UnaryScalarOp)


def test_class_is_matched_in_a_node() -> None:
    x = tt.dvector("x")
    match tt.log(x).owner_op_and_inputs:
        case tt.Elemwise(scalar_op=scalar.Exp()), _:
            pytest.fail("it is the logarithm")
        case tt.Elemwise(scalar.Log()), operand:
            assert operand is x


def test_calling_a_class_gives_the_scalar_op() -> None:
    x = tt.dvector("x")
    assert scalar.Mul() is scalar.mul
    assert tt.Elemwise(scalar.Sqrt())(x).eval({x: [4.0]}).tolist() == [2.0]
    with pytest.raises(TypeError, match="no single scalar op"):
        scalar.Cast()


def test_scalar_op_of_a_class_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    # Other tests go through the whole table.
    monkeypatch.setattr(tt.SCALAR_OPS, "_scalar_ops", dict(tt.SCALAR_OPS._scalar_ops))

    class Cube(scalar.UnaryScalarOp):  # type: ignore[misc]  # what type checkers know of it is the class alone
        def impl(self, x: float) -> float:
            return x**3

        def grad(self, inputs: Sequence[tt.TensorVariable], gradients: Sequence[tt.TensorVariable]) -> list[Any]:
            return [gradients[0] * 3 * inputs[0] ** 2]

    cube = Cube(scalar.upgrade_to_float_no_complex, name="cube_of_a_test")
    x = tt.dvector("x")
    y = tt.Elemwise(cube)(x)
    value, slope = function([x], [y, tt.grad(y.sum(), x)])([2.0, 3.0])
    assert (value.tolist(), slope.tolist()) == ([8.0, 27.0], [12.0, 27.0])
    assert isinstance(op_of(y).scalar_op, Cube)


@pytest.fixture
def own_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let scalar ops that a test declares be forgotten: other tests go through the whole table."""
    monkeypatch.setattr(tt.SCALAR_OPS, "_scalar_ops", dict(tt.SCALAR_OPS._scalar_ops))


IMPLEMENTATIONS: dict[str, tuple[str, Any, bool]] = {
    "the ufunc itself": ("UnaryScalarOp", scipy.special.i0e, True),
    "a static method": ("UnaryScalarOp", staticmethod(scipy.special.i1e), True),
    "one call": ("UnaryScalarOp", lambda _, x: scipy.special.i1(x), True),
    "one call of NumPy's": ("UnaryScalarOp", lambda _, x: np.log1p(x), True),
    "two operands": ("BinaryScalarOp", lambda _, a, x: scipy.special.gammainc(a, x), True),
    "operands exchanged": ("BinaryScalarOp", lambda _, x, a: scipy.special.gammainc(a, x), False),
    "more than one call": ("UnaryScalarOp", lambda _, x: scipy.special.i0e(x) + 1, False),
    "an operand twice": ("BinaryScalarOp", lambda _, a, x: scipy.special.gammainc(a, a) if x else 0.0, False),
    "a choice": ("UnaryScalarOp", lambda _, x: scipy.special.i0e(x) if x > 0 else 0.0, False),
    "another function": ("UnaryScalarOp", lambda _, x: scipy.special.dawsn(x), False),
}


@pytest.mark.usefixtures("own_table")
@pytest.mark.parametrize("way", IMPLEMENTATIONS)
def test_implementation_that_calls_one_function_of_scipys_compiles_as_that_function(way: str) -> None:
    base, implementation, is_known = IMPLEMENTATIONS[way]
    op = type("Declared", (getattr(scalar, base),), {"impl": implementation})(name=f"declared_by_{way}")
    assert (op.body is not None) is is_known
    xs = [tt.dvector(), tt.dvector()][: op.nin]
    values = [np.array([0.5, 2.0]), np.array([1.5, 0.25])][: op.nin]
    plain = getattr(implementation, "__func__", implementation)
    arguments = [None] if isinstance(plain, FunctionType) else []
    expected = [plain(*arguments, *pair) for pair in zip(*values, strict=True)]
    result = function(xs, tt.Elemwise(op)(*xs), mode="VM")(*values)
    np.testing.assert_allclose(result, np.array(expected, float), rtol=1e-12)


def test_each_scalar_op_is_of_a_class_of_its_own() -> None:
    x = tt.dvector("x")
    names = {type(op_of(y).scalar_op): str(y.owner) for y in (tt.exp(x), tt.log1p(x), tt.sigmoid(x), abs(x), x + 1)}
    assert len(names) == 5
    assert names[scalar.Exp] == str(tt.exp(x).owner)
    assert {type(tt.CASTS[dtype].scalar_op) for dtype in ("int8", "float64")} == {scalar.Cast}
    assert scalar.Cast("int8") is scalar.Cast(ScalarType("int8")) is tt.CASTS["int8"].scalar_op
    assert scalar.Cast("int8").o_type.dtype == "int8"
    assert issubclass(scalar.Exp, scalar.UnaryScalarOp)
    assert not issubclass(scalar.Mul, scalar.UnaryScalarOp)


def test_classes_of_scalar_ops_are_pickled_and_copied() -> None:
    for kind in (scalar.Exp, scalar.Cast, tt.ScalarOp):
        assert pickle.loads(pickle.dumps(kind)) is kind
    assert pickle.loads(pickle.dumps(tt.exp)) == tt.exp
    assert copy.deepcopy(scalar.exp) is scalar.exp


def test_scalar_op_is_applied_to_tensors() -> None:
    x = tt.dvector("x")
    y = scalar.mul(scalar.exp(x), 2)
    assert y.owner.op == tt.mul
    assert y.eval({x: [0.0]}).tolist() == [2.0]


def test_clip_is_one_op_until_rules_about_extrema_see_it() -> None:
    x = tt.dvector("x")
    y = tt.clip(x, 0, 1)
    assert op_of(y) == tt.clip
    assert isinstance(op_of(y).scalar_op, scalar.Clip)
    assert scalar.clip is op_of(y).scalar_op
    fgraph, _ = rewrite([x], [y])
    assert text(fgraph.outputs[0]) == "minimum(maximum(x, [0.0]), [1.0])"
    slope = function([x], tt.grad(tt.clip(x, 0, 1).sum(), x))
    assert slope([-1.0, 0.0, 0.5, 1.0, 2.0]).tolist() == [0.0, 0.5, 1.0, 0.5, 0.0]


def test_clip_has_the_dtypes_of_a_minimum_of_a_maximum() -> None:
    for x in (tt.bvector(), tt.lvector(), tt.fvector(), tt.dvector()):
        for bounds in ((0, 1), (0.5, 1), (np.int64(0), 1), (0, np.float32(1.5)), (tt.iscalar(), 3)):
            expected = tt.minimum(tt.maximum(x, bounds[0]), bounds[1])
            assert tt.clip(x, *bounds).dtype == expected.dtype
    assert tt.clip(2, 0, tt.bvector()).dtype == "int64"


def test_clip_with_a_side_left_open_or_named_bounds() -> None:
    x = tt.dvector("x")
    for y, op in ((tt.clip(x, 1), tt.maximum), (tt.clip(x, max=1), tt.minimum), (tt.clip(x, None, 2), tt.minimum)):
        assert op_of(y) == op
    assert op_of(tt.clip(x, a_min=0, a_max=1)) == tt.clip
    assert tt.clip(x, None, None).eval({x: [3.0]}).tolist() == [3.0]
    with pytest.raises(TypeError, match="clip: the call got an unexpected keyword argument 'low'"):
        tt.clip(x, low=1)


@pytest.mark.parametrize("function_of_two", [tt.add, tt.mul])
def test_sum_or_product_of_one_operand_is_that_operand(function_of_two: tt.Elemwise) -> None:
    x = tt.dvector("x")
    fgraph, _ = rewrite([x], [function_of_two(x)])
    assert fgraph.outputs[0] is fgraph.inputs[0]
    with pytest.raises(TypeError, match="sub: 2 operands are needed, got 1"):
        tt.sub(x)


def test_ops_tell_their_static_parameters() -> None:
    x = tt.dmatrix("x")
    op = op_of(x.sum(axis=0))
    assert op._props_dict() == {"kind": "sum", "axes": (0,), "dtype": "float64", "acc_dtype": "float64"}
    assert op._props() == ("sum", (0,), "float64", "float64")
    assert type(op)(**op._props_dict()) == op


@pytest.mark.parametrize("method", ["L_op", "pullback"])
def test_scalar_op_of_a_class_has_the_gradient_that_its_class_has(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tt.SCALAR_OPS, "_scalar_ops", dict(tt.SCALAR_OPS._scalar_ops))

    def terms(self: object, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        del self
        return [cotangents[0] * 2 * outputs[0] / inputs[0]]

    kind = type("Squared", (scalar.UnaryScalarOp,), {"impl": lambda _, x: x * x, method: terms})
    op = kind(scalar.upgrade_to_float_no_complex, name=f"squared_with_{method}")
    x = tt.dvector("x")
    slope = tt.grad(tt.Elemwise(op)(x).sum(), x)
    assert function([x], slope)([2.0, 3.0]).tolist() == [4.0, 6.0]


def test_reductions_are_instances_of_their_documented_classes() -> None:
    x = tt.dvector("x")
    assert isinstance(op_of(x.sum()), math.Sum)
    assert isinstance(op_of(x.max()), math.Max | math.CAReduce)
    assert not isinstance(op_of(x.max()), math.Sum)
    assert isinstance(op_of(tt.argmax(x)), math.Argmax)
    assert isinstance(op_of(tt.cumsum(x)), importlib.import_module("treadle.tensor.extra_ops").CumOp)


def test_scalars_enter_expressions_as_tensors() -> None:
    s, x = ScalarType("float64")("s"), tt.dvector("x")
    z = s * x
    f = function([s, x], [z, tt.grad(z.sum(), x), scalar_from_tensor(tt.exp(x[0]))])
    value, slope, number = f(2.0, [0.0, 1.0])
    assert (value.tolist(), slope.tolist()) == ([0.0, 2.0], [2.0, 2.0])
    assert isinstance(number, np.float64)
    assert number == 1.0


def test_scalar_of_a_tensor_becomes_the_tensor_again() -> None:
    s, x = tt.dscalar("s"), tt.dvector("x")
    fgraph, report = rewrite([s, x], [as_scalar(tt.exp(s)) * x])
    assert "tensor_from_scalar_of_tensor" in report.fired()
    assert text(fgraph.outputs[0]) == "mul(dimshuffle{x}(exp(s)), x)"
    assert run(fgraph, [0.0, np.array([1.0, -2.0])])[0].tolist() == [1.0, -2.0]


def test_numbers_and_tensors_of_rank_0_become_scalars() -> None:
    assert as_scalar(3).data == 3  # type: ignore[attr-defined]  # a constant
    s = as_scalar(tt.dscalar("x"))
    assert s.dtype == "float64"
    assert as_scalar(s) is s
    with pytest.raises(TypeError, match="rank 0"):
        as_scalar(tt.dvector("x"))
    with pytest.raises(TypeError, match="ScalarType is needed"):
        tensor_from_scalar(tt.dvector("x"))


class Marked(ABC):  # noqa: B024 - what counts is its metaclass
    """A class of users, beside those of ops."""


class MarkedSum(Marked, math.Sum):  # type: ignore[misc]  # what type checkers know of it is the class alone
    """Sums that are marked."""


class MarkedCumOp(Marked, extra_ops.CumOp):  # type: ignore[misc]  # as above
    """Cumulative sums that are marked."""


KINDS: dict[str, Any] = {
    name: getattr(math, name) for name in ("All", "Any", "Argmax", "Argmin", "Max", "Min", "Prod", "Sum")
} | {"CumOp": extra_ops.CumOp}
PLAIN: dict[str, Any] = {"CumOp": tt.cumsum} | {name: getattr(tt, name.lower()) for name in KINDS if name != "CumOp"}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("axis", [None, 0, (1,)])
def test_op_of_a_class_derived_from_a_kind_computes_as_the_kind(name: str, axis: Any) -> None:
    kind = type(f"Marked{name}", (Marked, KINDS[name]), {})
    x = tt.dmatrix("x")
    y, plain = kind(axis)(x), PLAIN[name](x, axis[0] if isinstance(axis, tuple) and name == "CumOp" else axis)
    assert isinstance(op_of(y), kind)
    assert isinstance(op_of(y), KINDS[name])
    assert y.type == plain.type
    results = [y, plain]
    if y.dtype == "float64":
        results += [tt.grad((z**2).sum(), x) for z in (y, plain)]
    value, expected, *slopes = function([x], results, mode="VM")(np.arange(1.0, 7.0).reshape(2, 3))
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_array_equal(*(slopes or (0, 0)))


@pytest.mark.parametrize("mode", ["C", "VM"])
def test_op_of_a_class_of_the_users_compiles_and_has_batches(mode: str) -> None:
    x, xs = tt.dmatrix("x"), tt.dtensor3("xs")
    y = MarkedCumOp(axis=1, mode="mul")(x)
    assert (op_of(y).mode, op_of(y).axis, op_of(MarkedSum((0,))(x)).axis) == ("mul", 1, (0,))
    (z,) = vectorize_graph([MarkedSum((0,))(y)], {x: xs})
    assert isinstance(op_of(z), MarkedSum)
    assert function([xs], z, mode=mode)([[[1.0, 2.0], [3.0, 4.0]]]).tolist() == [[4.0, 14.0]]
    copied = pickle.loads(pickle.dumps(op_of(z)))
    assert copied == op_of(z)
    assert copied != op_of(xs.sum(axis=1))


def test_classes_of_kinds_are_classes_of_ops() -> None:
    assert issubclass(MarkedSum, math.Sum)
    assert issubclass(math.Sum, tt.Reduction)
    assert math.Max(axis=(0,)) == math.Max(axis=(0,))
    assert math.Max(axis=(0,)) != math.Max(axis=None)
    assert isinstance(math.Max((1,)), math.Max)
    assert not isinstance(op_of(tt.dvector().sum()), MarkedSum)
    # Applied, the classes themselves make the ops that the functions make.
    assert op_of(math.Max((0,))(tt.dmatrix())) == op_of(tt.max(tt.dmatrix(), axis=0))


def test_vectors_are_made_of_scalars() -> None:
    a, b = tt.dscalars("ab")
    y = basic.make_vector(a, b, 2)
    assert (y.type.shape, y.dtype) == ((3,), "float64")
    assert function([a, b], tt.grad((y**2).sum(), b))(1.0, 3.0) == 6.0
    batch = vectorize_graph(y, {a: tt.dvector("as")})
    assert batch.type.ndim == 2
    with pytest.raises(TypeError, match="scalars that int64 holds are needed"):
        basic.MakeVector("int64")(a)
    empty = basic.AllocEmpty("float32")(2, tt.lscalar("n"))
    assert (empty.dtype, empty.type.shape) == ("float32", (2, None))


def test_dimshuffle_tells_what_it_drops_adds_and_moves() -> None:
    op = op_of(tt.tensor("x", shape=(None, 1, 3)).dimshuffle(2, "x", 0))
    assert (op.new_order, op.shuffle, op.drop, op.augment, op.input_ndim) == ((2, "x", 0), (2, 0), (1,), (1,), 3)


@pytest.mark.parametrize("arguments", [((0, 1, 2, 3, 4),), ((),)])
def test_class_of_ops_says_what_parameters_it_has(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match=r"CAReduce: the parameters are \(scalar_op.*axis.*\), got"):
        math.CAReduce(*(arguments[0] * 2))


def test_reduction_by_another_scalar_op_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(TypeError, match="CAReduce: the scalar op must be one of add, mul, maximum, minimum, and, or"):
        math.CAReduce(scalar.sub)


def test_op_made_of_a_class_and_an_axis_belongs_to_the_class() -> None:
    op = math.Sum(axis=(0, 1), dtype="float32")
    assert isinstance(op, math.Sum)
    assert isinstance(op, math.CAReduce)
    assert not isinstance(op, math.Max)
    assert (op.axis, op.dtype) == ((0, 1), "float32")
    node = op.make_node(tt.dmatrix("x"))
    assert isinstance(node.op, math.Sum)
    assert node.outputs[0].type.dtype == "float32"
    assert math.Max(0)(tt.dmatrix("x"), name="top").name == "top"


def test_elementwise_op_keeps_its_name_and_place_as_documented() -> None:
    op = tt.Elemwise(scalar.add, {0: 1}, name="plus")
    assert (op.name, str(op), op.destroy_map) == ("plus", "plus{0->1}", {0: [1]})
    assert op == tt.Elemwise(scalar.add, inplace=((0, 1),))


@pytest.mark.parametrize("pattern", [{0: 2}, {1: 0}, [0], {0: [0]}])
def test_place_that_is_not_an_input_is_refused(pattern: Any) -> None:
    with pytest.raises(TypeError, match=r"Elemwise: inplace_pattern must give for outputs.* Pass a dictionary"):
        tt.Elemwise(scalar.add, pattern)


def test_dimshuffle_is_made_of_its_documented_parameters() -> None:
    op = tt.DimShuffle(input_ndim=2, new_order=[1, "x", 0])
    assert op == tt.DimShuffle((1, "x", 0), 2)
    assert (op.input_ndim, op.new_order) == (2, (1, "x", 0))
    with pytest.raises(TypeError, match="DimShuffle: the order and the rank of the input are needed"):
        tt.DimShuffle(input_ndim=2)


@pytest.mark.parametrize("dtype", ["float64", "int8", "complex64"])
def test_arithmetic_of_scalars_goes_back_to_tensors(dtype: str) -> None:
    a = tt.scalar("a", dtype=dtype)
    number = scalar_from_tensor(a)
    for result, expected in (
        (tensor_from_scalar((number + 1) ** 2), 16),
        (tensor_from_scalar(-number), -3),
        (tensor_from_scalar(number), 3),
        (tensor_from_scalar(a * 2), 6),
    ):
        assert result.type.ndim == 0
        assert function([a], result, mode="VM")(3) == expected
    with pytest.raises(TypeError, match="a variable of type ScalarType is needed"):
        tensor_from_scalar(2.0)
