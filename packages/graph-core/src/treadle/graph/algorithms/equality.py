"""Whether two graphs compute the same thing in the same way."""

from __future__ import annotations

from _blake2 import blake2b  # see treadle.graph.ir.encoding
from typing import TYPE_CHECKING

from treadle.graph.algorithms.traversal import toposort
from treadle.graph.ir.encoding import encode
from treadle.graph.ir.inner_graph import HasInnerGraph
from treadle.graph.ir.variable import Constant, Variable, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.op import Op


def equal_computations(
    xs: Sequence[Variable],
    ys: Sequence[Variable],
    in_xs: Sequence[Variable] | None = None,
    in_ys: Sequence[Variable] | None = None,
    strict_dtype: bool = True,
) -> bool:
    """Whether `ys` are computed from `in_ys` as `xs` are from `in_xs`.

    Parameters
    ----------
    xs, ys
        Outputs, compared one by one.
    in_xs, in_ys
        Inputs, matched one by one; a variable may occur several times, and then matches each of its partners. All
        other variables without owner must be identical or equal constants.
    strict_dtype
        Whether the types of matched inputs must be equal.

    Notes
    -----
    A graph that computes something twice equals one that computes it once and uses it twice. Ops with an inner
    graph that are not equal as ops are equal here if the rest of them is and their inner graphs are.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> equal_computations([x + 1], [x + 1]), equal_computations([x + 1], [y + 1])
    (True, False)
    >>> equal_computations([x + 1], [y + 1], in_xs=[x], in_ys=[y])
    True
    """
    pending = _Pairs()
    outs = listed("output", xs), listed("output", ys)
    ins = listed("input", in_xs or ()), listed("input", in_ys or ())
    if not pending.add_graphs(*outs, *ins, strict_dtype):
        return False
    while pending.graphs:
        if not pending.compare(*pending.graphs.pop()):
            return False
    return True


class _Pairs:
    """Pairs of graphs that are still to be compared: inner graphs wait here, so that nothing recurses."""

    def __init__(self) -> None:
        self.graphs: list[tuple[list[tuple[Variable, Variable]], set[tuple[Variable, Variable]]]] = []
        self._seen: set[tuple[int, int]] = set()
        # Keeps alive the ops whose ids are in `_seen`.
        self._ops: list[object] = []

    def add_graphs(
        self,
        xs: Sequence[Variable],
        ys: Sequence[Variable],
        in_xs: Sequence[Variable],
        in_ys: Sequence[Variable],
        strict_dtype: bool,
    ) -> bool:
        """Enter two graphs; False if their inputs and outputs do not match."""
        if len(xs) != len(ys) or len(in_xs) != len(in_ys):
            return False
        common = set(zip(in_xs, in_ys, strict=True))
        if strict_dtype and any(a.type != b.type for a, b in common):
            return False
        self.graphs.append((list(zip(xs, ys, strict=True)), common))
        return True

    def compare(self, pending: list[tuple[Variable, Variable]], common: set[tuple[Variable, Variable]]) -> bool:
        """Whether all pairs compute the same, except for inner graphs, which are entered."""
        given_xs, given_ys = {x for x, _ in common}, {y for _, y in common}
        seen: set[tuple[Variable, Variable]] = set()
        while pending:
            pair = x, y = pending.pop()
            if pair in seen or pair in common:
                continue
            seen.add(pair)
            if x in given_xs or y in given_ys:
                return False
            if x.owner is None or y.owner is None:
                if not (x.equals(y) if isinstance(x, Constant) and isinstance(y, Constant) else x is y):
                    return False
            elif not self._same_node(x, y, x.owner, y.owner):
                return False
            else:
                pending.extend(zip(x.owner.inputs, y.owner.inputs, strict=True))
        return True

    def _same_node(self, x: Variable, y: Variable, a: Apply, b: Apply) -> bool:
        return (
            x.index == y.index
            and x.type == y.type
            and len(a.inputs) == len(b.inputs)
            and (a.op == b.op or self._same_outside(a.op, b.op))
        )

    def _same_outside(self, a: Op, b: Op) -> bool:
        """Whether two ops differ in their inner graphs at most; these are entered."""
        if type(a) is not type(b) or not isinstance(a, HasInnerGraph) or not isinstance(b, HasInnerGraph):
            return False
        if (id(a), id(b)) in self._seen:
            return True
        self._seen.add((id(a), id(b)))
        self._ops += (a, b)
        for name in a._parameter_names() or ():
            mine, theirs = getattr(a, name), getattr(b, name)
            if not (mine is a.fgraph and theirs is b.fgraph) and encode(mine) != encode(theirs):
                return False
        return self.add_graphs(a.inner_outputs, b.inner_outputs, a.inner_inputs, b.inner_inputs, True)


def graph_key(inputs: Sequence[Variable], outputs: Sequence[Variable], *, sharing: bool = True) -> str:
    """Return a structural digest of a graph, the same in every process for equal graphs.

    Inputs count by position and type, constants by value, ops by their static parameters; names and lines do not
    count. Other variables without owner (shared ones) count by type and place of first use.

    Parameters
    ----------
    inputs, outputs
        The graph.
    sharing
        Whether a graph that computes something twice has another digest than one that computes it once and uses it
        twice. Without it, graphs have the same digest exactly if `equal_computations` finds them equal, inputs
        matched by position.

    Raises
    ------
    GraphTypeError
        If an op or constant has no canonical encoding.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> graph_key([x], [x + 1]) == graph_key([y], [y + 1]), graph_key([x], [x + 1]) == graph_key([x], [x + 2])
    (True, False)
    """
    digester = _Digester(sharing)
    ins, outs = listed("input", inputs), listed("output", outputs)
    for var in ins:
        digester.add(var, b"|input ")
    for node in toposort(outs, ins):
        digester.add_node(node)
    for out in outs:
        digester.add_orphan(out)
        digester.update(b"|output %d" % digester.position[out])
    return digester.digest()


class _Digester:
    """Writes a graph, each variable as a number, into a digest."""

    def __init__(self, sharing: bool) -> None:
        self.position: dict[Variable, int] = {}
        self._count = 0
        self._sharing = sharing
        # Without sharing: the first number of what was written before, by what was written.
        self._written: dict[bytes, int] = {}
        hasher = blake2b(digest_size=32)
        self.update = hasher.update
        self.digest = hasher.hexdigest

    def add(self, var: Variable, text: bytes) -> None:
        """Write a variable, giving it the next number."""
        if var in self.position:
            # An input listed twice.
            self.update(text + b"again %d" % self.position[var])
            return
        self.position[var] = self._count
        self._count += 1
        self.update(text + encode(var.type))

    def add_orphan(self, var: Variable) -> None:
        """Write a variable without owner that is no input, unless it was written before."""
        if var in self.position:
            return
        if not isinstance(var, Constant):
            self.add(var, b"|free ")
            return
        text = b"|constant " + var.signature()
        number = None if self._sharing else self._written.get(text)
        if number is None:
            self._written[text] = self._count
            self.add(var, text)
        else:
            self.position[var] = number

    def add_node(self, node: Apply) -> None:
        """Write a node, unless it computes what was written before and sharing does not count."""
        for var in node.inputs:
            self.add_orphan(var)
        places = b",".join(b"%d" % self.position[v] for v in node.inputs)
        results = b"".join(b"|result " + encode(out.type) for out in node.outputs)
        text = b"|node " + node.op.canonical() + b" of " + places + results
        if not self._sharing:
            key = blake2b(text, digest_size=32).digest()
            number = self._written.setdefault(key, self._count)
            if number != self._count:
                self.position.update(
                    (out, number + i) for i, out in enumerate(node.outputs) if out not in self.position
                )
                return
        self.update(text)
        for out in node.outputs:
            if out not in self.position:
                self.position[out] = self._count
            self._count += 1
