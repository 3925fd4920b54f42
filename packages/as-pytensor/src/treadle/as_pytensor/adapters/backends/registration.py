"""The documented way to say what an op is on a backend: a function registered for its type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, overload

from treadle.graph import FunctionGraph, Op, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from treadle.graph import Apply, LoweringTable


# What computes values of a backend: a function that its library compiles or traces.
Function: TypeAlias = "Callable[..., Any]"


class Rule(Protocol):
    """Returns what computes a node, as ``rule(op, node=node, **kwargs)``."""

    def __call__(self, op: Op, *, node: Apply, **kwargs: object) -> Function:
        """Return a function of the values of the node's inputs."""


class Registered:
    """The rules that were registered for a backend, by type of op. Like a generic function, it is called and added to.

    A rule takes the place of treadle's own, and of one that was registered before.
    """

    def __init__(self, name: str, table: LoweringTable) -> None:
        self.__name__ = name
        self._table = table
        self._rules: dict[type, Rule] = {}

    @property
    def registry(self) -> Mapping[type, Rule]:
        """The rules that were registered, by type."""
        return dict(self._rules)

    @overload
    def register(self, op_type: type, rule: Rule) -> Rule: ...
    @overload
    def register(self, op_type: type, rule: None = None) -> Callable[[Rule], Rule]: ...

    def register(self, op_type: type, rule: Rule | None = None) -> Rule | Callable[[Rule], Rule]:
        """Make a function the rule of a type of ops; without one, return a decorator that does."""
        if rule is None:
            return lambda function: self.register(op_type, function)
        self._rules[op_type] = rule
        if issubclass(op_type, Op):
            self._table.register(op_type, replace=True)(self.lowering(rule))
        elif not hasattr(op_type, "toposort"):
            self.register_scalar(op_type, rule)
        return rule

    def dispatch(self, op_type: type) -> Rule | None:
        """Return the rule that was registered for a type, or for the nearest of its bases; None if there is none."""
        return next((self._rules[base] for base in op_type.__mro__ if base in self._rules), None)

    def of_scalar(self, op: object) -> Rule | None:
        """Return the rule of the type of a scalar op, which may be another than its class."""
        kinds = (kind for kind in reversed(self._rules) if not issubclass(kind, Op))
        return next((self._rules[kind] for kind in kinds if isinstance(op, kind)), None)

    def lowering(self, rule: Rule) -> Function:
        """Return the rule as treadle's table of lowerings takes it."""
        raise NotImplementedError

    def register_scalar(self, op_type: type, rule: Rule) -> None:
        """Let what a rule returns compute the elements of scalar ops of a type."""
        raise NotImplementedError

    def of_graph(self, fgraph: FunctionGraph) -> Function:
        """Return a graph as a function of the backend."""
        raise NotImplementedError

    def __call__(self, op: Any, node: Apply | None = None, **kwargs: object) -> Function:
        """Return an op of a node, or a whole graph, as a function of the backend.

        Raises
        ------
        NotImplementedError
            If the backend has nothing for the op.
        """
        if hasattr(op, "toposort"):
            return self.of_graph(op if isinstance(op, FunctionGraph) else op.unfreeze())
        rule = self.dispatch(type(op)) or self.of_scalar(op)
        if rule is not None:
            return rule(op, node=node, **kwargs)  # type: ignore[arg-type]  # a rule may do without a node
        if node is None:
            msg = f"{self.__name__}: {op} is given without a node, which says of what types its inputs are. Pass node."
            raise Unsupported(msg)
        inputs = [v.type.make_variable() for v in node.inputs]
        function = self.of_graph(FunctionGraph(inputs, op.make_node(*inputs).outputs, clone=False))
        return self.single(function) if len(node.outputs) == 1 else function

    def single(self, function: Function) -> Function:
        """Return the only result of a function by itself."""
        return lambda *values: function(*values)[0]
