"""DebugMode on single nodes: implementations, memory maps, memory given beforehand, values."""

import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import FunctionValueError, MissingBackendError, function, shared
from treadle.compile.debugmode import (
    BadDestroyMap,
    BadThunkOutput,
    BadViewMap,
    DebugMode,
    DebugModeError,
    DebugModeWarning,
    InvalidValueError,
    StrideMismatchError,
)
from treadle.config import config
from treadle.graph import Apply, NodeError, Op, Type
from treadle.link.c import TABLE
from treadle.link.vm import TABLE as VM_TABLE


class Doubled(Op):
    """An op of vectors whose `perform` is a parameter; by default it is right."""

    def __init__(self, perform: Callable[..., Any] | None = None, nin: int = 1, nout: int = 1, **maps: Any) -> None:
        self._run = perform
        self.nin, self.nout = nin, nout
        self.__dict__.update(maps)

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [tt.dvector() for _ in range(self.nout)])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        if self._run is None:
            output_storage[0][0] = inputs[0] * 2
        else:
            self._run(inputs, output_storage)


def python_only(**options: Any) -> DebugMode:
    return DebugMode(**{"linker": "vm", "check_c_code": False, "stability_patience": 1, **options})


def applied(op: Op, mode: Any = None) -> Any:
    inputs = [tt.dvector(f"x{i}") for i in range(getattr(op, "nin", 1))]
    return function(inputs, op(*inputs), mode=mode or python_only(), on_unused_input="ignore", accept_inplace=True)


@pytest.fixture
def plant() -> Iterator[Callable[..., None]]:
    """Return a function that gives an op type a rule in a table, until the test ends."""
    planted: list[tuple[Any, type]] = []

    def register(table: Any, kind: type, rule: Callable[..., Any]) -> None:
        table.register(kind)(rule)
        planted.append((table, kind))

    yield register
    for table, kind in planted:
        del table._rules[kind]


@pytest.mark.documents("mode:DebugMode")
def test_results_are_those_of_any_mode() -> None:
    x, y = tt.dmatrix("x"), tt.dmatrix("y")
    outputs = [tt.tanh(2 * x + 1) * tt.exp(-x * x) + tt.sin(y), (x @ y).sum(axis=0)]
    f = function([x, y], outputs, mode=DebugMode(check_preallocated_output="ALL", stability_patience=2))
    a, b = np.random.default_rng(0).normal(size=(2, 4, 4))
    for _ in range(2):
        first, second = f(a, b)
        np.testing.assert_allclose(first, np.tanh(2 * a + 1) * np.exp(-a * a) + np.sin(b))
        np.testing.assert_allclose(second, (a @ b).sum(axis=0))


@pytest.mark.documents("DebugMode.linker", "DebugMode.backends", "option:DebugMode__backends")
def test_every_installed_backend_can_be_compared() -> None:
    pytest.importorskip("numba")
    pytest.importorskip("jax")
    x = tt.dvector("x")
    f = function([x], (x * 2).sum(), mode=DebugMode(linker="numba", backends=["jax"], stability_patience=1))
    assert f([1.0, 2.0]) == 6.0
    program: Any = f.program
    others = program.checker.implementations.others
    names = {name for node in f.maker.fgraph.apply_nodes for name, _ in others(node)}
    assert {"the lowering of backend jax", "the lowering of backend c"} <= names


def test_results_and_state_belong_to_the_caller() -> None:
    x = tt.dvector("x")
    argument = np.ones(2)
    f = function([x], [x, x], mode=python_only())
    first, second = f(argument)
    first[0] = 5.0
    assert argument.tolist() == second.tolist() == [1.0, 1.0]


# Implementations that differ


@pytest.mark.documents("error:BadThunkOutput", "DebugMode.check_c_code")
def test_wrong_lowering_to_c_is_found(plant: Callable[..., None]) -> None:
    class Triple(Doubled):
        pass

    def rule(_: Any, node: Apply, unit: Any) -> None:
        # The text of x + x + x, for an op that should give 2 x.
        wrong = Apply(tt.add, [node.inputs[0]] * 2, [node.outputs[0].clone()])
        lower: Any = TABLE.find(tt.add)
        lower(tt.add, wrong, unit)
        right = Apply(tt.add, [wrong.outputs[0], node.inputs[0]], [node.outputs[0].clone()])
        lower(tt.add, right, unit)
        unit.slots[node.outputs[0]] = unit.slots[right.outputs[0]]

    plant(TABLE, Triple, rule)
    f = applied(Triple(), DebugMode(linker="vm", check_c_code=True, stability_patience=1))
    with pytest.raises(BadThunkOutput, match=r"perform and the lowering of backend c.*largest absolute") as caught:
        f([3.0, 4.0])
    assert isinstance(caught.value.offending_op(), Triple)
    assert "test_debugmode.py" in str(caught.value)
    assert "(2,)" in str(caught.value)


def test_wrong_perform_is_found() -> None:
    x = tt.dvector("x")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(tt.exp), "perform", _off_by_a_half(type(tt.exp).perform))
        f = function([x], tt.exp(x), mode=DebugMode(linker="vm", stability_patience=1))
        with pytest.raises(BadThunkOutput, match="exp"):
            f([1.0, 2.0])


def _off_by_a_half(perform: Callable[..., None]) -> Callable[..., None]:
    def wrong(self: Any, node: Any, inputs: Any, output_storage: Any) -> None:
        perform(self, node, inputs, output_storage)
        output_storage[0][0] = output_storage[0][0] + 0.5

    return wrong


def test_wrong_rule_of_the_python_vm_is_found(plant: Callable[..., None]) -> None:
    class Twice(Doubled):
        pass

    plant(VM_TABLE, Twice, lambda *_: lambda x: x * 3)
    with pytest.raises(BadThunkOutput, match="the lowering of backend vm"):
        applied(Twice())([1.0])


def test_wrong_thunk_of_an_op_is_found() -> None:
    class Threefold(Doubled):
        def make_thunk(self, node: Any, storage_map: Any, *args: Any, **kwargs: Any) -> Any:
            source, target = storage_map[node.inputs[0]], storage_map[node.outputs[0]]

            def run() -> None:
                target[0] = source[0] * 3

            return run

    with pytest.raises(BadThunkOutput, match="make_thunk"):
        applied(Threefold())([1.0])


def test_an_implementation_that_fails_alone_is_found(plant: Callable[..., None]) -> None:
    class Fails(Doubled):
        pass

    def refuse(_: Any) -> Any:
        msg = "too hot"
        raise ValueError(msg)

    plant(VM_TABLE, Fails, lambda *_: refuse)
    with pytest.raises(BadThunkOutput, match="fails where perform does not: too hot"):
        applied(Fails())([1.0])


@pytest.mark.documents("DebugMode.check_py_code")
def test_python_runs_only_where_it_must_if_it_is_not_checked() -> None:
    x = tt.dvector("x")
    mode = DebugMode(linker="vm", check_py_code=False, check_c_code=True, optimizer=None, stability_patience=1)
    f = function([x], tt.exp(x), mode=mode)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(tt.exp), "perform", _off_by_a_half(type(tt.exp).perform))
        assert f([0.0]).tolist() == [1.0]
    assert applied(Doubled(), mode)([1.0]).tolist() == [2.0]


@pytest.mark.documents(
    "DebugMode.require_matching_strides",
    "option:DebugMode__check_strides",
    "error:DebugModeWarning",
    "error:StrideMismatchError",
)
def test_strides_that_differ_are_reported_or_refused(plant: Callable[..., None]) -> None:
    class Strided(Doubled):
        pass

    plant(VM_TABLE, Strided, lambda *_: lambda x: np.repeat(x * 2, 2)[::2])
    assert applied(Strided())([1.0, 2.0]).tolist() == [2.0, 4.0]
    with pytest.warns(DebugModeWarning, match="the strides are"):
        applied(Strided(), python_only(require_matching_strides=1))([1.0, 2.0])
    with pytest.raises(StrideMismatchError, match=r"\(8,\) and \(16,\)"):
        applied(Strided(), python_only(require_matching_strides=2))([1.0, 2.0])


# What nodes do to memory


@pytest.mark.documents("error:BadDestroyMap")
def test_changed_input_must_be_declared() -> None:
    def perform(inputs: Any, cells: Any) -> None:
        inputs[0][0] = -1.0
        cells[0][0] = inputs[0] + inputs[1]

    with pytest.raises(BadDestroyMap, match="changed input 0, x0") as caught:
        applied(Doubled(perform, nin=2))([1.0, 2.0], [3.0, 4.0])
    assert caught.value.idx == 0
    assert "test_debugmode.py" in str(caught.value)
    assert "1 of 2 elements differ" in str(caught.value)


def test_input_changed_to_what_it_was_is_not_a_fault() -> None:
    def perform(inputs: Any, cells: Any) -> None:
        inputs[0][0] = np.nan
        cells[0][0] = np.ones(2)

    assert applied(Doubled(perform), python_only(check_isfinite=False))([np.nan, 2.0]).tolist() == [1.0, 1.0]


@pytest.mark.documents("error:BadViewMap")
@pytest.mark.parametrize("part", [slice(None), slice(1, 3)])
def test_view_of_an_input_must_be_declared(part: slice) -> None:
    def perform(inputs: Any, cells: Any) -> None:
        cells[0][0] = inputs[1][part]

    with pytest.raises(BadViewMap, match="shares the memory of input 1") as caught:
        applied(Doubled(perform, nin=2))([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    assert caught.value.in_alias_idx == (1,)
    declared = Doubled(perform, nin=2, view_map={0: [1]})
    np.testing.assert_array_equal(applied(declared)([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), np.array([4.0, 5.0, 6.0])[part])


def _shared_halves(inputs: Any, cells: Any) -> None:
    whole = inputs[0] * 2
    cells[0][0], cells[1][0] = whole[:-1], whole[1:]


def test_outputs_that_share_memory_may_not_be_worked_with() -> None:
    x = tt.dvector("x")
    one, two = Doubled(_shared_halves, nout=2)(x)
    with pytest.raises(BadViewMap, match="shares the memory of output 0"):
        function([x], one * 2 + two * 2, mode=python_only())([1.0, 2.0, 3.0])
    alone = function([x], one * 2, mode=python_only())
    assert alone([1.0, 2.0, 3.0]).tolist() == [4.0, 8.0]


def test_outputs_of_a_call_share_no_memory_though_a_node_made_them_so() -> None:
    x = tt.dvector("x")
    first, second = function([x], Doubled(_shared_halves, nout=2)(x), mode=python_only())([1.0, 2.0, 3.0])
    first[1] = 100.0
    assert second.tolist() == [4.0, 6.0]


@pytest.mark.documents("option:DebugMode__warn_input_not_reused")
def test_op_that_says_it_works_in_place_and_does_not_is_reported_once() -> None:
    f = applied(Doubled(destroy_map={0: [0]}))
    with pytest.warns(DebugModeWarning, match="did not reuse its memory"):
        f([1.0])
    assert f([1.0]).tolist() == [2.0]
    with config.change_flags(DebugMode__warn_input_not_reused=False):
        quiet = applied(Doubled(destroy_map={0: [0]}))
    assert quiet([1.0]).tolist() == [2.0]


def test_op_that_says_it_returns_a_view_and_does_not_is_reported() -> None:
    def copies(inputs: Any, cells: Any) -> None:
        cells[0][0] = inputs[0].copy()

    with pytest.warns(DebugModeWarning, match=r"says that output 0 is a view of input 0.*did not reuse its memory"):
        applied(Doubled(copies, view_map={0: [0]}))([1.0, 2.0])


def test_view_that_had_to_be_a_copy_is_not_reported() -> None:
    x = tt.dmatrix("x")
    f = function([x], (x.T.reshape((-1,)) + 1), mode=python_only())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f([[1.0, 2.0], [3.0, 4.0]]).tolist() == [2.0, 4.0, 3.0, 5.0]


def test_rule_of_the_python_vm_that_returns_its_input_is_found(plant: Callable[..., None]) -> None:
    class Kept(Doubled):
        """One with a rule of its own."""

    def copies(inputs: Any, cells: Any) -> None:
        cells[0][0] = inputs[0].copy()

    plant(VM_TABLE, Kept, lambda *_: lambda x: x)
    with pytest.raises(BadViewMap, match=r"output 0 of the lowering of backend vm.* shares the memory of input 0"):
        applied(Kept(copies))([1.0, 2.0])


def test_declared_in_place_work_is_accepted() -> None:
    def perform(inputs: Any, cells: Any) -> None:
        np.multiply(inputs[0], 2, out=inputs[0])
        cells[0][0] = inputs[0]

    x = tt.dvector("x")
    f = function([x], Doubled(perform, destroy_map={0: [0]})(x + 1), mode=python_only(), accept_inplace=True)
    assert f([1.0, 2.0]).tolist() == [4.0, 6.0]


def _adds_to_what_is_there(inputs: Any, cells: Any) -> None:
    if cells[0][0] is None:
        cells[0][0] = np.zeros_like(inputs[0])
    if cells[0][0].shape == inputs[0].shape:
        cells[0][0] += inputs[0]
    else:
        cells[0][0] = inputs[0].copy()


def _takes_any_length(inputs: Any, cells: Any) -> None:
    if cells[0][0] is None:
        cells[0][0] = np.zeros_like(inputs[0])
    length = min(len(cells[0][0]), len(inputs[0]))
    cells[0][0][:length] = inputs[0][:length]


def _writes_the_memory_behind(inputs: Any, cells: Any) -> None:
    if cells[0][0] is None or cells[0][0].shape != inputs[0].shape or cells[0][0].strides[0] < 0:
        cells[0][0] = inputs[0].copy()
    elif cells[0][0].strides[0] == 8:
        cells[0][0][:] = inputs[0]


@pytest.mark.documents(
    "DebugMode.check_preallocated_output",
    "option:DebugMode__check_preallocated_output",
    "option:DebugMode__check_preallocated_output_ndim",
)
@pytest.mark.parametrize(
    ("kind", "perform"),
    [
        ("previous", _adds_to_what_is_there),
        ("c_contiguous", _adds_to_what_is_there),
        ("f_contiguous", _adds_to_what_is_there),
        ("wrong_size", _takes_any_length),
        ("strided", _writes_the_memory_behind),
        ("ALL", _takes_any_length),
    ],
)
def test_result_that_depends_on_memory_given_beforehand_is_found(kind: str, perform: Callable[..., None]) -> None:
    expected = rf"given beforehand \({'wrong_size' if kind == 'ALL' else kind}\)"
    with pytest.raises(BadThunkOutput, match=expected):
        applied(Doubled(perform), python_only(check_preallocated_output=kind))([1.0, 2.0, 3.0])
    assert applied(Doubled(perform))([1.0, 2.0, 3.0]).tolist() == [1.0, 2.0, 3.0]
    with config.change_flags(DebugMode__check_preallocated_output=kind):
        by_option = python_only()
    with pytest.raises(BadThunkOutput, match=expected):
        applied(Doubled(perform), by_option)([1.0, 2.0, 3.0])


def test_memory_of_the_call_before_is_tried() -> None:
    f = applied(Doubled(_takes_any_length), python_only(check_preallocated_output="initial"))
    assert f([1.0, 2.0]).tolist() == [1.0, 2.0]
    with pytest.raises(BadThunkOutput, match=r"given beforehand \(initial\)"):
        f([1.0, 2.0, 3.0])


def test_failure_on_memory_given_beforehand_names_the_kind_of_memory() -> None:
    def adds(inputs: Any, cells: Any) -> None:
        if cells[0][0] is None:
            cells[0][0] = np.empty_like(inputs[0])
        np.multiply(inputs[0], 2, out=cells[0][0])

    f = applied(Doubled(adds), python_only(check_preallocated_output="wrong_size"))
    with pytest.raises(BadThunkOutput, match=r"beforehand \(wrong_size\) fails where perform does not: .*broadcast"):
        f([1.0, 2.0])


def test_every_way_to_lay_memory_out_is_tried() -> None:
    x = tt.dmatrix("x")
    seen: set[Any] = set()

    class Looks(Op):
        itypes, otypes = [tt.dmatrix], [tt.dmatrix]

        def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
            seen.add(None if output_storage[0][0] is None else output_storage[0][0].strides)
            output_storage[0][0] = inputs[0] + 1

    mode = python_only(check_preallocated_output="strided")
    function([x], Looks()(x), mode=mode)(np.ones((2, 3)))
    rows = {
        (sign * size * 24 * step, column) for step in (1, 2) for size in (1,) for sign in (1, -1) for column in (8, -8)
    }
    assert rows <= seen
    count = len(seen)
    seen.clear()
    with config.change_flags(DebugMode__check_preallocated_output_ndim=1):
        function([x], Looks()(x), mode=mode)(np.ones((2, 3)))
    assert len(seen) < count


# Values


@pytest.mark.documents("error:InvalidValueError")
@pytest.mark.parametrize("value", [np.ones(2, "float32"), np.ones((2, 1)), np.float64(1.0), [1.0, 2.0], None], ids=str)
def test_value_that_is_not_of_its_type_is_refused(value: Any) -> None:
    def perform(_: Any, cells: Any) -> None:
        cells[0][0] = value

    with pytest.raises(InvalidValueError, match="none of its type") as caught:
        applied(Doubled(perform))([1.0, 2.0])
    assert caught.value.v is value
    assert "test_debugmode.py" in str(caught.value)


@pytest.mark.documents("DebugMode.check_isfinite", "option:DebugMode__check_finite")
def test_values_must_be_finite_if_that_is_checked() -> None:
    x = tt.dvector("x")
    f = function([x], (x + 2) * 5, mode=python_only(check_isfinite=True))
    g = function([x], tt.log(x), mode=python_only(check_isfinite=True))
    assert f([1.0]).tolist() == [15.0]
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(InvalidValueError, match="input is not finite"):
            f([1.0, bad])
    with pytest.raises(InvalidValueError, match=r"log.*not finite \(NaN\)"):
        g([3.0, -4.0])
    with pytest.raises(InvalidValueError, match="infinity"):
        g([0.0])
    free = function([x], tt.log(x), mode=python_only(check_isfinite=False))
    assert np.isnan(free([-1.0])[0])


def test_failure_of_a_node_is_reported_as_in_any_mode() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    f = function([x, y], x + y, mode=python_only())
    with pytest.raises(NodeError, match=r"test_debugmode\.py"):
        f([1.0, 2.0], [1.0, 2.0, 3.0])


def test_state_is_as_before_when_a_check_fails() -> None:
    x = tt.dvector("x")
    total = shared(np.zeros(2), "total")
    f = function([x], [], updates=[(total, total + tt.log(x))], mode=python_only())
    f([1.0, 1.0])
    with pytest.raises(InvalidValueError):
        f([1.0, -1.0])
    assert total.get_value().tolist() == [0.0, 0.0]
    f([1.0, np.e])
    np.testing.assert_allclose(total.get_value(), [0.0, 1.0])


# The mode itself


def test_parameters_are_kept_when_tags_are_added() -> None:
    mode = DebugMode(check_isfinite=False, stability_patience=3, check_preallocated_output=["previous"])
    for derived in (mode.including("inplace"), mode.excluding("fusion"), mode.clone(linker="vm")):
        assert isinstance(derived, DebugMode)
        assert (derived.check_isfinite, derived.stability_patience) == (False, 3)
        assert derived.check_preallocated_output == ("previous",)
    assert pickle.loads(pickle.dumps(mode)) == mode
    assert mode != DebugMode(check_isfinite=True, stability_patience=3, check_preallocated_output=["previous"])


@pytest.mark.documents("option:DebugMode__patience", "option:DebugMode__check_py", "option:DebugMode__check_c")
def test_options_give_the_parameters_that_are_left_out() -> None:
    options: Any = {
        "DebugMode__patience": 4,
        "DebugMode__check_py": False,
        "DebugMode__check_c": True,
        "DebugMode__check_finite": False,
        "DebugMode__check_strides": 2,
        "DebugMode__check_preallocated_output": "ALL",
        "DebugMode__backends": "numba:jax",
    }
    with config.change_flags(**options):
        mode = DebugMode()
    assert (mode.stability_patience, mode.check_py_code, mode.check_c_code) == (4, False, True)
    assert (mode.check_isfinite, mode.require_matching_strides) == (False, 2)
    assert (len(mode.check_preallocated_output), mode.backends) == (6, ("numba", "jax"))


def test_contradictions_are_refused() -> None:
    with pytest.raises(FunctionValueError, match="nothing is to be compared"):
        DebugMode(check_py_code=False, check_c_code=False)
    with pytest.raises(FunctionValueError, match="stability_patience must be a whole number at least 1"):
        DebugMode(stability_patience=0)
    with pytest.raises(FunctionValueError, match="got sideways"):
        DebugMode(check_preallocated_output="sideways")
    with pytest.raises(FunctionValueError, match="from 0 to 2"):
        DebugMode(require_matching_strides=3)
    x = tt.dvector("x")
    with pytest.raises(MissingBackendError, match="nosuch"):
        function([x], x * 2, mode=python_only(backends="nosuch"))


@pytest.mark.documents("error:DebugModeError")
def test_errors_travel_between_processes() -> None:
    def perform(inputs: Any, cells: Any) -> None:
        cells[0][0] = inputs[0]

    with pytest.raises(DebugModeError) as caught:
        applied(Doubled(perform))([1.0])
    copied = pickle.loads(pickle.dumps(caught.value))
    assert type(copied) is BadViewMap
    assert str(copied) == str(caught.value) == caught.value.str_diagnostic()


def test_function_in_debug_mode_is_pickled_with_its_checks() -> None:
    x = tt.dvector("x")
    f = pickle.loads(pickle.dumps(function([x], tt.log(x), mode=python_only(name="careful"))))
    with pytest.raises(InvalidValueError):
        f([-1.0])
    assert f.maker.mode.name == "careful"


def test_clean_models_give_no_warning() -> None:
    x, w = tt.dmatrix("x"), tt.dmatrix("w")
    cost = (tt.tanh(x @ w) ** 2).sum()
    f = function([x, w], [cost, tt.grad(cost, w)], mode=DebugMode(stability_patience=2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a = np.random.default_rng(1).normal(size=(5, 3))
        b = np.random.default_rng(2).normal(size=(3, 3))
        value, slope = f(a, b)
    np.testing.assert_allclose(value, (np.tanh(a @ b) ** 2).sum())
    assert slope.shape == (3, 3)


class Opaque(Type):
    """Values of any kind, which cannot be compared."""

    __props__ = ()

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        return data


def test_values_that_cannot_be_compared_are_left_alone() -> None:
    class Wrap(Op):
        def make_node(self, x: Any) -> Apply:
            return Apply(self, [x], [Opaque()()])

        def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
            output_storage[0][0] = [object(), inputs[0]]

    x = Opaque()("x")
    f = function([x], Wrap()(Wrap()(x)), mode=python_only(check_preallocated_output="ALL"))
    assert f(object())[1][1] is not None
