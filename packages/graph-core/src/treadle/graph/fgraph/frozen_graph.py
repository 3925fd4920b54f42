"""FrozenFunctionGraph: a graph that cannot be changed, and compares by what it computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from treadle.graph.algorithms.clone import clone_get_equiv
from treadle.graph.errors import GraphTypeError, GraphValueError
from treadle.graph.fgraph.abstract_graph import AbstractFunctionGraph
from treadle.graph.fgraph.function_graph import FunctionGraph
from treadle.graph.ir.encoding import tagged
from treadle.graph.ir.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.graph.fgraph.structure import Client
    from treadle.graph.ir.apply import Apply


def _refuse(*args: object, **kwargs: object) -> NoReturn:
    del args, kwargs
    msg = "FrozenFunctionGraph: the graph cannot be changed. Change the copy that its unfreeze() returns."
    raise GraphTypeError(msg)


class FixedList(list[Variable]):
    """A list of a frozen graph's variables, which refuses to be changed."""

    __slots__ = ()

    append = extend = insert = remove = pop = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse


class FrozenFunctionGraph(AbstractFunctionGraph):
    """A graph between inputs and outputs that cannot be changed.

    Two of them are equal, and have the same hash, if they compute the same in the same way, inputs matched by
    position; so are ops that have equal ones among their static parameters. `FunctionGraph.freeze` makes one, and
    `unfreeze` returns a graph that can be changed. Its variables are its own: copies of those given.

    Parameters
    ----------
    inputs, outputs
        The graph to copy; the inputs must be different variables.

    Raises
    ------
    MissingInputError
        If an output depends on a variable that is not given.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> FrozenFunctionGraph([x], [x + 1]) == FrozenFunctionGraph([y], [y + 1])
    True
    """

    __slots__ = ("_graph", "_hash", "_key", "_order")

    _graph: FunctionGraph
    _hash: int | None
    _key: tuple[Any, ...] | None
    _order: tuple[Apply, ...]

    def __init__(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
        graph = FunctionGraph(inputs, outputs)
        for node in graph.apply_nodes:
            node.inputs, node.outputs = FixedList(node.inputs), FixedList(node.outputs)
        set_field = object.__setattr__
        set_field(self, "_graph", graph)
        set_field(self, "_order", tuple(graph.toposort()))
        set_field(self, "_key", None)
        set_field(self, "_hash", None)

    def __setattr__(self, name: str, value: object) -> None:
        _refuse()

    def __delattr__(self, name: str) -> None:
        _refuse()

    add_input = remove_input = add_output = remove_output = remove_node = import_var = import_node = _refuse
    change_node_input = replace = replace_all = attach_feature = remove_feature = _refuse

    # What is in the graph

    @property
    def inputs(self) -> tuple[Variable, ...]:  # type: ignore[override]  # cannot be set
        """Its inputs."""
        return tuple(self._graph.inputs)

    @property
    def outputs(self) -> tuple[Variable, ...]:  # type: ignore[override]  # cannot be set
        """Its outputs."""
        return tuple(self._graph.outputs)

    @property
    def apply_nodes(self) -> frozenset[Apply]:
        """The nodes."""
        return frozenset(self._order)

    @property
    def variables(self) -> frozenset[Variable]:
        """Inputs, orphans (constants) and what the nodes compute."""
        return frozenset(self._graph.variables)

    @property
    def clients(self) -> Mapping[Variable, tuple[Client, ...]]:  # type: ignore[override]  # cannot be set
        """The users of every variable of the graph; a copy."""
        return {var: tuple(clients) for var, clients in self._graph.clients.items()}

    def get_clients(self, var: Variable) -> list[Client]:
        """Return the users of a variable as pairs (node, input position); an output's node has the op `Output`."""
        return self._graph.get_clients(var)

    def toposort(self) -> list[Apply]:
        """Return the nodes, every node after those it needs."""
        return list(self._order)

    def __contains__(self, item: object) -> bool:
        return item in self._graph

    def __len__(self) -> int:
        return len(self._order)

    # Use

    def unfreeze(self) -> FunctionGraph:
        """Return a copy that can be changed."""
        return FunctionGraph(self.inputs, self.outputs)

    def freeze(self) -> FrozenFunctionGraph:
        """Return the graph itself."""
        return self

    def clone(self, check_integrity: bool = False) -> FrozenFunctionGraph:
        """Return the graph itself: it never changes."""
        return self

    def clone_get_equiv(
        self, check_integrity: bool = False, attach_feature: bool = False
    ) -> tuple[FunctionGraph, dict[Any, Any]]:
        """Return a copy that can be changed, and a mapping from this graph's variables and nodes to the copy's."""
        equiv = clone_get_equiv(self.inputs, self.outputs)
        new = FunctionGraph([equiv[v] for v in self.inputs], [equiv[v] for v in self.outputs], clone=False)
        if check_integrity:
            new.check_integrity()
        return new, equiv

    def bind(self, replacements: Mapping[Variable, Variable] | Iterable[Variable]) -> list[Variable]:
        """Return the outputs, computed from other variables by new nodes, which can be changed.

        Parameters
        ----------
        replacements
            A variable for each input: by input, or in their order. Inputs that are left out of a mapping stay.

        Raises
        ------
        GraphValueError
            If there is not one for each input, or something else than an input is replaced.
        """
        if not isinstance(replacements, Mapping):
            variables = list(replacements)
            if len(variables) != len(self.inputs):
                msg = (
                    f"bind: the graph has {len(self.inputs)} inputs, got {len(variables)} variables. Pass one for each."
                )
                raise GraphValueError(msg)
            replacements = dict(zip(self.inputs, variables, strict=True))
        pairs: dict[Variable, Variable] = dict(replacements)
        for old in pairs:
            if not self._graph.is_given(old):
                names = ", ".join(map(str, self.inputs))
                msg = f"bind: {old} is no input of the graph. Replace its inputs only: {names}."
                raise GraphValueError(msg)
        # Nodes that no replacement reaches are copied too: the caller may change them.
        for node in self._order:
            new = node.clone_with_new_inputs([pairs.get(x, x) for x in node.inputs])
            pairs.update(zip(node.outputs, new.outputs, strict=True))
        return [pairs.get(out, out) for out in self.outputs]

    # Identity

    def _signature(self) -> tuple[object, ...]:
        """Return what the graph computes as a flat tuple of ops, types and numbers, equal for equal graphs."""
        key = self._key
        if key is None:
            key = _signature(self.inputs, self.outputs, self._order)
            object.__setattr__(self, "_key", key)
        return key

    def canonical(self) -> bytes:
        """Return the canonical encoding (see `treadle.graph.ir.encoding`)."""
        return tagged("G", self.stable_key().encode())

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, FrozenFunctionGraph) and self._signature() == other._signature()

    def __hash__(self) -> int:
        value = self._hash
        if value is None:
            value = hash(self._signature())
            object.__setattr__(self, "_hash", value)
        return value

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle outputs first: they bring the whole graph along in one record."""
        return _thaw, (list(self.outputs), list(self.inputs))


def _thaw(outputs: list[Variable], inputs: list[Variable]) -> FrozenFunctionGraph:
    return FrozenFunctionGraph(inputs, outputs)


def _signature(inputs: Sequence[Variable], outputs: Sequence[Variable], order: Iterable[Apply]) -> tuple[object, ...]:
    number: dict[Variable, object] = {var: i for i, var in enumerate(inputs)}
    written: dict[object, int] = {}
    parts: list[object] = [var.type for var in inputs]

    def part_of(var: Variable) -> Any:
        place = number.get(var)
        if place is None:
            place = number[var] = _atom(var)
        return place

    for node in order:
        text = (node.op, tuple(part_of(x) for x in node.inputs), tuple(out.type for out in node.outputs))
        count = len(written)
        first = written.setdefault(text, count)
        if first == count:
            parts.append(text)
        for i, out in enumerate(node.outputs):
            number[out] = ("result", first, i)
    return (*parts, *(part_of(out) for out in outputs))


def _atom(var: Variable) -> object:
    """Return the part of a signature for a variable without owner: a constant's value, or else the variable."""
    if isinstance(var, Constant):
        try:
            return var.signature()
        except GraphTypeError:
            pass
    return var


FunctionGraph.frozen_kind = FrozenFunctionGraph
