"""Source text of the straight-line function that torch.compile traces."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import torch

from treadle.config import dataclass
from treadle.graph import Apply, Compute, Constant, FunctionGraph, Value, Variable
from treadle.link.torch.numbers import Host, length_of, on_numbers
from treadle.link.torch.programs.freshness import fresh_outputs
from treadle.link.torch.programs.merging import operands
from treadle.link.torch.programs.planning import ExecutionPlan
from treadle.link.torch.programs.storage import STORAGE_DTYPES
from treadle.link.torch.table import Checked, Flag, Lowered
from treadle.tensor import static_positions, tensors

# torch.compile remembers which dimensions change by the file and line of a function: each needs a name of its own.
_NUMBER = itertools.count()


@dataclass(frozen=True, slots=True)
class GeneratedFunction:
    """A program's function, its text, and what its arguments are: tensors, Python integers and constants, in turn.

    It returns first whether values were found invalid (None where nothing is checked), then the outputs.
    """

    run: Callable[..., Sequence[Value]]
    source: str
    tensors: tuple[Variable, ...]
    numbers: tuple[Variable, ...]
    constants: tuple[Constant, ...]
    # How many of the library's functions it calls, one for each node of the graph.
    operations: int
    # Whether each output is certain to be a tensor in memory of its own, if the function is not compiled.
    fresh: tuple[bool, ...]


def _literal(constant: Constant) -> str:
    """Return an integer constant, a vector of them, or a float, as text."""
    value = constant.data.tolist()
    if isinstance(value, float):
        return f"float({str(value)!r})"
    return repr(tuple(value)) if isinstance(value, list) else repr(value)


def named(function: Callable[..., Sequence[Value]]) -> Callable[..., Sequence[Value]]:
    """Return a function under a file name of its own."""
    scope = {"function": function}
    code = compile("def run(*args):\n    return function(*args)\n", f"<treadle pytorch {next(_NUMBER)}>", "exec")
    exec(code, scope)
    return scope["run"]


def either(*flags: Flag) -> Flag:
    """Return whether one of the flags is set, None where none is a tensor."""
    result: Flag = None
    for flag in flags:
        if flag is not None:
            result = flag if result is None else result | flag
    return result


def as_tensor(dtype: str, place: torch.device) -> Callable[[Host], torch.Tensor]:
    """Return the function that makes a tensor of a Python integer, or of a tuple of them."""
    storage = STORAGE_DTYPES[dtype]

    def one(value: int) -> torch.Tensor:
        return torch.full((), value, dtype=storage, device=place)

    def make(value: Host) -> torch.Tensor:
        if not isinstance(value, tuple):
            return one(value)
        if not value:
            return torch.zeros(0, dtype=storage, device=place)
        return torch.stack([one(v) for v in value])

    return make


class _Writer:
    def __init__(self, fgraph: FunctionGraph, plan: ExecutionPlan, place: torch.device) -> None:
        self.plan = plan
        self.place = place
        self.scope: dict[str, Compute] = {}
        self.lines: list[str] = []
        self.flags: list[str] = []
        self.operations = 0
        arguments = [*fgraph.inputs, *plan.prelude]
        self.tensors = {v: f"a{i}" for i, v in enumerate(arguments) if v in plan.tensors and v not in plan.prelude}
        self.tensors |= {v: f"a{i}" for i, v in enumerate(arguments) if v in plan.prelude and v not in plan.hosts}
        self.numbers = {v: f"n{i}" for i, v in enumerate(arguments) if v in plan.hosts}
        self.arguments = (tuple(self.tensors), tuple(self.numbers))
        constants = [v for v in plan.tensors if isinstance(v, Constant)]
        self.constants = {v: f"c{i}" for i, v in enumerate(constants)}
        self.names = self.tensors | self.constants
        parameters = [*self.tensors.values(), *self.numbers.values(), *self.constants.values()]
        self.lines.append(f"def run({', '.join(parameters)}):")
        # The tensors that no later node needs, by node.
        self.last_use: dict[Apply, list[Variable]] = {}
        alive = {*fgraph.inputs, *fgraph.outputs, *plan.prelude}
        for node in reversed(plan.nodes):
            together = plan.merged.get(node)
            inputs = operands(node) if together is None else (*together.tensors, *together.numbers)
            dead = [v for v in dict.fromkeys(inputs) if v not in alive and not isinstance(v, Constant)]
            alive.update(dead)
            self.last_use[node] = [v for v in dead if v not in plan.hosts]

    def function(self, run: Compute) -> str:
        name = f"f{len(self.scope)}"
        self.scope[name] = run
        return name

    def number(self, var: Variable) -> str:
        """Return the text of a Python integer."""
        if isinstance(var, Constant):
            return _literal(var)
        if var not in self.numbers:
            # One of those that the plan reads.
            name = f"h{len(self.numbers)}"
            read = f"{self.tensor(var)}.tolist()"
            self.lines.append(f"    {name} = tuple({read})" if var.type.ndim else f"    {name} = {read}")  # type: ignore[attr-defined]  # a tensor's
            self.numbers[var] = name
        return self.numbers[var]

    def tensor(self, var: Variable) -> str:
        """Return the name of a tensor, made from the Python integer where there is only that."""
        if var not in self.names:
            (tensor,) = tensors([var])
            name = f"v{len(self.names)}"
            maker = self.function(as_tensor(tensor.type.dtype, self.place))
            self.lines.append(f"    {name} = {maker}({self.numbers[var]})")
            self.names[var] = name
        return self.names[var]

    def write_number(self, node: Apply) -> None:
        (out,) = node.outputs
        read = length_of(node)
        compute = on_numbers(node) if read is None else read
        assert compute is not None  # as the plan has found
        args = [self.number(v) if read is None else self.tensor(v) for v in node.inputs]
        name = f"h{len(self.numbers)}"
        self.numbers[out] = name
        self.lines.append(f"    {name} = {self.function(compute)}({', '.join(args)})")

    def write(self, node: Apply, lowered: Lowered) -> None:
        self.operations += 1
        together = self.plan.merged.get(node)
        if together is None:
            static = set(static_positions(node))
            args = [self.number(v) if i in static else self.tensor(v) for i, v in enumerate(operands(node))]
        else:
            lowered = together.function
            args = [*map(self.tensor, together.tensors), *map(self.number, together.numbers)]
        outputs = node.outputs if together is None else (*node.outputs, *together.others)
        for out in outputs:
            self.names[out] = f"v{len(self.names)}"
        targets = [self.names[out] for out in outputs]
        target = targets[0] if len(targets) == 1 else f"({', '.join(targets)},)"
        run = lowered.run if isinstance(lowered, Checked) else lowered
        if isinstance(lowered, Checked):
            self.flags.append(f"e{len(self.flags)}")
            target = f"{self.flags[-1]}, {target}"
        self.lines.append(f"    {target} = {self.function(run)}({', '.join(args)})")
        dead = [self.names[v] for v in self.last_use.get(node, ()) if v in self.names]
        if dead:
            self.lines.append(f"    del {', '.join(dead)}")

    def finish(self, fgraph: FunctionGraph, fresh: tuple[bool, ...]) -> GeneratedFunction:
        results = [self.tensor(v) for v in fgraph.outputs]
        flag = f"{self.function(either)}({', '.join(self.flags)})" if self.flags else "None"
        self.lines.append(f"    return [{', '.join([flag, *results])}]")
        source = "\n".join(self.lines) + "\n"
        code = compile(source, f"<treadle pytorch {next(_NUMBER)}>", "exec")
        exec(code, self.scope)
        constants = tuple(self.constants)
        return GeneratedFunction(self.scope["run"], source, *self.arguments, constants, self.operations, fresh)


def generate(
    fgraph: FunctionGraph, plan: ExecutionPlan, lowered: Mapping[Apply, Lowered], place: torch.device
) -> GeneratedFunction:
    """Write the function of a graph for a device, given what to call for each node that computes tensors."""
    writer = _Writer(fgraph, plan, place)
    for node in plan.nodes:
        if node in lowered:
            writer.write(node, lowered[node])
        else:
            writer.write_number(node)
    return writer.finish(fgraph, fresh_outputs(fgraph, plan.merged, lowered, place))
