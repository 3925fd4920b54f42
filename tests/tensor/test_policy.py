"""The options cast_policy, int_division and warn_float64, and the tolerance of approximate equality."""

import math
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.graph import FunctionGraph, Variable, composed, graph_replace
from treadle.surface.rewriters import in2out, node_rewriter
from treadle.tensor import TensorType


def vector(dtype: str) -> Any:
    return TensorType(dtype, (None,))("x")


@pytest.mark.parametrize(
    ("policy", "floatx", "dtypes"),
    [
        ("numpy", "float64", ("int64", "float64", "int8", "float32", "float64", "float32")),
        ("numpy", "float32", ("int64", "float32", "int8", "float32", "float64", "float32")),
        ("custom", "float64", ("int8", "float64", "int8", "float64", "float64", "float32")),
        ("custom", "float32", ("int8", "float32", "int8", "float32", "float64", "float32")),
        ("numpy+floatX", "float64", ("int64", "float64", "int64", "float64", "float64", "float64")),
        ("numpy+floatX", "float32", ("int64", "float32", "int64", "float32", "float32", "float32")),
    ],
)
def test_cast_policy_decides_dtypes(policy: str, floatx: str, dtypes: tuple[str, ...]) -> None:
    with config.change_flags(cast_policy=policy, floatX=floatx):
        results = (
            tt.constant(3),
            tt.as_tensor(0.1),
            vector("int8") + 1,
            vector("float32") * 0.1,
            vector("int64") + vector("float32"),
            vector("float32") + 1,
        )
    assert tuple(x.dtype for x in results) == dtypes


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(127, "int8"), (128, "int16"), (-128, "int8"), (-129, "int16"), (2**15, "int32"), (2**31, "int64")],
)
def test_custom_policy_takes_the_shortest_integer(number: int, dtype: str) -> None:
    with config.change_flags(cast_policy="custom"):
        assert tt.constant(number).dtype == dtype
        assert (vector("int8") + number).dtype == dtype
        assert tt.constant(np.int32(number) if abs(number) < 2**31 else np.int64(number)).dtype != "int8"


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(0.5, "float32"), (0.1, "float64"), (1e300, "float64"), (math.inf, "float32"), (math.nan, "float64")],
)
def test_custom_policy_takes_float32_where_it_holds_the_number(number: float, dtype: str) -> None:
    with config.change_flags(cast_policy="custom"):
        assert tt.constant(number).dtype == dtype
        assert (vector("float32") * number).dtype == dtype
        assert tt.constant(np.float64(number)).dtype == "float64"


def test_tensors_may_be_objects_to_functions_of_numpy() -> None:
    x: Any
    c: Any
    x, c = vector("float64"), tt.constant([1.0, 2.0])
    with config.change_flags(numpy_functions="objects"):
        for made in (np.atleast_1d(x), np.array([x, x]), np.stack([x, c]), np.asarray([[c, 1.0]])):
            assert made.dtype == object
            assert all(isinstance(item, Variable | float) for item in made.ravel())
        assert np.exp(x).owner is not None
        assert (np.ones(2) * x).owner is not None
    assert np.atleast_1d(x) is x
    assert np.asarray(c).dtype == "float64"


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
def test_functions_of_short_integers_are_not_float16_under_the_custom_policy(dtype: str) -> None:
    x = vector(dtype)
    functions = (tt.exp, tt.log, tt.sqrt, tt.tanh, tt.arctan, tt.sigmoid, tt.softplus, tt.deg2rad, tt.log1mexp)
    with config.change_flags(cast_policy="custom"):
        assert {f(x).dtype for f in functions} == {"float32"}
        assert tt.arctan2(x, x).dtype == tt.logaddexp(x, x).dtype == tt.log(10).dtype == "float32"
        assert tt.exp(vector("float16")).dtype == tt.hypot(x, vector("float16")).dtype == "float16"
        assert tt.exp(vector("int16")).dtype == tt.gammaln(vector("int16")).dtype == "float32"
        assert {f(x).dtype for f in (tt.gammaln, tt.psi, tt.erf, tt.i0, tt.erfcx)} == {"float32"}
        assert (x / x).dtype == tt.gammaln(vector("int32")).dtype == "float64"
    assert function([], tt.log(tt.constant(10, dtype="float32")), mode="VM")() == np.float32(np.log(10))
    assert {f(x).dtype for f in functions} == {"float16"}


def test_floats_have_one_dtype_whatever_their_value() -> None:
    for policy in ("numpy", "custom", "numpy+floatX"):
        with config.change_flags(cast_policy=policy, floatX="float32"):
            assert {tt.as_tensor(x).dtype for x in (9.0, 8.9, 1e-40, 1e30, float("nan"))} == {"float32"}


def test_explicit_float64_stays_under_every_policy() -> None:
    for policy in ("numpy", "custom", "numpy+floatX"):
        with config.change_flags(cast_policy=policy, floatX="float32"):
            assert (vector("float64") + vector("int8")).dtype == "float64"
            assert (vector("float64") + 1).dtype == "float64"


def test_comparison_gives_bool_under_every_policy() -> None:
    for policy in ("custom", "numpy+floatX"):
        with config.change_flags(cast_policy=policy, floatX="float32"):
            assert (vector("int64") < vector("float32")).dtype == "bool"


@pytest.mark.parametrize("policy", ["custom", "numpy+floatX"])
@pytest.mark.parametrize(
    "build",
    [tt.softmax, tt.sigmoid, tt.mean, tt.var, tt.logsumexp, lambda x: x.std(), tt.log1p, tt.abs],
)
def test_treadles_own_expressions_follow_numpy(policy: str, build: Callable[[Any], Any]) -> None:
    x = vector("float32")
    with config.change_flags(cast_policy=policy):
        assert build(x).dtype == build(vector("float32")).dtype == "float32"


@pytest.mark.parametrize("policy", ["custom", "numpy+floatX"])
def test_gradients_and_rewrites_follow_numpy(policy: str) -> None:
    x = vector("float32")
    with config.change_flags(cast_policy=policy, floatX="float32", int_division="raise", on_opt_error="raise"):
        cost = (tt.exp(x * 2 + 0.5) / (1 + x**2) - tt.maximum(x, 0)).sum()
        gradient = tt.grad(cost, x)
        compiled = function([x], [cost, gradient], mode="FAST_RUN")
    values = compiled(np.array([0.5, 1.0], "float32"))
    assert (gradient.dtype, values[1].dtype) == ("float32", np.dtype("float32"))
    e, d = np.exp(np.array([1.5, 2.5])), 1 + np.array([0.25, 1.0])
    expected = 2 * e / d - e * 2 * np.array([0.5, 1.0]) / d**2 - 1
    np.testing.assert_allclose(values[1], expected, rtol=1e-5)


@pytest.mark.parametrize(("policy", "dtype"), [("true", "float64"), ("floatX", "float32")])
def test_division_of_integers_gives_floats(policy: str, dtype: str) -> None:
    x, y = vector("int64"), vector("int8")
    with config.change_flags(int_division=policy, floatX="float32"):
        quotients = [x / y, x / 2, 3 / x, x / np.arange(1, 3)]
    assert [z.dtype for z in quotients] == [dtype] * 4
    assert function([x], quotients[1], mode="VM")(np.array([3, 5])).tolist() == [1.5, 2.5]


def test_division_of_integers_can_be_that_of_integers() -> None:
    x = vector("int64")
    with config.change_flags(int_division="int"):
        with pytest.warns(DeprecationWarning, match="Write x // y") as caught:
            quotients = [x / x, x / 2, 7 / x]
        assert {w.filename for w in caught} == {__file__}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert (x / 2.0).dtype == "float64"
            assert tt.true_div(x, 2).dtype == "float64"
            assert x.mean().dtype == "float64"
    assert [z.dtype for z in quotients] == ["int64"] * 3
    assert function([x], quotients[1], mode="VM")(np.array([3, -5])).tolist() == [1, -3]


def test_division_of_integers_can_be_refused() -> None:
    x = vector("int64")
    with config.change_flags(int_division="raise"):
        for operands in ((x, x), (x, 2), (2, x), (x, True)):
            with pytest.raises(TypeError, match=r"^int_division: x / y of two integers.*Write x // y"):
                operands[0] / operands[1]
        assert (x / 2.0).dtype == "float64"
        assert (x // 2).dtype == "int64"


MAKERS: tuple[Callable[[], Any], ...] = (
    lambda: tt.dvector("x"),
    lambda: vector("int64") / 2,
    lambda: tt.cast(vector("int8"), "float64"),
    lambda: tt.shared(np.zeros(2)),
    lambda: tt.zeros((2,)) + vector("int8"),
)


@pytest.mark.parametrize("make", MAKERS)
def test_float64_variable_is_refused_warned_of_or_ignored(make: Callable[[], Any]) -> None:
    assert make().dtype == "float64"
    with (
        config.change_flags(warn_float64="raise"),
        pytest.raises(TypeError, match=r"^warn_float64: a float64 .*test_policy"),
    ):
        make()
    with config.change_flags(warn_float64="warn"), pytest.warns(UserWarning, match="float64") as caught:
        make()
    assert caught[0].filename == __file__


def test_float64_can_open_the_debugger(monkeypatch: pytest.MonkeyPatch) -> None:
    import pdb

    opened: list[Any] = []

    def opens(debugger: pdb.Pdb, frame: Any) -> None:
        del debugger
        opened.append(frame)

    monkeypatch.setattr(pdb.Pdb, "set_trace", opens)
    with config.change_flags(warn_float64="pdb"):
        tt.dvector("x")
    assert [frame.f_code.co_filename for frame in opened] == [__file__]


def test_other_dtypes_constants_and_copies_are_not_warned_of() -> None:
    x = tt.dvector("x")
    cost = tt.exp(x * 2.0).sum()
    with config.change_flags(warn_float64="raise", floatX="float32"):
        tt.fvector("y") + 1.0
        tt.constant(np.zeros(2))
        tt.matrix("z")
        compiled = function([x], cost, mode="FAST_RUN")
    assert compiled(np.zeros(3)) == 3.0


@pytest.mark.parametrize(("level", "near"), [(0, 1e-8), (1, 5e-7), (2, 5e-5)])
def test_sloppiness_widens_approximate_equality(level: int, near: float) -> None:
    program = (
        "import numpy as np\nfrom treadle.tensor import TensorType\n"
        f"for far in ({near}, {near} * 100):\n"
        "    print(TensorType.values_eq_approx(np.ones(2), np.full(2, 1 + far)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"TREADLE_FLAGS": f"tensor__cmp_sloppy={level}", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "False"]


# The same lines in a library of the user's and in one that shares treadle's namespace.
LIBRARY = """
import treadle.tensor as tt

def build(x, k):
    return tt.constant(3), k + x, tt.mean(k + x), k / 2
"""


@pytest.mark.parametrize("policy", ["numpy", "custom", "numpy+floatX"])
def test_dtypes_do_not_depend_on_the_name_of_the_module(policy: str) -> None:
    dtypes = []
    for name in ("mylib", "treadle.contrib.lib", "treadle.tensor.more"):
        scope: dict[str, Any] = {"__name__": name}
        exec(LIBRARY, scope)
        with config.change_flags(cast_policy=policy, floatX="float32", int_division="floatX"):
            dtypes.append([v.dtype for v in scope["build"](vector("float32"), vector("int64"))])
    assert dtypes[0] == dtypes[1] == dtypes[2]
    sums = {"numpy": "float64", "custom": "float64", "numpy+floatX": "float32"}
    assert dtypes[0][1:] == [sums[policy], sums[policy], "float32"]


def test_composed_functions_follow_numpy_and_leave_no_trace() -> None:
    with config.change_flags(cast_policy="custom"):
        assert composed(lambda: tt.constant(3))().dtype == "int64"
        with pytest.raises(ZeroDivisionError):
            composed(lambda: 1 // 0)()
        assert tt.constant(3).dtype == "int8"


def test_copies_of_a_graph_keep_dtypes_under_another_policy() -> None:
    x, k = vector("float32"), vector("int64")
    total = tt.exp(k + x)
    with config.change_flags(cast_policy="numpy+floatX", floatX="float32"):
        copied: Any = graph_replace(total, {k: TensorType("int64", (3,))("k")})
    assert copied.dtype == total.dtype == "float64"


def test_rules_of_others_follow_numpy() -> None:
    @node_rewriter([tt.exp])
    def one_more(fgraph: Any, node: Any) -> Any:
        del fgraph
        dtypes.append((tt.constant(1).dtype, (node.inputs[0] + tt.lscalar()).dtype))

    dtypes: list[Any] = []
    x = vector("float32")
    with config.change_flags(cast_policy="custom", floatX="float32"):
        in2out(one_more).rewrite(FunctionGraph([x], [tt.exp(x)], clone=False))
    assert dtypes == [("int64", "float64")]
