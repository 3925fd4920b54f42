"""Compiling a function for exact shapes by Inductor alone.

``torch.compile`` interprets a function's bytecode to find its operations, and checks at each call whether shapes, and
much else, are as they were. Functions of programs are straight lines of operations already: they are traced by
PyTorch's dispatcher, and what Inductor makes of that is called directly. Measured with PyTorch 2.13 on a busy machine,
a step of logistic regression (100 x 10) takes 73 microseconds so, 158 by ``torch.compile`` and 330 operation by
operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from treadle.graph import Value
from treadle.link.torch.programs.forms import Code, Form, Layout, Strides, form_of, strides_of
from treadle.link.torch.programs.wrapper_text import Kernel, run_text

Options = dict[str, str | int | bool]


def vector_options() -> Options:
    """Return options that spare most of Inductor's trials of the processor's vector instructions.

    It compiles a program with PyTorch's headers for each kind of instruction, which takes seconds each. One for the
    best kind tells as much: it has the instructions of all others.
    """
    try:
        from torch._inductor import config, cpu_vec_isa

        if config.cpp.vec_isa_ok is not None:
            return {}
        known = cpu_vec_isa.x86_isa_checker()
        kinds = (k for k in cpu_vec_isa.supported_vec_isa_list if all(flag in known for flag in str(k).split()))
        best = next(kinds, None)
        if best is not None and best.check_build(cpu_vec_isa.VecISA._avx_code):
            return {"cpp.vec_isa_ok": True}
    except (ImportError, AttributeError):
        # In another version of PyTorch these may be elsewhere: all trials are made then.
        return {}
    return {}


def compile_static(
    function: Callable[..., Sequence[object]], args: Sequence[Value], options: Options
) -> tuple[Form, Code | None] | None:
    """Return the form of a function for the shapes of these arguments, and its code if that can be kept.

    None if the function, or what Inductor makes of it, is not of the simple kind that a form is: no tensors, or results
    or arguments that Inductor adds or leaves out. The caller holds the lock of PyTorch's compiler.
    """
    from torch._functorch import config as autograd_config
    from torch._inductor.compile_fx import compile_fx, compile_fx_inner
    from torch.fx.experimental.proxy_tensor import make_fx

    tensors = [x for x in args if isinstance(x, torch.Tensor)]
    if not tensors:
        return None
    layout: list[tuple[str, Any]] = []

    def traced(*given: torch.Tensor) -> list[torch.Tensor]:
        layout.clear()
        rest = iter(given)
        results: list[torch.Tensor] = []
        for result in function(*[next(rest) if isinstance(x, torch.Tensor) else x for x in args]):
            if isinstance(result, torch.Tensor):
                layout.append(("tensor", len(results)))
                results.append(result)
            else:
                layout.append(("plain", result))
        return results

    module = make_fx(traced, tracing_mode="fake")(*tensors)
    expected: Layout = tuple(layout)
    count = sum(kind == "tensor" for kind, _ in expected)
    made: list[tuple[Any, int]] = []

    def inner(graph: Any, inputs: Sequence[Any], **kwargs: Any) -> Any:
        code = compile_fx_inner(graph, inputs, **kwargs)
        made.append((code, len(inputs)))
        return code

    # Its own cache would return the function without the code.
    with autograd_config.patch(enable_autograd_cache=False):
        whole = compile_fx(module, tensors, inner_compile=inner, config_patches={**options, "size_asserts": True})
    if count == 0 or len(made) != 1 or made[0][1] != len(tensors):
        return None
    compiled = made[0][0]
    wanted = list(whole(*tensors))
    strides = strides_of(tensors)
    code = _code_of(compiled.source_code, expected, strides)
    form = Form(compiled.current_callable, expected, strides) if code is None else form_of(code)
    results = [x for x in form(args) if isinstance(x, torch.Tensor)]
    return (form, code) if len(results) == len(wanted) == count and all(map(_same, results, wanted)) else None


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two results of the same code are of one value.

    Not to the last digit: products of matrices may round differently where their arrays begin elsewhere in memory.
    """
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not one.is_floating_point():
        return bool(torch.equal(one, other))
    size = torch.nan_to_num(other.double(), 0.0, 0.0, 0.0).abs().amax().item() if other.numel() else 0.0
    return bool(torch.allclose(one, other, 1e-3, 1e-6 * size, equal_nan=True))


def _code_of(text: str, layout: Layout, strides: Strides) -> Code | None:
    """Return the code of a text that Inductor has just compiled; None if it does not run without the compiler."""
    from torch._inductor.codecache import CppPythonBindingsCodeCache

    libraries = []

    def kernel_of(types: Sequence[str], kernel: str) -> Kernel:
        # Compiled already: this finds it.
        loaded: Any = CppPythonBindingsCodeCache.load_pybinding(types, kernel)
        libraries.append(Path(loaded.__self__.__file__))
        return loaded  # type: ignore[no-any-return]  # untyped

    try:
        run_text(text, kernel_of)
    except Exception:  # noqa: BLE001 - whatever it lacks, it runs with the compiler
        return None
    return Code(text, tuple(libraries), layout, strides)
