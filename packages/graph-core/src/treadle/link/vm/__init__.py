"""treadle.link.vm: the interface of linkers and programs, and the Python VM."""

from treadle.link.vm.interface import Backend, Linker, Program
from treadle.link.vm.machine import BACKEND, VM, VMLinker, VMProgram, evaluate, lower_node, replay

__all__ = [
    "BACKEND",
    "VM",
    "Backend",
    "Linker",
    "Program",
    "VMLinker",
    "VMProgram",
    "evaluate",
    "lower_node",
    "replay",
]
