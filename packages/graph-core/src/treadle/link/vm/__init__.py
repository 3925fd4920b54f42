"""treadle.link.vm: the interface of linkers and programs, and the Python VM."""

from treadle.link.vm.interface import Backend, Linker, Program
from treadle.link.vm.machine import BACKEND, VM, VMLinker, VMProgram, evaluate, lower_node, replay
from treadle.link.vm.segments import Segment, link_in_segments, segments
from treadle.link.vm.stepping import link_node_by_node, link_one_node

__all__ = [
    "BACKEND",
    "VM",
    "Backend",
    "Linker",
    "Program",
    "Segment",
    "VMLinker",
    "VMProgram",
    "evaluate",
    "link_in_segments",
    "link_node_by_node",
    "link_one_node",
    "lower_node",
    "replay",
    "segments",
]
