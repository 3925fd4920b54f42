"""From a unit's text to machine code, with Numba's contexts and code generator."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import llvmlite.binding as llvm
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
    from collections.abc import Mapping, Sequence

    from treadle.link.numba.text.unit import Unit


class WholeLibrary(JITCodeLibrary):  # type: ignore[misc]  # numba has no types
    """Code that is optimised once, as a whole."""

    def _optimize_functions(self, ll_module: llvm.ModuleRef) -> None:
        """Leave them as they are."""
        ll_module.data_layout = self._codegen._data_layout


class CompactLibrary(WholeLibrary):
    """Code whose loops are neither unrolled nor interleaved, which takes LLVM two thirds of the time."""

    def _optimize_final_module(self) -> None:
        codegen, options = self._codegen, llvm.create_pipeline_tuning_options(3)
        options.loop_unrolling = options.loop_interleaving = False
        options.loop_vectorization = options.slp_vectorization = True
        first, builder = codegen._module_pass_manager(loop_vectorize=False, slp_vectorize=False, opt=0, cost="cheap")
        first.run(self._final_module, builder)
        builder = llvm.create_pass_builder(codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)


class PartLibrary(WholeLibrary):
    """The code of a unit that only other units call: it is optimised and compiled together with its caller."""

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
        target = _target_of(bool(config.numba__fastmath))
        library = PartLibrary(target.context.codegen(), unit.name)
        emitted = _emitted(unit, target, library, used)
        library.finalize()
        return emitted


def compile_together(units: Sequence[Unit], used: Mapping[str, Emitted]) -> list[Emitted]:
    """Compile units into one library, those first that others call; all can be called by their symbols.

    Errors are those of `compile_unit`.
    """
    with span("compiler"), global_compiler_lock:
        target = _target_of(bool(config.numba__fastmath))
        kind = CompactLibrary if units[-1].is_compact else WholeLibrary
        library = kind(target.context.codegen(), units[-1].name)
        library.enable_object_caching()
        known = dict(used)
        for unit in units:
            known[unit.name] = _emitted(unit, target, library, known)
        library.finalize()
        return [known[unit.name] for unit in units]


def _emitted(unit: Unit, target: Target, library: JITCodeLibrary, used: Mapping[str, Emitted]) -> Emitted:
    try:
        return emit(target, unit, [type_of(code) for code in unit.signature], used, library)
    except BeyondError as error:
        msg = (
            f"numba: the text of {unit.name} is beyond what is compiled: {error}. Write numbers, pointers, loops over "
            "ranges and variables of one type each, or have Numba compile a function by call_jitted."
        )
        raise LoweringError(msg) from error


@cache
def _target_of(fast: bool) -> Target:
    """Return Numba's contexts, with or without fastmath, set up as Numba's compiler does for our options."""
    cpu_target.typing_context.refresh()
    base = cpu_target.target_context
    base.refresh()
    flags: dict[str, object] = {"fastmath": FastMathOptions(True)} if fast else {}
    context = base.subtarget(enable_nrt=True, error_model=callconv.create_error_model("numpy", base), **flags)
    return Target(cpu_target.typing_context, context)
