"""A third party's elementwise functions, by public names: primitives with an entry for each backend, and bodies."""

import pickle
from collections.abc import Callable
from importlib import import_module
from math import pi
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import Mode, function
from treadle.config import config
from treadle.graph import DuplicateRegistrationError, LoweringError, equal_computations
from treadle.rewrite import rewrite_graph
from treadle.tensor import SCALAR_OPS, Elemwise, ScalarOp
from treadle.tensor.rewrites import holds
from treadle.testing import verify_grad

MODES = ["VM", "C", "CVM", "NUMBA", "JAX", "PYTORCH"]
# The implementation of x cubed for each backend.
CUBES: dict[str, Any] = {
    "c": "{0} * {0} * {0}",
    "numba": "{0} * {0} * {0}",
    "jax": lambda x: x * x * x,
    "torch": lambda x: x * x * x,
}
VALUE = np.array([-800.0, -2.5, -1.0, -0.0, 0.0, 0.3, 1.0, 7.5, 800.0])


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget after each test what it registers."""
    monkeypatch.setattr(SCALAR_OPS, "_scalar_ops", dict(SCALAR_OPS._scalar_ops))
    for backend in CUBES:
        table = import_module(f"treadle.link.{backend}").SCALARS
        table.covers(tt.add)
        entries = {name: dict(known) for name, known in table._entries.items()}
        monkeypatch.setattr(table, "_entries", entries)
        monkeypatch.setattr(table, "_added", list(table._added))


def softsign() -> Elemwise:
    return Elemwise(ScalarOp(name="softsign", body=lambda x: x / (1 + abs(x))))


def sine_quotient() -> Elemwise:
    def body(x: tt.TensorVariable) -> tt.TensorVariable:
        y = tt.switch(tt.eq(x, 0), 1e-20, x) * pi
        return tt.sin(y) / y

    return Elemwise(ScalarOp(name="sine_quotient", body=body))


def value_of(y: Callable[[Any], Any], mode: Any, value: Any = VALUE) -> Any:
    x = tt.tensor(dtype=value.dtype.name, shape=(None,))
    with config.change_flags(torch__compile=False, on_python_step="raise"):
        return function([x], y(x), mode=mode)(value)


@pytest.mark.parametrize("mode", MODES)
def test_a_primitive_is_computed_by_what_was_registered_for_it(mode: str) -> None:
    cube = Elemwise(ScalarOp(name="cube", impl=lambda x: x**3))
    for backend, entry in CUBES.items():
        import_module(f"treadle.link.{backend}").SCALARS.register("cube", {"f": entry})
    np.testing.assert_allclose(value_of(lambda x: cube(x) + 1, mode), VALUE**3 + 1, rtol=1e-15)


@pytest.mark.parametrize("mode", ["C", "NUMBA", "JAX", "PYTORCH"])
def test_a_primitive_without_an_entry_is_refused_with_the_table_that_it_is_to_stand_in(mode: str) -> None:
    unknown = Elemwise(ScalarOp(name="unknown", impl=lambda x: x))
    with pytest.raises(LoweringError, match=r"[Rr]egister .* in treadle\.link\.[a-z]+\.SCALARS"):
        value_of(unknown, mode)


@pytest.mark.parametrize("backend", CUBES)
def test_a_second_entry_is_refused(backend: str) -> None:
    table = import_module(f"treadle.link.{backend}").SCALARS
    with pytest.raises(DuplicateRegistrationError, match="'add' is registered for dtypes of kind 'f' already"):
        table.register("add", {"f": CUBES[backend]})


@pytest.mark.parametrize("mode", [*MODES, *(Mode(linker=m.lower(), optimizer=None) for m in MODES)], ids=str)
def test_a_body_runs_everywhere(mode: Any) -> None:
    for op, expected in ((softsign(), VALUE / (1 + np.abs(VALUE))), (sine_quotient(), np.sinc(VALUE))):
        np.testing.assert_allclose(value_of(op, mode), expected, rtol=1e-15, atol=1e-16)


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_a_body_is_computed_in_float32_for_half_precision(mode: str) -> None:
    value = VALUE.astype("float16")
    wide = value.astype("float32")
    np.testing.assert_array_equal(value_of(softsign(), mode, value), (wide / (1 + abs(wide))).astype("float16"))


def test_the_derivative_of_a_body_is_that_of_its_formula() -> None:
    at = [np.array([-2.5, -0.3, 0.7, 4.0])]
    verify_grad(softsign(), at, mode="VM")
    verify_grad(sine_quotient(), at, mode="VM")
    body = Elemwise(ScalarOp(name="scaled_product", nin=2, body=lambda x, y: tt.exp(x) * y))
    verify_grad(lambda x, y: body(x, y) + body(y, y), [np.array([0.5, -1.0]), np.array([[2.0], [0.1]])], mode="VM")


def test_a_backends_own_entry_takes_the_place_of_the_body() -> None:
    half = Elemwise(ScalarOp(name="halved", body=lambda x: x / 2))
    import_module("treadle.link.c").SCALARS.register("halved", {"f": "{0} / 4"})
    np.testing.assert_array_equal(value_of(lambda x: half(x) + softsign()(x) * 0, "C"), VALUE / 4)


def test_a_body_that_is_not_elementwise_is_refused() -> None:
    total = Elemwise(ScalarOp(name="total", body=lambda x: x + tt.logsumexp(x)))
    with pytest.raises(tt.TensorTypeError, match="total: the body of a scalar op applies elementwise functions"):
        value_of(total, "C")


@pytest.mark.parametrize("mode", [*MODES, *(Mode(linker=m.lower(), optimizer=None) for m in MODES)], ids=str)
def test_a_body_may_return_a_number_or_an_operand(mode: Any) -> None:
    number = Elemwise(ScalarOp(name="number", nin=1, body=lambda _: 2.5))
    same = Elemwise(ScalarOp(name="given", body=lambda x: x))
    first = Elemwise(ScalarOp(name="first", body=lambda x, _: x))
    np.testing.assert_array_equal(value_of(number, mode), np.full(9, 2.5))
    np.testing.assert_array_equal(value_of(same, mode), VALUE)
    x = tt.vector()
    with config.change_flags(torch__compile=False, on_python_step="raise"):
        f = function([x], first(x, np.zeros(9)), mode=mode)
    np.testing.assert_array_equal(f(VALUE[:1]), np.full(9, VALUE[0]))


def test_a_scalar_op_that_calls_itself_is_refused_where_it_is_applied() -> None:
    loop = Elemwise(ScalarOp(name="loop", body=lambda x: back(x) + 1))
    back = Elemwise(ScalarOp(name="back", body=lambda x: loop(x) * 2))
    with pytest.raises(tt.TensorTypeError, match=r"loop: .* calls the scalar op itself, loop calls back calls loop"):
        loop(tt.vector())


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (lambda x: [x, x], "a result of 1 dimensions"),
        (lambda x: x + np.ones(3), "a result of 1 dimensions"),
        (lambda x: x + tt.scalar("free"), "free"),
        (lambda x: x - tt.sum(x), "Sum"),
    ],
)
def test_a_body_of_anything_but_elementwise_functions_is_refused_where_it_is_applied(body: Any, shown: str) -> None:
    op = Elemwise(ScalarOp(name="other", body=body))
    with pytest.raises(tt.TensorTypeError, match=f"other: the body of a scalar op .* got {shown}"):
        op(tt.vector())


def test_a_body_that_fails_is_named_with_the_dtypes_of_its_operands() -> None:
    op = Elemwise(ScalarOp(name="odd", nin=1, body=lambda x, y: x + y))
    with pytest.raises(TypeError) as caught:
        op(tt.matrix(dtype="float32"))
    assert caught.value.__notes__ == ["It happened in the body of the scalar op odd, for float32."]


def test_a_complex_result_of_a_body_is_refused_for_a_real_function() -> None:
    op = Elemwise(ScalarOp(name="turned", body=lambda x: tt.complex(x, x)))
    with pytest.raises(tt.DtypeError, match="turned: result of the body: a complex number does not become float64"):
        op(tt.vector())


def test_parameters_of_a_body_with_defaults_are_not_operands() -> None:
    assert ScalarOp(name="scaled", body=lambda x, factor=2: x * factor).nin == 1
    with pytest.raises(tt.TensorTypeError, match="many: the number of operands does not follow"):
        ScalarOp(name="many", body=lambda *xs: xs[0])


def test_a_scalar_op_that_nothing_computes_is_refused() -> None:
    with pytest.raises(tt.TensorTypeError, match="empty: a scalar op needs a ufunc, an impl or a body"):
        ScalarOp(name="empty")


def test_an_unpickled_scalar_op_asks_for_the_module_that_declares_it() -> None:
    text = pickle.dumps(softsign())
    assert pickle.loads(text).scalar_op is SCALAR_OPS["softsign"]
    SCALAR_OPS._scalar_ops.pop("softsign")
    with pytest.raises(tt.TensorTypeError, match="no scalar op is named 'softsign' here"):
        pickle.loads(text)


@pytest.mark.parametrize("name", ["no_such_function", "sum"])
def test_function_that_is_not_a_ufunc_of_numpy_is_refused(name: str) -> None:
    with pytest.raises(tt.TensorTypeError, match=f"must name a ufunc of NumPy, got '{name}'"):
        ScalarOp(ufunc=name)
    assert name not in SCALAR_OPS.names()


# What rules ask of functions


def declared(name: str, body: Callable[..., Any], **traits: Any) -> Elemwise:
    return Elemwise(ScalarOp(name=name, body=body, **traits))


def bump() -> Elemwise:
    return declared("bump", lambda x: 1 / (1 + x * x), parity="even", image=(0, 1), nonzero=True)


def cubed() -> Elemwise:
    return declared("cubed", lambda x: x * x * x, parity="odd", monotone="increasing", exponent=3, keeps_positive=True)


def tripled() -> Elemwise:
    return declared("tripled", lambda x: 3 * x, linear=(0,))


def power_of_three() -> Elemwise:
    return declared("power_of_three", lambda x: tt.power(3.0, x), image=(0, float("inf")), exponential=True)


def scaled_root() -> tuple[Elemwise, Elemwise]:
    """Return 3 sqrt(x), and its inverse."""
    root = declared("scaled_root", lambda x: 3 * tt.sqrt(x), inverse="its_inverse", domain=(0.0, float("inf")))
    return root, declared("its_inverse", lambda x: tt.sqr(x) / 9)


def clipped() -> Elemwise:
    return declared("clipped", lambda x: tt.clip(x, 0, 1), idempotent=True, image=(0, 1), monotone="increasing")


def gated() -> Elemwise:
    return declared("gated", lambda x, y: x / (1 + abs(y)), linear=(0,), zero_of=(0,), parity=("odd", "even"))


def later() -> Elemwise:
    """Return the larger of two numbers."""
    return declared("later", lambda x, y: tt.switch(x > y, x, y), bound="upper", selective=True, commutative=True)


def root_undone(x: Any) -> Any:
    """Return the inverse of the root of a tensor."""
    root, inverse = scaled_root()
    return inverse(root(x))


def known(name: str) -> Elemwise:
    """Return the function that a test has declared under a name."""
    return Elemwise(SCALAR_OPS[name])


# What is written with a function that has a trait, and what rules make of it.
REWRITTEN: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "even": (lambda x, y: bump()(-x) + y, lambda x, y: known("bump")(x) + y),
    "even in one operand": (lambda x, y: gated()(x, -y) + y, lambda x, y: known("gated")(x, y) + y),
    "image": (lambda x, y: abs(bump()(x)) * y, lambda x, y: known("bump")(x) * y),
    "grows from zero": (lambda x, y: abs(cubed()(tt.exp(x))) * y, lambda x, y: known("cubed")(tt.exp(x)) * y),
    "bound": (lambda x, y: abs(later()(x, tt.exp(y))), lambda x, y: known("later")(x, tt.exp(y))),
    "exponent": (lambda x, y: cubed()(x) * y / x, lambda x, y: tt.sqr(x) * y),
    "linear, in a sum": (lambda x, y: tripled()(x).sum() + y, lambda x, y: known("tripled")(x.sum()) + y),
    "linear, in a product": (lambda x, y: tripled()(x) @ y, lambda x, y: known("tripled")(x @ y)),
    "linear in one operand": (
        lambda x, y: gated()(x, 0.0).sum() + y,
        lambda x, y: known("gated")(x.sum(), 0.0) + y,
    ),
    "exponential": (
        lambda x, y: (three := power_of_three())(x) * three(y),
        lambda x, y: known("power_of_three")(x + y),
    ),
    "inverse": (lambda x, y: root_undone(x) * y, lambda x, y: tt.switch(tt.ge(x, 0), x, np.nan) * y),
    "idempotent": (lambda x, y: (unit := clipped())(unit(x)) * y, lambda x, y: known("clipped")(x) * y),
}


@pytest.mark.parametrize("trait", REWRITTEN)
def test_rules_that_ask_for_a_trait_know_the_function(trait: str) -> None:
    x, y = tt.dmatrix("x"), tt.dmatrix("y")
    before, after = REWRITTEN[trait]
    written = before(x, y)
    rewritten = rewrite_graph(written, include=("fast_run",), exclude=("fusion", "inplace"), clone=True)
    expected = rewrite_graph(after(x, y), include=("fast_run",), exclude=("fusion", "inplace"), clone=True)
    assert equal_computations([rewritten], [expected])
    values = {x: np.array([[0.5, 1.0], [0.25, 3.0]]), y: np.array([[2.0, -1.0], [0.1, -0.7]])}
    np.testing.assert_allclose(rewritten.eval(values, mode="VM"), written.eval(values, mode="VM"), rtol=1e-12)


@pytest.mark.parametrize("trait", REWRITTEN)
def test_rules_change_nothing_of_a_function_that_says_nothing_of_itself(
    trait: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "declared", lambda name, body, **_: Elemwise(ScalarOp(name=name, body=body)))
    x, y = tt.dmatrix("x"), tt.dmatrix("y")
    before, after = REWRITTEN[trait]
    rewritten = rewrite_graph(before(x, y), include=("fast_run",), exclude=("fusion", "inplace"), clone=True)
    expected = rewrite_graph(after(x, y), include=("fast_run",), exclude=("fusion", "inplace"), clone=True)
    assert not equal_computations([rewritten], [expected])


def test_facts_about_matrices_follow_from_traits() -> None:
    v, w, m, c = tt.dvector("v"), tt.dvector("w"), tt.dmatrix("m"), tt.zmatrix("c")
    assert holds("positive_definite", tt.diag(bump()(v)))
    positive = known("bump")(w)
    assert holds("positive_definite", tt.diag(cubed()(positive)))
    assert holds("positive_definite", tt.diag(later()(v, positive)))
    assert holds("diagonal", gated()(tt.diag(v), 2.0))
    assert not holds("diagonal", known("bump")(tt.diag(v)))
    turned = m - m.T
    assert holds("symmetric", known("cubed")(turned) * turned)
    assert holds("symmetric", known("gated")(turned, turned) * turned)
    squared = declared("squared", lambda z: z * z, dtypes=lambda kinds: ((kinds[0],), kinds[0]), conjugates=True)
    assert holds("hermitian", squared(c + c.T.conj()))
    assert not holds("hermitian", squared(c + c.T))
