"""Updates of shared variables that are written into the old values' memory.

``updates={w: w[i].inc(y)}`` is to cost what it changes, not the size of ``w``, and ``{w: w - step * slope}`` no new
memory. So the last operation of an update does not make its result in new memory, but in that of the old value, after
everything else that the call computes: until then all old values are there, for errors to be explained and for a call
that fails to leave them as they were.

This is done for values that nobody holds but their cells. Of others, among them arrays that the user has given, a copy
is written into, which takes their place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import call
from sys import getrefcount
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Any, Protocol

import torch

from treadle.config import dataclass
from treadle.graph import ChangesPart, Constant, FunctionGraph, Value, Variable
from treadle.link.torch.programs.compilation import PROCESS
from treadle.link.torch.programs.storage import STORAGE_DTYPES, is_native
from treadle.link.torch.table import TORCH, Change, Checked, InPlace
from treadle.link.vm import OwnReferences
from treadle.tensor import Elemwise, TensorType, tensors

if TYPE_CHECKING:
    from treadle.graph import Apply

# Puts the new values among a program's results into their cells.
Write = Callable[[Sequence[Value]], None]
Run = Callable[..., Sequence[Value]]

# Where the function of `_Writer` counts them: two calls below the caller.
_own_references = OwnReferences(2)
# What refers to the block of a tensor that is all that uses it: the tensor, and the object that asks.
_OWN_STORAGE_REFERENCES = 2
# New memory for all elements of a smaller value takes less time than to see whether it may be written into.
_LEAST_REUSED = 1 << 15


class UpdatingProgram(Protocol):
    """What is used of a program whose new values are written into old ones."""

    native_outputs: frozenset[int]
    place: torch.device

    @property
    def fgraph(self) -> FunctionGraph:
        """The graph."""

    @property
    def relink(self) -> Callable[[FunctionGraph, frozenset[int], int], Run]:
        """Links a graph of the same inputs as the program was linked.

        Some of its outputs are native. The first so many are in memory of their own; the others are stored tensors, for
        a caller that only reads them.
        """

    def loader(self, var: Variable) -> Callable[[Value], Value]:
        """Return the function that makes a value of a variable a stored tensor on the program's device."""


@dataclass(frozen=True, slots=True)
class Step:
    """A node whose result is written into the tensor that it changes."""

    form: InPlace
    operands: tuple[Variable, ...]
    # Which operands are Python integers.
    numbers: frozenset[int] = frozenset()
    # Whether it goes element by element, so that the tensor may be an operand.
    is_elementwise: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """An input whose memory takes the new value, at positions among a graph's inputs and outputs, by steps in turn."""

    input: int
    output: int
    steps: tuple[Step, ...]


def targets_of(fgraph: FunctionGraph, replaced: Sequence[tuple[int, int]]) -> list[Target]:
    """Return which of the inputs that outputs take the place of are written into."""
    if any(node.op.destroy_map for node in fgraph.apply_nodes):
        return []
    found = []
    for i, o in replaced:
        root, out = fgraph.inputs[i], fgraph.outputs[o]
        if not isinstance(root.type, TensorType) or not is_native(root.type.dtype):
            continue
        steps = _parts_changed(fgraph, root, out) or _computed_last(fgraph, root, out)
        if steps:
            found.append(Target(i, o, steps))
    return found


def _parts_changed(fgraph: FunctionGraph, root: Variable, out: Variable) -> tuple[Step, ...]:
    """Return the steps of a new value that is the old one with parts changed, and that nothing else uses."""
    var, steps = out, []
    while var.owner is not None and isinstance(var.owner.op, ChangesPart) and len(fgraph.clients[var]) == 1:
        node = var.owner
        lowered = TORCH.rule(node)(node.op, node)
        form = lowered.in_place if isinstance(lowered, Checked) else None
        if form is None:
            return ()
        operands = tuple(node.inputs[1:])
        numbers = frozenset(k for k, v in enumerate(operands) if k and getattr(v.type, "ndim", 1) == 0)
        steps.append(Step(form, operands, numbers))
        var = node.inputs[0]
    return tuple(steps[::-1]) if var is root else ()


def _computed_last(fgraph: FunctionGraph, root: Variable, out: Variable) -> tuple[Step, ...]:
    """Return the step of a new value whose last operation PyTorch computes into given memory, element by element."""
    node = out.owner
    if node is None or not isinstance(node.op, Elemwise) or len(fgraph.clients[out]) != 1:
        return ()
    (old,) = tensors([root])
    # A number takes no less time in old memory.
    if old.type.ndim == 0:
        return ()
    form = _into_result(node)
    return () if form is None else (Step(form, tuple(node.inputs), is_elementwise=True),)


def _into_result(node: Apply) -> InPlace | None:
    """Return how PyTorch's function writes an elementwise node's result by its argument ``out``, if it has that."""
    function: Any = TORCH.rule(node)(node.op, node)
    if not isinstance(function, BuiltinFunctionType):
        return None
    operands = [torch.ones((2,) * v.type.ndim, dtype=STORAGE_DTYPES[v.type.dtype]) for v in tensors(node.inputs)]
    (out,) = tensors(node.outputs)
    result = torch.empty((2,) * out.type.ndim, dtype=STORAGE_DTYPES[out.type.dtype])
    try:
        function(*operands, out=result)
    except (TypeError, RuntimeError):
        return None

    def change(x: torch.Tensor, *given: torch.Tensor) -> Change:
        shape = x.shape
        for y in given:
            # Broadcasting must end at the old value's shape.
            if y.shape != shape and y.dim():
                y.expand(shape)
        return partial(function, *given, out=x)

    return InPlace(change)


def updating(program: UpdatingProgram, replaced: Sequence[tuple[int, int]], write: Write, whole: Run) -> Run:
    """Return a function like a program that writes new values into old ones, where that is possible.

    Which ones, and how, is found out in the first call. `replaced` and `write` are those of `Program.updating`; `whole`
    computes all of it in new memory.
    """
    names = ", ".join(f"x{i}" for i in range(len(program.fgraph.inputs)))

    def found() -> Run:
        targets = targets_of(program.fgraph, replaced)
        scope["run"] = _Writer(program, targets, write, whole).written() if targets else whole
        function: Run = scope["run"]
        return function

    scope: dict[str, Any] = {"found": found, "run": None}
    return _defined([f"def call({names}):", f"  return (run or found())({names})"], scope)


def _defined(lines: Sequence[str], scope: dict[str, Any]) -> Run:
    exec(compile("\n".join(lines), "<treadle pytorch update>", "exec"), scope)
    function: Run = scope["call"]
    return function


def _separate(values: Sequence[torch.Tensor], *targets: torch.Tensor) -> list[torch.Tensor]:
    """Return values in memory other than that of tensors that are about to be changed."""
    blocks = {x.untyped_storage().data_ptr() for x in targets}
    return [x.clone() if x.untyped_storage().data_ptr() in blocks else x for x in values]


class _Writer:
    """Writes the function of a program with updates; ``x0``, ``x1`` and so on are its arguments.

    A program of the rest of the graph computes the other outputs, and what the steps need. Then the calls that change
    old values are made ready, and none is made before all of them are.
    """

    def __init__(self, program: UpdatingProgram, targets: Sequence[Target], write: Write, whole: Run) -> None:
        fgraph = program.fgraph
        self._program = program
        self._targets = targets
        self._at = {v: i for i, v in enumerate(fgraph.inputs)}
        self._roots = {fgraph.inputs[t.input] for t in targets}
        self._results = {t.output: f"w{t.input}" for t in targets}
        others = [k for k in range(len(fgraph.outputs)) if k not in self._results]
        self._results |= {k: f"y{n}" for n, k in enumerate(others)}
        operands = [v for t in targets for s in t.steps for v in s.operands if self._is_computed(v, t, s)]
        self._computed = {v: f"z{n}" for n, v in enumerate(dict.fromkeys(operands))}
        # The lines that come before the steps, in part written with them.
        self._lines: list[str] = []
        self._loaded: set[int] = set()
        self._scope: dict[str, Any] = {
            "apply": call, "check": PROCESS.check, "count": getrefcount, "empty": torch.empty_like,
            "most": _own_references, "separate": _separate, "tensor": torch.Tensor,
            "transforms": torch._C._are_functorch_transforms_active, "uses": torch._C._storage_Use_Count,
            "whole": whole, "write": write,
            # With the number that a tensor's device has.
            "place": torch.empty(0, device=program.place).device,
        }  # fmt: skip
        if others or self._computed:
            variables = [*(fgraph.outputs[k] for k in others), *self._computed]
            native = frozenset(n for n, k in enumerate(others) if k in program.native_outputs)
            rest = FunctionGraph(fgraph.inputs, variables, clone=False)
            self._scope["rest"] = self._linked_later(rest, native, len(others))
            names = [*(f"y{n}" for n in range(len(others))), *self._computed.values()]
            self._lines.append(f"{', '.join(names)}, = rest({self._arguments()})")
        if self._computed:
            values = ", ".join(self._computed.values())
            self._lines.append(f"{values}, = separate(({values},), {', '.join(f'w{t.input}' for t in targets)})")

    def _linked_later(self, graph: FunctionGraph, native: frozenset[int], own: int) -> Run:
        """Return the program of a graph, which is linked when it is called: not where old values are too small."""
        program, scope = self._program, self._scope

        def rest(*values: Value) -> Sequence[Value]:
            scope["rest"] = linked = program.relink(graph, native, own)
            return linked(*values)

        return rest

    def _arguments(self) -> str:
        return ", ".join(f"x{i}" for i in range(len(self._at)))

    def _is_computed(self, var: Variable, target: Target, step: Step) -> bool:
        """Whether a step needs a variable from the rest: a value, or an old one that is changed before it is read."""
        if isinstance(var, Constant):
            return False
        if var in self._roots:
            return not (step.is_elementwise and self._at[var] == target.input)
        return var not in self._at

    def written(self) -> Run:
        """Return the function."""
        steps = [(t, s) for t in self._targets for s in t.steps]
        # What cannot fail when it has begun comes last.
        steps.sort(key=lambda each: each[1].is_elementwise)
        may_fail = len(steps) > 1 and any(s.form.can_fail for _, s in steps)
        calls = [self._call(f"change{n}", s.form.change, t, s) for n, (t, s) in enumerate(steps)]
        restoring = [
            self._call(f"restoring{n}", s.form.restoring, t, s)
            for n, (t, s) in enumerate(steps)
            if may_fail and s.form.restoring is not None
        ]
        whole = f"return whole({self._arguments()})"
        lines = [
            f"def call({self._arguments()}):",
            f"  if {' or '.join(['transforms()', *self._too_small()])}: {whole}",
            "  changes = None",
            "  try:",
            "    check()",
            *[f"    {line}" for t in self._targets for line in self._taking_over(t)],
            *[f"    {line}" for line in self._lines],
            *([f"    restoring = [{', '.join(restoring)}]"] if restoring else []),
            f"    changes = [{', '.join(calls)}]",
            # What is wrong is met again, and explained.
            "  except Exception: pass",
            f"  if changes is None: {whole}",
            f"  results, done = [{', '.join(self._results[k] for k in range(len(self._results)))}], []",
            "  try:",
            # Nothing can interrupt this between a change and the note that it was made.
            "    done.extend(map(apply, changes))",
            "    write(results)",
            "  except BaseException as error:",
            "    if len(done) == len(changes): write(results)",
            "    elif isinstance(error, Exception):",
            *(["      for restore in restoring: restore()"] if restoring else []),
            f"      {whole}",
            "    raise",
            "  return results",
        ]
        return _defined(lines, self._scope)

    def _too_small(self) -> list[str]:
        """Return an expression that holds where no old value is worth being used again, if that may be."""
        if not all(t.steps[0].is_elementwise for t in self._targets):
            return []
        return [" and ".join(f"x{t.input}.nbytes < {_LEAST_REUSED}" for t in self._targets)]

    def _taking_over(self, target: Target) -> list[str]:
        """Return the lines that take a tensor to write into: the old value, or a new one where somebody holds that."""
        x, w = f"x{target.input}", f"w{target.input}"
        is_here = "is_cpu" if self._program.place.type == "cpu" else "device == place"
        free = [
            f"{x}.__class__ is tensor",
            f"count({x}) <= most()",
            # What PyTorch itself holds, such as what gradients are computed from, and other tensors in its memory.
            f"{x}._use_count() == 1",
            f"uses({x}.untyped_storage()._cdata) <= {_OWN_STORAGE_REFERENCES}",
            f"{x}.{is_here}",
            # Outside of inference mode it refuses to be changed, when it has been.
            f"not {x}.is_inference()",
        ]
        self._scope |= {f"load{target.input}": self._program.loader(self._program.fgraph.inputs[target.input])}
        new = f"empty({x})" if target.steps[0].is_elementwise else f"{x}.clone()"
        return [
            f"if {' and '.join(free)}: {w} = {x}",
            "else:",
            f"  {x} = load{target.input}({x})",
            f"  {w} = {new}",
        ]

    def _call(self, name: str, function: Callable[..., Change], target: Target, step: Step) -> str:
        """Return the text of a call with a tensor and a step's operands."""
        self._scope[name] = function
        operands = [self._operand(v, k in step.numbers) for k, v in enumerate(step.operands)]
        return f"{name}({', '.join([f'w{target.input}', *operands])})"

    def _operand(self, var: Variable, is_number: bool) -> str:
        if var in self._computed:
            name = self._computed[var]
            return f"int({name})" if is_number else name
        if isinstance(var, Constant):
            if is_number:
                return str(int(var.data))
            name = f"k{len(self._scope)}"
            self._scope[name] = self._program.loader(var)(var.data)
            return name
        i = self._at[var]
        if is_number:
            return f"int(x{i})"
        if var in self._roots:
            return f"x{i}"
        if i not in self._loaded:
            self._loaded.add(i)
            self._scope[f"load{i}"] = self._program.loader(var)
            self._lines.append(f"t{i} = load{i}(x{i})")
        return f"t{i}"
