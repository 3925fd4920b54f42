"""NanGuardMode: the mode in which functions look for NaN, infinities and very large numbers in every value."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

from treadle.compile.errors import CompileError, FunctionValueError
from treadle.compile.mode.mode import Mode
from treadle.compile.value_text import value_text
from treadle.config import TreadleWarning, config, dataclass, lazy_module
from treadle.graph import Constant, NodeArithmeticError, SharedVariable, memory_roots, roots_of
from treadle.link.vm import Program, ProgramLinker, link_node_by_node

if TYPE_CHECKING:
    import pdb
    from collections.abc import Sequence

    from treadle.graph import Apply, Compute, FunctionGraph, Roots, Value, Variable, printing
    from treadle.rewrite import GraphRewriter
else:
    pdb = lazy_module("pdb")
    printing = lazy_module("treadle.graph.printing")

# What counts as a big number.
BIG = 1e10
# How much of the graph above a value is printed.
_DEPTH = 6


class NanGuardError(NodeArithmeticError, CompileError, AssertionError):
    """NanGuardMode has found a value that it looks for."""


class NanGuardWarning(TreadleWarning):
    """NanGuardMode has found a value that it looks for, and option ``NanGuardMode__action`` is ``warn``."""


@dataclass(frozen=True, slots=True)
class Guard:
    """What is looked for in values, and what is done about it."""

    nan: bool
    inf: bool
    big: bool  # finite numbers beyond 1e10
    action: str  # raise, warn or pdb

    def fault(self, var: Variable, value: Value) -> str | None:
        """Return what a value holds that is looked for, or None."""
        names = []
        if self.nan or self.inf:
            nan, inf = var.type.non_finite(value)
            names += ["NaN"] * (nan and self.nan) + ["an infinity"] * (inf and self.inf)
        if self.big and var.type.exceeds(value, BIG):
            names.append(f"a number beyond {BIG:g}")
        return " and ".join(names) or None

    def report(self, message: str) -> None:
        """Report a fault as the option says."""
        if self.action == "warn":
            warnings.warn(message, NanGuardWarning, stacklevel=2)
        elif self.action == "pdb":
            sys.stdout.write(f"{message}\n")
            pdb.set_trace()
        else:
            raise NanGuardError(message)

    def check_input(self, var: Variable, value: Value) -> None:
        """Check the value of an input or of a shared variable."""
        fault = self.fault(var, value)
        if fault is not None:
            kind = "shared variable" if isinstance(var, SharedVariable) else "input"
            self.report(f"NanGuardMode: {fault} in the {kind} {var} of type {var.type}: {value_text(value)}.")

    def check_output(self, node: Apply, at: int, value: Value, arguments: Sequence[Value]) -> None:
        """Check a value that a node has computed."""
        var = node.outputs[at]
        fault = self.fault(var, value)
        if fault is None:
            return
        # An input that the node overwrote no longer has its value.
        overwritten = {i for places in node.op.destroy_map.values() for i in places}
        listed = "".join(
            f"\n  {i}: {x} of type {x.type}: {'overwritten by the node' if i in overwritten else value_text(v)}"
            for i, (x, v) in enumerate(zip(node.inputs, arguments, strict=True))
        )
        lines = "" if node.user_line is None else "".join(f"\n  {line}" for line in node.user_line.trace)
        self.report(
            f"NanGuardMode: {fault} in output {at} of {node.op}, {var} of type {var.type}{node.where()}: "
            f"{value_text(value)}.\nInputs:{listed}\nBuilt by:{lines or ' an unknown line'}\nGraph from the output to "
            f"the inputs:\n{str(printing.debugprint(var, file='str', depth=_DEPTH, print_type=True)).rstrip()}"
        )


def is_guarded(var: Variable) -> bool:
    """Whether a variable is checked: it is, unless its ``tag.nan_guard_mode_check`` is False."""
    return bool(getattr(var.tag, "nan_guard_mode_check", True))


def is_constant(var: Variable, roots: Roots) -> bool:
    """Whether a variable only shows constants, in another shape perhaps."""
    return all(isinstance(root, Constant) for root in roots_of(var, roots))


class GuardedProgram(Program):
    """A program, linked node by node, that checks its inputs before it runs, and every value while it does."""

    def __init__(self, fgraph: FunctionGraph, linker: ProgramLinker, guard: Guard, allow_gc: bool = True) -> None:
        self.fgraph = fgraph
        self.guard = guard
        self._roots = memory_roots(fgraph.toposort())
        self._inputs = [(i, x) for i, x in enumerate(fgraph.inputs) if is_guarded(x)]
        self._program = link_node_by_node(fgraph, linker, self._guarded, allow_gc)

    def __call__(self, *inputs: Value) -> Sequence[Value]:
        """Compute the outputs."""
        for i, var in self._inputs:
            self.guard.check_input(var, inputs[i])
        return self._program(*inputs)

    def _guarded(self, node: Apply, function: Compute) -> Compute:
        """Return a function that computes a node and checks its outputs."""
        places = [i for i, out in enumerate(node.outputs) if is_guarded(out) and not is_constant(out, self._roots)]
        if not places:
            return function
        check = self.guard.check_output
        single = len(node.outputs) == 1

        def run(*values: Value) -> Value:
            answer = function(*values)
            for i in places:
                check(node, i, answer if single else answer[i], values)
            return answer

        return run


class GuardLinker(ProgramLinker):
    """Links graphs node by node, each guarded."""

    acts_at_nodes = True

    def __init__(self, linker: ProgramLinker, guard: Guard) -> None:
        super().__init__(allow_gc=linker.allow_gc)
        self.linker = linker
        self.guard = guard
        self.required_rewrites = linker.required_rewrites
        self.incompatible_rewrites = linker.incompatible_rewrites

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> GuardedProgram:
        """Return a guarded program; nodes that the linker refuses run on the Python VM."""
        del native_outputs
        return GuardedProgram(fgraph, self.linker, self.guard, self._frees())


class NanGuardMode(Mode):
    """Mode whose functions fail as soon as a value holds NaN, an infinity or a very large number.

    Inputs, shared variables, and every value that is computed on the way to outputs and updates are looked at, on any
    backend: its programs of single nodes compute them. Nodes are not fused, unless the mode is told to include
    fusion. Constants are not looked at, nor is a variable whose ``tag.nan_guard_mode_check`` is False. What is done
    about a find says option ``NanGuardMode__action``. If a call fails, shared variables are as before.

    Parameters
    ----------
    nan_is_error, inf_is_error, big_is_error
        Whether NaN, infinities, and finite numbers beyond 1e10 are looked for. Options ``NanGuardMode__nan_is_error``
        and so on if None.
    optimizer, linker
        As for `Mode`.
    name
        Shown in messages.

    Raises
    ------
    FunctionValueError
        If nothing is looked for.

    Examples
    --------
    >>> from treadle.compile import function
    >>> import treadle.tensor as tt
    >>> x = tt.dscalar("x")
    >>> f = function([x], tt.log(x), mode=NanGuardMode(linker="vm"))
    >>> f(-1.0)
    Traceback (most recent call last):
    treadle.compile.nanguardmode.NanGuardError: NanGuardMode: NaN in output 0 of Log...
    """

    __slots__ = ("big_is_error", "inf_is_error", "nan_is_error")

    nan_is_error: bool
    inf_is_error: bool
    big_is_error: bool

    def __init__(
        self,
        nan_is_error: bool | None = None,
        inf_is_error: bool | None = None,
        big_is_error: bool | None = None,
        optimizer: Any = "default",
        linker: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(linker, optimizer, name="NanGuardMode" if name is None else name)
        self._set(
            nan_is_error=bool(config.NanGuardMode__nan_is_error if nan_is_error is None else nan_is_error),
            inf_is_error=bool(config.NanGuardMode__inf_is_error if inf_is_error is None else inf_is_error),
            big_is_error=bool(config.NanGuardMode__big_is_error if big_is_error is None else big_is_error),
        )
        if not (self.nan_is_error or self.inf_is_error or self.big_is_error):
            msg = (
                "NanGuardMode: nothing is looked for, nan_is_error, inf_is_error and big_is_error are all False. Set "
                "one of them, or use another mode."
            )
            raise FunctionValueError(msg)

    @property
    def optimizer(self) -> GraphRewriter:
        """What rewrites the graph; fusion, which would hide values, only if the mode includes it."""
        fuses = self.own_rewriter is not None or "fusion" in self.query.include or "fusion" in self.query.exclude
        return super().optimizer if fuses else self.excluding("fusion").optimizer

    def make_linker(self) -> GuardLinker:
        """Return a linker of guarded programs."""
        guard = Guard(self.nan_is_error, self.inf_is_error, self.big_is_error, config.NanGuardMode__action)
        return GuardLinker(self._own_node_linker(), guard)
