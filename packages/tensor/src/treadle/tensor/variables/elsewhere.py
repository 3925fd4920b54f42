"""What other libraries call otherwise: the hints that messages about unknown names end with."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# Names that NumPy, JAX, PyTorch and TensorFlow have at their top, and what to write here.
FUNCTIONS: Mapping[str, str] = {
    "DataLoader": "arguments of a function, a batch at each call",
    "PRNGKey": "tt.random.RandomStream(seed)",
    "Tensor": "tt.tensor(name, dtype=..., shape=...), or tt.constant(value)",
    "autograd": "tt.grad, tt.pullback and tt.pushforward",
    "bfloat16": "float16 or float32, the narrowest types",
    "bmm": "tt.matmul(x, y)",
    "cat": "tt.concatenate",
    "checkpoint": "recomputes=True of a loop",
    "clamp": "tt.clip(x, low, high)",
    "cond": "tt.ifelse(condition, then, otherwise), or tt.where for elements",
    "device": "nothing, the function's mode decides where it runs",
    "device_put": "nothing, the function's mode decides where it runs",
    "dtype": 'names of dtypes, such as "float32"',
    "from_numpy": "tt.constant(value), or tt.shared(value)",
    "hvp": "tt.hessian_vector_product(cost, wrt, vectors)",
    "index_select": "tt.take(x, indices, axis)",
    "jacfwd": "tt.jacobian(expression, wrt, forward=True)",
    "jacrev": "tt.jacobian(expression, wrt)",
    "jit": "tt.compiled(f), or tt.function(inputs, outputs)",
    "jvp": "tt.pushforward(expression, wrt, tangents)",
    "lax": "tt.ifelse, tt.fori_loop, tt.while_loop, tt.scan",
    "load": "pickle.load for functions, numpy.load for values",
    "manual_seed": "tt.random.RandomStream(seed)",
    "mm": "tt.matmul(x, y)",
    "ndarray": "tt.tensor(name, dtype=..., shape=...), or tt.constant(value)",
    "no_grad": "nothing, gradients are computed only where tt.grad asks for them",
    "numel": "x.size",
    "numpy": "the functions of tt, which have NumPy's names",
    "optim": "tt.nn: tt.nn.sgd, tt.nn.adam",
    "permute": "tt.transpose(x, axes)",
    "placeholder": "tt.tensor(name, dtype=..., shape=...)",
    "pmap": "tt.vmap; a program runs on one device",
    "rand": "tt.random.uniform(size=shape)",
    "randn": "tt.random.normal(size=shape)",
    "save": "pickle.dump for functions, numpy.save for values",
    "sparse": "treadle.sparse",
    "stop_gradient": "tt.disconnected_grad(x), or tt.zero_grad(x)",
    "tensor_split": "tt.array_split(x, sections, axis)",
    "unsqueeze": "tt.expand_dims(x, axis)",
    "vjp": "tt.pullback(expression, wrt, cotangents)",
    "while": "tt.while_loop",
    "xtensor": "treadle.named.xtensor",
}
# Modules below `treadle.tensor` in which a name that is looked for at its top may stand.
BELOW = ("nn", "linalg", "special", "random", "signal", "fft", "optimize", "array_api")
# Names that modules of other libraries have, by the module below `treadle.tensor` in which they are looked for.
MODULE_NAMES: Mapping[str, Mapping[str, str]] = {
    "nn": {
        "Adam": "tt.nn.adam(cost, parameters)",
        "AdamW": "tt.nn.adamw(cost, parameters)",
        "BCELoss": "tt.nn.binary_cross_entropy",
        "BCEWithLogitsLoss": "tt.nn.binary_cross_entropy_with_logits",
        "Conv2d": "tt.conv2d with a shared variable of weights",
        "CrossEntropyLoss": "tt.nn.cross_entropy",
        "Dropout": "tt.nn.dropout",
        "Embedding": "tt.nn.embedding",
        "GELU": "tt.nn.gelu",
        "LayerNorm": "tt.nn.layer_norm",
        "Linear": "x @ weights + bias, with shared variables",
        "MSELoss": "tt.nn.mse",
        "Module": "functions of tensors, with parameters in shared variables",
        "Parameter": "tt.shared(value)",
        "ReLU": "tt.nn.relu",
        "SGD": "tt.nn.sgd(cost, parameters)",
        "Sequential": "functions of tensors, one after another",
        "cross_entropy_loss": "tt.nn.cross_entropy",
        "functional": "tt.nn, which has functions only",
        "mse_loss": "tt.nn.mse",
        "nll_loss": "tt.nn.nll",
    },
    "random": {
        "Generator": "tt.random.RandomStream(seed)",
        "PRNGKey": "tt.random.RandomStream(seed), which needs no keys",
        "fold_in": "nothing, each draw of a tt.random.RandomStream(seed) has numbers of its own",
        "key": "tt.random.RandomStream(seed), which needs no keys",
        "rand": "tt.random.uniform(size=shape)",
        "randn": "tt.random.normal(size=shape)",
        "random": "tt.random.uniform(size=shape)",
        "seed": "tt.random.RandomStream(seed)",
        "split": "nothing, each draw of a tt.random.RandomStream(seed) has numbers of its own",
    },
}
# Names that arrays of other libraries have, and what to write with a variable x.
METHODS: Mapping[str, str] = {
    "add": "x + y",
    "add_": "x + y, which returns a new tensor",
    "append": "tt.concatenate([x, y])",
    "at": "x[i].set(v) or x[i].inc(v), which return a new tensor",
    "backward": "tt.grad(x, wrt), which returns the gradients",
    "block_until_ready": "x.eval({...}): nothing runs before",
    "contiguous": "nothing, programs lay their values out",
    "cpu": "nothing, results of functions are NumPy's arrays",
    "cuda": "nothing, the mode of tt.function decides where it runs",
    "data": "x.eval({...}), or make it an output of tt.function",
    "detach": "tt.disconnected_grad(x)",
    "dim": "x.ndim",
    "div": "x / y",
    "double": 'x.astype("float64")',
    "expand": "tt.broadcast_to(x, shape)",
    "flat": "x.ravel()",
    "float": 'x.astype("float32")',
    "gather": "tt.take_along_axis(x, indices, axis)",
    "get_value": "x.eval({...}): only shared variables hold a value",
    "grad": "tt.grad(cost, x)",
    "half": 'x.astype("float16")',
    "iloc": "x[i]",
    "index_select": "tt.take(x, indices, axis)",
    "int": 'x.astype("int32")',
    "is_cuda": "nothing, the mode of tt.function decides where it runs",
    "itemsize": "numpy.dtype(x.dtype).itemsize",
    "loc": "x[i]",
    "long": 'x.astype("int64")',
    "masked_fill": "tt.where(mask, value, x)",
    "masked_select": "x[mask]",
    "matmul": "x @ y",
    "mm": "x @ y",
    "mul": "x * y",
    "mul_": "x * y, which returns a new tensor",
    "nbytes": "x.size * numpy.dtype(x.dtype).itemsize",
    "numel": "x.size",
    "numpy": "x.eval({...}), or make it an output of tt.function",
    "permute": "x.transpose(*axes)",
    "requires_grad": "tt.grad(cost, x), which takes any variable of floats",
    "scatter": "x[indices].set(values)",
    "set_value": "tt.shared(value): only shared variables hold a value",
    "strides": "nothing, values have strides, and variables have none",
    "sub": "x - y",
    "to": "x.astype(dtype); the mode of tt.function decides where it runs",
    "to_numpy": "x.eval({...}), or make it an output of tt.function",
    "tobytes": "x.eval({...}).tobytes()",
    "tofile": "x.eval({...}).tofile(path)",
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


def module_hint(module: str, name: str) -> str:
    """Return what to write in place of a name that a module below `treadle.tensor` lacks, as the end of a message.

    >>> module_hint("random", "PRNGKey"), module_hint("random", "nothing_like_it")
    ('. Here: tt.random.RandomStream(seed), which needs no keys', '')
    """
    known = MODULE_NAMES[module].get(name)
    return "" if known is None else f". Here: {known}"


def method_hint(name: str) -> str:
    """Return what to write in place of an attribute that variables lack, as the end of a message; may be empty.

    >>> method_hint("detach")
    '. Here: tt.disconnected_grad(x)'
    """
    known = METHODS.get(name)
    return "" if known is None else f". Here: {known}"
