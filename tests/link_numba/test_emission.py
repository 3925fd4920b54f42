"""Generated text that goes to LLVM, and text that is refused."""

from __future__ import annotations

import ast
import ctypes
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numba.core.registry import cpu_target

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.graph import FunctionGraph, LoweringError
from treadle.link.numba import NumbaLinker
from treadle.link.numba.compiler import COMPILER, UnitCompiler
from treadle.link.numba.routines import halves
from treadle.link.numba.text.library import LIBRARY
from treadle.link.numba.text.parsing import lasting_names
from treadle.link.numba.text.unit import Unit, make_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence


def run(unit: Unit, *values: int) -> int:
    """Return what the machine code of a unit returns, called as C calls it."""
    entry = COMPILER.entry(unit)
    result: int = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(values))(entry)(*values)
    return result


def called(params: Sequence[tuple[str, str]], body: Sequence[str], *values: int) -> int:
    """Return what a function of a body returns for numbers."""
    inner = make_kernel("inner", params, body, LIBRARY.used_by("\n".join(body)))
    names = [name for name, _ in params]
    source = f"def outer({', '.join(names)}):\n    return {inner.name}({', '.join(names)})\n"
    return run(Unit("outer", source, inner.signature, (inner,)), *values)


PARAMS = [("a", "i8"), ("b", "i8")]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (["return a + 2 * b - (a // b) + (a % b)"], 17 + 10 - 3 + 2),
        (["return (a & b) | (a ^ b) | (a << 2) | (a >> 1)"], (17 & 5) | (17 ^ 5) | (17 << 2) | (17 >> 1)),
        (["return max(a, b, 40) - min(a, -b) + (~a)"], 40 + 5 - 18),
        (["return 1 if b < a <= 17 and not a == b or a == 0 else 2"], 1),
        (["return 1 if a < b or b < 0 else 2"], 2),
        (["n = 0", "for i in range(b):", "    for j in range(i, b):", "        n = n + j", "return n"], 40),
        (["while a > b:", "    a = a - b", "return a"], 2),
        (["if a > b:", "    n = a", "else:", "    n = b", "m = n", "return m"], 17),
        (["if a > b:", "    return 1", "return 0"], 1),
        (["for i in range(a):", "    last = i", "return last"], 16),
        (["return i8(f8(a) / f8(b) * 10.0)"], 34),
    ],
)
def test_statements_mean_what_they_mean_in_python(body: list[str], wanted: int) -> None:
    assert called(PARAMS, body, 17, 5) == wanted


def test_several_results_and_calls_of_the_library() -> None:
    body = ["first, count = span(a, b, 0, 2, 1)", "return first * 100 + count"]
    assert called(PARAMS, body, 17, 5) == 506


@pytest.mark.parametrize(
    "body",
    [
        ["return pow(a, b)"],
        ["for i in range(0, a, b):", "    n = i", "return n"],
        ["n = a", "if a > b:", "    n = a / b", "return i8(n)"],
    ],
)
def test_other_text_is_refused(body: list[str]) -> None:
    with pytest.raises(LoweringError, match=r"numba: the text of inner_\w+ is beyond what is compiled: "):
        called(PARAMS, body, 17, 5)


def test_what_is_read_outside_of_its_block_lasts() -> None:
    text = "def f(a):\n    b = a\n    while a:\n        c = b\n        a = c\n    if b:\n        d = b\n    return d\n"
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    assert lasting_names(function) == {"a", "d"}


def test_graphs_of_treadles_own_ops_are_compiled() -> None:
    x, v = tt.dmatrix("x"), tt.lvector("v")
    outputs = [
        tt.exp(x) @ x.T, x.sum(axis=0), x.max(axis=1), tt.argmax(x, axis=0), x[1:, ::2], x[v], tt.softmax(x, axis=1),
        tt.concatenate([x, x * 2]), tt.arange(v[0]), tt.set_subtensor(x[0], 1.0), x.astype("float16") * 2, v // 3,
        tt.ifelse(v[0] > 0, x + 1, x - 1), x.reshape((-1,)), v**2, tt.any(x > 0, axis=0),
    ]  # fmt: skip
    before = COMPILER.counts
    program = NumbaLinker().link(FunctionGraph([x, v], outputs))
    values = np.arange(12.0).reshape(3, 4) / 10, np.array([2, 1])
    np.testing.assert_allclose(program(*values)[0], np.exp(values[0]) @ values[0].T)
    assert COMPILER.counts.compiled > before.compiled


def test_augmented_assignment_is_compiled() -> None:
    body = ["total = 0", "for k in range(n):", "    total += k * k", "    as_i8(o)[k] -= k", "return total"]
    unit = make_kernel("augmented", [("n", "i8"), ("o", "i8")], body)
    unit = replace(unit, uses=tuple(LIBRARY.used_by(unit.source)))
    numbers = np.full(4, 10)
    with config.change_flags(numba__cache=False):
        call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(UnitCompiler().entry(unit))
        assert call(4, numbers.ctypes.data) == 14
    assert numbers.tolist() == [10, 9, 8, 7]


@pytest.mark.parametrize("by_processor", [True, False])
def test_every_float16_is_converted_and_what_lies_between_is_rounded_to_even(
    by_processor: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    features = cpu_target.target_context.codegen().magic_tuple()[2].split(",")
    if by_processor and "+f16c" not in features:
        pytest.skip("this processor does not convert float16")
    monkeypatch.setattr(halves, "_are_here", lambda _: by_processor)
    body = [
        "for k in range(n):",
        "    as_f4(wide)[k] = widen_f2(as_u2(bits)[k])",
        "for j in range(m):",
        "    as_u2(rounded)[j] = narrow_f2(as_f4(numbers)[j])",
        "return n + m",
    ]
    unit = make_kernel("halves", [(x, "i8") for x in ("bits", "wide", "n", "numbers", "rounded", "m")], body)
    unit = replace(unit, uses=tuple(LIBRARY.used_by(unit.source)))
    bits = np.arange(1 << 16).astype("uint16")
    wanted = bits.view("float16").astype("float32")
    finite = wanted[np.isfinite(wanted)].view("uint32")
    near = [finite + np.uint32(by) for by in (0xFFF, 0x1000, 0x1001, 0x1FFF)]
    numbers = np.concatenate([wanted.view("uint32"), *near, np.arange(0x33000000, 0x33001000, dtype="uint32")])
    floats = numbers.view("float32")
    wide, rounded = np.empty(len(bits), "float32"), np.empty(len(floats), "float16")
    with config.change_flags(numba__cache=False):
        entry = UnitCompiler().entry(unit)
        call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 6)(entry)
        call(bits.ctypes.data, wide.ctypes.data, len(bits), floats.ctypes.data, rounded.ctypes.data, len(floats))
    np.testing.assert_array_equal(wide, wanted)
    np.testing.assert_array_equal(np.signbit(wide), np.signbit(wanted))
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = floats.astype("float16")
    np.testing.assert_array_equal(rounded, narrow)
    np.testing.assert_array_equal(np.signbit(rounded), np.signbit(narrow))


def test_numbers_beyond_int64_are_uint64() -> None:
    x = tt.vector("x", dtype="uint64")
    values = np.array([3, 2**64 - 1, 2**63 + 1], "uint64")
    smallest, sums = function([x], [x.min(), x + np.uint64(2**64 - 3)], mode="NUMBA")(values)
    assert smallest == 3
    assert function([x], x.min(), mode="NUMBA")(values[1:]) == 2**63 + 1
    np.testing.assert_array_equal(sums, values + np.uint64(2**64 - 3))
