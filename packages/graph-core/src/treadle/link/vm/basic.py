"""A list of documented names, kept at their documented path; they are defined in the modules imported here."""

from treadle.link.vm.containers import Container
from treadle.link.vm.jit import JITLinker
from treadle.link.vm.linkers import Linker, LocalLinker
from treadle.link.vm.machine import PerformLinker
from treadle.link.vm.wrapping import WrapLinker, WrapLinkerMany

__all__ = ["Container", "JITLinker", "Linker", "LocalLinker", "PerformLinker", "WrapLinker", "WrapLinkerMany"]
