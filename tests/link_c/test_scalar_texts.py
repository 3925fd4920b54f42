"""The C texts of elementwise functions: the functions that they call exist, and a missing one is named."""

from __future__ import annotations

import ctypes
import ctypes.util
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.link.c import SCALARS
from treadle.link.c.conventions.dtypes import CTYPES
from treadle.link.c.errors import CompileError
from treadle.link.c.runtime import Library
from treadle.link.c.runtime.scalars import scalar_helpers
from treadle.link.c.text.scalars import in_c
from treadle.tensor import SCALAR_OPS, Elemwise, ScalarOp

CALLED = re.compile(r"([A-Za-z_][\w{}]*)\(")


def _called() -> Iterator[tuple[str, str]]:
    """Yield the functions that scalar ops call, for every dtype."""
    for name in SCALAR_OPS.names():
        for kind in CTYPES.values():
            text = SCALARS.find(SCALAR_OPS[name], kind.kind) or ""
            for call in CALLED.findall(in_c(text) if isinstance(text, str) else ""):
                yield name, call.replace("{s}", kind.suffix).replace("{t}", kind.math)


def test_functions_that_scalar_ops_name_exist() -> None:
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    # Names that compilers do not turn into calls.
    helpers = {*scalar_helpers(), "complex", "popcountll"}
    called = {(scalar_op, name.removeprefix("__builtin_")) for scalar_op, name in _called()}
    assert ("arcsin", "asinf") in called
    missing = {(scalar_op, name) for scalar_op, name in called if name not in helpers and not hasattr(libm, name)}
    library = Library(frozenset())
    assert {pair for pair in missing if library.find(pair[1]) is None} == set()


@pytest.mark.parametrize("wrap", [lambda y: y, lambda y: tt.exp(y + 1), lambda y: tt.sum(y * 2)])
def test_a_name_that_c_lacks_is_an_error_that_names_scalar_op_and_line(
    wrap: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SCALAR_OPS, "_scalar_ops", dict(SCALAR_OPS._scalar_ops))  # only this test knows the scalar op
    monkeypatch.setattr(SCALARS, "_entries", dict(SCALARS._entries))
    scalar_op = ScalarOp(name="misspelt", nin=1, impl=np.sqrt)
    SCALARS.register("misspelt", {"f": "suqare_root{s}({0})"})
    x = tt.dvector("x")
    with pytest.raises(CompileError) as caught:
        function([x], wrap(Elemwise(scalar_op)(x)), mode="C")
    text = str(caught.value)
    assert "its scalar op 'misspelt' calls suqare_root" in text
    assert "built at test_scalar_texts.py:" in text
