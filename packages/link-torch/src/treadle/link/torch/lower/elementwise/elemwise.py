"""Elementwise functions: operands converted to the scalar op's loop dtypes, the kernel, the result in its own dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import BuiltinFunctionType

import numpy as np
import torch

from treadle.graph import Apply
from treadle.link.torch.programs.storage import converter, from_host, kind, to_output_dtype, working
from treadle.link.torch.scalars import Kernel, TensorFunction, kernel_of, takes
from treadle.link.torch.table import TORCH, Checked, Flag, Results
from treadle.tensor import CASTS, Composite, Elemwise, ScalarOp, tensors

# Functions whose results are truth values, whatever their operands are.
_TRUTHS = (torch.eq, torch.ne, torch.lt, torch.gt, torch.le, torch.ge, torch.isnan, torch.isposinf, torch.isneginf)


@TORCH.register(Elemwise)
def elemwise(op: Elemwise, node: Apply) -> Kernel:
    """Lower a scalar op to its kernel, a composite to the kernels of its steps."""
    expanded = op.expanded(node, takes)
    sources = [x.type.dtype for x in tensors(node.inputs)]
    step = expanded.steps[0]
    if step.scalar_op is not op.scalar_op:
        return composite(expanded, sources)
    return scalar_function(step.scalar_op, sources, step.loops, step.out)


def scalar_function(scalar_op: ScalarOp, sources: Sequence[str], loops: Sequence[str], out: str) -> Kernel:
    """Return the function of a scalar op from stored tensors of the source dtypes to one of the dtype `out`."""
    cast = CASTS.get(out)
    if cast is not None and scalar_op is cast.scalar_op:
        return torch.clone if sources[0] == out else converter(sources[0], out)
    steps = [working(d) for d in loops]
    kernel = kernel_of(scalar_op, steps)
    conversions = [converter(s, d) for s, d in zip(sources, steps, strict=True)]
    converts = list(sources) != steps
    to_output = to_output_dtype(out)
    if isinstance(kernel, Checked):
        run = kernel.run

        def checked(*xs: torch.Tensor) -> tuple[Flag, torch.Tensor]:
            bad, result = run(*[c(x) for x, c in zip(xs, conversions, strict=True)])
            return bad, to_output(result)

        return Checked(checked)
    function = kernel
    if not converts and kind(out) == "f" and {*steps} == {out} and isinstance(function, BuiltinFunctionType):
        # A function of the library's own, of floats of one dtype to floats: without frames of Python around it.
        return function
    if not converts and out == "bool" and function in _TRUTHS:
        return function
    if not converts:
        return lambda *xs: to_output(function(*xs))

    def apply(*xs: torch.Tensor) -> torch.Tensor:
        return to_output(function(*[c(x) for x, c in zip(xs, conversions, strict=True)]))

    return apply


def composite(scalar: Composite, sources: Sequence[str]) -> Checked:
    """Return the function of a fused node; torch.compile fuses its steps again."""
    dtypes = scalar.value_dtypes
    conversions = [converter(s, d) for s, d in zip(sources, scalar.dtypes, strict=True)]
    steps: list[tuple[Callable[..., tuple[Flag, Results]], tuple[int, ...]]] = []
    for step in scalar.steps:
        lowered = scalar_function(step.scalar_op, [dtypes[i] for i in step.args], step.loops, step.out)
        steps.append((lowered.run if isinstance(lowered, Checked) else _unchecked(lowered), step.args))
    outputs = scalar.outputs
    # Constants as they are stored: 64 bits without a sign as those of a signed integer.
    held = [from_host(np.asarray(number, dtype), dtype) for number, dtype in scalar.constants]
    numbers = [(x.item(), x.dtype) for x in held]

    def run(*xs: torch.Tensor) -> tuple[Flag, Results]:
        values = [c(x) for x, c in zip(xs, conversions, strict=True)]
        values += [torch.full((), number, dtype=dtype, device=xs[0].device) for number, dtype in numbers]
        bad: Flag = None
        for function, args in steps:
            flag, value = function(*[values[i] for i in args])
            values.append(value)
            if flag is not None:
                bad = flag if bad is None else bad | flag
        if len(outputs) == 1:
            return bad, values[outputs[0]]
        full = torch.broadcast_tensors(*[values[i] for i in outputs], *xs)
        return bad, tuple(full[: len(outputs)])

    return Checked(run)


def _unchecked(function: TensorFunction) -> Callable[..., tuple[Flag, torch.Tensor]]:
    return lambda *xs: (None, function(*xs))
