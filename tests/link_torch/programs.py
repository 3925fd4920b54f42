"""Linking by hand, for the tests of the PyTorch backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from torch.utils._python_dispatch import TorchDispatchMode

from treadle.graph import Apply, FunctionGraph, Op, Variable
from treadle.link.torch.linker import TorchLinker
from treadle.link.vm import PythonLinker
from treadle.tensor import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

TOLERANCES = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-13, "complex64": 1e-5, "complex128": 1e-13}


class Recorded(TorchDispatchMode):  # type: ignore[misc]  # PyTorch does not say what it is
    """Keeps the names of PyTorch's operations."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note an operation."""
        self.names.append(str(func).split(".")[1])
        return func(*args, **(kwargs or {}))


def tensor(dtype: str, ndim: int, name: str | None = None) -> Any:
    """Return a variable of a dtype and rank."""
    return TensorType(dtype, (None,) * ndim)(name)


def link(
    inputs: Sequence[Any], outputs: Sequence[Any], compiled: bool | None = False, native: Sequence[int] = ()
) -> Any:
    """Return the program of a graph."""
    return TorchLinker(compiled).link(FunctionGraph(inputs, outputs), frozenset(native))


def reference(inputs: Sequence[Any], outputs: Sequence[Any], values: Sequence[Any]) -> Sequence[Any]:
    """Return what the Python VM computes."""
    return PythonLinker().link(FunctionGraph(inputs, outputs))(*values)


def check(
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    values: Sequence[Any],
    compiled: bool = False,
    names: Sequence[str] | None = None,
) -> None:
    """Compare a program with the Python VM: values, dtypes and shapes of all outputs."""
    results = link(inputs, outputs, compiled)(*values)
    expected = reference(inputs, outputs, values)
    for at, (got, want) in enumerate(zip(results, expected, strict=True)):
        label = f"output {at}: {names[at] if names else outputs[at].owner}"
        assert got.dtype == want.dtype, label
        if want.dtype.kind in "fc":
            tolerance = TOLERANCES[want.dtype.name]
            np.testing.assert_allclose(got, want, tolerance, tolerance, err_msg=label)
        else:
            np.testing.assert_array_equal(got, want, err_msg=label)


def sample(dtype: str, shape: Sequence[int], seed: int = 0) -> Any:
    """Return an array of any values of a dtype, integers over their whole range."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    values = rng.normal(size=shape) * 3
    return (values + 1j * rng.normal(size=shape) if kind == "c" else values).astype(dtype)


class OnHost(Op):
    """An op that PyTorch has no rule for."""

    __props__ = ()

    def make_node(self, x: Variable) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        outputs[0][0] = inputs[0] * 2
