"""Generated C for another processor: compiled by a cross compiler for 64-bit ARM, and run by an emulator."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_c.golden_texts import GRAPHS
from treadle.compile import function, get_mode
from treadle.config import config
from treadle.graph import FunctionGraph
from treadle.link.c.assembly import Assembly
from treadle.link.c.linker import CLinker
from treadle.link.c.runtime import Library
from treadle.link.c.text import simd
from treadle.link.c.text.unit import write_unit
from treadle.link.c.toolchain import FLAGS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COMPILER = "aarch64-linux-gnu-gcc"
EMULATOR = "qemu-aarch64"
# What only x86 has: its intrinsic functions, and the names of its functions on vectors.
FOREIGN = re.compile(r"_ZGV[a-e]N\w+|\b_mm\d*_\w+|\w+intrin\.h")

needs_compiler = pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed")


def compiled(folder: Path, *arguments: str) -> None:
    flags = [flag for flag in FLAGS if flag not in {"-march=native", "-shared"}]
    command = [COMPILER, *flags, "-Wno-unused", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def text_elsewhere(inputs: Sequence[Any], outputs: Sequence[Any]) -> str:
    """Return the C text, helpers included, as a machine without x86's functions on vectors writes it."""
    fgraph = FunctionGraph(inputs, outputs)
    with config.change_flags(blas__ldflags=""):
        get_mode("C").optimizer.rewrite(fgraph)
        fgraph = CLinker().expanded(fgraph)
        return Assembly(write_unit(fgraph)).text(Library(frozenset()))


@needs_compiler
@pytest.mark.parametrize("name", GRAPHS)
def test_native_text_of_each_family_compiles(name: str, tmp_path: Path) -> None:
    text = text_elsewhere(*GRAPHS[name]())
    (tmp_path / "program.c").write_text(text)
    compiled(tmp_path, "-c", "program.c", "-o", "program.o")


@pytest.mark.parametrize("name", ["composite", "reduction", "matrices", "product"])
def test_native_text_elsewhere_names_nothing_of_x86(name: str) -> None:
    text = text_elsewhere(*GRAPHS[name]())
    # What stands behind a question that the preprocessor asks is chosen by the compiler.
    plain = re.sub(r"^#if.*?^#endif", "", text, flags=re.DOTALL | re.MULTILINE)
    assert FOREIGN.findall(re.sub(r"^#define.*", "", plain, flags=re.MULTILINE)) == []


def test_no_functions_on_vectors_are_looked_for_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert simd._offered.__wrapped__() == (frozenset(), None)


PROGRAM = """\
#include <stdio.h>
#include <string.h>
#include "model.h"
static const double values[] = {VALUES};
int main(void) {
  treadle_status status;
  int64_t shape[2] = {4, 6}, length[1];
  DLTensor x, y;
  memset(&x, 0, sizeof x);
  memset(&y, 0, sizeof y);
  x.data = (void *)values; x.device.device_type = 1; x.ndim = 2; x.shape = shape;
  x.dtype.code = 2; x.dtype.bits = 64; x.dtype.lanes = 1;
  y.shape = length;
  const DLTensor *inputs[] = {&x};
  DLTensor *outputs[] = {&y};
  if (model_run(inputs, outputs, 0, &status)) { printf("%s %s\\n", status.message, status.op); return 1; }
  for (int64_t k = 0; k < length[0]; k++) printf("%.17g\\n", ((double *)y.data)[k]);
  model_free(&y, 0);
  return 0;
}
"""


def several_families() -> tuple[Any, Any]:
    """Return a matrix, and a vector of what functions of many families make of it."""
    x = tt.dmatrix("x")
    half, single, pair = x.astype("float16"), x.astype("float32"), x + 1j * x.T[:1, :1]
    steps, _ = tt.scan(lambda row, before: tt.tanh(before) * 0.5 + row, [x], [x[0]])
    parts = [
        tt.exp(x) + tt.log1p(abs(x)), tt.softmax(x, axis=1), x.sum(axis=0), x.max(axis=1), tt.argmax(x, axis=1),
        tt.cumsum(x, axis=0), tt.sort(x, axis=1), x[[2, 0], ::-2], tt.concatenate([x, -x], axis=1), half * half,
        tt.sin(single), abs(pair * pair), tt.gammaln(abs(x) + 0.5), x > 0, (x * 7).astype("int32") // 2, steps,
        tt.var(x), tt.searchsorted(tt.sort(x.ravel()), x[1]), tt.where(x > 0, x, 0.0).prod(axis=1),
    ]  # fmt: skip
    return x, tt.concatenate([part.ravel().astype("float64") for part in parts])


@needs_compiler
@pytest.mark.skipif(shutil.which(EMULATOR) is None, reason=f"{EMULATOR} is not installed")
def test_exported_program_computes_the_same_under_an_emulator(tmp_path: Path) -> None:
    x, y = several_families()
    values = np.random.default_rng(3).normal(size=(4, 6))
    expected = function([x], y, mode="VM")(values)
    function([x], y, mode="C", name="model").export(tmp_path)
    (tmp_path / "main.c").write_text(PROGRAM.replace("VALUES", ", ".join(v.hex() for v in values.ravel().tolist())))
    compiled(tmp_path, "-std=gnu11", "-static", "main.c", "model.c", "model_shape.c", "-o", "program", "-lm")
    done = subprocess.run([EMULATOR, "./program"], cwd=tmp_path, capture_output=True, text=True, check=True)
    np.testing.assert_allclose([float(line) for line in done.stdout.split()], expected, rtol=2e-6, atol=1e-12)
