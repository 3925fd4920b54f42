"""Linker classes under PyTensor's names, which tell what a mode's linker is without loading its library."""

from __future__ import annotations

from treadle.compile import get_mode
from treadle.surface.thunks import vm_linker as vm

_MODES = {"JAXLinker": "JAX", "MLXLinker": "", "NumbaLinker": "NUMBA", "PytorchLinker": "PYTORCH"}
_PACKAGES = {"JAXLinker": "jax", "MLXLinker": "mlx", "NumbaLinker": "numba", "PytorchLinker": "torch"}


class LinkerKind(type):
    """A class whose instances are the linkers of one of treadle's backends; a call makes one."""

    def __instancecheck__(cls, linker: object) -> bool:
        return type(linker).__module__.startswith(f"treadle.link.{_PACKAGES[cls.__name__]}.")

    def __call__(cls) -> object:
        """Return the linker of the backend's mode."""
        mode = _MODES[cls.__name__]
        if not mode:
            msg = f"{cls.__name__}: treadle has no such backend. Take JAXLinker, NumbaLinker or PytorchLinker."
            raise NotImplementedError(msg)
        return get_mode(mode).linker


class JAXLinker(metaclass=LinkerKind):
    """The linker of the mode JAX."""


class MLXLinker(metaclass=LinkerKind):
    """A linker that treadle does not have: nothing is an instance."""


class NumbaLinker(metaclass=LinkerKind):
    """The linker of the mode NUMBA."""


class PytorchLinker(metaclass=LinkerKind):
    """The linker of the mode PYTORCH."""


class VMLinkerKind(type(vm.VMLinker)):  # type: ignore[misc]  # the metaclass of linkers
    """Metaclass of `VMLinker`: its instances are the linkers that run a graph node by node."""

    def __instancecheck__(cls, linker: object) -> bool:
        return isinstance(linker, vm.VMLinker) or type(linker).__name__ == "StepwiseLinker"


class VMLinker(vm.VMLinker, metaclass=VMLinkerKind):
    """The linker of the modes VM and CVM."""
