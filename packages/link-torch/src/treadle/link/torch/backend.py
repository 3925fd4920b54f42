"""The declaration of the backend: nothing here imports PyTorch."""

from __future__ import annotations

from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from treadle.config import install_advice, installed_version
from treadle.link.vm import Backend, ProgramLinker

if TYPE_CHECKING:
    from treadle.link.torch.functional import TorchFunction


def _linker() -> ProgramLinker:
    from treadle.link.torch.linker import TorchLinker

    return TorchLinker()


def _node_linker() -> ProgramLinker:
    from treadle.link.torch.linker import TorchLinker

    # Compiling a node takes about a second, and there is nothing in it to fuse.
    return TorchLinker(compiled=False)


def _version() -> str:
    return f"torch-{installed_version('torch') or 'none'}"


def _unavailable() -> str | None:
    if find_spec("torch") is None:
        return f"PyTorch is not installed. Install it: {install_advice('compile[torch]')}"
    return None


def _about() -> dict[str, str]:
    import torch

    from treadle.config import config

    return {"device": config.torch__device, "threads": str(torch.get_num_threads())}


def _torch_function(function: Any) -> TorchFunction:
    from treadle.link.torch.functional import TorchFunction

    return TorchFunction(function)


BACKEND = Backend(
    name="pytorch",
    linker=_linker,
    include=("search_as_loop",),
    exclude=("fusion", "inplace", "cxx_only", "BlasOpt"),
    capabilities=frozenset({"deepcopy", "native_values"}),
    version=_version,
    unavailable=_unavailable,
    libraries=("torch",),
    about=_about,
    node_linker=_node_linker,
    function_attributes=MappingProxyType({"torch_function": _torch_function}),
)
