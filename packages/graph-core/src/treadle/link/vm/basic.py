"""A list of documented names, kept at their documented path; they are defined in the modules imported here."""

from treadle.link.vm.thunks.containers import Container
from treadle.link.vm.thunks.jit_linker import JITLinker
from treadle.link.vm.thunks.linker import Linker, LocalLinker
from treadle.link.vm.thunks.vm_linker import PerformLinker
from treadle.link.vm.thunks.wrap_linker import WrapLinker, WrapLinkerMany

__all__ = ["Container", "JITLinker", "Linker", "LocalLinker", "PerformLinker", "WrapLinker", "WrapLinkerMany"]
