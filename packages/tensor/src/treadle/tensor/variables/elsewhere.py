"""What other libraries call otherwise: the hints that messages about unknown names end with."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# Names that NumPy, JAX, PyTorch and TensorFlow have at their top, and what to write here.
FUNCTIONS: Mapping[str, str] = {
    "cat": "tt.concatenate",
    "checkpoint": "recomputes=True of a loop",
    "cond": "tt.ifelse(condition, then, otherwise), or tt.where for elements",
    "device_put": "nothing, the function's mode decides where it runs",
    "hvp": "tt.hessian_vector_product(cost, wrt, vectors)",
    "jacfwd": "tt.jacobian(expression, wrt, forward=True)",
    "jacrev": "tt.jacobian(expression, wrt)",
    "jit": "tt.compiled(f), or tt.function(inputs, outputs)",
    "jvp": "tt.pushforward(expression, wrt, tangents)",
    "manual_seed": "tt.random.RandomStream(seed)",
    "no_grad": "nothing, gradients are computed only where tt.grad asks for them",
    "placeholder": "tt.tensor(name, dtype=..., shape=...)",
    "pmap": "tt.vmap; a program runs on one device",
    "sparse": "treadle.sparse",
    "stop_gradient": "tt.disconnected_grad(x), or tt.zero_grad(x)",
    "vjp": "tt.pullback(expression, wrt, cotangents)",
    "while": "tt.while_loop",
    "xtensor": "treadle.named.xtensor",
}
# Modules below `treadle.tensor` in which a name that is looked for at its top may stand.
BELOW = ("nn", "linalg", "special", "random", "signal", "fft", "optimize", "array_api")
# Names that arrays of other libraries have, and what to write with a variable x.
METHODS: Mapping[str, str] = {
    "append": "tt.concatenate([x, y])",
    "at": "x[i].set(v) or x[i].inc(v), which return a new tensor",
    "backward": "tt.grad(x, wrt), which returns the gradients",
    "block_until_ready": "x.eval({...}): nothing runs before",
    "cpu": "nothing, results of functions are NumPy's arrays",
    "cuda": "nothing, the mode of tt.function decides where it runs",
    "detach": "tt.disconnected_grad(x)",
    "double": 'x.astype("float64")',
    "float": 'x.astype("float32")',
    "get_value": "x.eval({...}): only shared variables hold a value",
    "grad": "tt.grad(cost, x)",
    "iloc": "x[i]",
    "loc": "x[i]",
    "numpy": "x.eval({...}), or make it an output of tt.function",
    "permute": "x.transpose(*axes)",
    "requires_grad": "tt.grad(cost, x), which takes any variable of floats",
    "set_value": "tt.shared(value): only shared variables hold a value",
    "to": "x.astype(dtype); the mode of tt.function decides where it runs",
    "unsqueeze": "tt.expand_dims(x, axis)",
    "values": "x.eval({...}), or make it an output of tt.function",
    "view": "x.reshape(shape), or x.astype(dtype)",
}


def function_hint(name: str) -> str:
    """Return what to write in place of a name that `treadle.tensor` lacks, as the end of a message; may be empty.

    >>> function_hint("vjp")
    '. Here: tt.pullback(expression, wrt, cotangents)'
    >>> function_hint("cholesky"), function_hint("nothing_like_it")
    ('. Here: tt.linalg.cholesky', '')
    """
    known = FUNCTIONS.get(name)
    if known is None and not name.startswith("_"):
        known = next((f"tt.{module}.{name}" for module in BELOW if name in _names(module)), None)
    return "" if known is None else f". Here: {known}"


def _names(module: str) -> list[str]:
    """Return the public names of a module below `treadle.tensor`; none where it is not installed."""
    path = f"treadle.tensor.{module}"
    try:
        return dir(sys.modules.get(path) or import_module(path))
    except ImportError:
        return []


def method_hint(name: str) -> str:
    """Return what to write in place of an attribute that variables lack, as the end of a message; may be empty.

    >>> method_hint("detach")
    '. Here: tt.disconnected_grad(x)'
    """
    known = METHODS.get(name)
    return "" if known is None else f". Here: {known}"
