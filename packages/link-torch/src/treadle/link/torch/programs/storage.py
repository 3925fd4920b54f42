"""In which PyTorch dtype values of a dtype are stored, and the conversions between the dtypes.

PyTorch computes with bool, int8 to int64, uint8, float16 to float64 and complex numbers. The other unsigned integers
are stored in int64: uint16 and uint32 as their values, uint64 by its bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import torch

from treadle.graph import NodeTypeError

Convert = Callable[[torch.Tensor], torch.Tensor]


STORAGE_DTYPES: Mapping[str, torch.dtype] = MappingProxyType(
    {
        name: getattr(torch, "int64" if name in {"uint16", "uint32", "uint64"} else name)
        for name in (
            "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
            "float16", "float32", "float64", "complex64", "complex128",
        )
    }
)  # fmt: skip
MASKS: Mapping[str, int] = MappingProxyType({"uint16": 2**16 - 1, "uint32": 2**32 - 1})
# Flipping the sign bit turns the order of unsigned bit patterns into the order of signed numbers.
SIGN_BIT = -(2**63)


def kind(dtype: str) -> str:
    """Return how a dtype computes: ``b`` bool, ``i`` integers as values, ``u`` uint64's bits, ``f``, ``c``."""
    if dtype == "uint64":
        return "u"
    letter = np.dtype(dtype).kind
    return "i" if letter == "u" else letter


def width(dtype: str) -> int:
    """Return the number of bits of a dtype."""
    return np.dtype(dtype).itemsize * 8


def wrapped(x: torch.Tensor, dtype: str) -> torch.Tensor:
    """Return integers stored in int64 reduced to the range of their dtype."""
    mask = MASKS.get(dtype)
    return x if mask is None else torch.bitwise_and(x, mask)


def to_output_dtype(dtype: str) -> Convert:
    """Return the function that stores a result of some PyTorch dtype as one of `dtype`, wrapping integers."""
    storage = STORAGE_DTYPES[dtype]
    mask = MASKS.get(dtype)
    if dtype == "float16":
        return _to_half
    if mask is None:
        # Faster than a call of a method that returns the tensor itself.
        return lambda x: x if x.dtype == storage else x.to(storage)
    return lambda x: torch.bitwise_and(x.to(torch.int64), mask)


def _to_half(x: torch.Tensor) -> torch.Tensor:
    """Round to float16 once. PyTorch goes through float32: that step is made to round to odd, which keeps ties."""
    if x.dtype != torch.float64:
        return x.to(torch.float16)
    near = x.to(torch.float32)
    error = x - near.to(torch.float64)
    bits = near.view(torch.int32)
    step = torch.where((error > 0) == (x > 0), 1, -1).to(torch.int32)
    inexact = (error != 0) & torch.isfinite(error) & (torch.bitwise_and(bits, 1) == 0)
    return torch.where(inexact, bits + step, bits).view(torch.float32).to(torch.float16)


def _unsigned_to_float(x: torch.Tensor, wide: torch.dtype) -> torch.Tensor:
    """Convert uint64 bits to float. Large values are halved first, the bit lost kept as a sticky one."""
    high = torch.bitwise_and(torch.bitwise_right_shift(x, 1), 2**63 - 1)
    half = torch.bitwise_or(high, torch.bitwise_and(x, 1)).to(wide)
    return torch.where(x < 0, half * 2, x.to(wide))


def _float_to_unsigned(x: torch.Tensor) -> torch.Tensor:
    """Convert floats to uint64 bits."""
    limit = 2.0**63
    large = x >= limit
    low = torch.where(large, x - limit, x).to(torch.int64)
    return torch.where(large, torch.bitwise_xor(low, SIGN_BIT), low)


def converter(source: str, target: str) -> Convert:
    """Return the function that converts stored tensors as NumPy's astype; it hands them through if the dtypes agree."""
    if source == target:
        return lambda x: x
    of, to = kind(source), kind(target)
    if to == "b":
        return lambda x: x != 0
    if of == "f" and to == "u":
        return _float_to_unsigned
    if of == "f" and to == "i":
        to_output = to_output_dtype(target)
        # Short integers are cut from a longer one, as C compilers do it.
        return to_output if target == "int32" else (lambda x: to_output(x.to(torch.int64)))
    if of == "u" and to in "fc":
        final = to_output_dtype(target)
        first = torch.float32 if target in {"float16", "float32", "complex64"} else torch.float64
        return lambda x: final(_unsigned_to_float(x, first))
    if of == "i" and target == "float16":
        return lambda x: x.to(torch.float32).to(torch.float16)
    return to_output_dtype(target)


def working(dtype: str) -> str:
    """Return the dtype to compute with: float16 is computed in float32, as NumPy does."""
    return "float32" if dtype == "float16" else dtype


# Across the boundary of a program


def is_native(dtype: str) -> bool:
    """Whether values of a dtype are stored as PyTorch tensors of the dtype itself."""
    return dtype in STORAGE_DTYPES and dtype not in MASKS and dtype != "uint64"


def holding(dtype: torch.dtype) -> str | None:
    """Return the narrowest dtype that holds the numbers of one that NumPy does not have, as `array_of` takes them."""
    if dtype == torch.complex32:
        return "complex64"
    return "float32" if str(dtype).startswith(("torch.bfloat16", "torch.float8")) else None


def from_host(array: np.ndarray, dtype: str) -> torch.Tensor:
    """Return a NumPy array as a stored tensor, which shares the array's memory where it can."""
    if dtype in MASKS:
        return torch.from_numpy(array.astype(np.int64))
    if dtype == "uint64":
        array = array.view(np.int64)
    if array.flags.writeable:
        try:
            return torch.from_numpy(array)
        except ValueError:
            # Strides that are negative, or no multiple of the element's size: a field of a structured array.
            pass
    return torch.from_numpy(array.copy())


def to_host(tensor: torch.Tensor, dtype: str) -> np.ndarray:
    """Return a stored tensor on the CPU as a NumPy array, which shares its memory unless the dtype forbids."""
    array: np.ndarray = tensor.numpy()
    if dtype in MASKS:
        return array.astype(dtype)
    return array.view(np.uint64) if dtype == "uint64" else array


def refuse_transformed(values: Sequence[object]) -> None:
    """Raise for tensors that PyTorch is transforming: a program would compute with what stands for their values.

    Raises
    ------
    NodeTypeError
        If one of them stands for a batch, or for a value with a derivative.
    """
    wrapped_by = torch._C._functorch.is_functorch_wrapped_tensor
    if any(isinstance(x, torch.Tensor) and wrapped_by(x) for x in values):
        msg = (
            "pytorch: an argument is being transformed by torch.func (grad, vmap, jvp …), which sees nothing of what a "
            "compiled function computes. Call its attribute torch_function, which PyTorch differentiates and maps."
        )
        raise NodeTypeError(msg)


def from_native(tensor: torch.Tensor, dtype: str) -> torch.Tensor:
    """Return a PyTorch tensor of the dtype itself as a stored tensor."""
    if dtype in MASKS:
        return tensor.to(torch.int64)
    return tensor.view(torch.int64) if dtype == "uint64" else tensor


def to_native(tensor: torch.Tensor, dtype: str) -> torch.Tensor:
    """Return a stored tensor as a PyTorch tensor of the dtype itself."""
    if dtype in MASKS:
        return tensor.to(getattr(torch, dtype))
    return tensor.view(torch.uint64) if dtype == "uint64" else tensor
