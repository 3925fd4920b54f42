"""The table of functions of PyTorch's tensors for scalar ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch

from treadle.config import dataclass
from treadle.graph import Unsupported
from treadle.link.torch.programs.storage import kind, working
from treadle.link.torch.table import Checked
from treadle.tensor import ScalarOp, ScalarTable

# A function of stored tensors of the dtypes computed with (see `treadle.link.torch.programs.storage`).
TensorFunction: TypeAlias = Callable[..., torch.Tensor]
Kernel: TypeAlias = TensorFunction | Checked


@dataclass(frozen=True, slots=True)
class ByDtypes:
    """What makes the kernel for dtypes to compute with, one for each operand."""

    make: Callable[[Sequence[str]], Kernel]


def _of_ufunc(name: str, kind: str) -> Kernel | None:
    """Return PyTorch's function of a ufunc's name, for floats."""
    # torch.equal compares whole tensors; everything else of NumPy's names is elementwise.
    function = None if kind != "f" or name == "equal" else getattr(torch, name, None)
    return function if callable(function) else None


# The kind is that of the last operand's dtype, see `treadle.link.torch.programs.storage.kind`.
SCALARS: ScalarTable[Kernel | ByDtypes] = ScalarTable(
    "pytorch", "treadle.link.torch.lower.elementwise.scalar", _of_ufunc
)


def takes(scalar_op: ScalarOp, loops: Sequence[str]) -> bool:
    """Whether there is a kernel of a scalar op, for operands converted to some dtypes."""
    return SCALARS.find(scalar_op, kind(working(loops[-1]))) is not None


def kernel_of(scalar_op: ScalarOp, loops: Sequence[str]) -> Kernel:
    """Return the kernel of a scalar op for the dtypes to compute with, or refuse it."""
    entry = SCALARS.find(scalar_op, kind(loops[-1]))
    if entry is None:
        msg = f"the elementwise function {scalar_op.name} has no kernel for {', '.join(loops)}"
        raise Unsupported(msg)
    return entry.make(loops) if isinstance(entry, ByDtypes) else entry
