"""The limits of the machine: the measured kernels in C, written by hand, compiled with -O3 -ffast-math."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

# The C library's own entry points for vectors, of the widest kind that the compiler may use here.
TEXT = r"""
#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX512F__)
#define W 8
#define F(name) _ZGVeN8v_##name
#elif defined(__AVX2__)
#define W 4
#define F(name) _ZGVdN4v_##name
#else
#define W 2
#define F(name) _ZGVbN2v_##name
#endif
typedef double v __attribute__((vector_size(8 * W)));
v F(tanh)(v); v F(exp)(v); v F(sin)(v); v F(cos)(v); v F(log1p)(v);
static inline v root(v a) { v r; for (int i = 0; i < W; i++) r[i] = __builtin_sqrt(a[i]); return r; }
static inline v load(const double *p) { v a; memcpy(&a, p, sizeof a); return a; }
static inline void store(double *p, v a) { memcpy(p, &a, sizeof a); }
static inline double total(v a) { double s = 0; for (int k = 0; k < W; k++) s += a[k]; return s; }
static inline v one(v x, v y) {
  return F(tanh)(2 * x + 1) * F(exp)(-x * x) + F(sin)(y) * F(cos)(x) + F(log1p)(F(exp)(y)) + root(x * x + 1);
}
#define SIZES int64_t m, int64_t n
#define ROW const double *r = x + i * n
#define TOP double t = r[0]; for (int64_t j = 0; j < n; j++) t = t > r[j] ? t : r[j]
void seven(SIZES, double *o, const double *x, const double *y) {
  for (int64_t i = 0; i + W <= n; i += W) store(o + i, one(load(x + i), load(y + i)));
}
void sum_seven(SIZES, double *o, const double *x, const double *y) {
  v t = {0};
  for (int64_t i = 0; i + W <= n; i += W) t += one(load(x + i), load(y + i));
  *o = total(t);
}
void cheap(SIZES, double *o, const double *x, const double *y) {
  for (int64_t i = 0; i < n; i++) o[i] = 2 * x[i] + y[i] * y[i] - x[i] * y[i];
}
void sum_cheap(SIZES, double *o, const double *x, const double *y) {
  double t = 0;
  for (int64_t i = 0; i < n; i++) t += 2 * x[i] + y[i] * y[i] - x[i] * y[i];
  *o = t;
}
void sum0(SIZES, double *o, const double *x) {
  memset(o, 0, n * sizeof *o);
  for (int64_t i = 0; i < m; i++) { ROW; for (int64_t j = 0; j < n; j++) o[j] += r[j]; }
}
void sum1(SIZES, double *o, const double *x) {
  for (int64_t i = 0; i < m; i++) { ROW; double t = 0; for (int64_t j = 0; j < n; j++) t += r[j]; o[i] = t; }
}
void max0(SIZES, double *o, const double *x) {
  memcpy(o, x, n * sizeof *o);
  for (int64_t i = 1; i < m; i++) { ROW; for (int64_t j = 0; j < n; j++) o[j] = o[j] > r[j] ? o[j] : r[j]; }
}
void max1(SIZES, double *o, const double *x) { for (int64_t i = 0; i < m; i++) { ROW; TOP; o[i] = t; } }
void softmax(SIZES, double *o, const double *x) {
  for (int64_t i = 0; i < m; i++) {
    ROW; TOP;
    double *q = o + i * n;
    v s = {0};
    for (int64_t j = 0; j + W <= n; j += W) { const v e = F(exp)(load(r + j) - t); s += e; store(q + j, e); }
    const double z = 1 / total(s);
    for (int64_t j = 0; j < n; j++) q[j] *= z;
  }
}
void logsumexp(SIZES, double *o, const double *x) {
  for (int64_t i = 0; i < m; i++) {
    ROW; TOP;
    v s = {0};
    for (int64_t j = 0; j + W <= n; j += W) s += F(exp)(load(r + j) - t);
    o[i] = log(total(s)) + t;
  }
}
"""


def compiler() -> str | None:
    """Return the C compiler, or None: then this column is left out."""
    return shutil.which("gcc")


def limit(name: str, directory: str) -> Callable[..., Any]:
    """Return a function of NumPy arrays that runs one of the C functions; its result is written over in each call."""
    import cffi  # noqa: PLC0415 - a peer's process does without it

    library, source = (Path(directory) / f"limits{end}" for end in (sysconfig.get_config_var("SHLIB_SUFFIX"), ".c"))
    if not library.exists():
        source.write_text(TEXT)
        flags = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC"]
        command = [compiler() or "gcc", *flags, str(source), "-o", str(library), "-lmvec", "-lm"]
        subprocess.run(command, check=True)
    ffi = cffi.FFI()
    ffi.cdef(f"void {name}(void);")
    kept: dict[tuple[int, ...], tuple[Any, ...]] = {}
    loaded = ffi.dlopen(str(library))

    def run(*arrays: Any) -> Any:
        key = tuple(map(id, arrays))
        if key not in kept:
            whole = arrays[0].shape if name in {"seven", "cheap", "softmax"} else ()
            lengths = arrays[0].shape if arrays[0].ndim == 2 else (1, arrays[0].size)
            out = np.ones(whole or (() if name.startswith("sum_") else (2000,)))
            words = ", ".join(["uintptr_t"] * (1 + len(arrays)))
            call = ffi.cast(f"void(*)(int64_t, int64_t, {words})", getattr(loaded, name))
            kept[key] = (call, out, *lengths, out.ctypes.data, *(a.ctypes.data for a in arrays))
        call, out, *arguments = kept[key]
        call(*arguments)
        return out

    return run
