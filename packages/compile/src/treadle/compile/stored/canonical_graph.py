"""The graph of a function before rewriting, in an order that is the same for all equal graphs."""

from __future__ import annotations

import marshal
from array import array
from typing import TYPE_CHECKING, Any

from treadle.cache import SOURCES, digest
from treadle.compile.stored.code_text import UndigestibleError
from treadle.compile.stored.user_code import Definitions
from treadle.config import text_of
from treadle.graph import Constant, GraphTypeError, HasInnerGraph, encode, toposort

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.compile.functions.specification import Specification
    from treadle.graph import Apply, Container, Op, Type, UserLine, Variable


class CanonicalGraph:
    """What a specification computes: nodes, constants and cells by position, and a digest of it all.

    Two specifications have equal digests exactly if their graphs are equal up to names and lines; what is at one
    position in the one corresponds to what is there in the other.
    """

    def __init__(self, specification: Specification) -> None:
        inputs = [*(i.variable for i in specification.inputs), *specification.shared]
        outputs = [*(o.variable for o in specification.outputs), *(new for _, new in specification.updates)]
        self.inputs: list[Variable] = inputs
        self.nodes: list[Apply] = toposort(outputs, inputs)
        self.constants: list[Constant] = []  # in the order in which the nodes use them
        self.cells: list[Container | None] = specification.cells()  # of inputs' values: defaults and state
        self._numbers: dict[Variable, int] = {}
        self._types: dict[Type, int] = {}
        self._type_numbers: dict[int, int] = {}
        self._ops: dict[int, int] = {}
        self._distinct: list[Op | type] = []
        self._leaf_types: list[int] = []
        self._op_texts: dict[bytes, int] = {}
        self._quick: dict[tuple[type, bytes], int] = {}
        try:
            self._structure = self._write(outputs)
            # Encodings of ops and types, which name the classes and functions that these stand for.
            self.code: list[bytes] = [*self._op_texts, *(encode(kind) for kind in self._types)]
            self._values = [_value_text(c) for c in self.constants]
            self._definitions = self._defined()
        except GraphTypeError as error:
            raise UndigestibleError(str(error)) from error

    def digest(self) -> str:
        """Return a digest of structure, ops, types and constants."""
        counts = f"{len(self._op_texts)} {len(self._types)} {len(self.constants)}"
        return digest(counts, self._structure, *self.code, *self._values, *self._definitions)

    def _defined(self) -> list[str]:
        """Return texts of what the user defined: classes of ops, types and values, and functions that these hold."""
        definitions = Definitions()
        # Arrays are of no class of the user's, and there may be many.
        values = (c.data for c in self.constants if not hasattr(c.data, "nbytes"))
        definitions.add([*self._distinct, *self._types, *values])
        self.modules = definitions.modules  # that the user's definitions use
        return definitions.texts()

    def _write(self, outputs: Sequence[Variable]) -> bytes:
        """Return the structure as numbers: of each node its op, its inputs, and its outputs with their types."""
        numbers, ops, types = self._numbers, self._ops, self._type_numbers
        text: list[int] = []
        add = text.append
        for var in self.inputs:
            add(numbers.setdefault(var, len(numbers)))
            add(self._number_type(var.type))
        add(-1)
        for node in self.nodes:
            op, inputs, results = node.op, node.inputs, node.outputs
            number = ops.get(id(op))
            add(self._number_op(op) if number is None else number)
            add(len(inputs))
            for var in inputs:
                number = numbers.get(var)
                add(self._number_leaf(var) if number is None else number)
            add(len(results))
            for var in results:
                # An output that is an input of the graph as well has its number already.
                add(numbers.setdefault(var, len(numbers)))
                number = types.get(id(var.type))
                add(self._number_type(var.type) if number is None else number)
        add(-2)
        for var in outputs:
            number = numbers.get(var)
            add(self._number_leaf(var) if number is None else number)
        add(-3)
        text += self._leaf_types
        return array("q", text).tobytes()

    def _number_type(self, kind: Type) -> int:
        try:
            number = self._types.setdefault(kind, len(self._types))
        except TypeError as error:
            msg = f"compile cache: {text_of(kind, str)} is a type that cannot be hashed ({error})."
            raise UndigestibleError(msg) from error
        self._type_numbers[id(kind)] = number
        return number

    def _number_op(self, op: Op) -> int:
        quick = _quick_text(op)
        number = None if quick is None else self._quick.get(quick)
        if number is None:
            # A user's op may hold more than its parameters.
            self._distinct.append(op if quick is None or SOURCES.is_users(type(op).__module__) else type(op))
            number = self._op_texts.setdefault(op.canonical(), len(self._op_texts))
            if quick is not None:
                self._quick[quick] = number
        self._ops[id(op)] = number
        return number

    def _number_leaf(self, var: Variable) -> int:
        if not isinstance(var, Constant):
            msg = f"compile cache: {var} of type {var.type} is neither an input nor a constant."
            raise UndigestibleError(msg)
        number = self._numbers[var] = len(self._numbers)
        self._leaf_types.append(self._number_type(var.type))
        self.constants.append(var)
        return number

    # Where things come from

    def lines(self) -> list[UserLine | None]:
        """Return the user's line of each node, then those of the nodes of inner graphs."""
        return [node.user_line for node in (*self.nodes, *inner_nodes(self.nodes))]

    def names(self) -> list[str | None]:
        """Return the name of each variable that nodes compute."""
        return [out.name for node in self.nodes for out in node.outputs]


_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes})
# Constants of at least so many bytes remember their digest.
_LARGE = 4096


def _value_text(constant: Constant) -> bytes:
    """Return an encoding of a constant's value, given its type."""
    if getattr(constant.data, "nbytes", 0) >= _LARGE:
        return constant.signature()
    return encode(constant.data)


def _quick_text(op: Op) -> tuple[type, bytes] | None:
    """Return a text that is equal only for equal ops and quickly made; None for an op whose parameters allow none.

    Graphs hold many ops that are equal and yet objects of their own; their encodings take ten times as long.
    """
    state = vars(op)
    if "_canonical" in state:
        return None
    # Arrays, and NumPy's numbers, would be written without their dtype and shape.
    parameters = {name: value for name, value in state.items() if name != "_hash"}
    return (type(op), marshal.dumps(parameters)) if all(map(_is_plain, parameters.values())) else None


def _is_plain(value: Any) -> bool:
    kind = type(value)
    return kind in _ATOMS or (kind is tuple and all(map(_is_plain, value)))


def inner_nodes(nodes: Iterable[Apply]) -> list[Apply]:
    """Return the nodes of the graphs inside ops, at every depth, the outer ones first."""
    nodes_inside: list[Apply] = []
    seen: set[int] = set()
    pending = _inner_graphs(nodes, seen)
    while pending:
        graph = pending.pop(0)
        inside = toposort(graph.inner_outputs, graph.inner_inputs)
        nodes_inside += inside
        pending += _inner_graphs(inside, seen)
    return nodes_inside


def _inner_graphs(nodes: Iterable[Apply], seen: set[int]) -> list[HasInnerGraph]:
    graphs: list[HasInnerGraph] = []
    for node in nodes:
        if isinstance(node.op, HasInnerGraph) and id(node.op) not in seen:
            seen.add(id(node.op))
            graphs.append(node.op)
    return graphs
