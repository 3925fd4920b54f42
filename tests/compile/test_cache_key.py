"""Keys of functions: which functions must not share one, and what other processes cannot know."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.compile import redefined
from treadle.compile import BACKENDS, FunctionMaker, Mode, OpFromGraph, function
from treadle.compile.stored.code_text import UndigestibleError
from treadle.compile.stored.fingerprint import Identity
from treadle.compile.stored.key import key_of
from treadle.compile.stored.programs import FUNCTIONS, is_cached
from treadle.compile.stored.reads import values_read
from treadle.config import config, installed_version
from treadle.graph import Apply, Op, static_op
from treadle.link.c import SCALARS as C_SCALARS
from treadle.link.c import TABLE as C_TABLE
from treadle.link.c import CFunction, c_function
from treadle.link.vm import TABLE
from treadle.rewrite import GraphRewriter
from treadle.tensor import SCALAR_OPS, Elemwise, ScalarOp


@static_op
class Pair(Op):
    """Two results of one type."""

    def infer(self, *types: Any) -> tuple[Any, ...]:
        return types * 2

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        outputs[0][0], outputs[1][0] = inputs[0] + 1, inputs[0] + 2


class AddSum(Op):
    """Adds the sum of an array that is a parameter."""

    __props__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        outputs[0][0] = inputs[0] + np.sum(self.array)


class Guarded(AddSum):
    """Has a rule that was made inside a function."""


def _guarding(limit: float) -> Any:
    def rule(op: AddSum, node: Apply) -> Any:
        del node
        return lambda x: np.minimum(x + np.sum(op.array), limit)

    return rule


class Described(AddSum):
    """Has C of its own."""


@c_function(Described)
def described(op: Described, node: Apply) -> CFunction:
    del op, node
    text = "static int described(const treadle_array *x, treadle_array *y) { memcpy(y->data, x->data, 8); return 0; }"
    return CFunction(name="described", text=text, headers=("<string.h>",))


def key(inputs: Any, outputs: Any, mode: Any = "VM") -> str:
    maker = _made(inputs, outputs, mode)
    with config.using(maker.options):
        return key_of(maker).text


def _made(inputs: Any, outputs: Any, mode: Any) -> FunctionMaker:
    return FunctionMaker(inputs, outputs, mode=mode, on_unused_input="ignore")


def test_output_that_is_an_input_as_well_tells_graphs_apart() -> None:
    x, other = tt.dvector(), tt.dvector()
    first, second = Pair()(x)
    assert key([x, first], [second]) != key([x, other], [first])


@pytest.mark.parametrize("changed", [np.arange(4).reshape(2, 2), np.arange(4).view("float64"), np.arange(4).tobytes()])
def test_array_in_an_op_enters_by_dtype_and_shape(changed: Any) -> None:
    x = tt.dvector()
    plain = key([x], [AddSum(np.arange(4))(x), AddSum(np.arange(4))(x)])
    assert key([x], [AddSum(np.arange(4))(x), AddSum(changed)(x)]) != plain
    assert key([x], [AddSum(np.arange(4))(x), AddSum(np.arange(4))(x)]) == plain


def local_op(factor: int) -> Op:
    @static_op
    class Times(Op):
        def infer(self, *types: Any) -> tuple[Any, ...]:
            return types

        def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
            outputs[0][0] = inputs[0] * factor

    op: Op = Times()
    return op


class Nothing(GraphRewriter):
    """Does nothing, with a parameter."""

    def __init__(self, parameter: Any) -> None:
        self.parameter = parameter

    def apply(self, fgraph: Any) -> None:
        pass


def local_rewriter(parameter: int) -> GraphRewriter:
    class Local(GraphRewriter):
        def apply(self, fgraph: Any) -> Any:
            return parameter and None

    return Local()


def test_classes_made_inside_functions_have_no_key() -> None:
    x = tt.dvector()
    with pytest.raises(UndigestibleError, match=r"Times.*made inside a function"):
        key([x], [local_op(2)(x)])
    with pytest.raises(UndigestibleError, match=r"Local.*made inside a function"):
        key([x], [x + 1], Mode("vm", local_rewriter(1)))


def test_class_whose_name_was_given_away_has_no_key() -> None:
    x = tt.dvector()
    assert key([x], [redefined.Times()(x)])
    with pytest.raises(UndigestibleError, match=r"holds something else under its name"):
        key([x], [redefined.FIRST()(x)])


def test_variable_of_a_module_that_an_op_uses_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tt.dvector()
    before = key([x], [redefined.Times()(x)])
    monkeypatch.setattr(redefined, "FACTOR", 5)
    assert key([x], [redefined.Times()(x)]) != before
    monkeypatch.undo()
    assert key([x], [redefined.Times()(x)]) == before


def test_what_bodies_of_scalar_ops_read_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SCALAR_OPS, "_scalar_ops", dict(SCALAR_OPS._scalar_ops))
    inner = Elemwise(ScalarOp(name="inner", body=lambda x: x * redefined.FACTOR))
    monkeypatch.setattr(redefined, "INNER", inner)
    outer = Elemwise(ScalarOp(name="outer", body=lambda x: redefined.INNER(x) + 1))
    x = tt.dvector()
    before = key([x], [outer(x)])
    monkeypatch.setattr(redefined, "FACTOR", 5)
    assert key([x], [outer(x)]) != before
    factor = 2.0
    closed = Elemwise(ScalarOp(name="closed", body=lambda x: x * factor))
    with pytest.raises(UndigestibleError, match="made inside another function"):
        key([x], [closed(x)])


def test_entries_of_others_for_scalar_ops_are_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tt.dvector()
    C_SCALARS.covers(tt.add)
    monkeypatch.setattr(C_SCALARS, "_entries", dict(C_SCALARS._entries))
    keys = {key([x], [tt.softplus(x)], "C")}
    for text in ("{0}", "{0} * 2"):
        monkeypatch.setattr(C_SCALARS, "_added", [])
        C_SCALARS._entries.pop("softplus", None)
        C_SCALARS.register("softplus", {"f": text})
        keys.add(key([x], [tt.softplus(x)], "C"))
    assert len(keys) == 3


def test_method_that_was_exchanged_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tt.dvector()
    before = key([x], [redefined.Times()(x)])
    monkeypatch.setattr(redefined.Times, "perform", Pair.perform)
    assert key([x], [redefined.Times()(x)]) != before


def test_parameters_of_a_rewriter_are_part_of_the_key() -> None:
    x = tt.dvector()
    parameters = [1, True, 1.0, "1", np.arange(4), np.arange(4).reshape(2, 2)]
    keys = {key([x], [x + 1], Mode("vm", Nothing(parameter))) for parameter in parameters}
    assert len(keys) == len(parameters)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("optimizer_verbose", True),
        ("profile_optimizer", True),
        ("check_stack_trace", "warn"),
        ("traceback__compile_limit", 3),
        ("compute_test_value_opt", "raise"),
    ],
)
def test_option_that_makes_rewriting_print_bypasses_the_cache(option: str, value: Any) -> None:
    x = tt.dvector()
    maker = FunctionMaker([x], [x + 1], mode="VM")
    assert is_cached(maker)
    with config.change_flags(**{option: value}):
        assert not is_cached(maker)


def test_rule_without_a_stable_key_bars_only_graphs_with_its_op(tmp_path: Path) -> None:
    x = tt.dvector("x")
    before = key([x], [x + 1])
    TABLE.register(Guarded)(_guarding(5.0))
    assert key([x], [x + 1]) != before  # another process may lower the op differently
    with config.change_flags(base_compiledir=str(tmp_path)):
        counts = FUNCTIONS.counts
        function([x], x * 7 + 1, mode="VM")
        assert FUNCTIONS.counts == replace(counts, made=counts.made + 1)
        inner = OpFromGraph([x], [Guarded(np.ones(2))(x)])
        for out in (Guarded(np.ones(2))(x), inner(x) * 2):
            function([x], out, mode="VM")
        assert FUNCTIONS.counts == replace(counts, made=counts.made + 1, unkept=counts.unkept + 2)


def test_versions_of_a_backends_libraries_are_part_of_the_key() -> None:
    x = tt.dvector("x")
    backend = BACKENDS.find("vm")
    plain = key_of(_made([x], [x + 1], Mode(backend)))
    depends = key_of(_made([x], [x + 1], Mode(replace(backend, libraries=("rich",)))))
    assert "version of numpy" in plain.parts
    assert depends.libraries - plain.libraries == {"rich"}
    assert depends.parts["version of rich"] == installed_version("rich")
    assert depends.text != plain.text


def test_libraries_that_a_users_function_reads_are_part_of_the_key() -> None:
    met: set[str] = set()
    reading: Any = lambda x: not np.isscalar(x)  # noqa: E731 - a function that only this test reads
    assert dict(values_read(reading, met)) == {"defaults": None, "keywords": None}
    assert met == {"numpy"}


def test_function_that_describes_c_is_part_of_the_key() -> None:
    x = tt.dvector("x")
    (rule,) = (rule for op_type, rule in C_TABLE.added() if op_type is Described)
    assert "tests.compile.test_cache_key.described" in Identity().of(rule)
    assert not any(issubclass(Described, kind) for kind in key_of(_made([x], [x + 1], "C")).barred)
