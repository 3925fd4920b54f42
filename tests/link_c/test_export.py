"""Functions as C libraries: the same numbers in a program without Python, explicit state, errors that explain."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function, shared
from treadle.compile.errors import FunctionValueError
from treadle.config import config
from treadle.graph import Apply, LoweringError, Op
from treadle.link.c import CFunction, CPointer, c_function
from treadle.link.c.errors import ExportError
from treadle.link.vm import ExportUnsupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence

# Shared by the programs below: tensors, the BLAS that a host passes, an allocator that counts.
HOST = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include "model.h"
static double at(char t, double *x, int ld, int i, int j) { return t == 'N' ? x[i + j * ld] : x[j + i * ld]; }
static void gemm(char *ta, char *tb, int *m, int *n, int *k, double *alpha, double *a, int *lda, double *b, int *ldb,
                 double *beta, double *c, int *ldc) {
  for (int i = 0; i < *m; i++) for (int j = 0; j < *n; j++) {
    double sum = 0;
    for (int l = 0; l < *k; l++) sum += at(*ta, a, *lda, i, l) * at(*tb, b, *ldb, l, j);
    c[i + j * *ldc] = *alpha * sum + (*beta == 0 ? 0 : *beta * c[i + j * *ldc]);
  }
}
static void gemv(char *t, int *m, int *n, double *alpha, double *a, int *lda, double *x, int *ix, double *beta,
                 double *y, int *iy) {
  const int rows = *t == 'N' ? *m : *n, columns = *t == 'N' ? *n : *m;
  for (int i = 0; i < rows; i++) {
    double sum = 0;
    for (int j = 0; j < columns; j++) sum += at(*t, a, *lda, i, j) * x[j * *ix];
    y[i * *iy] = *alpha * sum + (*beta == 0 ? 0 : *beta * y[i * *iy]);
  }
}
static treadle_blas blas = {gemm, 0, gemv, 0};
static long live, taken;
static void *take(void *context, size_t bytes, size_t alignment) {
  ++*(long *)context;
  taken++;
  return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
static void give(void *context, void *block) { --*(long *)context; free(block); }
static treadle_host host = {take, give, &live, &blas};
static DLTensor tensor(void *data, int ndim, int64_t *shape, int code, int bits) {
  DLTensor x = {data, {1, 0}, ndim, {code, bits, 1}, shape, 0, 0};
  return x;
}
static int expect(int32_t got, int32_t wanted, treadle_status *s) {
  if (got == wanted && s->code == wanted) return 0;
  printf("code %d (%d), not %d: %s | %s | %s\\n", got, s->code, wanted, s->message, s->op, s->line);
  exit(1);
}
"""

MAIN = """\
int main(void) {
  treadle_status status;
  int64_t xs[2], ws[2], outs[MODEL_OUTPUTS][2];
  double w[6];
  int64_t n = 0;
  DLTensor initial = tensor(0, 0, ws, 0, 0);
  if (model_initial(0, &initial) != 1 || model_initial(1, &initial) != 0) return 2;
  memcpy(w, initial.data, sizeof w);
  for (int step = 0; step < 4; step++) {
    const int64_t rows = step == 2 ? 40000 : 3 + step;
    double *x = malloc(rows * 3 * sizeof *x);
    for (int64_t i = 0; i < rows * 3; i++) x[i] = sin(0.1 * (double)i + step);
    xs[0] = rows;
    xs[1] = 3;
    DLTensor ix = tensor(x, 2, xs, 2, 64), iw = tensor(w, 2, ws, 2, 64), in = tensor(&n, 0, 0, 0, 64);
    const DLTensor *inputs[] = {&ix, &iw, &in};
    DLTensor o[MODEL_OUTPUTS];
    DLTensor *outputs[MODEL_OUTPUTS];
    memset(o, 0, sizeof o);
    for (int k = 0; k < MODEL_OUTPUTS; k++) { o[k].shape = outs[k]; outputs[k] = o + k; }
    expect(model_shape(inputs, outputs, 0, &status), TREADLE_OK, &status);
    if (o[1].shape[0] != rows - 1 || o[1].shape[1] != 2 || o[1].ndim != 2 || o[0].shape[0] != 2) return 3;
    expect(model_run(inputs, outputs, &host, &status), TREADLE_OK, &status);
    if (o[1].shape[0] != rows - 1 || o[1].dtype.code != 2 || o[1].dtype.bits != 64) return 4;
    printf("%.17g %.17g", ((double *)o[0].data)[0], ((double *)o[0].data)[1]);
    printf(" %.17g", ((double *)o[1].data)[2 * (rows - 1) - 1]);
    memcpy(w, o[2].data, sizeof w);
    n = *(int64_t *)o[3].data;
    for (int i = 0; i < 6; i++) printf(" %.17g", w[i]);
    printf(" %ld\\n", (long)n);
    for (int k = 0; k < MODEL_OUTPUTS; k++) model_free(o + k, &host);
    if (live != 0 || taken == 0) return 5;
    free(x);
  }
  return 0;
}
"""


def model(mode: str = "C") -> Any:
    x = tt.dmatrix("x")
    w = shared(np.arange(6.0).reshape(3, 2) / 10, name="w")
    n = shared(np.array(0), name="n")
    y = tt.tanh(x @ w)
    updates = [(w, w * 0.9 + 0.001 * (x.T @ y)), (n, n + 1)]
    return function([x], [y.sum(axis=0), y[1:]], updates=updates, mode=mode, name="model")


def built(folder: Path, program: str, *flags: str) -> Path:
    """Compile a C program with an exported library beside it."""
    source, target = folder / "program.c", folder / "program"
    source.write_text(program)
    command = [
        "cc",
        "-std=gnu11",
        "-Wall",
        "-Werror",
        "-Wno-unused",
        *flags,
        str(source),
        f"-I{folder}",
        "-o",
        str(target),
    ]
    subprocess.run([*command, f"-L{folder}", f"-Wl,-rpath,{folder}", "-lmodel", "-lm", "-lpthread"], check=True)
    return target


def output_of(program: Path) -> str:
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False, env={"PATH": "/nowhere"})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def export_of(folder: Path, outputs: Any, inputs: Any, **options: Any) -> dict[str, Any]:
    file = function(inputs, outputs, mode="C", name="model", **options).export(folder)
    described: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return described


@pytest.mark.documents("Function.export")
def test_a_program_without_python_computes_the_same(tmp_path: Path) -> None:
    f = model()
    file = f.export(tmp_path)
    program = built(tmp_path, HOST + MAIN)
    for line, step in zip(output_of(program).splitlines(), range(4), strict=True):
        rows = 40000 if step == 2 else 3 + step
        x = np.sin(0.1 * np.arange(rows * 3) + step).reshape(rows, 3)
        total, rest = f(x)
        w, n = f.get_shared()
        expected = [*total, rest[-1, -1], *w.get_value().ravel(), n.get_value()]
        np.testing.assert_allclose(np.array(line.split(), float), expected, rtol=1e-11)
    described = json.loads(file.read_text(encoding="utf-8"))
    assert [i["name"] for i in described["inputs"]] == ["x", "w", "n"]
    assert [i["role"] for i in described["inputs"]] == ["input", "state", "state"]
    assert [o["updates"] for o in described["outputs"]] == [None, None, "w", "n"]
    assert set(described["blas"]["routines"]) >= {"dgemm"}
    assert all((tmp_path / name).exists() for name in described["files"])


@pytest.mark.skipif(shutil.which("nm") is None or shutil.which("ldd") is None, reason="nm and ldd are not installed")
def test_nothing_in_the_library_is_pythons_or_scipys(tmp_path: Path) -> None:
    model().export(tmp_path)
    library = str(tmp_path / "libmodel.so")
    names = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    needed = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    assert "Py" not in names
    assert not [part for part in ("python", "scipy", "openblas") if part in needed]
    own = {line.split()[-1] for line in names.splitlines() if " T " in line}
    assert own == {"model_run", "model_shape", "model_free", "model_initial"}


def test_cffi_alone_loads_it_back(tmp_path: Path) -> None:
    x = tt.dvector("x")
    described = export_of(tmp_path, [tt.exp(x) * 2, tt.sum(x)], [x])
    program = f"""
import json, sys
from pathlib import Path
from cffi import FFI
folder = Path({str(tmp_path)!r})
about = json.loads((folder / "model.json").read_text())
ffi = FFI()
ffi.cdef(about["declarations"])
library = ffi.dlopen(str(folder / about["library"]))
data, lengths = ffi.new("double[]", [0.0, 1.0, 2.0]), ffi.new("int64_t[]", [3])
x = ffi.new("DLTensor *", dict(data=data, device=(1, 0), ndim=1, dtype=(2, 64, 1), shape=lengths))
shapes = [ffi.new("int64_t[4]") for _ in about["outputs"]]
outs = [ffi.new("DLTensor *", dict(shape=s)) for s in shapes]
status = ffi.new("treadle_status *")
host = ffi.NULL
assert library.model_run(ffi.new("DLTensor *[]", [x]), ffi.new("DLTensor *[]", outs), host, status) == 0
print([ffi.cast("double *", outs[0].data)[i] for i in range(shapes[0][0])], ffi.cast("double *", outs[1].data)[0])
for out in outs: library.model_free(out, host)
print([name for name in ("treadle", "numpy", "scipy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    values, total = first.rsplit(" ", 1)
    np.testing.assert_allclose(json.loads(values), 2 * np.exp([0.0, 1.0, 2.0]), rtol=1e-15)
    assert float(total) == 3
    assert second == "[]"
    assert described["blas"]["routines"] == []


def test_the_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).resolve().parents[2] / "docs" / "export.md"
    text = page.read_text(encoding="utf-8")
    exec(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0], {"__name__": "page"})
    include, *lines = re.findall(r"```c\n(#include.*?)```", text, re.DOTALL)[0].splitlines()
    declared = "void dgemm_(), sgemm_(), dgemv_(), sgemv_();\n"
    blas = "void dgemm_(void) {} void sgemm_(void) {} void dgemv_(void) {} void sgemv_(void) {}\n"
    source = tmp_path / "page.c"
    source.write_text(
        f"#include <stdio.h>\n{include}\n{declared}int main(void) {{\n" + "\n".join(lines) + "\nreturn 0; }\n"
    )
    (tmp_path / "blas.c").write_text(blas)
    folder = tmp_path / "exported"
    command = [
        "cc",
        str(source),
        str(tmp_path / "blas.c"),
        f"-I{folder}",
        f"-L{folder}",
        f"-Wl,-rpath,{folder}",
        "-lstep",
    ]
    subprocess.run([*command, "-o", str(tmp_path / "page")], check=True)
    done = subprocess.run([str(tmp_path / "page")], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_memory_of_the_host_is_written_to_and_wrong_lengths_are_refused(tmp_path: Path) -> None:
    x = tt.dmatrix("x")
    export_of(tmp_path, [x * 2, tt.sum(x, axis=0)], [x])
    main = """
int main(void) {
  treadle_status status;
  double data[6] = {1, 2, 3, 4, 5, 6}, doubled[6] = {0}, sums[3] = {0};
  int64_t shape[2] = {2, 3}, turned[2] = {3, 2}, lengths[1] = {3}, strides[2] = {1, 3};
  DLTensor x = tensor(data, 2, shape, 2, 64), y = tensor(doubled, 2, shape, 2, 64), z = tensor(sums, 1, lengths, 2, 64);
  const DLTensor *in[] = {&x};
  DLTensor *out[] = {&y, &z};
  expect(model_run(in, out, 0, &status), TREADLE_OK, &status);
  printf("%g %g %g\\n", doubled[5], sums[0], sums[2]);
  if (y.data != doubled || z.data != sums) return 2;
  lengths[0] = 4;
  expect(model_run(in, out, 0, &status), TREADLE_OUTPUT, &status);
  if (status.argument != 2 || sums[0] != 5) return 3;
  lengths[0] = 3;
  x.shape = turned;
  x.strides = strides; /* the transpose of a 2 x 3 block, given as 3 x 2 */
  strides[0] = 1; strides[1] = 3;
  int64_t two[1] = {2};
  z.shape = two;
  y.shape = turned;
  expect(model_run(in, out, 0, &status), TREADLE_OK, &status);
  printf("%g %g %g\\n", doubled[1], sums[0], sums[1]);
  x.byte_offset = 8;
  x.shape = two; x.ndim = 1;
  expect(model_run(in, out, 0, &status), TREADLE_ARGUMENT, &status);
  if (status.argument != 0 || status.node != -1) return 4;
  x.ndim = 2; x.shape = turned; x.dtype.bits = 32;
  expect(model_run(in, out, 0, &status), TREADLE_ARGUMENT, &status);
  x.dtype.bits = 64; x.byte_offset = 3;
  expect(model_run(in, out, 0, &status), TREADLE_ARGUMENT, &status);
  y.data = 0; x.byte_offset = 0; /* the second output is refused after the first was allocated, which is given back */
  int64_t room[2];
  y.shape = room;
  lengths[0] = 9; z.shape = lengths;
  expect(model_run(in, out, &host, &status), TREADLE_OUTPUT, &status);
  if (live != 0 || y.data) return 5;
  return 0;
}
"""
    assert output_of(built(tmp_path, HOST + main)).splitlines() == ["12 5 9", "8 6 15"]


def test_errors_name_the_node_and_the_line(tmp_path: Path) -> None:
    x, i = tt.dvector("x"), tt.lscalar("i")
    export_of(tmp_path, [tt.exp(x)[i] + x[0], x + tt.concatenate([x, x])[i:]], [x, i])
    main = """
int main(void) {
  treadle_status status;
  double data[4] = {0, 1, 2, 3};
  int64_t n[1] = {4}, room[1], index = 9;
  DLTensor x = tensor(data, 1, n, 2, 64), i = tensor(&index, 0, 0, 0, 64), y = {0}, z = {0};
  const DLTensor *in[] = {&x, &i};
  DLTensor *out[] = {&y, &z};
  z.shape = room;
  expect(model_run(in, out, &host, &status), TREADLE_INDEX, &status);
  printf("%s|%s|%s\\n", status.message, status.op, status.line);
  index = 3;
  expect(model_run(in, out, &host, &status), TREADLE_SHAPE, &status);
  printf("%s|%s|%s\\n", status.message, status.op, status.line);
  if (live) return 2;
  expect(model_run(in, out, &host, 0) ? TREADLE_SHAPE : 0, status.code, &status);
  return 0;
}
"""
    index, shape = output_of(built(tmp_path, HOST + main)).splitlines()
    assert index.startswith("a position is out of bounds|")
    assert "test_export.py" in index
    assert shape.startswith("the shapes of the inputs do not fit together|")
    assert "test_export.py" in shape


def test_missing_blas_is_an_error(tmp_path: Path) -> None:
    a = tt.dmatrix("a")
    described = export_of(tmp_path, a @ a, [a])
    assert described["blas"]["passed_by"] == "host"
    main = """
int main(void) {
  treadle_status status;
  double data[4] = {1, 2, 3, 4};
  int64_t n[2] = {2, 2}, room[2];
  DLTensor x = tensor(data, 2, n, 2, 64), y = {0};
  const DLTensor *in[] = {&x};
  DLTensor *out[] = {&y};
  y.shape = room;
  expect(model_run(in, out, 0, &status), TREADLE_NO_BLAS, &status);
  host.allocate = 0;
  host.release = 0;
  expect(model_run(in, out, &host, &status), TREADLE_OK, &status);
  printf("%g %g\\n", ((double *)y.data)[0], ((double *)y.data)[3]);
  model_free(&y, &host);
  return 0;
}
"""
    assert output_of(built(tmp_path, HOST + main)).split() == ["7", "22"]


@pytest.mark.documents("option:blas__ldflags")
def test_blas_is_linked_where_the_option_names_one(tmp_path: Path) -> None:
    source = tmp_path / "blas.c"
    source.write_text(
        "void dgemm_(char *a, char *b, int *l, int *m, int *k, double *one, double *x, int *lx, double *y, int *ly,"
        "            double *zero, double *o, int *lo) { for (int i = 0; i < *l * *m; i++) o[i] = 42; }\n"
        "void dgemv_(void) {}\n"
    )
    library = tmp_path / "libfake.so"
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    a = tt.dmatrix("a")
    with config.change_flags(blas__ldflags=str(library)):
        described = export_of(tmp_path, a @ a, [a])
    assert described["blas"]["passed_by"] == "linker"
    main = """
int main(void) {
  treadle_status status;
  double data[25] = {1, 2, 3, 4}, result[25];
  int64_t n[2] = {5, 5};  // smaller products are done without BLAS
  DLTensor x = tensor(data, 2, n, 2, 64), y = tensor(result, 2, n, 2, 64);
  const DLTensor *in[] = {&x};
  DLTensor *out[] = {&y};
  expect(model_run(in, out, 0, &status), TREADLE_OK, &status);
  printf("%g\\n", result[3]);
  return 0;
}
"""
    assert output_of(built(tmp_path, HOST + main, f"-Wl,-rpath-link,{tmp_path}")).split() == ["42"]


def test_threads_may_call_at_once(tmp_path: Path) -> None:
    model().export(tmp_path)
    main = """
#include <pthread.h>
static void *work(void *index) {
  const int64_t rows = 2000 + 500 * (int64_t)(intptr_t)index;
  double w[6] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}, *x = malloc(rows * 3 * sizeof *x), first = 0;
  treadle_host own = {0, 0, 0, &blas};
  int64_t xs[2] = {rows, 3}, ws[2] = {3, 2}, n = 0, room[4][2];
  for (int64_t i = 0; i < rows * 3; i++) x[i] = cos(0.01 * (double)i);
  for (int round = 0; round < 20; round++) {
    DLTensor ix = tensor(x, 2, xs, 2, 64), iw = tensor(w, 2, ws, 2, 64), in = tensor(&n, 0, 0, 0, 64), o[4];
    const DLTensor *inputs[] = {&ix, &iw, &in};
    DLTensor *outputs[] = {o, o + 1, o + 2, o + 3};
    memset(o, 0, sizeof o);
    for (int k = 0; k < 4; k++) o[k].shape = room[k];
    if (model_run(inputs, outputs, &own, 0)) return (void *)1;
    const double result = ((double *)o[0].data)[0];
    if (round == 0) first = result;
    else if (result != first) return (void *)2;
    for (int k = 0; k < 4; k++) model_free(o + k, &own);
  }
  free(x);
  return 0;
}
int main(void) {
  pthread_t threads[8];
  int bad = 0;
  (void)expect; (void)host;
  for (intptr_t k = 0; k < 8; k++) pthread_create(threads + k, 0, work, (void *)k);
  for (int k = 0; k < 8; k++) { void *r; pthread_join(threads[k], &r); bad |= r != 0; }
  return bad;
}
"""
    output_of(built(tmp_path, HOST + main))


def test_lengths_that_depend_on_values_are_computed_from_them(tmp_path: Path) -> None:
    n, x = tt.lscalar("n"), tt.fvector("x")
    export_of(tmp_path, [tt.arange(n) * 2, x[n:], tt.exp(x).sum()], [n, x])
    main = """
int main(void) {
  treadle_status status;
  float data[5] = {0, 1, 2, 3, 4};
  int64_t count = 3, lengths[1] = {5}, room[3][1];
  DLTensor n = tensor(&count, 0, 0, 0, 64), x = tensor(data, 1, lengths, 2, 32), o[3];
  const DLTensor *in[] = {&n, &x};
  DLTensor *out[] = {o, o + 1, o + 2};
  (void)host;
  memset(o, 0, sizeof o);
  for (int k = 0; k < 3; k++) o[k].shape = room[k];
  expect(model_shape(in, out, 0, &status), TREADLE_OK, &status);
  printf("%ld %ld %d %d\\n", (long)room[0][0], (long)room[1][0], o[2].ndim, o[1].dtype.bits);
  expect(model_run(in, out, 0, &status), TREADLE_OK, &status);
  printf("%ld %g\\n", (long)((int64_t *)o[0].data)[2], ((float *)o[1].data)[1]);
  for (int k = 0; k < 3; k++) model_free(o + k, 0);
  return 0;
}
"""
    assert output_of(built(tmp_path, HOST + main)).splitlines() == ["3 2 0 32", "4 4"]


def test_constants_travel_with_the_library(tmp_path: Path) -> None:
    x = tt.dvector("x")
    values = np.random.default_rng(0).normal(size=1001)
    export_of(tmp_path, tt.sum(x * tt.constant(values)), [x])
    main = """
int main(void) {
  treadle_status status;
  static double data[1001], result;
  int64_t n[1] = {1001};
  DLTensor x = tensor(data, 1, n, 2, 64), y = tensor(&result, 0, 0, 2, 64);
  const DLTensor *in[] = {&x};
  DLTensor *out[] = {&y};
  (void)host;
  for (int i = 0; i < 1001; i++) data[i] = i;
  expect(model_run(in, out, 0, &status), TREADLE_OK, &status);
  printf("%.17g\\n", result);
  return 0;
}
"""
    total = float(output_of(built(tmp_path, HOST + main)))
    np.testing.assert_allclose(total, (values * np.arange(1001)).sum(), rtol=1e-12)


def test_sources_compile_again_without_functions_on_vectors_and_without_warnings_of_the_header(tmp_path: Path) -> None:
    x = tt.dvector("x")
    file = function([x], tt.sum(tt.exp(x)), mode="C", name="model").export(tmp_path)
    described = json.loads(file.read_text(encoding="utf-8"))
    sources = [str(tmp_path / name) for name in described["files"] if name.endswith(".c")]
    target = tmp_path / "again.so"
    command = ["cc", "-std=gnu99", "-O1", "-DTREADLE_SCALAR", "-fPIC", "-shared", *sources, "-o", str(target), "-lm"]
    subprocess.run(command, check=True)
    assert b"_ZGV" not in target.read_bytes()
    if shutil.which("c++"):
        check = tmp_path / "check.cpp"
        check.write_text('#include "model.h"\n#include "model.h"\nint main() { return sizeof(DLTensor) != 48; }\n')
        subprocess.run(
            ["c++", "-Wall", "-Wextra", "-Werror", "-c", str(check), "-o", str(tmp_path / "check.o")], check=True
        )


class PythonOnly(Op):
    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        x = tt.as_tensor(inputs[0])
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0] + 1


class WithPointer(PythonOnly):
    __props__ = ()


@c_function(WithPointer)
def with_pointer(*_: Any) -> CFunction:
    pointer = CPointer("scipy.special.cython_special", "gammaln", "double (double, int __pyx_skip_dispatch)")
    text = "static int with_pointer(const treadle_array *x, treadle_array *y) { return !x || !y || !log_gamma; }"
    return CFunction(name="with_pointer", text=text, pointers={"log_gamma": pointer})


class WithInit(PythonOnly):
    __props__ = ()


@c_function(WithInit)
def with_init(*_: Any) -> CFunction:
    text = (
        "static double step;\n"
        "static int with_init(const treadle_array *x, treadle_array *y) {\n"
        "  for (int64_t i = 0; i < x->shape[0]; i++) ((double *)y->data)[i] = ((const double *)x->data)[i] + step;\n"
        "  return x->shape[0] > 3 ? 5 : 0;\n}\n"
    )
    return CFunction(name="with_init", text=text, init="step = 10;", errors={5: (ValueError, "more than three")})


@pytest.mark.documents("error:ExportError")
def test_steps_of_python_and_functions_of_scipy_are_refused_with_the_list(tmp_path: Path) -> None:
    x = tt.dvector("x")
    f = function([x], [PythonOnly()(x), PythonOnly()(x * 2) + 1], mode="CVM")
    with pytest.raises(LoweringError) as caught:
        f.export(tmp_path)
    assert str(caught.value).count("test_export.py") == 2
    g = function([x], [WithPointer()(x), WithPointer()(x * 2)], mode="C")
    with pytest.raises(ExportError) as refused:
        g.export(tmp_path)
    assert str(refused.value).count("scipy.special.cython_special.gammaln") == 2
    assert str(refused.value).count("test_export.py") == 2
    assert not list(tmp_path.iterdir())


def test_c_of_users_goes_along(tmp_path: Path) -> None:
    x = tt.dvector("x")
    export_of(tmp_path, WithInit()(x) * 2, [x])
    main = """
int main(void) {
  treadle_status status;
  double data[4] = {1, 2, 3, 4}, result[4];
  int64_t n[1] = {3};
  DLTensor x = tensor(data, 1, n, 2, 64), y = tensor(result, 1, n, 2, 64);
  const DLTensor *in[] = {&x};
  DLTensor *out[] = {&y};
  (void)host;
  for (int k = 0; k < 2; k++) expect(model_run(in, out, 0, &status), TREADLE_OK, &status);
  printf("%g\\n", result[2]);
  n[0] = 4;
  expect(model_run(in, out, 0, &status), TREADLE_USER + 5, &status);
  printf("%s\\n", status.message);
  return 0;
}
"""
    assert output_of(built(tmp_path, HOST + main)).splitlines() == ["26", "more than three"]


@pytest.mark.documents("Function.export.name")
def test_names_are_made_unique_and_legal_in_c(tmp_path: Path) -> None:
    a, b = tt.dscalar("x y"), tt.dscalar("x_y")
    described = export_of(tmp_path, {"first": a + b, "second": a * b}, [a, b])
    assert [i["name"] for i in described["inputs"]] == ["x_y", "x_y_2"]
    assert [o["name"] for o in described["outputs"]] == ["first", "second"]
    with pytest.raises(FunctionValueError, match="prefix of files and of C functions"):
        function([a], a, mode="C").export(tmp_path, name="a b")


@pytest.mark.documents("error:ExportUnsupportedError")
@pytest.mark.parametrize("mode", ["VM", "FAST_COMPILE"])
def test_other_backends_say_that_they_cannot(mode: str, tmp_path: Path) -> None:
    x = tt.dvector("x")
    with pytest.raises(ExportUnsupportedError, match=r"cannot export.*mode C"):
        function([x], x + 1, mode=mode).export(tmp_path)


@pytest.mark.documents("Function.export.directory", "Function.export.name")
def test_folder_may_have_spaces_and_non_ascii_letters(tmp_path: Path) -> None:
    x = tt.dvector("x")
    folder = tmp_path / "ein Ordner ü" / "inner"
    file = function([x], x + 1, mode="C").export(folder, name="plus")
    assert {p.name for p in folder.iterdir()} == {"plus.c", "plus_shape.c", "plus.h", "plus.json", "libplus.so"}
    assert file == folder / "plus.json"


@pytest.mark.parametrize("name", ["n" * 201, "n" * 100_000])
def test_name_too_long_for_files_is_refused(tmp_path: Path, name: str) -> None:
    x = tt.dvector("x")
    with pytest.raises(FunctionValueError, match="200 of them at most") as caught:
        function([x], x * 2, mode="C", name=name).export(tmp_path / "out")
    assert len(str(caught.value)) < 500
