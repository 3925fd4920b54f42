"""A type that only defines `filter` works everywhere: graphs, constants, shared variables, the VM, pickles."""

import pickle
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

import treadle.tensor as tt
from treadle.compile import In, function
from treadle.config import config
from treadle.graph import (
    CONVERTERS,
    Apply,
    Constant,
    DuplicateRegistrationError,
    FunctionGraph,
    GraphTypeError,
    HasDataType,
    HasShape,
    Op,
    SharedVariable,
    Type,
    Variable,
    clone_replace,
    debugprint,
    equal_computations,
    get_test_value,
    get_test_values,
    shared,
)
from treadle.link.vm import PythonLinker


class Ratio(Type):
    """Fractions. Only `filter` is defined."""

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Fraction:
        if isinstance(data, Fraction):
            return data
        if strict or not isinstance(data, int):
            msg = f"Ratio: a fraction is needed, got {data!r}. Pass Fraction(...)."
            raise TypeError(msg)
        return Fraction(data)


RATIO = Ratio()
OTHER = Ratio()


class Sum(Op):
    """The sum of two fractions."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        a, b = (RATIO.filter_variable(v) for v in inputs)
        return Apply(self, [a, b], [RATIO()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0] + inputs[1]


ratio_sum = Sum()
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


class Price(Fraction):
    """The class that the converter of this module converts."""


CONVERTERS.register(Price, lambda _: RATIO)


def test_graph_runs_on_the_vm() -> None:
    a, b = RATIO("a"), RATIO("b")
    out = ratio_sum(ratio_sum(a, b), 1)
    assert PythonLinker().link(FunctionGraph([a, b], [out]))(HALF, THIRD) == (Fraction(11, 6),)
    assert out.eval({a: HALF, b: 2}) == Fraction(7, 2)


def test_graph_is_rewritten_and_compiled() -> None:
    a = RATIO("a")
    constant = ratio_sum(RATIO.make_constant(HALF), RATIO.make_constant(HALF))
    compiled = function([a], [ratio_sum(ratio_sum(a, 2), ratio_sum(a, 2)), constant], mode="VM")
    assert compiled(THIRD) == [Fraction(14, 3), Fraction(1)]
    assert sum(isinstance(node.op, Sum) for node in compiled.maker.fgraph.apply_nodes) < 4


@pytest.mark.parametrize("mode", ["VM", None])
def test_value_passes_through_beside_tensors(mode: str | None) -> None:
    a, x = RATIO("a"), tt.dscalar("x")
    compiled = function([a, x], [a, x + 1, RATIO.make_constant(3)], mode=mode)
    assert compiled(HALF, 1.0) == [HALF, 2.0, Fraction(3)]
    assert function([a], a, mode=mode)(HALF) == HALF
    assert ratio_sum(RATIO.make_constant(1), 2).eval(mode=mode) == Fraction(3)


def test_value_that_filter_refuses_is_refused_by_the_function() -> None:
    a = RATIO("a")
    with pytest.raises(TypeError, match="a fraction is needed, got 'x'"):
        function([a], ratio_sum(a, 1), mode="VM")("x")


def test_constants_filter_compare_and_print() -> None:
    two = RATIO.make_constant(2)
    assert isinstance(two, Constant)
    assert two.value == Fraction(2)
    assert two.equals(RATIO.make_constant(Fraction(4, 2)))
    assert not two.equals(RATIO.make_constant(3))
    assert not two.equals(OTHER.make_constant(2))
    assert str(two) == "2"


def test_graphs_with_equal_constants_are_equal() -> None:
    a = RATIO("a")
    assert equal_computations([ratio_sum(a, 2)], [ratio_sum(a, 2)])
    assert not equal_computations([ratio_sum(a, 2)], [ratio_sum(a, 3)])


def test_types_without_props_equal_only_themselves() -> None:
    assert RATIO == RATIO
    assert RATIO != OTHER
    assert len({RATIO, OTHER, RATIO}) == 2
    assert RATIO.in_same_class(RATIO)
    assert not RATIO.is_super(OTHER)


def test_shared_variable_holds_a_value_and_is_updated() -> None:
    state = SharedVariable(RATIO, 1, name="state")
    step = function([], state, updates=[(state, ratio_sum(state, RATIO.make_constant(HALF)))], mode="VM")
    assert [step(), step()] == [Fraction(1), Fraction(3, 2)]
    assert state.get_value() == Fraction(2)
    state.set_value(5)
    assert state.get_value() == Fraction(5)
    with pytest.raises(TypeError, match=r"a fraction is needed, got 0\.5"):
        state.set_value(0.5)


def test_shared_finds_the_type_through_a_registered_converter() -> None:
    state = shared(Price(1, 4), "price")
    assert state.type is RATIO
    assert state.get_value() == Fraction(1, 4)
    with pytest.raises(DuplicateRegistrationError, match="Price has a converter already"):
        CONVERTERS.register(Price, lambda _: OTHER)


def test_graph_pickles_and_the_type_stays_one() -> None:
    a = RATIO("a")
    out, loaded_a = pickle.loads(pickle.dumps([ratio_sum(ratio_sum(a, 2), a), a]))
    assert out.type is loaded_a.type
    assert PythonLinker().link(FunctionGraph([loaded_a], [out]))(HALF) == (Fraction(3),)


def test_graph_is_printed() -> None:
    text = str(debugprint(ratio_sum(RATIO("a"), 2), print_type=True, file="str"))
    assert "Sum" in text
    assert "Ratio()" in text


def test_test_values_run_along() -> None:
    a = RATIO("a")
    a.tag.test_value = HALF
    with config.change_flags(compute_test_value="raise"):
        out = ratio_sum(a, 1)
        assert get_test_values(a, out, Price(1, 8)) == [(HALF, Fraction(3, 2), Fraction(1, 8))]
    assert get_test_value(out) == Fraction(3, 2)


def test_replacement_of_another_type_is_refused() -> None:
    a = RATIO("a")
    with pytest.raises(GraphTypeError, match=r"a variable of this type is needed, got b of type Ratio\(\)"):
        clone_replace(ratio_sum(a, 1), {a: OTHER("b")})


def test_values_are_valid_equal_and_copied() -> None:
    assert RATIO.is_valid_value(HALF)
    assert not RATIO.is_valid_value(2)
    assert RATIO.is_valid_value(2, strict=False)
    assert not RATIO.is_valid_value("x")
    assert RATIO.values_eq(HALF, Fraction(2, 4))
    assert RATIO.values_eq_approx(HALF, Fraction(2, 4))
    items = [HALF]
    assert RATIO.may_share_memory(items, items)
    assert not RATIO.may_share_memory([], [])
    assert not RATIO.may_share_memory(HALF, HALF)
    assert RATIO.copy_value([1]) == [1]


def test_convert_takes_variables_and_values() -> None:
    a = RATIO("a")
    assert RATIO.convert(a) is a
    assert RATIO.convert(2) == Fraction(2)
    with pytest.raises(TypeError, match="a fraction is needed, got None"):
        RATIO.convert(None)
    with pytest.raises(TypeError, match="a variable of this type is needed"):
        RATIO.convert(OTHER("b"))


class Widening(Ratio):
    """A type that can convert the variables of another."""

    def convert_variable(self, var: Variable) -> Variable | None:
        return Into(self)(var) if isinstance(var.type, Ratio) else None


class Into(Op):
    """The value unchanged, as one of another type."""

    def __init__(self, kind: Type) -> None:
        self.kind = kind

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [self.kind()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0]


def test_conversion_that_the_type_knows_is_used_where_variables_are_exchanged() -> None:
    wide = Widening()
    converted = wide.convert(RATIO("a"))
    assert converted.type is wide
    assert isinstance(converted.owner.op, Into)
    with pytest.raises(TypeError, match="a variable of this type is needed"):
        wide.filter_variable(RATIO("a"), allow_convert=False)


def test_conversion_to_the_wrong_type_is_refused() -> None:
    class Wrong(Ratio):
        def convert_variable(self, var: Variable) -> Variable | None:
            return var

    with pytest.raises(TypeError, match=r"a variable of this type is needed, got a of type Ratio"):
        Wrong().filter_variable(RATIO("a"))


def test_protocols_tell_types_with_dtype_and_shape() -> None:
    class Vector(Ratio):
        dtype = "fraction"
        ndim = 1
        shape = (None,)

    assert not isinstance(RATIO, HasDataType)
    assert not isinstance(RATIO, HasShape)
    assert isinstance(Vector(), HasDataType)
    assert isinstance(Vector(), HasShape)


def test_type_needs_filter() -> None:
    with pytest.raises(TypeError, match="abstract method"):
        Type()  # type: ignore[abstract]  # what the test is about


class Bare(Type):
    """Floats, with a filter that takes the data alone."""

    __props__ = ()

    def filter(self, data: Any) -> float:  # type: ignore[override]  # the documentation allows it
        return float(data)


class Halved(Op):
    """Half of a float."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [Bare()()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0] / 2


@pytest.mark.parametrize("mode", ["VM", "CVM", "DebugMode"])
def test_filter_may_take_the_data_alone(mode: str) -> None:
    x = Bare()("x")
    assert function([x], Halved()(x), mode=mode)(1) == 0.5
    assert function([In(x, value=3, allow_downcast=True)], Halved()(x), mode=mode)() == 1.5


def test_filter_without_rules_is_strict_where_it_changes_nothing() -> None:
    x = Bare()("x")
    f = function([In(x, strict=True)], Halved()(x), mode="VM")
    assert f(3.0) == 1.5
    with pytest.raises(TypeError, match=r"exactly a value of this type is needed \(strict\), got 3"):
        f(3)
    assert Bare().is_valid_value(3.0)
    assert not Bare().is_valid_value(3)
    assert Bare().is_valid_value(3, strict=False)


class Tagged(Type):
    """A type that can be compared and not hashed."""

    def __init__(self, tag: str) -> None:
        self.tag = tag

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tagged) and other.tag == self.tag

    __hash__ = None  # type: ignore[assignment]  # as Python sets it for a class that defines __eq__ alone

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        return data


class Said(Op):
    """A text."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [Tagged("t")()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = "".join(["text", *inputs])


@pytest.mark.parametrize("mode", ["VM", "CVM", "DebugMode"])
def test_type_that_cannot_be_hashed_is_compiled_and_not_cached(mode: str) -> None:
    assert function([], Said()(), mode=mode)() == "text"
    x = Tagged("t")("x")
    assert function([x], [Said()(x), Said()(x)], mode=mode)("!") == ["text!", "text!"]
