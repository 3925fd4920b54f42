"""Machine code of kernels and of what all programs call is kept by itself, and found by symbols."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.cache import default_cache
from treadle.config import config
from treadle.graph import FunctionGraph
from treadle.link.numba import NumbaLinker
from treadle.link.numba.compiler import UnitCompiler
from treadle.link.numba.text import translation
from treadle.link.numba.text.source import write_program
from treadle.link.numba.text.unit import Unit, apart, make_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from treadle.link.numba.text.emission import Emitted


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Collect the names of the units that are compiled into machine code, with an empty compile directory."""
    names: list[str] = []
    compile_together = translation.compile_together

    def counting(units: Sequence[Unit], used: Mapping[str, Emitted]) -> list[Emitted]:
        names.extend(unit.name for unit in units)
        return compile_together(units, used)

    monkeypatch.setattr(translation, "compile_together", counting)
    # What other tests of this process have compiled is not known to it.
    monkeypatch.setattr("treadle.link.numba.compiler.COMPILER", UnitCompiler())
    with config.change_flags(compiledir=str(tmp_path)):
        yield names


def doubled() -> tuple[Unit, Unit]:
    """Return a unit that is apart, and one that C can call, which calls it."""
    inner = apart(make_kernel("doubled", [("n", "i8")], ["return 2 * n"]))
    source = f"def outer(n):\n    return {inner.name}(n) + 1\n"
    return inner, Unit("outer", source, ("i8",), (inner,))


def call(address: int, n: int) -> int:
    result: int = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(n)
    return result


def test_a_kernel_is_compiled_once_for_several_programs(compiled: list[str]) -> None:
    x = tt.dmatrix("x")
    matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
    for graph in (tt.linalg.inv(x), tt.linalg.inv(x) + 1, tt.linalg.inv(x @ x)):
        program = NumbaLinker().link(FunctionGraph([x], [graph]))
        assert program(matrix)[0].shape == (2, 2)
    kernels = [name for name in compiled if name.startswith("kernel_inverted")]
    assert len(set(kernels)) == len(kernels) > 0
    assert sum(name.startswith("run_") for name in compiled) == 3


def test_another_compiler_loads_what_is_apart(compiled: list[str]) -> None:
    inner, outer = doubled()
    assert call(UnitCompiler().entry(outer), 4) == 9
    assert compiled == [inner.name, "outer"]
    other = UnitCompiler()
    assert call(other.stored(other.key(outer, True), other.stamp(), "outer"), 5) == 11
    third = Unit("third", f"def third(n):\n    return {inner.name}(n) - 1\n", ("i8",), (inner,))
    assert call(UnitCompiler().entry(third), 4) == 7
    assert compiled == [inner.name, "outer", "third"]


def test_what_is_apart_and_no_longer_in_the_cache_is_compiled_anew(compiled: list[str]) -> None:
    inner, outer = doubled()
    first = UnitCompiler()
    first.entry(outer)
    default_cache().discard(first._together(inner)[0])
    other = UnitCompiler()
    with pytest.raises(LookupError, match="no longer in the compile cache"):
        other.stored(other.key(outer, True), other.stamp(), "outer")
    assert call(other.entry(outer), 4) == 9
    assert compiled == [inner.name, "outer", inner.name]


@pytest.mark.usefixtures("compiled")
def test_without_the_cache_it_is_compiled_in_memory() -> None:
    _, outer = doubled()
    with config.change_flags(numba__cache=False):
        assert call(UnitCompiler().entry(outer), 4) == 9
    assert not default_cache().list()


def test_symbols_differ_by_fastmath(compiled: list[str]) -> None:
    inner, _ = doubled()
    symbols = set()
    for fast in (False, True):
        with config.change_flags(numba__fastmath=fast):
            symbols.add(UnitCompiler().get(inner).name)
    assert len(symbols) == 2
    assert compiled == [inner.name] * 2


@pytest.mark.parametrize(("shape", "is_compact"), [((None, None), True), ((3, 3), False), ((40, 40), True)])
def test_loops_around_lapack_are_compact_unless_they_are_of_short_known_lengths(
    shape: tuple[int | None, ...], is_compact: bool
) -> None:
    x = tt.TensorType("float64", shape)("x")
    units = write_program(FunctionGraph([x], [tt.linalg.cholesky(x)])).entry.with_uses()
    assert [unit.is_compact for unit in units if unit.name.startswith("kernel_cholesky") and unit.is_apart] == [
        is_compact
    ]


def test_programs_call_the_runtime_of_all_programs() -> None:
    x = tt.dvector("x")
    entry = write_program(FunctionGraph([x], [x + 1])).entry
    assert {unit.name for unit in entry.with_uses() if unit.is_apart} >= {"made_array", "block_new"}
