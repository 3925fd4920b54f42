"""The quick way to call a program: a function written for its arguments, which looks at them once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from treadle.link.torch.programs.compilation import PROCESS
from treadle.link.torch.programs.deferral import Deferred
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


def fits_all(kinds: Sequence[TensorType]) -> Callable[..., bool] | None:
    """Return PyTorch's own test, one call for all, of tensors on the CPU without gradients; None if it has none.

    It is that of its compiler for class, dtype, device, gradients, rank and known lengths. It may say no to what fits,
    such as tensors that are only marked as negatives.
    """
    # A tensor of any lengths, with memory for one element.
    examples = [
        torch.empty((), dtype=getattr(torch, k.dtype)).expand([1 if n is None else n for n in k.shape]) for k in kinds
    ]
    try:
        guards = torch._C._dynamo.guards.TensorGuards(
            *examples,
            dynamic_dims_sizes=[list(k.shape) for k in kinds],
            dynamic_dims_strides=[[None] * k.ndim for k in kinds],
        )
        check: Callable[..., bool] = guards.check
        return check if check(*examples) else None
    except (AttributeError, TypeError, RuntimeError):
        # No public part of PyTorch: another version may have it elsewhere.
        return None


def quick_caller(
    kinds: Sequence[TensorType],
    run: Callable[..., Sequence[Value]],
    constants: Sequence[torch.Tensor],
    native: Sequence[bool],
    owned: Callable[[Sequence[Value], Sequence[Value]], Sequence[Value]],
    single: bool,
    fallback: Callable[..., object],
    *,
    fresh: bool,
) -> Callable[..., object]:
    """Return a function that calls `run` with tensors on the CPU, or arrays, that are of the inputs' types.

    What does not fit, and everything after a failure, it leaves to `fallback`. If `fresh`, results of `run` are in
    memory of their own, but for those of compiled code. `owned` makes outputs of others, and of what they were computed
    from.
    """
    names = [f"x{i}" for i in range(len(kinds))]
    packed = f"({''.join(f'{name}, ' for name in names)})"
    results = [f"y{k}" for k in range(len(native))]
    scope: dict[str, Any] = {
        "ABSENT": ABSENT, "array": np.ndarray, "check": PROCESS.check, "fallback": fallback, "loaded": from_host,
        "numpy": torch.from_numpy, "owned": owned, "run": run, "strided": torch.strided, "tensor": torch.Tensor,
        "transforms": torch._C._are_functorch_transforms_active, "autocast": torch._C._is_any_autocast_enabled,
        **{f"k{i}": c for i, c in enumerate(constants)},
    }  # fmt: skip
    at_once = fits_all(kinds) if kinds else None
    scope["fits"] = at_once
    tensors, arrays = [], []
    for name, kind in zip(names, kinds, strict=True):
        scope |= {f"{name}_tensor": getattr(torch, kind.dtype), f"{name}_array": kind.numpy_dtype}
        shape = "".join(f" and {name}.shape[{d}] == {n}" for d, n in enumerate(kind.shape) if n is not None)
        fits = f"{name}.ndim == {kind.ndim}{shape}"
        text = f"{name}.__class__ is tensor and {name}.dtype is {name}_tensor and {fits}"
        tensors.append(f"{text} and {name}.is_cpu and {name}.layout is strided and not {name}.requires_grad")
        same = f"({name}.dtype is {name}_array or {name}.dtype == {name}_array)"
        arrays.append(f"{name}.__class__ is array and {same} and {fits}")
    outputs = [name if is_tensor else f"{name}.numpy()" for name, is_tensor in zip(results, native, strict=True)]
    otherwise = f"return fallback(*[x for x in (*{packed}, *rest) if x is not ABSENT], **kw)"
    # PyTorch's own test says no by itself where tensors are transformed or cast.
    one_by_one = " and ".join([*tensors, "not transforms()", "not autocast()"])
    chosen = [
        *([] if at_once is None else [f"  if fits({', '.join(names)}): pass"]),
        # The same tensor twice, and what else that test says no to.
        f"  {'if' if at_once is None else 'elif'} {one_by_one}: pass",
        f"  elif {' and '.join([*arrays, 'not autocast()'])}:",
        "    try:",
        *[
            f"      {name} = numpy({name}) if {name}.flags.writeable else loaded({name}, {kind.dtype!r})"
            for name, kind in zip(names, kinds, strict=True)
        ],
        # Strides that PyTorch has not.
        f"    except ValueError: {otherwise}",
        f"  else: {otherwise}",
    ]
    as_they_are = outputs[0] if single else f"[{', '.join(outputs)}]"
    copied = f"owned([{', '.join(results)}], {packed}){'[0]' if single else ''}"
    lines = [
        f"def call({', '.join([*(f'{name}=ABSENT' for name in names), *(['/'] if names else []), '*rest', '**kw'])}):",
        *(chosen if names else [f"  if autocast(): {otherwise}"]),
        f"  if rest or kw: {otherwise}",
        "  check()",
        "  try:",
        *_run_lines(run, [*names, *_numbered("k", constants)], results, packed, copied if fresh else None),
        "    if bad is None or not bool(bad):",
        f"      return {as_they_are if fresh else copied}",
        # The fallback meets what has failed again, and explains it.
        "  except Exception: pass",
        f"  {otherwise}",
    ]
    exec(compile("\n".join(lines), "<treadle pytorch call>", "exec"), scope)
    call: Callable[..., object] = scope["call"]
    return call


def _numbered(prefix: str, values: Sequence[object]) -> list[str]:
    return [f"{prefix}{i}" for i in range(len(values))]


def _run_lines(
    run: object, arguments: Sequence[str], results: Sequence[str], packed: str, copied: str | None
) -> list[str]:
    """Return the lines that compute the results; those of compiled code, which may be one block, are then `copied`."""
    targets, given = ", ".join(["bad", *results]), ", ".join(arguments)
    lines = [f"    {targets}, = run({given})"]
    if not hasattr(run, "is_compiled"):
        return lines
    if copied is not None:
        # After the call: another thread may have compiled the function in the meantime.
        lines.append(f"    if run.is_compiled and (bad is None or not bool(bad)): return {copied}")
    if not isinstance(run, Deferred):
        return lines
    return [
        "    function = run.plain",
        "    if function is None:",
        *[f"  {line}" for line in lines],
        "    else:",
        f"      {targets}, = function({given})",
        "      run.calls -= 1",
        f"      if run.calls <= 0: run.account({packed}, ({targets},))",
    ]
