"""LoweringTable: what one backend knows about each op type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from treadle.config import discover
from treadle.graph.errors import DuplicateRegistrationError, LoweringError
from treadle.graph.publication import Publication

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from treadle.graph.apply import Apply
    from treadle.graph.op import Op

Rule = Any
R = TypeVar("R", bound="Callable[..., Any]")


class LoweringTable:
    """Rules of one backend, by op type; looked up along the bases of the type.

    Rules of third parties are found through the entry-point group ``treadle.lowerings.<backend>``: each entry is a
    function that takes the table and registers rules in it. They are loaded at the first lookup.

    Parameters
    ----------
    backend
        Name of the backend, for messages and for the entry-point group.
    """

    __slots__ = ("_published", "_rules", "backend", "scope")

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self._rules: dict[type, Rule] = {}
        self._published = Publication(lambda: discover(f"treadle.lowerings.{backend}"), lambda register: register(self))
        # A context that programs of this backend run in, if a package's values need one.
        self.scope: Callable[[], AbstractContextManager[None]] | None = None

    def register(self, *op_types: type[Op]) -> Callable[[R], R]:
        """Return a decorator that makes a function the rule of the op types.

        Raises
        ------
        DuplicateRegistrationError
            If one of them has a rule already.
        """

        def decorate(rule: R) -> R:
            for op_type in op_types:
                if op_type in self._rules:
                    old = self._rules[op_type]
                    msg = (
                        f"{self.backend}: {op_type.__name__} has a lowering already, "
                        f"{old.__module__}.{old.__qualname__}. Remove one of the two."
                    )
                    raise DuplicateRegistrationError(msg)
                self._rules[op_type] = rule
            return rule

        return decorate

    def load(self) -> None:
        """Let installed packages register their rules, once."""
        self._published.load()

    def find(self, op: Op) -> Rule | None:
        """Return the rule for an op, or None."""
        self.load()
        for base in type(op).__mro__:
            rule = self._rules.get(base)
            if rule is not None:
                return rule
        return None

    def op_types(self) -> list[type]:
        """Return the op types that have a rule of their own."""
        self.load()
        return list(self._rules)

    def missing(self, nodes: Iterable[Apply]) -> list[Apply]:
        """Return the nodes that no rule covers."""
        return [node for node in nodes if self.find(node.op) is None]

    def check(self, nodes: Iterable[Apply]) -> None:
        """Refuse a graph with nodes that no rule covers, listing all of them.

        Raises
        ------
        LoweringError
            If there is such a node.
        """
        gaps = self.missing(nodes)
        if gaps:
            raise missing_lowerings(self.backend, [(node, "") for node in gaps])


def missing_lowerings(backend: str, gaps: Iterable[tuple[Apply, str]]) -> LoweringError:
    """Return the error that lists every node a backend cannot lower, each with a reason (or an empty one)."""
    lines = [
        f"  {node.op} of {', '.join(str(x.type) for x in node.inputs)}{node.where()}{f': {why}' if why else ''}"
        for node, why in gaps
    ]
    names = ", ".join(sorted({type(node.op).__name__ for node, _ in gaps}))
    msg = f"{backend}: no lowering for\n" + "\n".join(lines) + f"\nRegister a rule for {names}, or pick another mode."
    return LoweringError(msg)
