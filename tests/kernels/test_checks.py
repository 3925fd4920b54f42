"""What a kernel is compared with is the kernel itself, whatever other processes kept; unfit calls are refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from treadle.config import config
from treadle.kernels import Kernel, KernelError, kernel
from treadle.kernels.language import (
    MATRIX,
    OK,
    PARAMETER,
    VALUE,
    Number,
    Pointer,
    Vector,
    int64,
    quotient,
    remainder,
)
from treadle.testing import ContractError, check_kernel, kernels

T = TypeVar("T", bound=Number)

PROGRAM = """
from typing import TypeVar
import numpy as np
from treadle.kernels import kernel
from treadle.kernels.language import OK, Number, Pointer, Vector
from treadle.testing import check_kernel
T = TypeVar("T", bound=Number)
@kernel
def scaled(x: Vector[T], o: Pointer[T]) -> int:
    o[0] = x[0] * FACTOR
    return OK
check_kernel(scaled, np.array([1.0, 2.0]), np.zeros(1), modes=["C"])
"""


@kernel
def first(x: Vector[T], o: Pointer[T]) -> int:
    o[0] = x[0]
    return OK


@kernel
def c_words(x: Vector[T], o: Pointer[T]) -> int:
    NULL = x[0]  # noqa: N806 - a macro's name is what is tried
    I = x[1] * 2.0  # noqa: E741, N806
    linux = NULL + I
    asm = linux * linux
    errno = asm - NULL
    complex = errno + 1.0
    typeof = complex * I
    TR_INDEX = typeof - linux  # noqa: N806
    o[0] = TR_INDEX
    return OK


@kernel
def divided(x: Vector[int64], o: Pointer[int64]) -> int:
    o[0] = quotient(x[0], x[1])
    o[1] = remainder(x[0], x[1])
    return OK


def test_kernels_of_two_processes_are_compared_each_with_itself(tmp_path: Path) -> None:
    for factor in ("2.0", "3.0"):
        program = tmp_path / "program.py"
        program.write_text(PROGRAM.replace("FACTOR", factor), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(program)],
            env={**os.environ, "TREADLE_FLAGS": f"base_compiledir={tmp_path / 'kept'}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


@kernel
def positive(x: Vector[T], o: Pointer[int64]) -> int:
    for i in range(len(x)):
        if x[i] < 0:
            return VALUE
        if x[i] == 0:
            return PARAMETER
        o[0] += 1
    return OK


@kernel
def passed_on(x: Vector[T], o: Pointer[int64]) -> int:
    failed: int = positive(x, o)
    if failed != OK:
        return failed
    o[0] += 10
    return OK


@pytest.mark.parametrize("mode", ["C", "NUMBA"])
@pytest.mark.parametrize("called", [positive, passed_on])
def test_a_kernel_that_fails_with_the_same_status_agrees(called: Kernel, mode: str) -> None:
    for numbers in ([1.0, 2.0], [1.0, -2.0], [1.0, 0.0]):
        check_kernel(called, np.array(numbers), np.zeros(1, "int64"), modes=[mode])


@pytest.mark.parametrize("mode", ["C", "NUMBA"])
def test_a_kernel_that_fails_in_python_alone_is_told_by_the_status(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    monkeypatch.setattr(kernels, "_in_python", lambda *_: (MATRIX, [np.zeros(1)]))
    with pytest.raises(ContractError, match=rf"{mode}: kernel first returns 0; in Python it fails with MATRIX"):
        check_kernel(first, np.ones(2), np.zeros(1), modes=[mode])


def test_arguments_must_be_as_many_as_parameters() -> None:
    with pytest.raises(ContractError, match=r"kernel first: 2 arguments are needed \(x, o\), got 1"):
        check_kernel(first, np.ones(2))


@pytest.mark.parametrize("mode", ["C", "NUMBA"])
def test_variables_may_be_called_by_words_of_c(tmp_path: Path, mode: str) -> None:
    with config.change_flags(compiledir=tmp_path):
        check_kernel(c_words, np.array([0.5, 1.5]), np.zeros(1), modes=[mode])


def test_the_quotient_that_stops_a_process_is_an_error_in_python() -> None:
    least, held = -(2**63), np.zeros(2, "int64")
    for a, b in [(least, 1), (least + 1, -1), (7, -2), (least, 2)]:
        divided(np.array([a, b]), held)
        assert held[0] * b + held[1] == a
    with pytest.raises(KernelError, match="-9223372036854775808 has no quotient by -1"):
        divided(np.array([least, -1]), held)


def test_a_class_is_no_kernel() -> None:
    made = kernel(Path)
    with pytest.raises(KernelError, match="a function defined by def is needed, got a type"):
        made.declared()
