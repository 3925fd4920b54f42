"""Vectorising: the same graph for inputs with more leading dimensions, the batch.

What a leading dimension is depends on the types of values, so each op's package registers rules. A method
``vectorize_node(node, *inputs)`` of an op takes precedence.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from treadle.config import discover
from treadle.graph.algorithms.clone import replacement_pairs
from treadle.graph.algorithms.origins import carry_origins, origins
from treadle.graph.algorithms.traversal import toposort
from treadle.graph.diagnostics.failure import note_op
from treadle.graph.errors import DuplicateRegistrationError, GraphTypeError, GraphValueError, VectorizeError
from treadle.graph.ir.apply import Apply
from treadle.graph.ir.composition import composed
from treadle.graph.ir.plugins import PluginLoader
from treadle.graph.ir.variable import Variable, listed
from treadle.graph.ops.print_op import Print

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from treadle.graph.ir.op import Op
    from treadle.graph.ir.type import Type

    Completion = Callable[[Variable, Variable, Sequence[tuple[Variable, Variable]]], Variable]


class Vectorizer(Protocol):
    """A rule that builds a node for inputs of which some have more leading dimensions.

    It takes the op, the original node, and one input for each of the node's: the same variable, or one with more
    leading dimensions. It returns a node, a variable, or a sequence of as many variables as the node has outputs. A
    result that is the same for the whole batch may be left without batch dimensions. A rule that cannot be carried out
    for these inputs raises `VectorizeError` with the reason.
    """

    def __call__(self, op: Any, node: Apply, /, *inputs: Any) -> Apply | Variable | Sequence[Variable]:
        """Return the vectorised node or its outputs."""
        ...


K = TypeVar("K", bound=Variable)
V = TypeVar("V", bound=Variable)
R = TypeVar("R", bound="Callable[..., Apply | Variable | Sequence[Variable]]")
# A function that completes results of one type.
C = TypeVar("C", bound="Callable[..., Variable]")
T = TypeVar("T")


class VectorizerTable:
    """Rules by op type, looked up along the bases of the type; and how the results are completed, by type of value.

    Rules of installed packages are found through the entry-point group ``treadle.vectorizers``: each entry is a
    function that takes the table and registers rules in it. They are loaded at the first lookup.
    """

    __slots__ = ("_completions", "_defaults", "_published", "_rules")

    def __init__(self) -> None:
        self._rules: dict[type, Vectorizer] = {}
        self._defaults: dict[type, Vectorizer] = {}
        self._completions: dict[type, Completion] = {}
        self._published = PluginLoader(lambda: discover("treadle.vectorizers"), lambda register: register(self))

    @overload
    def register(self, *op_types: type[Op]) -> Callable[[R], R]: ...

    @overload
    def register(self, op_type: type[Op], rule: R, /) -> R: ...

    def register(self, *op_types: Any) -> Any:
        """Return a decorator that makes a function the rule of the op types (see `Vectorizer`).

        With a function as the last argument, that is made their rule, and returned.

        Raises
        ------
        DuplicateRegistrationError
            If one of them has a rule already.
        """
        if op_types and not isinstance(op_types[-1], type):
            return _registering(self._rules, op_types[:-1])(op_types[-1])
        return _registering(self._rules, op_types)

    def register_completion(self, kind: type[Type]) -> Callable[[C], C]:
        """Return a decorator that makes a function complete the results of a type: ``complete(old, new, replaced)``.

        It gives a result `new` that lacks batch dimensions those that it should have, by the pairs `replaced` of old
        and new inputs that the old result depends on.

        Raises
        ------
        DuplicateRegistrationError
            If the type has one already.
        """
        return _registering(self._completions, (kind,))

    def register_default(self, kind: type[Type]) -> Callable[[R], R]:
        """Return a decorator that makes a function the rule of ops without one, for nodes all of whose types are this.

        Raises
        ------
        DuplicateRegistrationError
            If the type has one already.
        """
        return _registering(self._defaults, (kind,))

    @property
    def registry(self) -> Mapping[type, Vectorizer]:
        """The rules by op type, as they are now."""
        self.load()
        return MappingProxyType(self._rules)

    def load(self) -> None:
        """Let installed packages register their rules, once."""
        self._published.load()

    def find(self, op: Op) -> Vectorizer | None:
        """Return the rule for an op: its own method, or the one registered for it, or None."""
        own = getattr(op, "vectorize_node", None)
        if own is not None:
            return lambda _, node, *inputs: own(node, *inputs)
        self.load()
        return next((self._rules[base] for base in type(op).__mro__ if base in self._rules), None)

    def rule(self, node: Apply) -> Vectorizer | None:
        """Return the rule for a node: that of its op, or that of its types, or None."""
        rule = self.find(node.op)
        if rule is None:
            types = [x.type for x in (*node.inputs, *node.outputs)]
            kinds = (kind for kind in self._defaults if all(isinstance(t, kind) for t in types))
            rule = next((self._defaults[kind] for kind in kinds), None)
        return rule

    def __call__(self, op: Op, node: Apply, *inputs: Variable) -> Apply | Variable | Sequence[Variable]:
        """Call the rule of an op for a node and other inputs (see `Vectorizer`).

        Raises
        ------
        VectorizeError
            If there is no rule, or it refuses these inputs.
        """
        rule = self.rule(node) if op is node.op else self.find(op)
        if rule is None:
            raise _no_rules([node])
        return rule(op, node, *inputs)

    def completion(self, kind: Type) -> Completion | None:
        """Return the function that completes results of a type, or None."""
        self.load()
        return next((self._completions[base] for base in type(kind).__mro__ if base in self._completions), None)

    def op_types(self) -> list[type]:
        """Return the op types that have a rule of their own."""
        self.load()
        return list(self._rules)


def _registering(table: dict[type, Any], keys: Iterable[type]) -> Callable[[T], T]:
    """Return a decorator that enters a function under the keys."""

    def decorate(function: T) -> T:
        for key in keys:
            if key in table:
                old = table[key]
                name = f"{getattr(old, '__module__', '?')}.{getattr(old, '__qualname__', old)}"
                msg = f"vectorizers: {key.__name__} has a rule already, {name}. Remove one of the two."
                raise DuplicateRegistrationError(msg)
            table[key] = function
        return function

    return decorate


VECTORIZERS = VectorizerTable()


def vectorize_node(node: Apply, *inputs: Variable) -> list[Variable]:
    """Return the outputs of a node for inputs of which some have more leading dimensions.

    Raises
    ------
    GraphValueError
        If the number of inputs, or of outputs that the rule returns, is wrong.
    VectorizeError
        If there is no rule for the op, or the rule refuses these inputs.

    Examples
    --------
    >>> v, m = tt.dvector("v"), tt.dmatrix("m")
    >>> (rows,) = vectorize_node(v[0].owner, m)
    >>> rows.eval({m: [[1.0, 2.0], [3.0, 4.0]]})
    array([1., 3.])
    """
    if len(inputs) != len(node.inputs):
        msg = f"{node.op}: the node has {len(node.inputs)} inputs, got {len(inputs)}. Give one for each."
        raise GraphValueError(msg)
    rule = VECTORIZERS.rule(node)
    if rule is None:
        raise _no_rules([node])
    try:
        result = rule(node.op, node, *inputs)
    except VectorizeError as error:
        msg = f"{node.op}: {str(error).rstrip('.')}{node.where()}."
        raise VectorizeError(msg) from error
    except Exception as error:
        note_op(error, node.op, "rule for vectorising", node.where())
        raise
    parts = result.outputs if isinstance(result, Apply) else result
    outputs = [parts] if isinstance(parts, Variable) else list(parts)
    if len(outputs) != len(node.outputs):
        msg = (
            f"{node.op}: its rule for vectorising returned {len(outputs)} outputs instead of "
            f"{len(node.outputs)}{node.where()}. Correct the rule."
        )
        raise GraphValueError(msg)
    for new in toposort(outputs, [*inputs, *node.inputs]):
        new.user_line = node.user_line
    for old_out, out in zip(node.outputs, outputs, strict=True):
        if out.name is None and out.owner is not None:
            out.name = old_out.name
    return outputs


def vectorize_unchanged(op: Op, node: Apply, *inputs: Variable) -> Apply:
    """Apply the op itself: the rule of ops that treat leading dimensions as a batch already."""
    del node
    return op.make_node(*inputs)


VECTORIZERS.register(Print)(vectorize_unchanged)


def _no_rules(nodes: Sequence[Apply]) -> VectorizeError:
    lines = [f"  {node.op} of {', '.join(str(x.type) for x in node.inputs)}{node.where()}" for node in nodes]
    names = ", ".join(sorted({type(node.op).__name__ for node in nodes}))
    msg = (
        "vectorize_graph: no rule for\n" + "\n".join(lines) + f"\nRegister one for {names} in VECTORIZERS, or define "
        "vectorize_node on the op."
    )
    return VectorizeError(msg)


@overload
@composed
def vectorize_graph(outputs: V, replace: Mapping[K, Variable] | Iterable[tuple[Variable, Variable]]) -> V: ...


@overload
def vectorize_graph(
    outputs: Sequence[V], replace: Mapping[K, Variable] | Iterable[tuple[Variable, Variable]]
) -> list[V]: ...


def vectorize_graph(
    outputs: Variable | Sequence[Variable], replace: Mapping[K, Variable] | Iterable[tuple[Variable, Variable]]
) -> Any:
    """Return the outputs for inputs that have more leading dimensions: each op is applied along these, the batch.

    What depends on none of the replaced variables stays as it is. The batch dimensions of several replacements are
    broadcast together, from the right, as NumPy does. Where memory allows, one vectorised graph is much faster than a
    loop over the batch.

    Parameters
    ----------
    outputs
        One variable, or a sequence.
    replace
        For each variable that gets more dimensions, the variable that stands for it. It has the same element type and
        further dimensions in front. Variables that the outputs do not depend on have no effect.

    Returns
    -------
    A variable, or a list of variables.

    Raises
    ------
    GraphTypeError
        If `replace` holds something else than variables, or a replacement has another element type or fewer dimensions.
    VectorizeError
        If ops have no rule (all such nodes are listed, with the lines they were built at), or a rule refuses.

    Examples
    --------
    >>> v, m = tt.dvector("v"), tt.dmatrix("m")
    >>> rows = vectorize_graph(v.sum(), {v: m})
    >>> rows.eval({m: [[1.0, 2.0], [3.0, 4.0]]})
    array([3., 7.])
    """
    outs = [outputs] if isinstance(outputs, Variable) else listed("output", outputs)
    new: dict[Variable, Variable] = {}
    for old, wide in replacement_pairs("vectorize_graph", replace, takes_values=False):
        _check_replacement(old, wide)
        new[old] = wide
    replaced = list(new.items())
    # One bit for each replacement: on which of them a variable depends.
    depends = {old: 1 << i for i, (old, _) in enumerate(replaced)}
    affected = []
    for node in toposort(outs, list(new)):
        bits = 0
        for x in node.inputs:
            bits |= depends.get(x, 0)
        if bits:
            affected.append(node)
            depends.update((out, bits) for out in node.outputs)
    gaps = [node for node in affected if VECTORIZERS.rule(node) is None]
    if gaps:
        raise _no_rules(gaps)
    for node in affected:
        inputs = [new.get(x, x) for x in node.inputs]
        # All inputs may be the same as before, if a rule returned a result without batch dimensions.
        changed = any(a is not b for a, b in zip(inputs, node.inputs, strict=True))
        batched = vectorize_node(node, *inputs) if changed else node.outputs
        for old, out in zip(node.outputs, batched, strict=True):
            new.setdefault(old, out)
    carry_origins(new.items(), dict(replaced))
    for out in outs:
        _note_lost(out, new, [pair for i, pair in enumerate(replaced) if not depends.get(out, 0) >> i & 1])
    result = [_completed(out, new.get(out, out), depends.get(out, 0), replaced) for out in outs]
    return result[0] if isinstance(outputs, Variable) else result


def _note_lost(out: Variable, new: dict[Variable, Variable], unused: Sequence[tuple[Variable, Variable]]) -> None:
    """Note the replacements of variables that an output was written with but does not depend on."""
    if out.owner is None or not unused:
        return
    written_with = set(origins([out]))
    sources = tuple(wide for old, wide in unused if old in written_with)
    if sources:
        if new.get(out, out) is out:
            new.update(zip(out.owner.outputs, out.owner.clone().outputs, strict=True))
        new[out].written_with += sources


def _completed(old: Variable, new: Variable, bits: int, replaced: Sequence[tuple[Variable, Variable]]) -> Variable:
    relevant = [pair for i, pair in enumerate(replaced) if bits >> i & 1]
    complete = VECTORIZERS.completion(old.type) if relevant else None
    return new if complete is None else complete(old, new, relevant)


def _check_replacement(old: Variable, new: Variable) -> None:
    kind: Any = old.type
    wide: Any = new.type
    if getattr(kind, "dtype", None) != getattr(wide, "dtype", None):
        what = "the same element type,"
    elif getattr(kind, "ndim", 0) > getattr(wide, "ndim", 0):
        what = "as many dimensions, or more in front,"
    else:
        return
    msg = (
        f"vectorize_graph: the replacement for {old} of type {kind} must have {what} got {new} of type {wide}. "
        "Add dimensions in front, or cast it."
    )
    raise GraphTypeError(msg)
