"""The quick way to call a program: a function written for its arguments, which looks at them once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from treadle.link.torch.programs.compilation import PROCESS
from treadle.link.torch.programs.storage import from_host, is_native
from treadle.tensor import TensorType

if TYPE_CHECKING:
    from treadle.graph import Type, Value

# Stands for an argument that is not given.
ABSENT = object()


def can_be_quick(kinds: Sequence[Type]) -> bool:
    """Whether there can be a quick caller for inputs of some types: tensors that PyTorch stores as they are."""
    # Complex ones may be marked as conjugates, which is resolved first.
    return all(isinstance(t, TensorType) and is_native(t.dtype) and t.numpy_dtype.kind != "c" for t in kinds)


def quick_caller(
    kinds: Sequence[TensorType],
    run: Callable[..., Sequence[Value]],
    constants: Sequence[torch.Tensor],
    native: Sequence[bool],
    owned: Callable[[Sequence[Value], Sequence[Value]], Sequence[Value]],
    single: bool,
    fallback: Callable[..., object],
) -> Callable[..., object]:
    """Return a function that calls `run` with tensors on the CPU, or arrays, that are of the inputs' types.

    What does not fit, and everything after a failure, it leaves to `fallback`. Results of `run` are in memory of their
    own, but for those of compiled code: `owned` copies, of results and of what they were computed from.
    """
    names = [f"x{i}" for i in range(len(kinds))]
    packed = f"({''.join(f'{name}, ' for name in names)})"
    results = [f"y{k}" for k in range(len(native))]
    scope: dict[str, Any] = {
        "ABSENT": ABSENT, "array": np.ndarray, "check": PROCESS.check, "fallback": fallback, "loaded": from_host,
        "owned": owned, "run": run, "tensor": torch.Tensor, **{f"k{i}": c for i, c in enumerate(constants)},
    }  # fmt: skip
    tensors, arrays = [], []
    for name, kind in zip(names, kinds, strict=True):
        scope |= {f"{name}_tensor": getattr(torch, kind.dtype), f"{name}_array": kind.numpy_dtype}
        shape = "".join(f" and {name}.shape[{d}] == {n}" for d, n in enumerate(kind.shape) if n is not None)
        fits = f"{name}.ndim == {kind.ndim}{shape}"
        text = f"{name}.__class__ is tensor and {name}.dtype is {name}_tensor and {fits}"
        tensors.append(f"{text} and {name}.is_cpu and not {name}.requires_grad")
        arrays.append(f"{name}.__class__ is array and {name}.dtype is {name}_array and {fits}")
    outputs = [name if is_tensor else f"{name}.numpy()" for name, is_tensor in zip(results, native, strict=True)]
    otherwise = f"return fallback(*[x for x in (*{packed}, *rest) if x is not ABSENT], **kw)"
    chosen = [
        f"  if {' and '.join(tensors)}: pass",
        f"  elif {' and '.join(arrays)}:",
        *[f"    {name} = loaded({name}, {kind.dtype!r})" for name, kind in zip(names, kinds, strict=True)],
        f"  else: {otherwise}",
    ]
    lines = [
        f"def call({', '.join([*(f'{name}=ABSENT' for name in names), *(['/'] if names else []), '*rest', '**kw'])}):",
        *(chosen if names else []),
        f"  if rest or kw: {otherwise}",
        "  check()",
        "  try:",
        f"    bad, {''.join(f'{name}, ' for name in results)}= run({', '.join([*names, *_numbered('k', constants)])})",
        "    if bad is None or not bool(bad):",
        *_owned_lines(run, results, packed, single),
        f"      return {outputs[0] if single else '[' + ', '.join(outputs) + ']'}",
        # The fallback meets what has failed again, and explains it.
        "  except Exception: pass",
        f"  {otherwise}",
    ]
    exec(compile("\n".join(lines), "<treadle pytorch call>", "exec"), scope)
    call: Callable[..., object] = scope["call"]
    return call


def _numbered(prefix: str, values: Sequence[object]) -> list[str]:
    return [f"{prefix}{i}" for i in range(len(values))]


def _owned_lines(run: object, results: Sequence[str], packed: str, single: bool) -> list[str]:
    """Return the lines that copy results which compiled code has put into one block of memory."""
    if not hasattr(run, "is_compiled"):
        return []
    # After the call: another thread may have compiled the function in the meantime.
    copied = f"owned([{', '.join(results)}], {packed})"
    return [f"      if run.is_compiled: return {copied}{'[0]' if single else ''}"]
