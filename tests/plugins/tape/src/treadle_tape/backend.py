"""The tape: a linker that writes it, a program that runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import Apply, Constant, FunctionGraph, LoweringTable, Variable, expand
from treadle.link.vm import Backend, Program, ProgramLinker, replay
from treadle.tensor import Elemwise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TAPE = LoweringTable("tape")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step: registers to read, what to do with their arrays, registers to write, registers to clear."""

    sources: tuple[int, ...]
    action: Callable[..., Any]
    targets: tuple[int, ...]
    dead: tuple[int, ...]


class TapeProgram(Program):
    """A graph as a tape. Registers belong to a call, so that any number of threads may call at once."""

    def __init__(self, fgraph: FunctionGraph, preset: Sequence[Any], tape: Sequence[Instruction], out: Sequence[int]):
        self.fgraph = fgraph
        self.preset = tuple(preset)
        self.tape = tuple(tape)
        self.out = tuple(out)

    def __call__(self, *inputs: Any) -> Sequence[Any]:
        """Run the tape; results are copies unless nobody else holds their memory."""
        registers = [*inputs, *self.preset[len(inputs) :]]
        try:
            with np.errstate(all="ignore"):
                self._run(registers)
        except Exception as error:
            raise replay(self.fgraph, inputs, error) from error
        results: list[Any] = []
        for register in self.out:
            value = registers[register]
            foreign = (*inputs, *self.preset, *results)
            held = any(isinstance(x, np.ndarray) and np.may_share_memory(x, value) for x in foreign)
            results.append(np.array(value) if held or not value.flags.writeable else value)
        return results

    def _run(self, registers: list[Any]) -> None:
        for step in self.tape:
            result = step.action(*[registers[i] for i in step.sources])
            if len(step.targets) == 1:
                registers[step.targets[0]] = result
            else:
                for register, value in zip(step.targets, result, strict=True):
                    registers[register] = value
            for register in step.dead:
                registers[register] = None


def lowers(node: Apply) -> bool:
    """Whether the tape has a rule for a node; among elementwise functions, for those without a body."""
    if isinstance(node.op, Elemwise):
        return all(scalar_op.body is None for scalar_op in node.op.scalar_ops)
    return TAPE.find(node.op) is not None


class TapeLinker(ProgramLinker):
    """Writes tapes: registers are numbered inputs first, then in order of appearance."""

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> TapeProgram:
        """Return the program; all ops without a lowering are listed in one error."""
        del native_outputs
        fgraph = expand(fgraph, lowers)
        nodes = fgraph.toposort()
        TAPE.check(nodes)
        numbers: dict[Variable, int] = {v: i for i, v in enumerate(fgraph.inputs)}
        preset: list[Any] = [None] * len(numbers)

        def register(var: Variable) -> int:
            if var not in numbers:
                numbers[var] = len(preset)
                preset.append(var.data if isinstance(var, Constant) else None)
            return numbers[var]

        steps = []
        for node in nodes:
            rule: Any = TAPE.find(node.op)
            steps.append((tuple(map(register, node.inputs)), rule(node.op, node), tuple(map(register, node.outputs))))
        out = [register(v) for v in fgraph.outputs]
        kept = {*out, *(i for i, value in enumerate(preset) if value is not None)}
        last = {i: at for at, (sources, _, targets) in enumerate(steps) for i in (*sources, *targets)}
        tape = [
            Instruction(*step, tuple(i for i in {*step[0], *step[2]} if last[i] == at and i not in kept))
            for at, step in enumerate(steps)
        ]
        return TapeProgram(fgraph, preset, tape, out)


# Fused kernels pay where code is generated: an interpreter gains nothing from them.
BACKEND = Backend(name="tape", linker=TapeLinker, exclude=("fusion",), version=lambda: "0.1.0")
