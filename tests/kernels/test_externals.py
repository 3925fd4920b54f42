"""Compiled functions and tables that kernels use by addresses mean the same in C, for LLVM and in Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from treadle.config import config
from treadle.graph import DuplicateRegistrationError
from treadle.kernels import KernelError, external, external_table, kernel
from treadle.kernels.language import (
    OK,
    Pointer,
    Vector,
    address,
    complex64,
    convert,
    float32,
    float64,
    independent,
    int8,
    int16,
    int32,
    int64,
    local,
    uint32,
    uint64,
)
from treadle.link.c.capsules import CPointer
from treadle.link.c.errors import BackendUnavailableError
from treadle.link.c.text.requirements import Requirements
from treadle.link.c.toolchain import find_toolchain
from treadle.testing import check_kernel, compiled_kernel

_CTYPES: dict[type, Any] = {
    bool: ctypes.c_bool, int: ctypes.c_int64, float: ctypes.c_double, float32: ctypes.c_float,
    uint64: ctypes.c_uint64, int32: ctypes.c_int32, uint32: ctypes.c_uint32,
}  # fmt: skip
_KEPT: dict[str, Any] = {}
_PROCESSOR = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").exists() else ""


@dataclass(frozen=True, slots=True)
class Kept:
    """Something that this module keeps, by its name."""

    name: str
    module: str = __name__

    def address(self) -> int:
        if self.name not in _KEPT:
            msg = f"there is no {self.name}"
            raise ImportError(msg)
        return int(ctypes.cast(_KEPT[self.name], ctypes.c_void_p).value or 0)


def compiled(name: str, takes: list[type], result: type | None, function: Callable[..., object]) -> Kept:
    """Return the source of a function that C can call."""
    kinds = [_CTYPES.get(kind, ctypes.c_void_p) for kind in takes]
    _KEPT[name] = ctypes.CFUNCTYPE(None if result is None else _CTYPES[result], *kinds)(function)
    return Kept(name)


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with config.change_flags(compiledir=tmp_path_factory.mktemp("externals")):
        yield


def _mixed(*given: Any) -> float:
    return sum((k + 1) * float(x) for k, x in enumerate(given))


def _write(place: int, count: int) -> None:
    for k in range(count):
        ctypes.c_double.from_address(place + 8 * k).value += 10.0 * k


_ALL = [bool, int, float, float32, uint64, int32, uint32]
mixed = external("mixed_numbers", _ALL, float, compiled("mixed_numbers", _ALL, float, _mixed))
swapped = external("swapped_sign", [bool], bool, compiled("swapped_sign", [bool], bool, lambda x: not x))
narrow = external("narrowed", [int32], int32, compiled("narrowed", [int32], int32, lambda x: x - 1))
wide = external("widened", [uint32], uint32, compiled("widened", [uint32], uint32, lambda x: x ^ 1))
halved = external("halved", [float32], float32, compiled("halved", [float32], float32, lambda x: x / 2))
unsigned = external("unsigned", [uint64], uint64, compiled("unsigned", [uint64], uint64, lambda x: x + 1))
nullary = external("nullary", [], int, compiled("nullary", [], int, lambda: 41))
raised = external("raised", [Pointer[float64], int], None, compiled("raised", [object, int], None, _write))
raised_at = external("raised_at", [int, int], None, compiled("raised_at", [int, int], None, _write))
missing = external("missing_here", [int], int, Kept("missing_here"))
_KEPT["table_of_numbers"] = (ctypes.c_uint64 * 4)(3, 2**63, 5, 7)
numbers = external_table("table_of_numbers", Pointer[uint64], Kept("table_of_numbers"))


@kernel(inline=True)
def narrow_of(n: int) -> int:
    """Call from a kernel that becomes a part of its callers."""
    return narrow(n)


@kernel
def every_type(b: bool, n: int, x: float, p: Pointer[float64], q: Pointer[int64], u: Pointer[uint64]) -> int:
    """Call functions of all types."""
    p[0] = mixed(b, n, x, float32(x), uint64(n), n, n)
    p[1] = mixed(swapped(b), 2, 0.5, 0.25, 3, 4, 5)
    q[0] = narrow_of(n)
    q[1] = wide(n)
    q[2] = nullary()
    p[2] = float(halved(convert(float32, x)))
    u[0] = unsigned(u[1])
    if swapped(b):
        q[3] = 5
    return OK


@pytest.mark.parametrize(
    ("b", "n", "x"), [(True, 7, 0.1), (False, -3, -1e30), (True, 2**31 - 1, 3.0), (False, 2**31, 0.5)]
)
def test_functions_take_and_return_numbers_of_all_types(b: bool, n: int, x: float) -> None:
    check_kernel(every_type, b, n, x, np.zeros(3), np.zeros(4, "int64"), np.array([0, 2**63], "uint64"))


@kernel
def through_pointers(p: Pointer[float64]) -> int:
    """Have functions write through pointers, and through addresses that they are given."""
    raised(p + 1, 2)
    r = local(float64, 3)
    r[0] = p[2]
    r[1] = 1.0
    r[2] = 0.0
    raised(r, 3)
    places = local(int64, 1)
    places[0] = address(p + 3)
    raised_at(places[0], 2)
    p[0] = r[0] + r[1] + r[2] + p[4]
    return OK


def test_functions_write_through_pointers_and_addresses() -> None:
    check_kernel(through_pointers, np.array([0.5, 1.5, 2.5, 3.5, 4.5]))
    _, (p,) = compiled_kernel(through_pointers, np.array([0.5, 1.5, 2.5, 3.5, 4.5]), mode="C")
    np.testing.assert_array_equal(p, [12.5 + 11 + 20 + 14.5, 1.5, 12.5, 3.5, 14.5])


@kernel
def with_static(n: int, o: Pointer[int64], *, function: object, table: object) -> int:
    """Use what the caller chooses."""
    o[0] = function(n)  # type: ignore[operator]  # known when it is compiled
    o[1] = int(table[o[2]] >> 1)  # type: ignore[index]  # known when it is compiled
    return OK


@pytest.mark.parametrize("function", [narrow, wide, narrow_of])
def test_functions_and_tables_are_static_arguments(function: Any) -> None:
    for k in range(4):
        check_kernel(with_static, 8, np.array([0, 0, k]), function=function, table=numbers)
    version = with_static.specialised([("int64", 0), ("int64", -1)], {"function": wide, "table": numbers})
    assert version.name == "with_static_function_widened_table_table_of_numbers_i64"
    assert list(version.externals) == [wide, numbers]


@kernel
def calls_missing(n: int) -> int:
    """Call what is not there."""
    return missing(n)


@pytest.mark.parametrize(
    ("mode", "error"), [("C", BackendUnavailableError), ("NUMBA", ImportError), ("VM", ImportError)]
)
def test_a_function_that_is_not_there_is_told(mode: str, error: type[Exception]) -> None:
    with pytest.raises(error, match="there is no missing_here"):
        compiled_kernel(calls_missing, 3, mode=mode)


@kernel
def gives_float(x: float) -> int:
    """Pass a number of another type."""
    return narrow(x)


@kernel
def gives_pointer(x: Pointer[int64]) -> int:
    """Pass a pointer to other elements."""
    raised(x, 2)
    return OK


@kernel
def gives_nothing(x: Pointer[float64]) -> int:
    """Use the result of what returns nothing."""
    return raised(x, 2)


@kernel
def gives_too_much(n: int) -> int:
    """Pass too much."""
    return narrow(n, n)


@kernel
def drops_table(n: int) -> int:
    """Call a table."""
    return numbers(n)  # type: ignore[operator]  # refused


@pytest.mark.parametrize(
    ("called", "arguments", "said"),
    [
        (gives_float, [("float64", 0)], "narrowed takes int32, got float64"),
        (gives_pointer, [("int64", -1)], r"raised takes a pointer to float64, got a pointer to int64"),
        (gives_nothing, [("float64", -1)], "it returns nothing"),
        (gives_too_much, [("int64", 0)], "narrowed takes 1 arguments, got 2"),
        (drops_table, [("int64", 0)], "a call of something else"),
    ],
)
def test_calls_that_do_not_fit_are_refused(called: Any, arguments: Any, said: str) -> None:
    with pytest.raises(KernelError, match=said):
        called.specialised(arguments, {})


@pytest.mark.parametrize(
    ("takes", "result"), [([int8], int), ([complex64], int), ([str], int), ([Pointer], int), ([Pointer[str]], int)]
)
def test_types_that_functions_cannot_have_are_refused(takes: Any, result: Any) -> None:
    with pytest.raises(KernelError, match="is no type of its parameters"):
        external("refused", takes, result, Kept("refused"))


def test_functions_return_no_pointers_and_tables_are_of_real_numbers() -> None:
    with pytest.raises(KernelError, match="it returns"):
        external("refused", [], Pointer[int64], Kept("refused"))
    for kind in (int, Pointer[int16], Pointer[complex64]):
        with pytest.raises(KernelError, match="refused: a table is"):
            external_table("refused", kind, Kept("refused"))
    with pytest.raises(KernelError, match="narrowed takes 1 arguments, got 0"):
        narrow()


other_raised = external("raised", [Pointer[float64], int], None, Kept("mixed_numbers"))


@kernel
def of_two_sources(p: Pointer[float64], *, function: object) -> int:
    """Call one of two functions of one name."""
    raised(p, 1)
    function(p, 1)  # type: ignore[operator]  # known when it is compiled
    return OK


def test_two_functions_of_one_name_are_refused() -> None:
    with pytest.raises(KernelError, match="two functions or tables are named raised"):
        of_two_sources.specialised([("float64", -1)], {"function": other_raised})
    of_two_sources.specialised([("float64", -1)], {"function": raised})
    needs = Requirements()
    for _ in range(2):
        needs.point("tr_at_raised", CPointer("of_one", "raised", ""), 0)
    with pytest.raises(DuplicateRegistrationError, match="tr_at_raised holds the addresses of two functions"):
        needs.point("tr_at_raised", CPointer("of_another", "raised", ""), 1)


@kernel
def double_and_ask(x: Vector[float64], o: Pointer[float64], states: Pointer[int64]) -> int:
    """Double numbers, and ask which states of the processor are in use."""
    for i in independent(range(len(x))):
        o[i] = 2 * x[i]
    states[0] = states_in_use()
    return OK


@dataclass(frozen=True, slots=True)
class StatesInUse:
    """A C function that returns the bits of the processor's states in use (XINUSE), which bit 2 of is AVX's."""

    module: str = __name__
    name: str = "states_in_use"

    def address(self) -> int:
        toolchain = find_toolchain()
        assert not isinstance(toolchain, str)
        text = "long long states_in_use(void) { return __builtin_ia32_xgetbv(1); }\n"
        library = ctypes.CDLL(str(toolchain.extended(["-mxsave"], ()).probe(text)))
        return int(ctypes.cast(library.states_in_use, ctypes.c_void_p).value or 0)


states_in_use = external("states_in_use", [], int, StatesInUse())


@pytest.mark.skipif("xgetbv1" not in _PROCESSOR, reason="the processor does not tell which states are in use")
def test_upper_halves_of_vectors_are_cleared_before_what_others_compiled() -> None:
    given = np.arange(64.0), np.zeros(64), np.zeros(1, "int64")
    _, (doubled, states) = compiled_kernel(double_and_ask, *given, mode="C")
    np.testing.assert_array_equal(doubled, 2 * given[0])
    assert states[0] & 0b100 == 0
