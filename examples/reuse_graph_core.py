"""A query planner on treadle's graph library alone: its own Type and Ops, a pass over the graph, and a run on the VM.

Tables are tuples of rows, rows are tuples. A query is written as an expression; a pass moves filters below joins, so
that fewer rows are joined; the Python VM runs the plan. Nothing is imported but the standard library and treadle.graph.

    python examples/reuse_graph_core.py
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from treadle.graph import FunctionGraph, Op, Type, Variable, debugprint, static_op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply

Table = tuple[tuple[Any, ...], ...]


class TableType(Type):
    """Tables with named columns."""

    __props__ = ("columns",)

    def __init__(self, *columns: str) -> None:
        self.columns = columns

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Table:
        """Return the rows as a tuple of tuples, each as long as there are columns."""
        del strict, allow_downcast
        rows = tuple(tuple(row) for row in data)
        for row in rows:
            if len(row) != len(self.columns):
                msg = f"{self}: rows of {len(self.columns)} values are needed, got {row!r}. Give one for each column."
                raise TypeError(msg)
        return rows

    def position(self, column: str) -> int:
        """Return where a column stands."""
        if column not in self.columns:
            msg = f"{self}: there is no column {column!r}. Choose one of {', '.join(self.columns)}."
            raise ValueError(msg)
        return self.columns.index(column)

    def __str__(self) -> str:
        return f"Table({', '.join(self.columns)})"


@static_op
class Where(Op):
    """The rows that have a value in a column."""

    column: str
    value: Any

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the table's own type, once the column is known to exist."""
        (table,) = types
        assert_table(table).position(self.column)
        return [table]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Keep the rows that match."""
        at = assert_table(node.inputs[0].type).position(self.column)
        output_storage[0][0] = tuple(row for row in inputs[0] if row[at] == self.value)


@static_op
class Join(Op):
    """Each row of the first table beside each row of the second that has the same value in the column ``on``."""

    on: str

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the type of all columns, the shared one once."""
        left, right = map(assert_table, types)
        left.position(self.on)
        right.position(self.on)
        return [TableType(*left.columns, *(name for name in right.columns if name != self.on))]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Look the second table's rows up by their value in the shared column."""
        left, right = (assert_table(x.type).position(self.on) for x in node.inputs)
        matches: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
        for row in inputs[1]:
            matches[row[right]].append(row[:right] + row[right + 1 :])
        output_storage[0][0] = tuple(row + other for row in inputs[0] for other in matches[row[left]])


@static_op
class Select(Op):
    """Some of the columns, in the order given."""

    columns: tuple[str, ...]

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the type of the chosen columns."""
        for name in self.columns:
            assert_table(types[0]).position(name)
        return [TableType(*self.columns)]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Pick the columns out of each row."""
        kind = assert_table(node.inputs[0].type)
        places = [kind.position(name) for name in self.columns]
        output_storage[0][0] = tuple(tuple(row[i] for i in places) for row in inputs[0])


def assert_table(kind: Type) -> TableType:
    """Return a type that must be a table's."""
    if not isinstance(kind, TableType):
        msg = f"query: a table is needed, got a variable of type {kind}. Pass a variable of a TableType."
        raise TypeError(msg)
    return kind


def push_filters_down(plan: FunctionGraph) -> int:
    """Replace where(join(a, b)) by join(where(a), b) or join(a, where(b)), as often as possible; return how often."""
    moved = 0
    waiting = [node.outputs[0] for node in plan.toposort()]
    while waiting:
        rows = waiting.pop()
        node = rows.owner
        below = None if node is None else node.inputs[0].owner
        if node is None or below is None or not isinstance(node.op, Where) or not isinstance(below.op, Join):
            continue
        sides: list[Variable] = list(below.inputs)
        for i, side in enumerate(sides):
            if node.op.column in assert_table(side.type).columns:
                sides[i] = node.op(side)
                waiting.append(sides[i])
        plan.replace(rows, below.op(*sides), reason="push_filters_down")
        moved += 1
    return moved


def main() -> None:
    """Write a query, improve its plan, show both, and run them."""
    people = TableType("person", "city")("people")
    cities = TableType("city", "country")("cities")
    orders = TableType("person", "item")("orders")
    everything = Join("city")(Join("person")(people, orders), cities)
    query = Select(("person", "item"))(Where("country", "Chile")(everything))

    plan = FunctionGraph([people, cities, orders], [query], clone=True)
    print("As written:")
    debugprint(plan, print_type=True)
    moved = push_filters_down(plan)
    print(f"\nAfter {moved} filters moved below joins:")
    debugprint(plan, print_type=True)

    tables: dict[str, Table] = {
        "people": (("Ana", "Lima"), ("Bo", "Oslo"), ("Cruz", "Arica"), ("Dina", "Arica")),
        "cities": (("Lima", "Peru"), ("Oslo", "Norway"), ("Arica", "Chile")),
        "orders": (("Cruz", "tea"), ("Bo", "ink"), ("Cruz", "rice"), ("Dina", "salt")),
    }
    found = plan.outputs[0].eval(tables)
    if found != query.eval(tables):
        msg = f"the pass changed the answer: {found!r}"
        raise SystemExit(msg)
    print("\nThe answer:")
    for row in found:
        print(" ", *row)


if __name__ == "__main__":
    main()
