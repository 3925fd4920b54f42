"""A tour of treadle: its core, rebuilt small, in one file that runs.

Read it from top to bottom, then run it: ``./dev run python docs/tour.py``. Every part is a few dozen lines and ends
with a line ``# Whole: ...`` that names the modules which do the same thing whole. What is left out here makes them
long: other dtypes, static shapes, broadcasting at run time, several outputs, threads, the compile cache, good errors.

The tour builds, in this order:

1. the graph: types, variables, nodes and ops,
2. scalar ops: one entry for each elementwise function, and bodies for those that are no primitives,
3. structured ops, with a default lowering,
4. gradients,
5. rewriting: rules and the loop that applies them,
6. fusion,
7. lowering: what a backend knows of each op, and what happens where it knows nothing,
8. linking: two backends, one that writes Python and one that runs step by step,
9. the function that a user calls.

``docs/tour_further.py`` goes on with facts and loops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

# ------------------------------------------------------------------------------------------------------------------
# 1. The graph
#
# An expression is a graph of two kinds of things. A variable is a value before it has one: all that is known of it is
# its type. A node applies an op to variables and makes new ones. An op is a description, free of any variable, so that
# two ops with the same parameters are equal and can be compared, hashed and stored.


@dataclass(frozen=True)
class Type:
    """What values a variable may hold: here float64 arrays of a known rank."""

    ndim: int


class Variable:
    """A value that is not known yet. Two variables are the same only if they are the same object."""

    def __init__(self, kind: Type, owner: Node | None = None, name: str = "", value: Array | None = None) -> None:
        self.type, self.owner, self.name, self.value = kind, owner, name, value

    # Python calls these for the operators: an expression builds its graph by itself.
    def __add__(self, other: Operand) -> Variable:
        return add(self, other)

    def __radd__(self, other: Operand) -> Variable:
        return add(other, self)

    def __sub__(self, other: Operand) -> Variable:
        return sub(self, other)

    def __mul__(self, other: Operand) -> Variable:
        return mul(self, other)

    def __rmul__(self, other: Operand) -> Variable:
        return mul(other, self)

    def __truediv__(self, other: Operand) -> Variable:
        return div(self, other)

    def __neg__(self) -> Variable:
        return neg(self)


Operand = Variable | float


class Op:
    """What a node does. `perform` is the reference; everything else can be derived, or is one backend's business."""

    def infer(self, *types: Type) -> Type:
        """Return the output type, or refuse the input types."""
        raise NotImplementedError(type(self).__name__)

    def perform(self, *values: Array) -> Array:
        """Compute with NumPy."""
        raise NotImplementedError(type(self).__name__)

    def pullback(self, ct: Variable, out: Variable, inputs: Sequence[Variable]) -> Sequence[Variable | None]:
        """Return what flows back to each input from the cotangent of the output."""
        raise NotImplementedError(type(self).__name__)

    def decompose(self, *inputs: Variable) -> Variable | None:
        """Return the op in simpler ops; None for one that has no simpler form."""
        return None

    def __str__(self) -> str:
        return type(self).__name__.lower()

    def __call__(self, *operands: Operand) -> Variable:
        inputs = [x if isinstance(x, Variable) else constant(x) for x in operands]
        return Node(self, inputs).output


class Node:
    """An op applied to inputs."""

    def __init__(self, op: Op, inputs: Sequence[Variable]) -> None:
        self.op, self.inputs = op, list(inputs)
        self.output = Variable(op.infer(*[x.type for x in inputs]), owner=self)


def constant(value: float) -> Variable:
    """Return a variable whose value is known."""
    return Variable(Type(np.ndim(value)), value=np.asarray(value, float))


def vector(name: str) -> Variable:
    """Return an input of rank 1."""
    return Variable(Type(1), name=name)


def nodes_of(output: Variable) -> list[Node]:
    """Return the nodes that an output needs, each after those that it takes inputs from, without recursion."""
    order: dict[Node, None] = {}
    pending = [output.owner]
    while pending:
        node = pending[-1]
        waiting = [] if node is None else [x.owner for x in node.inputs if x.owner and x.owner not in order]
        if node is None or node in order or not waiting:
            pending.pop()
            if node is not None:
                order.setdefault(node)
        else:
            pending += waiting
    return list(order)


# Whole: treadle.graph

# ------------------------------------------------------------------------------------------------------------------
# 2. Scalar ops
#
# An elementwise function is one entry in a table, and everything that is to be known about it stands there. A few
# dozen entries are primitives, which backends know by name. Every other one has a body: a numerically stable formula in
# terms of others. Backends, derivatives and documentation take it from there, so that a new function is one entry.


@dataclass(frozen=True, kw_only=True, eq=False)
class ScalarOp:
    """An elementwise function."""

    name: str
    impl: Callable[..., Array]
    text: str = ""
    body: Callable[..., Variable] | None = None
    pullback: Callable[[Variable, Variable, Sequence[Variable]], Sequence[Variable | None]] | None = None
    identity: float | None = None
    inverse: str = ""


@dataclass(frozen=True)
class Elemwise(Op):
    """A scalar op applied to all elements, inputs broadcast together."""

    scalar_op: ScalarOp

    def __str__(self) -> str:
        return self.scalar_op.name

    def infer(self, *types: Type) -> Type:
        return Type(max(t.ndim for t in types))

    def perform(self, *values: Array) -> Array:
        return np.asarray(self.scalar_op.impl(*values))

    def pullback(self, ct: Variable, out: Variable, inputs: Sequence[Variable]) -> Sequence[Variable | None]:
        if self.scalar_op.pullback is not None:
            terms = self.scalar_op.pullback(ct, out, inputs)
        else:
            # The body says what the function is, so it says what its derivative is too.
            assert self.scalar_op.body is not None
            terms = pulled_back(self.scalar_op.body(*inputs), ct, inputs)
        return [t if t is None or t.type == x.type else total(t) for t, x in zip(terms, inputs, strict=True)]

    def decompose(self, *inputs: Variable) -> Variable | None:
        return None if self.scalar_op.body is None else self.scalar_op.body(*inputs)


def elementwise(**entry: object) -> Elemwise:
    """Make the op of an entry."""
    return Elemwise(ScalarOp(**entry))  # type: ignore[arg-type]  # the entries below are checked as they are made


add = elementwise(name="add", impl=np.add, text="{} + {}", identity=0, pullback=lambda ct, out, xs: (ct, ct))
sub = elementwise(name="sub", impl=np.subtract, text="{} - {}", pullback=lambda ct, out, xs: (ct, -ct))
mul = elementwise(
    name="mul", impl=np.multiply, text="{} * {}", identity=1, pullback=lambda ct, out, xs: (ct * xs[1], ct * xs[0])
)
div = elementwise(
    name="div", impl=np.divide, text="{} / {}", pullback=lambda ct, out, xs: (ct / xs[1], -(ct * out / xs[1]))
)
neg = elementwise(name="neg", impl=np.negative, text="-{}", inverse="neg", pullback=lambda ct, out, xs: (-ct,))
exp = elementwise(name="exp", impl=np.exp, text="np.exp({})", inverse="log", pullback=lambda ct, out, xs: (ct * out,))
log = elementwise(name="log", impl=np.log, text="np.log({})", inverse="exp", pullback=lambda ct, out, xs: (ct / xs[0],))
log1p = elementwise(
    name="log1p", impl=np.log1p, text="np.log1p({})", pullback=lambda ct, out, xs: (ct / (xs[0] + 1.0),)
)
absolute = elementwise(name="abs", impl=np.abs, text="np.abs({})", pullback=lambda ct, out, xs: (ct * sign(xs[0]),))
sign: Elemwise = elementwise(name="sign", impl=np.sign, text="np.sign({})", pullback=lambda ct, out, xs: (None,))
# No backend below knows these two. Neither overflows, whatever the operand; nor do their derivatives.
relu = elementwise(name="relu", impl=lambda x: np.maximum(x, 0), body=lambda x: (x + absolute(x)) * 0.5)
softplus = elementwise(
    name="softplus", impl=lambda x: np.logaddexp(x, 0), body=lambda x: relu(x) + log1p(exp(-absolute(x)))
)

# Whole: treadle.tensor.elementwise.scalar_op treadle.tensor.elementwise.elemwise

# ------------------------------------------------------------------------------------------------------------------
# 3. Structured ops
#
# All other ops are frozen dataclasses, whose fields are their static parameters. One that simpler ops can express says
# how: this is its lowering on every backend that has no faster one.


@dataclass(frozen=True)
class Sum(Op):
    """The sum of all elements."""

    def infer(self, *types: Type) -> Type:
        return Type(0)

    def perform(self, *values: Array) -> Array:
        return np.asarray(values[0].sum())

    def pullback(self, ct: Variable, out: Variable, inputs: Sequence[Variable]) -> Sequence[Variable | None]:
        return [ct + inputs[0] * 0.0]  # broadcast to the shape of the input


@dataclass(frozen=True)
class Softmax(Op):
    """exp(x) over its sum. In treadle the largest element is subtracted first, so that nothing overflows."""

    def infer(self, *types: Type) -> Type:
        return types[0]

    def perform(self, *values: Array) -> Array:
        e = np.exp(values[0] - values[0].max())
        return np.asarray(e / e.sum())

    def pullback(self, ct: Variable, out: Variable, inputs: Sequence[Variable]) -> Sequence[Variable | None]:
        return [out * (ct - total(ct * out))]

    def decompose(self, *inputs: Variable) -> Variable | None:
        e = exp(inputs[0])
        return e / total(e)


total, softmax = Sum(), Softmax()

# Whole: treadle.tensor.reductions.reduction treadle.tensor.reductions.normalization treadle.tensor.indexing.indexing

# ------------------------------------------------------------------------------------------------------------------
# 4. Gradients
#
# Reverse mode is one walk over the nodes, last first: the cotangent of a node's output is complete when the node is
# reached, and its op says what flows back to the inputs. The gradient is a graph like any other.


def pulled_back(output: Variable, cotangent: Variable, wrt: Sequence[Variable]) -> list[Variable | None]:
    """Return what flows back from an output to some variables; None where nothing does."""
    found: dict[Variable, Variable] = {output: cotangent}
    for node in reversed(nodes_of(output)):
        if node.output in found:
            terms = node.op.pullback(found[node.output], node.output, node.inputs)
            for x, term in zip(node.inputs, terms, strict=True):
                if term is not None:
                    found[x] = found[x] + term if x in found else term
    return [found.get(x) for x in wrt]


def grad(cost: Variable, wrt: Variable) -> Variable:
    """Return the gradient of a cost of rank 0."""
    (found,) = pulled_back(cost, constant(1.0), [wrt])
    return wrt * 0.0 if found is None else found


# Whole: treadle.tensor.gradients.reverse_mode treadle.tensor.gradients.forward_mode

# ------------------------------------------------------------------------------------------------------------------
# 5. Rewriting
#
# A rule looks at one node and returns a replacement, or None. It changes nothing itself, says its law in one line, and
# asks for facts of ops, such as "has an identity", rather than for ops by name. Replacements are looked at again, so
# that rules work together without knowing of one another.


def scalar_op_of(x: Variable) -> ScalarOp | None:
    """Return the scalar op that made a variable."""
    return x.owner.op.scalar_op if x.owner and isinstance(x.owner.op, Elemwise) else None


def identity_operand(node: Node) -> Variable | None:
    """f(x, e) -> x, where e is the identity of f."""
    scalar_op = scalar_op_of(node.output)
    if scalar_op is None or scalar_op.identity is None:
        return None
    for x, e in (node.inputs, node.inputs[::-1]):
        if e.value is not None and np.all(e.value == scalar_op.identity) and x.type == node.output.type:
            return x
    return None


def inverse_of_function(node: Node) -> Variable | None:
    """f(g(x)) -> x, where g is the inverse of f."""
    outer, inner = scalar_op_of(node.output), scalar_op_of(node.inputs[0])
    if outer is None or inner is None or outer.inverse != inner.name or inner.name == "log":  # exp(log(-1)) is no -1
        return None
    assert node.inputs[0].owner is not None
    return node.inputs[0].owner.inputs[0]


def logarithm_of_one_plus(node: Node) -> Variable | None:
    """log(x + 1) -> log1p(x), which keeps the digits of a small x."""
    if scalar_op_of(node.output) is not log.scalar_op or scalar_op_of(node.inputs[0]) is not add.scalar_op:
        return None
    assert node.inputs[0].owner is not None
    for x, e in (node.inputs[0].owner.inputs, node.inputs[0].owner.inputs[::-1]):
        if e.value is not None and np.all(e.value == 1) and x.type == node.output.type:
            return log1p(x)
    return None


RULES = (identity_operand, inverse_of_function, logarithm_of_one_plus)


def rewritten(output: Variable, rules: Iterable[Callable[[Node], Variable | None]]) -> Variable:
    """Return an equal graph in which no rule has anything left to do, and equal nodes are one node."""
    rules, changed = list(rules), True
    while changed:  # treadle itself looks only at the nodes that a replacement touched
        changed = False
        made: dict[Variable, Variable] = {}
        known: dict[object, Node] = {}
        for node in nodes_of(output):
            inputs = [made.get(x, x) for x in node.inputs]
            key = (node.op, *(x if x.value is None else x.value.tobytes() for x in inputs))
            merged = known.setdefault(key, Node(node.op, inputs))  # one node for equal ops on equal inputs
            better = next((found for r in rules if (found := r(merged)) is not None), None)
            changed = changed or better is not None
            made[node.output] = merged.output if better is None else better
        output = made.get(output, output)
    return output


# Whole: treadle.rewrite treadle.tensor.rewrites

# ------------------------------------------------------------------------------------------------------------------
# 6. Fusion
#
# A chain of elementwise nodes is one loop over memory if it is one node. What it computes is a list of steps, each a
# scalar op on earlier values.


@dataclass(frozen=True)
class Composite(Op):
    """Scalar ops one after the other: (scalar op, positions of its operands among inputs and earlier results)."""

    steps: tuple[tuple[ScalarOp, tuple[int, ...]], ...]

    def infer(self, *types: Type) -> Type:
        return Type(max(t.ndim for t in types))

    def perform(self, *values: Array) -> Array:
        known = list(values)
        for scalar_op, at in self.steps:
            known.append(scalar_op.impl(*(known[i] for i in at)))
        return np.asarray(known[-1])


def fused(output: Variable) -> Variable:
    """Return the graph with every elementwise node that is used once inside the one that uses it."""
    made: dict[Variable, Variable] = {}
    order = nodes_of(output)
    uses: dict[Variable, int] = {}
    for node in order:
        for x in dict.fromkeys(node.inputs):
            uses[x] = uses.get(x, 0) + 1

    def is_inside(x: Variable, kind: Type) -> bool:
        return scalar_op_of(x) is not None and uses[x] == 1 and x.type == kind

    for node in order:
        if isinstance(node.op, Elemwise):
            inside = [node]
            for member in inside:  # grows while it is walked
                inside += [x.owner for x in dict.fromkeys(member.inputs) if x.owner and is_inside(x, node.output.type)]
            group = [n for n in order if n in inside]
            inputs = list(dict.fromkeys(x for n in group for x in n.inputs if x.owner not in group))
            if len(group) > 1:
                at = {x: i for i, x in enumerate([*inputs, *(n.output for n in group)])}
                ops = [n.op.scalar_op for n in group if isinstance(n.op, Elemwise)]
                steps = tuple((op, tuple(at[x] for x in n.inputs)) for op, n in zip(ops, group, strict=True))
                made[node.output] = Node(Composite(steps), [made.get(x, x) for x in inputs]).output
                continue
        made[node.output] = Node(node.op, [made.get(x, x) for x in node.inputs]).output
    return made.get(output, output)


# Whole: treadle.tensor.rewrites treadle.tensor.elementwise.elemwise

# ------------------------------------------------------------------------------------------------------------------
# 7. Lowering
#
# A backend is a table from types of ops to rules. Before anything is compiled, whatever the table lacks is expressed in
# simpler ops, as often as it takes; and what is still missing then is refused, all of it at once.


def expand(output: Variable, can_lower: Callable[[Node], bool]) -> Variable:
    """Return the graph with ops that cannot be lowered replaced by what they decompose into."""

    def decomposed(node: Node) -> Variable | None:
        return None if can_lower(node) else node.op.decompose(*node.inputs)

    return rewritten(output, [decomposed])


def refuse_gaps(backend: Writer | Stepper, output: Variable) -> None:
    """Refuse a graph with nodes that a backend cannot lower, naming all of them."""
    gaps = [str(node.op) for node in nodes_of(output) if not backend.can_lower(node)]
    if gaps:
        msg = f"{backend.name}: no lowering for {', '.join(gaps)}. Register a rule, or pick another backend."
        raise LookupError(msg)


# Whole: treadle.graph treadle.link.c.lower treadle.link.numba.lower treadle.link.jax.lower treadle.link.torch.lower

# ------------------------------------------------------------------------------------------------------------------
# 8. Linking
#
# The first backend writes one straight-line Python function for the whole graph. With another language for its text,
# this is what the C backend does. The second one runs a list of steps, and knows no op but by its reference.


class Writer:
    """Writes Python."""

    name = "writer"

    def can_lower(self, node: Node) -> bool:
        texts = [s.text for s in scalar_ops_in(node)]
        return all(texts) if texts else isinstance(node.op, Sum)

    def source(self, inputs: Sequence[Variable], output: Variable) -> str:
        """Return the text of a graph."""
        names = {x: f"x{i}" for i, x in enumerate(inputs)}
        lines = [f"def program({', '.join(names.values())}):"]
        for node in nodes_of(output):
            given = [names[x] if x in names else repr(float(x.value)) for x in node.inputs]  # type: ignore[arg-type]
            names[node.output] = f"v{len(lines)}"
            lines.append(f"    {names[node.output]} = {self._text(node, given)}")
        return "\n".join([*lines, f"    return {names.get(output, output.value)}"])

    def _text(self, node: Node, given: list[str]) -> str:
        if isinstance(node.op, Sum):
            return f"{given[0]}.sum()"
        texts = list(given)
        steps = node.op.steps if isinstance(node.op, Composite) else [(scalar_ops_in(node)[0], range(len(given)))]
        for scalar_op, at in steps:
            texts.append(f"({scalar_op.text.format(*(texts[i] for i in at))})")
        return texts[-1]

    def link(self, inputs: Sequence[Variable], output: Variable) -> Callable[..., Array]:
        made: dict[str, Callable[..., Array]] = {}
        exec(self.source(inputs, output), {"np": np}, made)
        return made["program"]


def scalar_ops_in(node: Node) -> list[ScalarOp]:
    """Return the scalar ops of an elementwise node, fused or not."""
    if isinstance(node.op, Composite):
        return [scalar_op for scalar_op, _ in node.op.steps]
    return [node.op.scalar_op] if isinstance(node.op, Elemwise) else []


class Stepper:
    """Calls the reference of each op in turn."""

    name = "stepper"

    def can_lower(self, node: Node) -> bool:
        return True

    def link(self, inputs: Sequence[Variable], output: Variable) -> Callable[..., Array]:
        order = nodes_of(output)

        def program(*given: Array) -> Array:
            values = dict(zip(inputs, given, strict=True))
            for node in order:
                values[node.output] = node.op.perform(*[values[x] if x.value is None else x.value for x in node.inputs])
            return values[output] if output.value is None else output.value

        return program


# Whole: treadle.link.vm treadle.link.c treadle.link.numba treadle.link.jax treadle.link.torch

# ------------------------------------------------------------------------------------------------------------------
# 9. The function
#
# `function` puts the parts in order: check what was given, rewrite, expand, fuse, refuse, link. What it returns checks
# the arguments and calls the program.


def function(inputs: Sequence[Variable], output: Variable, backend: Writer | Stepper) -> Callable[..., Array]:
    """Compile an output into a function of the inputs' values."""
    leaves = {x for n in nodes_of(output) for x in n.inputs if x.owner is None and x.value is None}
    missing = [x.name for x in leaves if x not in inputs]
    if missing:
        msg = f"function: the output needs {', '.join(missing)} too, which is no input. Add it to the inputs."
        raise ValueError(msg)
    best = fused(expand(rewritten(output, RULES), backend.can_lower))
    refuse_gaps(backend, best)
    program = backend.link(inputs, best)

    def call(*values: object) -> Array:
        arrays = [np.asarray(value, float) for value in values]
        for x, array in zip(inputs, arrays, strict=True):
            if array.ndim != x.type.ndim:
                msg = f"{x.name}: an array of rank {x.type.ndim} is needed, got one of rank {array.ndim}."
                raise TypeError(msg)
        return np.asarray(program(*arrays))

    return call


# Whole: treadle.compile


def main() -> None:
    """Take the tour's parts through one example."""
    x, y = vector("x"), vector("y")
    cost = total(softplus(x) * softmax(y))
    at = np.array([-800.0, 0.5, 800.0]), np.array([0.1, -0.2, 0.3])

    # Both backends agree with each other and with NumPy, although one of them knows neither softplus nor softmax.
    expected = (np.logaddexp(at[0], 0) * softmax.perform(at[1])).sum()
    slopes = []
    for backend in (Writer(), Stepper()):
        np.testing.assert_allclose(function([x, y], cost, backend)(*at), expected)
        slopes.append(function([x, y], grad(cost, x), backend)(*at))
    np.testing.assert_allclose(slopes[0], slopes[1])
    np.testing.assert_allclose(
        slopes[0], softmax.perform(at[1]) / (1 + np.exp(-np.clip(at[0], -700, 700))), atol=1e-300
    )

    # The rules left one loop of what was written as log(exp(x)) * 1 + log(x + 1).
    best = fused(rewritten(log(exp(x)) * 1.0 + log(x + 1.0), RULES))
    print(Writer().source([x], best))

    # What is missing is told, all of it, before anything runs.
    try:
        refuse_gaps(Writer(), total(softmax(softplus(x))))
    except LookupError as error:
        print(error)


if __name__ == "__main__":
    main()
