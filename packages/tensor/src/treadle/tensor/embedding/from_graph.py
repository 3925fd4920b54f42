"""OpFromGraph: an op made of a graph of other ops."""

from __future__ import annotations

import warnings
from operator import and_
from typing import TYPE_CHECKING, Any, ClassVar

from treadle import graph
from treadle.config import dataclass, text_of
from treadle.graph import (
    Apply,
    Constant,
    DisconnectedType,
    GraphTypeError,
    GraphValueError,
    MissingInputError,
    NullType,
    Op,
    SharedVariable,
    Variable,
    as_flag,
    graph_replace,
    io_connection_pattern,
    origins,
    reading_order,
)
from treadle.tensor.batches.batching import spread, spread_all
from treadle.tensor.embedding.frozen_inner import HasFrozenGraph
from treadle.tensor.gradients.forward_mode import jvp
from treadle.tensor.gradients.reverse_mode import gradients_of_parts, is_absent
from treadle.tensor.ops.undefined_draws import own_influences, own_reasons
from treadle.tensor.reductions.reduction import sum_
from treadle.tensor.shapes.batch_dims import batch_ndim
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.shapes.shape import lengths
from treadle.tensor.types.conversion import as_tensor_variable, tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from treadle.graph import Cell, FunctionGraph, SymbolicShape, Type, Value
    from treadle.tensor.ops.tensor_op import Derivatives, Variables
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

__all__ = ["OpFromGraph"]

# A gradient, or a directional derivative, given by the user: a function, an op, or one of these for each variable.
Override = Any
# Arguments of `function`, which an inner graph is not compiled by.
_WITHOUT_EFFECT = (
    *("accept_inplace", "allow_input_downcast", "mode", "no_default_updates", "profile", "rebuild_strict"),
    "trust_input",
)
_DERIVED = ("_gradients", "_pattern", "_influences", "_reasons")


class OpFromGraph(Op, HasFrozenGraph):
    """An op that computes what a graph does.

    It is used where a stretch of graph is to be one node: to print, to find it in a rewrite, to give it another
    gradient. Two of them are equal if their graphs compute the same and everything else about them is equal.

    Parameters
    ----------
    inputs
        The variables that the op takes, in order. Constants and shared variables may be among them: inside, they are
        inputs of their types like any other, and each node is given a variable for them. What was decided by a
        constant's value when the graph was built, such as a length in the type of an output or the bound of a slice,
        stays as it is.
    outputs
        What it computes from them. Other shared variables that these need are further inputs of each node, taken from
        the graph: they need not be passed.
    inline
        Whether rewriting puts the graph in the node's place before anything else. It does so late otherwise, after
        the canonical and stable forms are found; excluding the tag ``inline_ofg`` keeps the node. Every backend
        lowers what is left by the graph inside.
    pullback
        The gradient, in place of that of the graph: a function ``f(inputs, outputs, cotangents)`` that returns a
        gradient for each input; an op that takes all these variables; or a list with one of the following for each
        input: such a function for this input alone, a variable of `DisconnectedType` or `NullType`, or None for the
        graph's own gradient.
    lop_overrides
        The documented older name of `pullback`.
    grad_overrides
        The same without the outputs: ``f(inputs, cotangents)``.
    pushforward
        The directional derivatives: a function ``f(inputs, tangents)`` that returns one for each output, an op, or a
        list with a function for each output, or None for the graph's own. What does not move has a tangent of zeros.
    rop_overrides
        The documented older name of `pushforward`.
    pushforward_with_outputs
        The same for a function that takes the outputs too: ``f(inputs, outputs, tangents)``. What does not move has
        the tangent None.
    connection_pattern
        For each input, for each output, whether a gradient flows; that of the graph if None, all where the gradient
        is given.
    strict
        Whether to refuse shared variables that are not among the inputs.
    name
        Shown when printed.
    on_unused_input
        What to do about an input that the outputs were not written with: ``raise``, ``warn`` or ``ignore``.
    options
        Further arguments of `function`: ``mode``, ``profile``, ``trust_input``, ``accept_inplace``,
        ``allow_input_downcast``, ``rebuild_strict``, ``no_default_updates``. They have no effect: the graph is compiled
        with the function that the node is part of, in its mode.

    Raises
    ------
    GraphTypeError
        If inputs or outputs are not variables, or inputs are given twice; if a derivative is neither function, op nor
        list; if there are other options, such as ``updates`` and ``givens``.
    GraphValueError
        If a derivative is given twice, or a list or pattern does not fit the inputs and outputs; if `strict`, and
        there are shared variables; if an input is unused, and that is not allowed.
    MissingInputError
        If an output needs a variable that is not among the inputs.

    Examples
    --------
    >>> from treadle.tensor import OpFromGraph, dscalar, grad
    >>> x, y = dscalar("x"), dscalar("y")
    >>> op = OpFromGraph([x, y], [x * y + x], name="affine")
    >>> float(grad(op(x, y), x).eval({x: 2.0, y: 3.0}))
    4.0
    """

    __props__: ClassVar[tuple[str, ...] | None] = (
        "fgraph",
        "is_inline",
        "name",
        "pullback_override",
        "pushforward_override",
        "given_pattern",
    )

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        *,
        inline: bool = False,
        pullback: Override = None,
        pushforward: Override = None,
        lop_overrides: Override = None,
        grad_overrides: Override = None,
        rop_overrides: Override = None,
        pushforward_with_outputs: Override = None,
        connection_pattern: Sequence[Sequence[bool]] | None = None,
        strict: bool = False,
        name: str | None = None,
        on_unused_input: str = "ignore",
        **options: object,
    ) -> None:
        _check_variables("inputs", inputs)
        _check_variables("outputs", outputs)
        ins, outs = list(inputs), list(outputs)
        _check_inputs(ins)
        _check_options(options)
        _check_used(ins, outs, on_unused_input)
        implicit = _implicit_inputs(ins, outs, strict)
        self.name = name
        self.is_inline = as_flag("OpFromGraph: inline", inline)
        self.shared_inputs = implicit
        self.explicit_count = len(ins)
        # Inside, what brings its value along is an input like any other. Inputs that are computed from it are replaced
        # with it: what they are computed from stays outside.
        every: list[Variable] = [*ins, *implicit]
        plain: dict[Variable, Variable] = {}
        if any(isinstance(v, Constant | SharedVariable) for v in every):
            plain = {v: v.type.make_variable(v.name) for v in every}
            outs = graph_replace(outs, plain, strict=False)
        self._graph = graph.FrozenFunctionGraph([plain.get(v, v) for v in every], outs)
        self.pullback_override = _one_override(
            "gradient", [("full", pullback), ("full", lop_overrides), ("short", grad_overrides)]
        )
        self.pushforward_override = _one_override(
            "directional derivative",
            [("short", pushforward), ("short", rop_overrides), ("full", pushforward_with_outputs)],
        )
        _check_count("gradients", self.pullback_override, len(ins), "inputs")
        _check_count("directional derivatives", self.pushforward_override, len(outs), "outputs")
        self.given_pattern = _pattern(connection_pattern, len(ins), len(outs))

    # The graph inside

    @property
    def input_types(self) -> list[Type]:
        """Types of the inputs, those of shared variables that need not be passed last."""
        return [var.type for var in self.fgraph.inputs]

    @property
    def output_types(self) -> list[Type]:
        """Types of the outputs, where the inputs are of the types of `input_types`."""
        return [var.type for var in self.fgraph.outputs]

    def with_inner_graph(self, fgraph: FunctionGraph) -> OpFromGraph:
        """Return the op with another graph that computes the same, such as a rewritten one."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__getstate__())
        new._graph = graph.FrozenFunctionGraph(fgraph.inputs, fgraph.outputs)
        return new

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is derived."""
        return {k: v for k, v in super().__getstate__().items() if k not in _DERIVED}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)

    # Applying it

    def make_node(self, *inputs: object) -> Apply:
        """Return the node: shared variables that the graph needs are added, where not all inputs are given.

        Raises
        ------
        GraphValueError
            If the number of inputs is wrong.
        GraphTypeError
            If one is not of the inner input's type, and no lossless conversion is known.
        """
        inner = self.fgraph.inputs
        if len(inputs) == self.explicit_count:
            inputs = (*inputs, *self.shared_inputs)
        if len(inputs) != len(inner):
            expected = ", ".join(f"{v} of type {v.type}" for v in inner[: self.explicit_count])
            msg = f"{self}: {self.explicit_count} inputs are needed, {expected}; got {len(inputs)}. Pass one for each."
            raise GraphValueError(msg)
        variables = [_as_type(self, i, var.type, x) for i, (var, x) in enumerate(zip(inner, inputs, strict=True))]
        if all(x.type == var.type for x, var in zip(variables, inner, strict=True)):
            types = [out.type for out in self.fgraph.outputs]
        else:
            # What is known of the inputs' shapes beyond the inner graph's makes more known of the outputs'.
            types = [out.type for out in self.fgraph.bind([x.type.make_variable() for x in variables])]
        return Apply(self, variables, [t.make_variable() for t in types])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Run the inner graph."""
        for cell, value in zip(output_storage, self.fn(*inputs), strict=True):
            cell[0] = value

    def do_constant_folding(self, fgraph: FunctionGraph | None, node: Apply) -> bool:
        """Whether the inner nodes allow it."""
        return all(inner.op.do_constant_folding(fgraph, inner) for inner in self.fgraph.apply_nodes)

    def decompose(self, *inputs: Variable) -> Sequence[Variable]:
        """Return what the inner graph computes."""
        return self.fgraph.bind(inputs)

    def infer_shape(self, node: Apply, shapes: Sequence[SymbolicShape | None]) -> Sequence[SymbolicShape | None] | None:
        """Return the lengths of what the inner graph computes."""
        outputs = self.fgraph.bind(node.inputs)
        return [tuple(lengths(out)) if isinstance(out.type, TensorType) else None for out in outputs]

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> list[Variable]:
        """Return what the inner graph computes of the inputs with batches, with derivatives that were given."""
        if not self.has_own_derivatives:
            return graph.vectorize_graph(self.inner_outputs, list(zip(self.inner_inputs, inputs, strict=True)))
        pairs = [
            (old, new) for old, new in zip(node.inputs, inputs, strict=True)
            if isinstance(old.type, TensorType) and batch_ndim(old, new)
        ]  # fmt: skip
        full = iter(spread_all(pairs))
        widened = {old for old, _ in pairs}
        operands = [next(full) if old in widened else new for old, new in zip(node.inputs, inputs, strict=True)]
        inner = [x.type.make_variable(x.name) for x in operands]
        outs = graph.vectorize_graph(self.inner_outputs, list(zip(self.inner_inputs, inner, strict=True)))
        rule = BatchedRule(self)
        has_pushforward = (
            self.pushforward_override[0] != "none" or type(self).pushforward is not OpFromGraph.pushforward
        )
        op = OpFromGraph(
            inner, outs, inline=self.is_inline, name=self.name, connection_pattern=self.connection_pattern(node),
            pullback=rule.pullback, pushforward_with_outputs=rule.pushforward if has_pushforward else None,
        )  # fmt: skip
        return op(*operands, return_list=True)

    @property
    def has_own_derivatives(self) -> bool:
        """Whether derivatives or a pattern were given, or a subclass has its own: others are the inner graph's."""
        kind = type(self)
        own = kind.pullback is not OpFromGraph.pullback or kind.pushforward is not OpFromGraph.pushforward
        given = self.pullback_override[0] != "none" or self.pushforward_override[0] != "none"
        return own or given or self.given_pattern is not None

    # Derivatives

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return for each input, for each output, whether a gradient flows."""
        return self.kept("_pattern", self._find_pattern)

    def _find_pattern(self) -> list[list[bool]]:
        count = len(self.fgraph.outputs)
        if self.given_pattern is not None:
            rows = [list(row) for row in self.given_pattern]
            rows += [[True] * count] * (len(self.fgraph.inputs) - len(rows))
            return rows
        pattern = io_connection_pattern(self.fgraph.inputs, self.fgraph.outputs)
        kind, override = self.pullback_override
        if kind == "none":
            return pattern
        overrides = list(override) if kind.startswith("each") else [override] * self.explicit_count
        for i, item in enumerate(overrides):
            if callable(item):
                pattern[i] = [True] * count
        return pattern

    def influence_pattern(self, node: Apply) -> list[list[bool]]:
        """Return the inner graph's, and of a pattern that was given that one."""
        return own_influences(self) if self.given_pattern is None else self.connection_pattern(node)

    def undefined_derivatives(self, node: Apply) -> list[list[str | None]] | None:
        """Return the inner graph's; derivatives that were given are defined."""
        return None if self.has_own_derivatives else own_reasons(self)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Return the gradients: those given, or the inner graph's as another op of this kind.

        Through `decompose`: the gradient of the inner graph; a gradient that was given takes its place.
        """
        gradients = self._given_pullback(inputs, outputs, cotangents)
        if self.given_pattern is None:
            return gradients
        connected = [not isinstance(c.type, DisconnectedType) for c in cotangents]
        rows = [any(map(and_, row, connected)) for row in self._find_pattern()]
        return [term if flows else DisconnectedType()() for term, flows in zip(gradients, rows, strict=True)]

    def _given_pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        kind, override = self.pullback_override
        if kind == "none":
            return self._own_pullback(inputs, outputs, cotangents)
        explicit = list(inputs[: self.explicit_count])
        args = (explicit, list(cotangents)) if kind.endswith("short") else (explicit, list(outputs), list(cotangents))
        of_shared: list[Variable | None] = [DisconnectedType()() for _ in inputs[self.explicit_count :]]
        if not kind.startswith("each"):
            return [*self._listed(_called(override, args), self.explicit_count, "gradient"), *of_shared]
        own = self._own_pullback(inputs, outputs, cotangents) if None in override else ()
        gradients: list[Variable | None] = []
        for i, item in enumerate(override):
            gradients.append(own[i] if item is None else _called(item, args) if callable(item) else item)
        return [*gradients, *of_shared]

    def _own_pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable | None]:
        """Return the gradients of the inner graph, as outputs of an op made once for each set of outputs that count."""
        connected = tuple(not isinstance(c.type, DisconnectedType) for c in cotangents)
        known = self.__dict__.setdefault("_gradients", {})
        if connected not in known:
            known[connected] = self._gradient_op(connected)
        op, absent = known[connected]
        counting = [c for c, keep in zip(cotangents, connected, strict=True) if keep]
        gradients = iter(op(*inputs, *outputs, *counting, return_list=True) if op is not None else ())
        return [next(gradients) if kind is None else kind() for kind in absent]

    def _gradient_op(self, connected: Sequence[bool]) -> tuple[OpFromGraph | None, list[Type | None]]:
        """Return the op of the gradients, and for each input None, or the type of its gradient where there is none."""
        inner, outs = self.fgraph.inputs, self.fgraph.outputs
        cotangents = [out.type.make_variable() for out in outs]
        rows = [(True,) * len(outs)] * len(inner) if self.given_pattern is None else map(tuple, self._find_pattern())
        flowing = [tuple(map(and_, row, connected)) for row in rows]
        by_row = {row: _inner_gradients(inner, outs, cotangents, row) for row in dict.fromkeys(flowing)}
        slopes = [by_row[row][i] for i, row in enumerate(flowing)]
        absent: list[Type | None] = [
            g.type if isinstance(g.type, DisconnectedType | NullType) else None for g in slopes
        ]
        defined = [g for g, kind in zip(slopes, absent, strict=True) if kind is None]
        if not defined:
            return None, absent
        # Results that are at hand already are not computed again.
        results = [out.type.make_variable() for out in outs]
        at_hand = {out: new for out, new in zip(outs, results, strict=True) if out.owner is not None}
        defined = graph_replace(defined, at_hand, strict=False)
        counting = [ct for ct, keep in zip(cotangents, connected, strict=True) if keep]
        name = None if self.name is None else f"{self.name}_grad"
        return OpFromGraph([*inner, *results, *counting], defined, inline=self.is_inline, name=name), absent

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Derivatives) -> Derivatives:
        """Return the directional derivatives: those given, or the inner graph's.

        Where only a gradient is given, or a subclass has one of its own, they follow from that.

        Through `decompose`: the derivative of the inner graph; one that was given takes its place.
        """
        kind, override = self.pushforward_override
        has_own = self.pullback_override[0] != "none" or type(self).pullback is not OpFromGraph.pullback
        if kind == "none" and has_own:
            # Two pullbacks take the gradient that was given.
            return super().pushforward(inputs, outputs, tangents)
        if kind == "none":
            computed = self.fgraph.bind(list(inputs))
            return jvp(computed, list(inputs), list(tangents))
        explicit, moves = list(inputs[: self.explicit_count]), list(tangents[: self.explicit_count])
        if kind.endswith("short"):
            still = [t is None or isinstance(t.type, DisconnectedType) for t in moves]
            plain = [
                zeros_like(x) if rests and isinstance(x.type, TensorType) else t
                for x, t, rests in zip(explicit, moves, still, strict=True)
            ]
            args: tuple[Sequence[Variable | None], ...] = (explicit, plain)
        else:
            args = (explicit, list(outputs), moves)
        if not kind.startswith("each"):
            return self._listed(_called(override, args), len(outputs), "directional derivative")
        missing = [i for i, item in enumerate(override) if item is None]
        own = [self.fgraph.bind(list(inputs))[i] for i in missing]
        moved = iter(jvp(own, list(inputs), list(tangents)) if missing else ())
        return [next(moved) if item is None else _called(item, args) if callable(item) else item for item in override]

    def _listed(self, returned: Any, count: int, what: str) -> list[Variable | None]:
        result = [returned] if isinstance(returned, Variable) or returned is None else list(returned)
        if len(result) != count:
            msg = f"{self}: the {what} given returned {len(result)} variables, {count} are needed. Return one for each."
            raise GraphValueError(msg)
        return result

    def __str__(self) -> str:
        return f"{self.name or type(self).__name__}{{inline={self.is_inline}}}"

    __repr__ = __str__


@dataclass(frozen=True)
class BatchedRule:
    """The derivatives of an op for batches, from those that it was given.

    Inputs have all batch dimensions or none.
    """

    op: OpFromGraph

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable | None]:
        """Return the gradients: those of each element of the batch, added for inputs that all have in common."""
        gradients = self._over_batch(self.op.pullback, inputs, outputs, cotangents, of_outputs=True)
        for i, (x, old, term) in enumerate(zip(inputs, self.op.fgraph.inputs, gradients, strict=True)):
            if term is not None and isinstance(term.type, TensorType) and isinstance(x.type, TensorType):
                extra = range(term.type.ndim - x.type.ndim)
                gradients[i] = sum_(term, axis=tuple(extra)) if extra else term
                if term.type.ndim < x.type.ndim:
                    core, gradient = tensors((old, term))
                    gradients[i] = spread(core, gradient, lengths(x)[: x.type.ndim - term.type.ndim])
        return gradients

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Derivatives) -> list[Variable | None]:
        """Return the directional derivatives of each element of the batch."""
        return self._over_batch(self.op.pushforward, inputs, outputs, tangents, of_outputs=False)

    def _over_batch(
        self,
        rule: Callable[..., Sequence[Variable | None]],
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        seeds: Sequence[Variable | None],
        *,
        of_outputs: bool,
    ) -> list[Variable | None]:
        """Apply a rule to variables without batches, and vectorize its terms over the batch."""
        node = self.op.make_node(*[x.type.make_variable() for x in self.op.fgraph.inputs])
        along = node.outputs if of_outputs else node.inputs
        moves = [
            None if t is None else t if is_absent(t) else x.type.make_variable()
            for x, t in zip(along, seeds, strict=True)
        ]
        terms = list(rule(node.inputs, node.outputs, moves))
        defined = [i for i, term in enumerate(terms) if term is not None and not is_absent(term)]
        replaced = dict(zip([*node.inputs, *node.outputs], [*inputs, *outputs], strict=True))
        replaced.update((m, t) for m, t in zip(moves, seeds, strict=True) if m is not None and t is not None)
        widened = graph.vectorize_graph([term for term in terms if term is not None and not is_absent(term)], replaced)
        for i, term in zip(defined, widened, strict=True):
            terms[i] = term
        return terms


def _inner_gradients(inner: Variables, outs: Variables, cotangents: Variables, flowing: Sequence[bool]) -> Variables:
    """Return the gradients by all inputs of what flows back from some of the outputs."""
    # An output may stand at two places, or be an input: each gets its own cotangent.
    seeds: dict[Variable, Any] = {}
    for out, ct, flows in zip(outs, cotangents, flowing, strict=True):
        if flows:
            seeds[out] = seeds[out] + ct if out in seeds else ct
    if not seeds:
        return [DisconnectedType()() for _ in inner]
    gradients: Sequence[Variable] = gradients_of_parts(
        seeds, list(inner), disconnected_inputs="ignore", return_disconnected="disconnected",
        null_gradients="return", add_names=False,
    )  # fmt: skip
    return gradients


def _called(override: Any, arguments: tuple[Sequence[Variable | None], ...]) -> Any:
    """Call a given derivative: an op with all variables one after another, a function with lists of them."""
    return override(*(v for part in arguments for v in part)) if isinstance(override, Op) else override(*arguments)


def _one_override(what: str, candidates: list[tuple[str, Override]]) -> tuple[str, Override]:
    """Return the one override given: ``none``, ``full`` or ``short`` (without outputs), ``each`` in front for lists."""
    named = [(kind, value) for kind, value in candidates if value is not None]
    if len(named) > 1:
        msg = f"OpFromGraph: the {what} is given under {len(named)} names. Give it once."
        raise GraphValueError(msg)
    if not named or named[0][1] == "default":
        return "none", None
    kind, value = named[0]
    if isinstance(value, list | tuple):
        return f"each {kind}", tuple(value)
    if not callable(value):
        msg = f"OpFromGraph: the {what} must be a function, an op or a list of functions, got {text_of(value)}."
        raise GraphTypeError(msg)
    return kind, value


def _check_count(what: str, override: tuple[str, Override], count: int, of: str) -> None:
    kind, rules = override
    if kind.startswith("each") and len(rules) != count:
        msg = f"OpFromGraph: {what} for {count} {of} are needed, got a list of {len(rules)}. Give one for each."
        raise GraphValueError(msg)


def _pattern(pattern: object, ins: int, outs: int) -> tuple[tuple[bool, ...], ...] | None:
    """Return a connection pattern (for each input, for each output, whether a gradient flows), checked."""
    if pattern is None:
        return None
    rows = list(pattern) if isinstance(pattern, list | tuple) else []
    if len(rows) != ins or not all(isinstance(row, list | tuple) and len(row) == outs for row in rows):
        msg = (
            f"OpFromGraph: connection_pattern must be a list with {outs} booleans for each of {ins} inputs, got "
            f"{pattern!r}. Say for each input, for each output, whether a gradient flows."
        )
        raise GraphValueError(msg)
    return tuple(tuple(map(bool, row)) for row in rows)


def _check_variables(what: str, variables: object) -> None:
    if not isinstance(variables, list | tuple) or not all(isinstance(v, Variable) for v in variables):
        msg = f"OpFromGraph: {what} must be a list of variables, got {text_of(variables)}. Put variables into a list."
        raise GraphTypeError(msg)


def _check_inputs(inputs: Sequence[Variable]) -> None:
    for i, var in enumerate(inputs):
        if var in inputs[:i]:
            msg = f"OpFromGraph: input {i}, {var}, is given twice. Give a variable of the same type."
            raise GraphTypeError(msg)


def _check_options(options: Iterable[str]) -> None:
    unknown = sorted(set(options).difference(_WITHOUT_EFFECT))
    if unknown:
        reason = (
            "an op changes no shared variable and replaces nothing"
            if unknown[0] in {"updates", "givens"}
            else f"of the arguments of `function`, {', '.join(_WITHOUT_EFFECT)} are taken"
        )
        msg = f"OpFromGraph: there is no option {unknown[0]}: {reason}. Leave it out."
        raise GraphTypeError(msg)


def _check_used(inputs: Sequence[Variable], outputs: Sequence[Variable], action: object) -> None:
    if action == "ignore":
        return
    if action not in {"raise", "warn"}:
        msg = f"OpFromGraph: on_unused_input must be raise, warn or ignore, got {text_of(action)}."
        raise GraphValueError(msg)
    written_with = set(origins(outputs, inputs))
    for i, var in enumerate(inputs):
        if var not in written_with:
            msg = f"OpFromGraph: input {i}, {var}, is not used. Leave it out, or pass on_unused_input='ignore'."
            if action == "raise":
                raise GraphValueError(msg)
            warnings.warn(msg, UserWarning, stacklevel=3)


def _implicit_inputs(inputs: Sequence[Variable], outputs: Sequence[Variable], strict: bool) -> list[SharedVariable]:
    """Return the shared variables that the outputs need."""
    shared: dict[SharedVariable, None] = {}
    known = set(inputs)
    for var in reading_order(outputs, inputs):
        if var.owner is not None or var in known or isinstance(var, Constant):
            continue
        if not isinstance(var, SharedVariable):
            msg = f"OpFromGraph: the outputs need {var} of type {var.type}, which is no input. Add it to the inputs."
            raise MissingInputError(msg)
        shared[var] = None
    if strict and shared:
        msg = f"OpFromGraph: strict, but the outputs need shared variables: {', '.join(map(str, shared))}. Pass inputs."
        raise GraphValueError(msg)
    return list(shared)


def _as_type(op: OpFromGraph, at: int, kind: Type, value: object) -> Variable:
    """Return what is given as a variable that the inner graph takes."""
    if not isinstance(value, Variable) and isinstance(kind, TensorType):
        value = as_tensor_variable(kind.filter(value))
    try:
        return kind.filter_variable(value)
    except TypeError as error:
        msg = f"{op}: input {at}: {error}"
        raise GraphTypeError(msg) from error
