"""C functions that rules of other packages bring."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import Apply, DuplicateRegistrationError, Op
from treadle.link.c import HELPERS, TABLE, Unit
from treadle.link.c.runtime import Library
from treadle.link.c.runtime.additions import Helpers


def test_a_rule_finds_the_functions_of_its_package() -> None:
    import treadle.tensor.random.lower.c

    assert treadle.tensor.random.lower.c.philox_texts
    library = Library(frozenset())
    assert "tr_philox_rounds" in library.needed("tr_philox_any(counter, key);")
    assert "tr_philox_rounds" in HELPERS.texts["tr_philox_rounds tr_philox_any"]


def test_families_make_a_text_for_each_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HELPERS, "families", dict(HELPERS.families))
    HELPERS.add({}, {"tr_weave": lambda kind: f"static {kind.stored} tr_weave_{kind.short};\n"})
    assert Library(frozenset()).needed("tr_weave_f32 = 1;") == "static float tr_weave_f32;\n"


def test_two_functions_of_one_name_are_refused() -> None:
    helpers = Helpers()
    helpers.add({"tr_weave tr_warp": "static int tr_weave, tr_warp;"}, {"tr_knit": str})
    for texts, families in (({"tr_warp": ""}, {}), ({}, {"tr_knit": str}), ({"tr_knit": ""}, {})):
        with pytest.raises(DuplicateRegistrationError, match="two helpers define tr_"):
            helpers.add(texts, families)
    assert list(helpers.texts) == ["tr_weave tr_warp"]


def test_a_function_of_the_runtime_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HELPERS, "texts", {**HELPERS.texts, "tr_copy": "static int tr_copy;"})
    with pytest.raises(DuplicateRegistrationError, match="two helpers define tr_copy"):
        Library(frozenset())


class Threefold(Op):
    """Three times a scalar."""

    __props__ = ()

    def make_node(self, x: tt.TensorVariable) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = np.asarray(3 * inputs[0])


def test_functions_added_after_a_function_was_compiled_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tt.dscalar("x")
    assert function([x], x + 1, mode="C")(1.0) == 2.0
    monkeypatch.setattr(HELPERS, "texts", dict(HELPERS.texts))
    HELPERS.add({"tr_threefold": "static double tr_threefold(double x) { return 3 * x; }\n"}, {})

    @TABLE.register(Threefold)
    def threefold(op: Threefold, node: Apply, unit: Unit) -> None:  # noqa: ARG001 - a rule
        source, out = unit.slot(node.inputs[0]), unit.owns(node.outputs[0])
        unit.call(f"tr_alloc(v + {out}, 0, 8)")
        unit.line(f"*(double *)v[{out}].p = tr_threefold(*(const double *)v[{source}].p);")

    result = function([x], Threefold()(x), mode="C")(np.array([2.0, 7.0])[1])
    np.testing.assert_array_equal(result, 21.0)
