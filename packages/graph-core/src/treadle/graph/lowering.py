"""LoweringTable: the rules of one backend by op type. `expand`: ops without a rule, in simpler ones."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from treadle.config import discover, text_of
from treadle.graph.algorithms.traversal import toposort
from treadle.graph.diagnostics.failure import note_op
from treadle.graph.errors import DuplicateRegistrationError, GraphTypeError, LoweringError, MissingInputError
from treadle.graph.fgraph.features.destroy_handler import DestroyHandler
from treadle.graph.ir.composition import composing
from treadle.graph.ir.inner_graph import HasInnerGraph
from treadle.graph.ir.op import Op
from treadle.graph.ir.plugins import PluginLoader
from treadle.graph.ir.type import Type
from treadle.graph.ir.variable import Constant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from treadle.graph.fgraph.function_graph import FunctionGraph
    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.variable import Variable

Rule = Any
T = TypeVar("T")
R = TypeVar("R", bound="Callable[..., Any]")


class RegistrationTable(Protocol):
    """A table that programs of a backend depend on, and that others may register in."""

    backend: str
    # The module that holds or fills the table: what its package registers is the backend's own.
    module: str

    def added(self) -> Sequence[tuple[type, object]]:
        """Return the rules that others registered, each with its type of ops."""


class LoweringTable:
    """Rules of one backend, by op type; looked up along the bases of the type.

    Rules of other packages are found through the entry-point group ``treadle.lowerings.<backend>``: each entry is a
    function that takes the table and registers rules in it, or a module that registers them when it is imported. They
    are loaded at the first lookup.

    Parameters
    ----------
    backend
        Name of the backend, for messages and for the entry-point group.
    load
        Imports the modules that register the backend's own rules; called once, at the first lookup.
    beside
        A table of rules that several backends share, and a function that makes a rule of this backend of one of them.
        They are used for types of ops that have no rule here.
    """

    __slots__ = (
        "__weakref__", "_adapted", "_added", "_beside", "_checks", "_published", "_rules", "backend", "module", "scope",
    )  # fmt: skip

    # All tables in use, those that other packages make for backends included.
    tables: ClassVar[weakref.WeakSet[RegistrationTable]] = weakref.WeakSet()

    def __init__(
        self,
        backend: str,
        load: Callable[[], object] = tuple,
        beside: tuple[LoweringTable, Callable[[Rule], Rule]] | None = None,
    ) -> None:
        self.backend = backend
        self._beside = beside
        # Rules of the other table, by type, as this backend's.
        self._adapted: dict[type, tuple[Rule, Rule]] = {}
        # The module that the table was made in: the backend's own rules are in its package.
        self.module: str = sys._getframe(1).f_globals.get("__name__", "")
        self._added: list[tuple[type, Rule]] = []
        LoweringTable.tables.add(self)
        self._rules: dict[type, Rule] = {}
        self._checks: dict[type, Callable[[Any, Any], object]] = {}
        self._published = PluginLoader(
            lambda: (load(), discover(f"treadle.lowerings.{backend}"))[1],
            lambda published: published(self) if callable(published) else None,
        )
        # A context that programs of this backend run in, if a package's values need one.
        self.scope: Callable[[], AbstractContextManager[None]] | None = None

    def register(
        self, *op_types: type[Op], check: Callable[[Any, Any], object] | None = None, replace: bool = False
    ) -> Callable[[R], R]:
        """Return a decorator that makes a function the rule of the op types.

        Parameters
        ----------
        op_types
            The types.
        check
            Called as ``check(op, node)`` before a node is lowered: raises `Unsupported` for what the rule does not
            take, which is then expanded into simpler ops or listed with its reason.
        replace
            Whether the rule takes the place of one that there is, with its check. The backend's own rules are loaded
            first.

        Raises
        ------
        DuplicateRegistrationError
            If one of them has a rule already, and `replace` is False.
        """

        def decorate(rule: R) -> R:
            if replace:
                self.load()
            for op_type in op_types:
                if replace:
                    self._checks.pop(op_type, None)
                    self._added[:] = [entry for entry in self._added if entry[0] is not op_type]
                elif op_type in self._rules:
                    old = self._rules[op_type]
                    msg = (
                        f"{self.backend}: {op_type.__name__} has a lowering already, "
                        f"{old.__module__}.{old.__qualname__}. Remove one of the two."
                    )
                    raise DuplicateRegistrationError(msg)
                self._rules[op_type] = rule
                if check is not None:
                    self._checks[op_type] = check
                if not self.is_loading:
                    self._added.append((op_type, rule))
            return rule

        return decorate

    @property
    def is_loading(self) -> bool:
        """Whether the backend and installed packages register their rules now."""
        return self._published.is_loading

    def load(self, *, everything: bool = False) -> None:
        """Let the backend and installed packages register their rules, once.

        Rules of packages whose ops nobody has imported are left out, unless `everything` is asked for.
        """
        self._published.load(everything=everything)
        if self._beside is not None:
            self._beside[0].load(everything=everything)

    def find(self, op: Op) -> Rule | None:
        """Return the rule for an op, or None."""
        self.load()
        for base in type(op).__mro__:
            rule = self._rules.get(base) or self._shared(base)
            if rule is not None:
                return rule
        return None

    def _shared(self, op_type: type) -> Rule | None:
        """Return the rule for a type that the other table has, as one of this backend."""
        if self._beside is None:
            return None
        table, adapt = self._beside
        rule = table._rules.get(op_type)
        if rule is None:
            return None
        known = self._adapted.get(op_type)
        if known is None or known[0] is not rule:
            known = self._adapted[op_type] = rule, adapt(rule)
        return known[1]

    def added(self) -> list[tuple[type, Rule]]:
        """Return op types and rules that were registered outside of entry points; nothing is loaded for it."""
        return list(self._added)

    def op_types(self) -> list[type]:
        """Return the op types that have a rule of their own."""
        self.load(everything=True)
        shared = () if self._beside is None else self._beside[0]._rules
        return [*self._rules, *(op_type for op_type in shared if op_type not in self._rules)]

    def rule(self, node: Apply) -> Rule:
        """Return the rule for a node's op.

        Raises
        ------
        Unsupported
            If there is none, or it does not take the node.
        """
        rule = self.find(node.op)
        if rule is None:
            raise Unsupported
        for checks in (self._checks, {} if self._beside is None else self._beside[0]._checks):
            for check in (checks[base] for base in type(node.op).__mro__ if base in checks):
                check(node.op, node)
        return rule

    def lower(
        self, nodes: Iterable[Apply], lower: Callable[[Apply], T], gaps: Iterable[tuple[Apply, Unsupported]] = ()
    ) -> dict[Apply, T]:
        """Return the result of a function for each node.

        Parameters
        ----------
        nodes
            The nodes.
        lower
            Called with each; it raises `Unsupported` for a node that cannot be lowered, and another `LoweringError`
            for one with a graph inside whose nodes cannot be: these are listed in its place.
        gaps
            Nodes that are known not to be, and why.

        Raises
        ------
        LoweringError
            If there are nodes that cannot be lowered: it lists all of them, each once.
        """
        lowered = {}
        refused = list(gaps)
        for node in nodes:
            try:
                lowered[node] = lower(node)
            except Unsupported as refusal:
                refused.append((node, refusal))
            except LoweringError as error:
                if not error.gaps:
                    raise
                refused += error.gaps
        if refused:
            raise _listing(self.backend, refused)
        return lowered

    def check(self, nodes: Iterable[Apply]) -> None:
        """Refuse a graph with nodes that no rule covers, listing all of them.

        Raises
        ------
        LoweringError
            If there is such a node.
        """
        self.lower(nodes, self.rule)


class Unsupported(LoweringError):  # noqa: N818 - a rule's answer, which is collected with those of other nodes
    """A backend cannot lower a node.

    Parameters
    ----------
    reason
        Why; empty where there is no rule for the op.
    remedy
        What to do about it, such as ``"register it in mybackend.SCALARS"``. To register a rule is advised where
        there is none, and to pick another mode always.

    Examples
    --------
    >>> str(Unsupported("strings have no form in C"))
    'strings have no form in C'
    """

    def __init__(self, reason: str = "", remedy: str = "") -> None:
        super().__init__(reason, remedy)
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        """Show the reason and the remedy."""
        return ". ".join(filter(None, (self.reason or "there is no rule for the op", self.remedy)))


def _listing(backend: str, gaps: Sequence[tuple[Apply, Unsupported]]) -> LoweringError:
    reasons: dict[Apply, dict[str, None]] = {}
    unruled: set[str] = set()
    remedies: dict[str, None] = {}
    for node, gap in gaps:
        reasons.setdefault(node, {})[gap.reason] = None
        if not gap.reason:
            unruled.add(type(node.op).__name__)
        # Nodes may share one of several remedies.
        remedies.update(dict.fromkeys(filter(None, gap.remedy.split(", or "))))
    lines = []
    for node, causes in reasons.items():
        why = "; ".join(filter(None, causes))
        types = f" of {', '.join(str(x.type) for x in node.inputs)}" if node.inputs else ""
        lines.append(f"  {node.op}{types}{node.where()}{f': {why}' if why else ''}")
    rules = [f"register a rule for {', '.join(sorted(unruled))}"] if unruled else []
    last = ", or ".join([*rules, *remedies, "pick another mode"])
    error = LoweringError(f"{backend}: no lowering for\n" + "\n".join(lines) + f"\n{last[0].upper()}{last[1:]}.")
    error.gaps = tuple(gaps)
    return error


def expand(fgraph: FunctionGraph, can_lower: Callable[[Apply], bool], *, whole: bool = False) -> FunctionGraph:
    """Return a graph in which what a backend cannot lower is given by simpler ops, where it can be (`Op.decompose`).

    Parameters
    ----------
    fgraph
        The graph; it is left as it is, and returned if nothing is to be replaced.
    can_lower
        Whether a backend lowers a node.
    whole
        Whether a node stays if the backend cannot lower all that its op decomposes into. Otherwise it is replaced in
        any case.

    Raises
    ------
    GraphTypeError
        If an op decomposes into something else than variables of the types of its node's outputs, or into itself.
    MissingInputError
        If it decomposes into what depends on other variables than the node's inputs.

    Examples
    --------
    >>> v = tt.dvector("v")
    >>> fgraph = treadle.graph.FunctionGraph([v], [tt.exp(v)])
    >>> len(expand(fgraph, lambda node: True).toposort())
    1
    """

    def is_expanded(node: Apply) -> bool:
        return type(node.op).decompose is not Op.decompose and not can_lower(node)

    if not any(map(is_expanded, fgraph.toposort())):
        return fgraph
    expanded = fgraph.clone()
    if any(node.op.destroy_map for node in expanded.apply_nodes):
        # What is read must still be read before it is overwritten, wherever the simpler ops come in the order.
        expanded.attach_feature(DestroyHandler())
    origins: dict[Apply, Apply] = {}
    # In order of evaluation: an op may look at the nodes that compute its inputs.
    pending = [node for node in reversed(expanded.toposort()) if is_expanded(node)]
    while pending:
        node = pending.pop()
        # A node that another one decomposed into was looked at with that one.
        if whole and node not in origins and not _is_lowered_inside(node, can_lower):
            continue
        decomposition = _decomposed(node, origins)
        if decomposition is None:
            continue
        simpler, inside = decomposition
        expanded.replace_all(zip(node.outputs, simpler, strict=True), reason="expand")
        pending += [inner for inner in inside if is_expanded(inner)]
    return expanded


def _is_lowered_inside(node: Apply, can_lower: Callable[[Apply], bool]) -> bool:
    """Whether a backend can lower all that a node decomposes into."""
    origins: dict[Apply, Apply] = {}
    pending = [node]
    while pending:
        inner = pending.pop()
        if not can_lower(inner):
            decomposition = _decomposed(inner, origins)
            if decomposition is None:
                return False
            pending += decomposition[1]
    return True


# An op that decomposes into itself with other parameters, or for other types, comes to an end within this many steps.
_MOST_STEPS = 1000


def _decomposed(node: Apply, origins: dict[Apply, Apply]) -> tuple[list[Variable], list[Apply]] | None:
    """Return a node's outputs in simpler ops, and the nodes of these, or None.

    `origins` maps nodes to those that decomposed into them; the nodes returned are entered.
    """
    op = node.op
    try:
        with composing():
            outputs: object = op.decompose(*node.inputs)
            if outputs is None:
                return None
            simpler = (
                list(outputs) if isinstance(outputs, Iterable) and not isinstance(outputs, Type.variable_type) else None
            )
    except Exception as error:
        note_op(error, op, "decompose", node.where())
        raise
    types = [v.type for v in node.outputs]
    if simpler is None or not _are_of_types(simpler, types):
        msg = (
            f"{op}: decompose must return a list of variables of the types of the node's outputs, "
            f"[{', '.join(map(str, types))}], got {_shown(outputs if simpler is None else simpler)}{node.where()}. "
            "Return such a list."
        )
        raise GraphTypeError(msg)
    allowed = {*node.inputs, *(x for v in node.inputs if v.owner is not None for x in v.owner.inputs)}
    inside = toposort(simpler, allowed)
    for var in chain(simpler, *(inner.inputs for inner in inside)):
        if var.owner is None and not isinstance(var, Constant) and var not in allowed:
            msg = (
                f"{op}: decompose uses {var}, which is neither an input of the node nor a constant{node.where()}. "
                "Make it an input of the op."
            )
            raise MissingInputError(msg)
    outer = list(_lineage(node, origins))
    for inner in inside:
        input_types = [x.type for x in inner.inputs]
        repeated = any(inner.op == each.op and input_types == [x.type for x in each.inputs] for each in outer)
        if repeated or len(outer) > _MOST_STEPS:
            through = "".join(f" through {each.op}" for each in outer[:1] if each.op != inner.op)
            msg = (
                f"{inner.op}: it decomposes into itself{through}{node.where()}. Return simpler ops from decompose, or "
                "None."
            )
            raise GraphTypeError(msg)
        origins[inner] = node
        # The nodes of an inner graph have lines of their own, those where the user wrote it.
        if not isinstance(op, HasInnerGraph):
            inner.user_line = node.user_line
            inner.tag.part_of = getattr(node._tag, "part_of", op)
    return simpler, inside


def _lineage(node: Apply, origins: dict[Apply, Apply]) -> Iterator[Apply]:
    """Yield a node, the one that decomposed into it, and so on."""
    at: Apply | None = node
    while at is not None:
        yield at
        at = origins.get(at)


def _are_of_types(values: Sequence[object], types: Sequence[Type]) -> bool:
    return len(values) == len(types) and all(
        isinstance(v, Type.variable_type) and t.is_super(v.type) for v, t in zip(values, types, strict=True)
    )


def _shown(value: object) -> str:
    """Return the text of a value given instead of a list of variables; variables are shown by their types."""
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return str(value.type) if isinstance(value, Type.variable_type) else text_of(value)
