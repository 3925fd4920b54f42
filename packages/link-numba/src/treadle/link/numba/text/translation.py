"""From a unit's text to machine code, by Numba's pipeline without the passes that generated text does not need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba.core import callconv, compiler, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager

from treadle.config import config, span
from treadle.link.numba.dispatcher import dispatcher
from treadle.link.numba.primitives import PRIMITIVES, type_of
from treadle.link.numba.text.emission import PLAIN, BeyondError, Target, emit

if TYPE_CHECKING:
    from collections.abc import Mapping

    import llvmlite.binding as llvm
    from llvmlite import ir
    from numba.core.dispatcher import Dispatcher

    from treadle.link.numba.text.unit import Unit

    Compiled = tuple[Dispatcher, compiler.CompileResult, bool]


class PartLibrary(JITCodeLibrary):  # type: ignore[misc]  # numba has no types
    """The code of a unit that only other units call: it is optimised and compiled together with its caller."""

    stays_apart: bool = False

    def add_ir_module(self, ir_module: ir.Module) -> None:
        """Add the unit's code; a kernel is not inlined, so that optimisation time grows linearly with their number."""
        for function in ir_module.functions:
            if not function.is_declaration and self.stays_apart and "NRT" not in function.name:
                function.attributes.add("noinline")
        super().add_ir_module(ir_module)

    def _optimize_functions(self, ll_module: llvm.ModuleRef) -> None:
        """Leave them as they are: they are optimised once, with their caller."""
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class LeanCompiler(compiler.CompilerBase):  # type: ignore[misc]  # numba has no types
    """Numba's pipeline without the passes that generated source does not need (closures, rewrites, inlining)."""

    def define_pipelines(self) -> list[PassManager]:
        """Return the one pipeline; pointers among the arguments of a kernel do not overlap."""
        self.state.flags.noalias = True
        passes = PassManager("treadle")
        passes.add_pass(untyped_passes.TranslateByteCode, "analyse bytecode")
        passes.add_pass(untyped_passes.FixupArgs, "fix up arguments")
        passes.add_pass(untyped_passes.IRProcessing, "process IR")
        passes.add_pass(untyped_passes.ReconstructSSA, "single assignment")
        passes.add_pass(typed_passes.NopythonTypeInference, "infer types")
        passes.add_pass(typed_passes.PreLowerStripPhis, "remove phi nodes")
        passes.add_pass(typed_passes.IRLegalization, "check IR")
        passes.add_pass(typed_passes.AnnotateTypes, "annotate types")
        passes.add_pass(typed_passes.NativeLowering, "lower")
        passes.add_pass(typed_passes.NoPythonBackend, "compile")
        passes.finalize()
        return [passes]


class PartCompiler(LeanCompiler):
    """The pipeline for units that only other units call."""

    def define_pipelines(self) -> list[PassManager]:
        """Return the pipeline, which stops before machine code."""
        self.state.flags.no_compile = True
        library = PartLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        library.stays_apart = bool(getattr(self.state.func_id.func, "stays_apart", False))
        self.state.library = library
        return super().define_pipelines()


def compile_unit(unit: Unit, used: Mapping[str, Dispatcher]) -> Compiled:
    """Compile a unit that other units call, and that calls the functions `used`.

    Return Numba's function, its result for the types, and whether its frontend analysed the text.
    """
    function = dispatcher(unit, {**_scope(unit), **used}, pipeline_class=PartCompiler)
    types = tuple(type_of(code) for code in unit.signature)
    with span("compiler"), global_compiler_lock:
        target = TARGETS.get(function)
        result: Any = _emitted(unit, target, PartLibrary(target.context.codegen(), unit.name), used)
        analysed = result is None
        if analysed:
            result = function._compiler.compile(types, None)  # type: ignore[attr-defined]  # numba has no types
        # Numba finds the code here when it compiles a caller.
        key = object()
        result.target_context.insert_user_function(key, result.fndesc, [result.library])
        result = function.overloads[types] = result._replace(entry_point=key)
    function.disable_compile()
    return function, result, analysed


def compile_entry(unit: Unit, used: Mapping[str, Dispatcher]) -> tuple[str, JITCodeLibrary]:
    """Compile a unit that C can call; return its symbol, and the library of its machine code."""
    function = dispatcher(unit, {**_scope(unit), **used}, pipeline_class=LeanCompiler, no_cfunc_wrapper=False)
    with span("compiler"), global_compiler_lock:
        target = TARGETS.get(function)
        library = target.context.codegen().create_library(unit.name)
        library.enable_object_caching()
        result: Any = _emitted(unit, target, library, used)
        if result is not None:
            return result.metadata[PLAIN], library
        result = function._compiler.compile(tuple(type_of(code) for code in unit.signature), None)  # type: ignore[attr-defined]
    return result.fndesc.llvm_cfunc_wrapper_name, result.library


def _scope(unit: Unit) -> dict[str, object]:
    scope = {name: PRIMITIVES.find(name) for name in unit.names()}
    return {name: value for name, value in scope.items() if value is not None}


def _emitted(
    unit: Unit, target: Target, library: JITCodeLibrary, used: Mapping[str, Dispatcher]
) -> compiler.CompileResult | None:
    """Emit a function into a library; None if its text needs Numba's frontend."""
    callees = {name: next(iter(emitted.overloads.values())) for name, emitted in used.items()}
    try:
        emitted = emit(target, unit, [type_of(code) for code in unit.signature], callees, library)
    except BeyondError:
        return None
    library.finalize()
    return compiler.compile_result(
        typing_context=target.typing,
        target_context=target.context,
        entry_point=None,
        objectmode=False,
        library=library,
        **emitted,
    )


class _Targets:
    """Numba's contexts, with and without fastmath, set up as Numba's compiler does for our options."""

    def __init__(self) -> None:
        self._made: dict[bool, Target] = {}

    def get(self, function: Dispatcher) -> Target:
        fast = bool(config.numba__fastmath)
        if fast not in self._made:
            described = function.targetdescr  # type: ignore[attr-defined]  # numba has no types
            described.typing_context.refresh()
            base = described.target_context
            base.refresh()
            flags: dict[str, object] = {"fastmath": function.targetoptions["fastmath"]} if fast else {}
            context = base.subtarget(enable_nrt=True, error_model=callconv.create_error_model("numpy", base), **flags)
            self._made[fast] = Target(described.typing_context, context)
        return self._made[fast]


TARGETS = _Targets()
