"""Compiling units with Numba, each once per process and, through the compile cache, once per machine."""

from __future__ import annotations

import pickle
import sys
from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llvmlite
import numba
from numba.core import callconv, compiler, serialize, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.runtime import rtsys

from treadle.cache import default_cache, digest
from treadle.config import config, new_lock, span
from treadle.link.numba.emission import BeyondError, Target, emit
from treadle.link.numba.primitives import PRIMITIVES, type_of
from treadle.link.numba.vector_math import VECTOR_MATH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.link.numba.unit import Unit

CAPACITY = 4096


class PartLibrary(JITCodeLibrary):  # type: ignore[misc]  # numba has no types
    """The code of a unit that only other units call: left to be optimised and made machine code with its caller."""

    stays_apart: bool = False

    def add_ir_module(self, ir_module: Any) -> None:
        """Take the unit's code; a kernel stays a function of its own, so that effort grows with their number only."""
        for function in ir_module.functions:
            if not function.is_declaration and self.stays_apart and "NRT" not in function.name:
                function.attributes.add("noinline")
        super().add_ir_module(ir_module)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class LeanCompiler(compiler.CompilerBase):  # type: ignore[misc]  # numba has no types
    """Numba's pipeline without the passes that generated source has no need of (closures, rewrites, inlining)."""

    def define_pipelines(self) -> list[Any]:
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

    def define_pipelines(self) -> list[Any]:
        """Return the pipeline, which stops before machine code."""
        self.state.flags.no_compile = True
        library = PartLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        library.stays_apart = bool(getattr(self.state.func_id.func, "stays_apart", False))
        self.state.library = library
        return super().define_pipelines()


@dataclass(frozen=True, slots=True)
class Counts:
    """What the compiler of this process did.

    Attributes
    ----------
    compiled, loaded, shared
        Units compiled, loaded from the cache, found in memory.
    analysed
        Those of the compiled ones, entries apart, whose text was left to Numba's frontend.
    """

    compiled: int = 0
    analysed: int = 0
    loaded: int = 0
    shared: int = 0


class UnitCompiler:
    """Turns units into compiled functions."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._known: OrderedDict[str, Any] = OrderedDict()
        self._counts = Counts()
        self._stamp = ""
        self._targets: dict[bool, Target] = {}

    @property
    def counts(self) -> Counts:
        """What was done so far."""
        return self._counts

    def stamp(self) -> str:
        """Return what compiled code depends on beside its source: versions, processor, our own primitives."""
        if not self._stamp:
            folder = Path(__file__).parent
            own = [(folder / name).read_bytes() for name in ("primitives.py", "compiler.py", "emission.py")]
            machine = repr(numba.core.registry.cpu_target.target_context.codegen().magic_tuple())
            versions = f"{numba.__version__} {llvmlite.__version__} {sys.version}"
            self._stamp = digest(versions, machine, VECTOR_MATH.stamp(), *own)
        return self._stamp

    def key(self, unit: Unit, entry: bool) -> str:
        """Return the key of a compiled unit (parameters as for `get`)."""
        return digest("numba", self.stamp(), unit.key, f"entry {entry}", f"fastmath {config.numba__fastmath}")

    def stored(self, key: str, stamp: str, unit: Unit) -> Any:
        """Return the compiled function of a unit that is called from Python, as it is in memory or in the cache.

        Parameters
        ----------
        key, stamp
            The key it was compiled under, and what it depends on (see `stamp`).
        unit
            Name, text and signature of the function; what it uses is in the machine code.

        Raises
        ------
        LookupError
            If it is in neither, or depends on something else than this process has.
        """
        if stamp != self.stamp():  # which also loads the functions on vectors that the machine code calls
            msg = f"numba: the machine code of {unit.name} is for another machine or version."
            raise LookupError(msg)
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
                self._count("shared")
                return found
            payload = default_cache().get(key)
            if payload is None:
                msg = f"numba: the machine code of {unit.name} is no longer in the compile cache."
                raise LookupError(msg)
            made = self._load(unit, payload, entry=True)
            self._remember(key, made)
        return made

    def _remember(self, key: str, made: Any) -> None:
        self._known[key] = made
        if len(self._known) > CAPACITY:
            self._known.popitem(last=False)

    def get(self, unit: Unit, entry: bool = False) -> Any:
        """Return the compiled function of a unit.

        Parameters
        ----------
        unit
            The unit.
        entry
            Whether it is called from Python; only such functions can be.
        """
        key = self.key(unit, entry)
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
                self._count("shared")
                return found
            made = self._make(unit, key, entry)
            self._remember(key, made)
        return made

    def _count(self, name: str) -> None:
        self._counts = replace(self._counts, **{name: getattr(self._counts, name) + 1})

    def _make(self, unit: Unit, key: str, entry: bool) -> Any:
        if not (entry and config.numba__cache):
            return self._compile(unit, entry)[0]
        fresh: list[Any] = []

        def make() -> bytes:
            function, result = self._compile(unit, entry)
            fresh.append(function)
            data: bytes = serialize.dumps(result._reduce())
            return data

        payload = default_cache().get_or_create(key, make, {"backend": "numba", "unit": unit.name})
        return fresh[0] if fresh else self._load(unit, payload, entry)

    def _function(self, unit: Unit, entry: bool, scope: Mapping[str, Any]) -> Any:
        code = compile(unit.source, f"<treadle numba {unit.name}>", "exec")
        # The name of a real module: Numba looks it up when it loads what it saved.
        namespace = {"__name__": __name__, **scope}
        exec(code, namespace)
        jit = numba.njit(
            nogil=True,
            error_model="numpy",
            fastmath=bool(config.numba__fastmath),
            no_cfunc_wrapper=True,
            no_cpython_wrapper=not entry,
            pipeline_class=LeanCompiler if entry else PartCompiler,
        )
        function = namespace[unit.name]
        function.stays_apart = unit.is_kernel
        return jit(function)

    def _compile(self, unit: Unit, entry: bool) -> tuple[Any, Any]:
        scope = {name: PRIMITIVES.find(name) for name in unit.names()}
        scope = {name: value for name, value in scope.items() if value is not None}
        used = {u.name: self.get(u) for u in unit.uses}
        function = self._function(unit, entry, {**scope, **used})
        types = tuple(type_of(code) for code in unit.signature)
        if entry:
            with span("compiler"):
                function.compile(types)
            (result,) = function.overloads.values()
        else:
            with span("compiler"):
                result = self._emit_part(unit, function, types, used) or _compile_part(function, types)
        function.disable_compile()
        self._count("compiled")
        return function, result

    def _target(self, function: Any) -> Target:
        """Return Numba's contexts, set up as its own compiler sets them up for a function with our options."""
        fast = bool(config.numba__fastmath)
        if fast not in self._targets:
            described = function.targetdescr
            described.typing_context.refresh()
            base = described.target_context
            base.refresh()
            flags: dict[str, Any] = {"fastmath": function.targetoptions["fastmath"]} if fast else {}
            made = base.subtarget(enable_nrt=True, error_model=callconv.create_error_model("numpy", base), **flags)
            self._targets[fast] = Target(described.typing_context, made)
        return self._targets[fast]

    def _emit_part(self, unit: Unit, function: Any, types: tuple[Any, ...], used: Mapping[str, Any]) -> Any:
        """Write the code of a function for callers in compiled code; None if its text is left to Numba's frontend."""
        with global_compiler_lock:
            target = self._target(function)
            library = PartLibrary(target.context.codegen(), unit.name)
            callees = {name: next(iter(made.overloads.values())) for name, made in used.items()}
            try:
                made = emit(target, unit, types, callees, library)
            except BeyondError:
                self._count("analysed")
                return None
            library.finalize()
            result = compiler.compile_result(
                typing_context=target.typing,
                target_context=target.context,
                entry_point=None,
                objectmode=False,
                library=library,
                **made,
            )
            return _made_known(function, types, result)

    def _load(self, unit: Unit, payload: bytes, entry: bool) -> Any:
        function = self._function(unit, entry, {})
        context = function.targetdescr.target_context
        with span("loading"), global_compiler_lock:
            # What loaded code calls; `context.refresh` would do more, which only compiling needs (0.3 s of imports).
            rtsys.initialize(context)
            result = compiler.CompileResult._rebuild(context, *pickle.loads(payload))
        function.add_overload(result)
        function.disable_compile()
        self._count("loaded")
        return function


def _compile_part(function: Any, types: tuple[Any, ...]) -> Any:
    """Compile a function for callers in compiled code only, and make it known to them."""
    with global_compiler_lock:
        return _made_known(function, types, function._compiler.compile(types, None))


def _made_known(function: Any, types: tuple[Any, ...], result: Any) -> Any:
    """Let Numba find a function's code where it compiles a caller."""
    key = object()
    result.target_context.insert_user_function(key, result.fndesc, [result.library])
    function.overloads[types] = result._replace(entry_point=key)
    return result


COMPILER = UnitCompiler()
