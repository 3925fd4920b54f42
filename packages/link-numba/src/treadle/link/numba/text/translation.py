"""From a unit's text to machine code, with Numba's contexts and code generator."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from numba.core import callconv
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu_options import FastMathOptions
from numba.core.registry import cpu_target

from treadle.config import config, span
from treadle.graph import LoweringError
from treadle.link.numba.primitives import type_of
from treadle.link.numba.text.emission import BeyondError, Emitted, Target, emit

if TYPE_CHECKING:
    from collections.abc import Mapping

    import llvmlite.binding as llvm

    from treadle.link.numba.text.unit import Unit


class PartLibrary(JITCodeLibrary):  # type: ignore[misc]  # numba has no types
    """The code of a unit that only other units call: it is optimised and compiled together with its caller."""

    def _optimize_functions(self, ll_module: llvm.ModuleRef) -> None:
        """Leave them as they are: they are optimised once, with their caller."""
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


def compile_unit(unit: Unit, used: Mapping[str, Emitted]) -> Emitted:
    """Compile a unit that other units call, and that calls the functions `used`.

    Raises
    ------
    LoweringError
        If its text is beyond the part of Python that is emitted.
    """
    with span("compiler"), global_compiler_lock:
        target = _target()
        return _emitted(unit, target, PartLibrary(target.context.codegen(), unit.name), used)


def compile_entry(unit: Unit, used: Mapping[str, Emitted]) -> Emitted:
    """Compile a unit that C can call; errors are those of `compile_unit`."""
    with span("compiler"), global_compiler_lock:
        target = _target()
        library = target.context.codegen().create_library(unit.name)
        library.enable_object_caching()
        return _emitted(unit, target, library, used)


def _emitted(unit: Unit, target: Target, library: JITCodeLibrary, used: Mapping[str, Emitted]) -> Emitted:
    try:
        emitted = emit(target, unit, [type_of(code) for code in unit.signature], used, library)
    except BeyondError as error:
        msg = (
            f"numba: the text of {unit.name} is beyond what is compiled: {error}. Write numbers, pointers, loops over "
            "ranges and variables of one type each, or have Numba compile a function by call_jitted."
        )
        raise LoweringError(msg) from error
    library.finalize()
    return emitted


def _target() -> Target:
    return _target_of(bool(config.numba__fastmath))


@cache
def _target_of(fast: bool) -> Target:
    """Return Numba's contexts, with or without fastmath, set up as Numba's compiler does for our options."""
    cpu_target.typing_context.refresh()
    base = cpu_target.target_context
    base.refresh()
    flags: dict[str, object] = {"fastmath": FastMathOptions(True)} if fast else {}
    context = base.subtarget(enable_nrt=True, error_model=callconv.create_error_model("numpy", base), **flags)
    return Target(cpu_target.typing_context, context)
