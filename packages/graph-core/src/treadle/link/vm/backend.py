"""The Python VM as a backend."""

from __future__ import annotations

from treadle.link.vm.interface import Backend
from treadle.link.vm.machine import PythonLinker

BACKEND = Backend(
    name="vm",
    linker=PythonLinker,
    exclude=("fusion",),
    capabilities=frozenset({"deepcopy", "views"}),
    priority=0,
    aliases=("py", "vm_nogc"),
)
