"""Fourier transforms by the standard's extension fft."""

from __future__ import annotations

from typing import Any

from treadle.graph import Unsupported
from treadle.link.array_api import ARRAY_API, library
from treadle.tensor import TensorNode
from treadle.tensor.fft.fourier import FourierTransform


@ARRAY_API.register(FourierTransform)
def fourier_transform(op: FourierTransform, node: TensorNode) -> Any:
    """Lower to the extension's functions, without scale."""
    lib, axis = library(), op.axis
    if not hasattr(lib.xp, "fft"):
        msg = f"{lib.name} has no Fourier transforms"
        raise Unsupported(msg, "name another library with the option array_api__namespace")
    fft, dtype = lib.xp.fft, node.outputs[0].type.dtype
    if op.kind in {"fft", "rfft"}:
        function = getattr(fft, op.kind)
        return lambda x: lib.astype(function(x, axis=axis), dtype)
    if op.kind == "ifft":
        return lambda x: lib.astype(fft.ifft(x, axis=axis, norm="forward"), dtype)

    def run(x: Any, length: Any) -> Any:
        n = int(length)
        if x.shape[axis] != n // 2 + 1:
            msg = f"{n} numbers have {n // 2 + 1} coefficients, got {x.shape[axis]}"
            raise ValueError(msg)
        return lib.astype(fft.irfft(x, n=n, axis=axis, norm="forward"), dtype)

    return run
