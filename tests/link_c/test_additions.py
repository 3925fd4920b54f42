"""C functions that rules of other packages bring."""

import pytest

from treadle.graph import DuplicateRegistrationError
from treadle.link.c import HELPERS
from treadle.link.c.runtime import Library
from treadle.link.c.runtime.additions import Helpers


def test_a_rule_finds_the_functions_of_its_package() -> None:
    import treadle.tensor.signal.lower.c

    assert treadle.tensor.signal.lower.c.convolution
    library = Library(frozenset())
    assert "tr_conv_axis" in library.needed("tr_conv_f64(v, v + 1, v + 2, 2, g, 1, 0);")
    assert "tr_conv_dim" in HELPERS.texts["tr_conv_dim tr_conv_axis tr_floor tr_conv_read tr_conv_length"]


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
