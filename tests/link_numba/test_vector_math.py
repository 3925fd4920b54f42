"""Functions on vectors: which there are, and that they are as exact as those of generated C."""

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_numba.conftest import Link
from treadle.kernels import VECTOR_FUNCTIONS
from treadle.link.numba.routines.vector_math import vector_attributes, vector_forms, vector_width
from treadle.link.numba.text.unit import make_kernel

_DOMAINS = {
    "log": (1e-30, 1e30), "log2": (1e-30, 1e30), "log10": (1e-30, 1e30), "log1p": (-0.999, 1e6),
    "asin": (-1, 1), "acos": (-1, 1), "acosh": (1, 1e6), "atanh": (-0.999, 0.999),
}  # fmt: skip


def test_the_widest_vectors_come_first() -> None:
    for forms in vector_forms().values():
        lanes = [form.lanes for form in forms]
        assert lanes == sorted(lanes, reverse=True)
    assert vector_width() in {0, 256, 512}


def test_only_loops_that_call_functions_on_vectors_keep_a_frame_pointer() -> None:
    size = make_kernel("size", [("x", "f8")], ["return libm_hypot_f8(x, x)"], is_inlined=True)
    loop = make_kernel("loop", [("x", "f8")], [f"return {size.name}(x)"], [size])
    assert size.calls_vector_functions
    assert loop.calls_vector_functions
    assert not make_kernel("plain", [("x", "f8")], ["return sqrt(x)"]).calls_vector_functions
    # A kernel is compiled by itself.
    assert not make_kernel("caller", [("x", "f8")], [f"return {loop.name}(x)"], [loop]).calls_vector_functions
    both = [vector_attributes(calls=calls) for calls in (True, False)]
    assert [sum("frame-pointer" in text for text in texts) for texts in both] == [vector_width() > 0, 0]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_functions_on_vectors_are_off_by_less_than_four_units_in_the_last_place(dtype: str, link: Link) -> None:
    x = tt.tensor("x", dtype=dtype, shape=(None,))
    names = [
        name
        for name, count in VECTOR_FUNCTIONS.items()
        if count == 1 and hasattr(tt, name) and (hasattr(np, name) or hasattr(np, f"arc{name[1:]}"))
    ]
    assert len(names) > 15
    random = np.random.default_rng(3)
    for name in names:
        low, high = _DOMAINS.get(name, (-20, 20))
        spread = np.exp(random.uniform(np.log(low), np.log(high), 4001)) if low > 0 else None
        value = (random.uniform(low, high, 4001) if spread is None else spread).astype(dtype)
        function: Any = getattr(np, name, None) or getattr(np, f"arc{name[1:]}")
        exact = function(value.astype("longdouble"))
        with np.errstate(all="ignore"):
            got = link([x], [getattr(tt, name)(x)])(value)[0]
            off = np.abs(got - exact) / np.spacing(np.abs(exact).astype(dtype))
        assert np.nanmax(off) < 4, name
