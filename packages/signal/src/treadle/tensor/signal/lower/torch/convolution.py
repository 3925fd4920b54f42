"""Convolutions on PyTorch: its own for floats, products of windows for integers, which it has none for."""

from __future__ import annotations

import torch

from treadle.link.torch import TORCH, Lowered, converter, kind, to_output_dtype, working
from treadle.tensor import TensorNode
from treadle.tensor.signal.convolution import ConvND


@TORCH.register(ConvND)
def convolution(op: ConvND, node: TensorNode) -> Lowered:
    """Lower to the convolution, or to its gradient by images or filters."""
    out = node.outputs[0].type
    is_float = kind(out.dtype) == "f"
    dtype = working(out.dtype) if is_float else "int64"
    left, right = (converter(x.type.dtype, dtype) for x in node.inputs[:2])
    to_output = to_output_dtype(out.dtype)
    # PyTorch pads both sides alike: images are padded before where they are not.
    even = all(low == high for low, high in op.padding)
    sides = [n for pair in reversed(op.padding) for n in pair]
    inner = [low if even else 0 for low, _ in op.padding]
    function = (torch.conv1d, torch.conv2d, torch.conv3d)[op.ndim - 1]

    def spread(x: torch.Tensor) -> torch.Tensor:
        return x if even else torch.nn.functional.pad(x, sides)

    def cropped(x: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
        if even:
            return x
        ends = [(slice(None), slice(None)), *((low, n) for (low, _), n in zip(op.padding, shape[2:], strict=True))]
        for d, (low, n) in enumerate(ends[1:], 2):
            x = x.narrow(d, low, n)
        return x

    def backward(ct: torch.Tensor, x: torch.Tensor, w: torch.Tensor, which: int) -> torch.Tensor:
        mask = [which == 0, which == 1, False]
        zeros = [0] * op.ndim
        gradients = torch.ops.aten.convolution_backward(
            ct, x, w, None, op.stride, inner, op.dilation, False, zeros, op.groups, mask
        )
        result: torch.Tensor = gradients[which]
        return result

    def run(a: torch.Tensor, b: torch.Tensor, *lengths: int) -> torch.Tensor:
        shape = tuple(n or 0 for n in op.result_shape(tuple(a.shape), tuple(b.shape), tuple(int(n) for n in lengths)))
        a, b = left(a), right(b)
        if 0 in shape or 0 in a.shape or 0 in b.shape:
            return to_output(a.new_zeros(shape))
        if not is_float:
            return to_output(_of_integers(op, a, b, shape))
        if op.part == "output":
            return to_output(function(spread(a), b, None, op.stride, inner, op.dilation, op.groups))
        if op.part == "filter":
            return to_output(backward(b, spread(a), a.new_empty(shape), 1))
        grown = [n if even else n + low + high for n, (low, high) in zip(shape[2:], op.padding, strict=True)]
        images = a.new_empty((*shape[:2], *grown))
        return to_output(cropped(backward(a, images, b, 0), shape))

    return run


def _of_integers(op: ConvND, a: torch.Tensor, b: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """Return the result by a product for each weight."""
    g, n = op.groups, op.ndim
    sides = [size for pair in reversed(op.padding) for size in pair]
    if op.part == "input":
        w_shape, y_shape = tuple(b.shape), tuple(a.shape)
        x = a.new_zeros((*shape[:2], *(m + low + high for m, (low, high) in zip(shape[2:], op.padding, strict=True))))
    else:
        x = torch.nn.functional.pad(a, sides)
        w_shape, y_shape = (tuple(b.shape), shape) if op.part == "output" else (shape, tuple(b.shape))
    result = x.new_zeros(shape) if op.part != "input" else x
    spatial = "pqr"[:n]
    outputs = (b if op.part == "filter" else a if op.part == "input" else result).reshape(
        y_shape[0], g, -1, *y_shape[2:]
    )
    for flat in range(torch.Size(w_shape[2:]).numel()):
        at: list[int] = []
        remaining = flat
        for k in reversed(w_shape[2:]):
            at.insert(0, remaining % k)
            remaining //= k
        picked = tuple(
            slice(i * d, i * d + (p - 1) * s + 1, s)
            for i, d, s, p in zip(at, op.dilation, op.stride, y_shape[2:], strict=True)
        )
        window = x[..., *picked]
        images = window.reshape(x.shape[0], g, -1, *y_shape[2:])
        if op.part == "filter":
            part = torch.einsum(f"bgc{spatial},bgo{spatial}->goc", images, outputs)
            result[..., *at] = part.reshape(w_shape[:2])
            continue
        weights = b[..., *at].reshape(g, -1, w_shape[1])
        if op.part == "output":
            outputs += torch.einsum(f"bgc{spatial},goc->bgo{spatial}", images, weights)
        else:
            window += torch.einsum(f"bgo{spatial},goc->bgc{spatial}", outputs, weights).reshape(window.shape)
    if op.part == "input":
        for d, ((low, _), m) in enumerate(zip(op.padding, shape[2:], strict=True), 2):
            result = result.narrow(d, low, m)
    return result
