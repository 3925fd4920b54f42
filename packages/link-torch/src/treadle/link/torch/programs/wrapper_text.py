"""Running what Inductor wrote without importing Inductor.

What Inductor makes of a function for the CPU is the text of a Python module that allocates tensors and calls kernels,
and a shared library for each kernel. The text imports a few small functions from the compiler, whose import takes
seconds. Here it runs with these functions in their place. A text that asks for anything else of the compiler is refused
with an error, and its function is then left to PyTorch: that is so for text of versions of PyTorch that differ here.
"""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import torch

# The list of tensors is emptied by the call, so that memory is free once nothing needs it.
Call = Callable[[list[torch.Tensor]], Sequence[torch.Tensor]]
Kernel = Callable[..., None]
# Returns the kernel of a text in C++, given the types of its arguments.
KernelSource = Callable[[Sequence[str], str], Kernel]

_COMPILER = ("torch._inductor", "torch._dynamo", "torch._functorch", "triton")
# PyTorch's own functions under names of the compiler's.
_LIBRARY_FUNCTIONS = ("mm", "addmm", "bmm", "baddbmm", "convolution")
_ALIGNMENT = 64
_POINTERS = "_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR"


class _Kernels:
    """What the text takes kernels from: the compiler's ``AsyncCompile``."""

    def __init__(self, source: KernelSource) -> None:
        self.cpp_pybinding = source

    def wait(self, scope: object) -> None:
        """Return: kernels are there when they are asked for."""


def _aligned(size: int) -> int:
    return (size + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT


def _stand_ins(source: KernelSource) -> Mapping[str, Mapping[str, object]]:
    """Return what the text may import from the compiler, by module."""
    return {
        "torch._inductor.hooks": {"run_intermediate_hooks": lambda *_: None},
        "torch._inductor.utils": {"maybe_profile": lambda *_, **__: nullcontext()},
        "torch._inductor.codegen.memory_planning": {"_align": _aligned},
        "torch._inductor.async_compile": {"AsyncCompile": lambda: _Kernels(source)},
        "torch._inductor.select_algorithm": {
            "extern_kernels": SimpleNamespace(**{name: getattr(torch, name) for name in _LIBRARY_FUNCTIONS})
        },
    }


def run_text(text: str, source: KernelSource) -> Call:
    """Return the function that a text defines, with kernels from `source`.

    Raises
    ------
    ImportError
        If the text imports something of the compiler that there is no stand-in for.
    """
    modules = MappingProxyType(_stand_ins(source))

    def from_stand_ins(name: str, *args: Any, **kwargs: Any) -> Any:
        if name in modules:
            return SimpleNamespace(**modules[name])
        if name.startswith(_COMPILER):
            msg = f"there is no stand-in for {name}"
            raise ImportError(msg)
        return builtins.__import__(name, *args, **kwargs)

    own = {**vars(builtins), "__import__": from_stand_ins}
    scope: dict[str, Any] = {"__name__": "treadle pytorch", "__builtins__": own}
    exec(compile(text, "<treadle pytorch, compiled>", "exec"), scope)
    call: Call = scope["call"]
    return call


def load_kernel(path: Path) -> Kernel:
    """Return the kernel in a shared library that Inductor made.

    Raises
    ------
    ImportError
        If the library cannot be loaded.
    """
    # The library asks the environment where a function is that returns where a tensor's elements are. The compiler
    # leaves the variable there, too: taking it out could be in the middle of a library's loading in another thread.
    os.environ[_POINTERS] = str(torch._C._dynamo.guards._torchinductor_pyobject_tensor_data_ptr)
    loader = importlib.machinery.ExtensionFileLoader(f"{path.stem}.kernel", str(path))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None  # as there is a loader
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    kernel: Kernel = module.kernel
    return kernel
