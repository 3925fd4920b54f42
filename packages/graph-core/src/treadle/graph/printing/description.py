"""Graphs as short texts: ``as_string`` writes each output as an expression of its inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph.algorithms.traversal import order_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.variable import Variable


def default_node_formatter(op: Apply, argstrings: Sequence[str]) -> str:
    """Return the text of a node: its op, with the texts of its inputs in parentheses.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> default_node_formatter((x + y).owner, ["a", "b"])
    'Add(a, b)'
    """
    return f"{op.op}({', '.join(argstrings)})"


def as_string(
    inputs: Collection[Variable],
    outputs: Sequence[Variable],
    leaf_formatter: Callable[[Variable], str] = str,
    node_formatter: Callable[[Apply, Sequence[str]], str] = default_node_formatter,
) -> list[str]:
    """Return a text for each output: the expression by which it is computed.

    Parameters
    ----------
    inputs
        Variables written by themselves, not by what computes them.
    outputs
        Variables to write.
    leaf_formatter
        Returns the text of an input or of a variable without owner.
    node_formatter
        Returns the text of a node, given those of its inputs, which it must use unchanged: what it is given are
        marks that the texts are put in place of.

    Returns
    -------
    The texts. A node that is used several times is written ``*n -> text`` where it occurs first, and ``*n`` from
    then on; an output of a node with several is written ``text.i``.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> as_string([x, y], [tt.exp(x) + y])
    ['Add(Exp(x), y)']
    """
    leaves = set(inputs)
    order = order_nodes(outputs, leaves.__contains__)
    uses: dict[Apply, int] = {}
    for var in [*outputs, *(x for node in order for x in node.inputs)]:
        if var.owner is not None and var not in leaves:
            uses[var.owner] = uses.get(var.owner, 0) + 1
    parts = {node: _parts(node, node_formatter) for node in order}
    numbers: dict[Apply, int] = {}

    def texts(start: Variable) -> Iterator[str]:
        stack: list[str | Variable] = [start]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                yield item
                continue
            node = item.owner
            if node is None or item in leaves:
                yield leaf_formatter(item)
                continue
            if len(node.outputs) > 1:
                stack.append(f".{item.index}")
            if node in numbers:
                yield f"*{numbers[node]}"
                continue
            if uses[node] > 1:
                numbers[node] = len(numbers) + 1
                yield f"*{numbers[node]} -> "
            stack.extend(reversed(parts[node]))

    return ["".join(texts(out)) for out in outputs]


def op_as_string(
    i: Collection[Variable],
    op: Apply,
    leaf_formatter: Callable[[Variable], str] = str,
    node_formatter: Callable[[Apply, Sequence[str]], str] = default_node_formatter,
) -> str:
    """Return the text of a node, computed from the variables `i` (see `as_string`).

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> op_as_string([x, y], (x + y).owner)
    'Add(x, y)'
    """
    return node_formatter(op, as_string(i, op.inputs, leaf_formatter, node_formatter))


def _parts(node: Apply, formatter: Callable[[Apply, Sequence[str]], str]) -> list[str | Variable]:
    """Return a node's text in parts, with its inputs in place of their texts."""
    marks = {f"\x02{number}\x03": var for number, var in enumerate(node.inputs)}
    first, *pieces = formatter(node, list(marks)).split("\x02")
    parts: list[str | Variable] = [first]
    for piece in pieces:
        number, closed, tail = piece.partition("\x03")
        var = marks.get(f"\x02{number}\x03") if closed else None
        parts += [f"\x02{piece}"] if var is None else [var, tail]
    return parts
