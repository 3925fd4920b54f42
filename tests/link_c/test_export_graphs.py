"""Exported functions of every kind of graph, called through cffi: the same numbers, and the announced lengths."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cffi import FFI

import treadle.tensor as tt
from treadle.compile import function
from treadle.link.c.conventions.lapack import blas_pointers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def called(file: Path, values: Sequence[Any]) -> list[Any]:
    """Call an exported function through cffi, with SciPy's BLAS, and check its lengths."""
    ffi = FFI()
    about = json.loads(file.read_text(encoding="utf-8"))
    ffi.cdef(about["declarations"])
    library, name = ffi.dlopen(str(file.parent / about["library"])), about["name"]
    blas = ffi.new("treadle_blas *")
    for routine, address in blas_pointers().items():
        if hasattr(blas, routine):
            setattr(blas, routine, ffi.cast(ffi.typeof(getattr(blas, routine)), address))
    host = ffi.new("treadle_host *", {"blas": blas})
    codes = {"b": 6, "i": 0, "u": 1, "f": 2}
    arrays = [np.asarray(value) for value in values]
    lengths = [ffi.new("int64_t[]", list(a.shape)) for a in arrays]
    steps = [ffi.new("int64_t[]", [n // a.itemsize for n in a.strides]) for a in arrays]
    inputs = [
        ffi.new("DLTensor *", {
            "data": ffi.cast("void *", a.ctypes.data), "device": (1, 0), "ndim": a.ndim,
            "dtype": (codes[a.dtype.kind], 8 * a.itemsize, 1), "shape": n, "strides": s,
        })
        for a, n, s in zip(arrays, lengths, steps, strict=True)
    ]  # fmt: skip
    rooms = [ffi.new("int64_t[8]") for _ in about["outputs"]]
    outputs = [ffi.new("DLTensor *", {"shape": room}) for room in rooms]
    arguments = ffi.new("DLTensor *[]", inputs), ffi.new("DLTensor *[]", outputs), host, ffi.NULL
    assert getattr(library, f"{name}_shape")(*arguments) == 0
    shapes = [tuple(o.shape[d] for d in range(o.ndim)) for o in outputs]
    assert getattr(library, f"{name}_run")(*arguments) == 0
    results = []
    for out, described in zip(outputs, about["outputs"], strict=True):
        shape, dtype = tuple(out.shape[d] for d in range(out.ndim)), np.dtype(described["dtype"])
        raw = bytes(ffi.buffer(out.data, int(np.prod(shape)) * dtype.itemsize))
        results.append(np.frombuffer(raw, dtype).reshape(shape))
        getattr(library, f"{name}_free")(out, host)
    assert shapes == [result.shape for result in results]
    return results


def graphs() -> dict[str, tuple[list[Any], Any, list[Any]]]:
    x, v, n, b = tt.dmatrix("x"), tt.dvector("v"), tt.lscalar("n"), tt.scalar("b", dtype="bool")
    data, three = np.random.default_rng(0).normal(size=(4, 3)), np.array([1.0, 2.0, 3.0])
    chosen = tt.ifelse(b, tt.sum(x @ v), tt.sum(tt.exp(v)))
    inner = tt.OpFromGraph([x, v], [tt.exp(x) @ v])
    chain = v
    for _ in range(300):
        chain = tt.sin(chain) + chain[::-1]
    last, rows = tt.scan_with_carry(lambda h, row: (tt.tanh(x.T @ x @ h + row),) * 2, v, x)
    total = tt.while_loop(lambda c: c < 100 * last[0] ** 2, lambda c: 2 * c, 1.0)
    return {
        "loops": ([x, v], [last, rows, total, tt.grad(tt.sum(rows), v)], [data, three]),
        "taken": ([b, x, v], chosen, [np.array(True), data, three]),
        "not taken": ([b, x, v], chosen, [np.array(False), data, three]),
        "lengths of a branch": ([b, x], tt.ifelse(b, x * 2, x[1:]), [np.array(False), data]),
        "inner graph": ([x, v], inner(x, v) + 1, [data, three]),
        "constants": ([], [tt.constant(np.arange(3.0)), tt.constant(2)], []),
        "inputs and views": ([x], [x, x, x.T, x[0], x.reshape((-1,))], [data]),
        "nothing": ([v], [v * 2, tt.sum(v)], [np.zeros(0)]),
        "many nodes": ([v], chain, [three]),
        "gradient": ([x, v], tt.grad(tt.sum(tt.tanh(x @ v) ** 2), [x, v]), [data, three]),
        "any strides": ([x], [tt.sum(x * x, axis=0), x.T @ x], [np.asfortranarray(data)[::-1]]),
        "indexing": ([x, n], [x[tt.constant([0, 2])], tt.set_subtensor(x[n], 0.0)], [data, np.array(1)]),
    }


@pytest.mark.parametrize("case", graphs())
def test_every_kind_of_graph_gives_the_same_numbers(case: str, tmp_path: Path) -> None:
    inputs, outputs, values = graphs()[case]
    f = function(inputs, outputs, name="model")
    expected = f(*values)
    results = called(f.export(tmp_path), values)
    for a, b in zip(results, expected if isinstance(expected, list) else [expected], strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_every_dtype_crosses(tmp_path: Path) -> None:
    kinds = ["bool", "float16", "float32", "float64", *(f"{sign}int{n}" for sign in ("", "u") for n in (8, 16, 32, 64))]
    inputs = [tt.tensor(name=f"x_{kind}", dtype=kind, shape=(None,)) for kind in kinds]
    values = [np.array([0, 1, 1, 0, 1]).astype(kind) for kind in kinds]
    file = function(inputs, [x[::-1] for x in inputs], mode="C", name="model").export(tmp_path)
    for result, value in zip(called(file, values), values, strict=True):
        assert result.dtype == value.dtype
        np.testing.assert_array_equal(result, value[::-1])
