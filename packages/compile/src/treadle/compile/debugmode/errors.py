"""Errors of DebugMode: each names the node, the user's line, types, shapes and the largest difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.compile.debugmode.demand import MISSING
from treadle.compile.errors import CompileError
from treadle.compile.value_text import value_text
from treadle.config import TreadleWarning, lazy_module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, Value, Variable, printing
else:
    printing = lazy_module("treadle.graph.printing")

# How much of the graph above a value is printed.
_DEPTH = 4


class DebugModeError(CompileError, RuntimeError):
    """DebugMode has found something wrong."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._with_message, self.args  # without the graph and the values

    @classmethod
    def _with_message(cls, message: str) -> DebugModeError:
        error = cls.__new__(cls)
        error.args = (message,)
        return error

    def str_diagnostic(self) -> str:
        """Return the message."""
        return str(self)


class DebugModeWarning(TreadleWarning):
    """DebugMode has found something that may be intended: an input not reused, strides that differ."""


def described(node: Apply) -> str:
    """Return a node's op, the types of its inputs, and the user's line."""
    return f"{node.op} of {', '.join(str(x.type) for x in node.inputs) or 'nothing'}{node.where()}"


def source(var: Variable) -> str:
    """Return what a variable is: its name or text, and what computes it."""
    if var.owner is None:
        return f"{var} of type {var.type}"
    at = f" (output {var.index})" if len(var.owner.outputs) > 1 else ""
    return f"{var} of type {var.type}, computed by {described(var.owner)}{at}"


def graph_of(var: Variable) -> str:
    """Return the nearest nodes of the graph that computes a variable, as printed."""
    return str(printing.debugprint(var, file="str", depth=_DEPTH, print_type=True)).rstrip()


def inputs_text(values: Sequence[Value] | None) -> str:
    """Return the values of a node's inputs as a sentence."""
    return "" if not values else " The inputs were " + "; ".join(map(value_text, values)) + "."


class BadThunkOutput(DebugModeError, ArithmeticError):  # noqa: N818 - the documented name
    """Two implementations of a node, or one with outputs given beforehand, computed different values.

    Attributes
    ----------
    r
        The variable that came out different.
    thunk1, thunk2
        What computed it: ``perform``, the name of a backend, and so on.
    val1, val2
        What they computed; `MISSING` for what failed.
    inputs_val
        Values of the node's inputs.
    """

    def __init__(
        self,
        r: Variable,
        thunk1: str,
        val1: Value,
        thunk2: str,
        val2: Value,
        inputs_val: Sequence[Value] = (),
        hint: str = "",
    ) -> None:
        self.r, self.thunk1, self.val1, self.thunk2, self.val2 = r, thunk1, val1, thunk2, val2
        self.inputs_val = tuple(inputs_val)
        if val2 is MISSING:
            fault, results = hint, f"{thunk1} gave {value_text(val1)}"
        else:
            fault = f"{thunk1} and {thunk2} computed different values: {hint or r.type.describe_difference(val1, val2)}"
            results = f"{thunk1} gave {value_text(val1)}, {thunk2} gave {value_text(val2)}"
        super().__init__(
            f"{source(r)}: {fault}. {results}.{inputs_text(self.inputs_val)} Correct the one that is wrong."
        )

    def offending_op(self) -> Any:
        """Return the op whose implementations differ, None for a variable without node."""
        return None if self.r.owner is None else self.r.owner.op


class StrideMismatchError(BadThunkOutput, TypeError):
    """Two implementations of a node laid the same values out differently in memory."""


class BadOptimization(DebugModeError, ArithmeticError):  # noqa: N818 - the documented name
    """A rewrite replaced a variable by one of another value.

    Attributes
    ----------
    reason
        The rule.
    old_r, new_r
        The variable before and after.
    old_r_val, new_r_val
        Their values.
    old_graph, new_graph
        What computes them, printed.
    """

    def __init__(
        self, old_r: Variable, new_r: Variable, old_r_val: Value, new_r_val: Value, reason: object, hint: str = ""
    ) -> None:
        self.old_r, self.new_r, self.old_r_val, self.new_r_val = old_r, new_r, old_r_val, new_r_val
        self.reason = reason
        self.old_graph, self.new_graph = graph_of(old_r), graph_of(new_r)
        difference = hint or old_r.type.describe_difference(old_r_val, new_r_val)
        super().__init__(
            f"rule {reason!s}: it replaced {source(old_r)}, by {source(new_r)}, which has another value: {difference}. "
            f"Before it was {value_text(old_r_val)}, after it is {value_text(new_r_val)}. Correct the rule, or "
            f"exclude it by its name.\nBefore:\n{self.old_graph}\nAfter:\n{self.new_graph}"
        )


class BadDestroyMap(DebugModeError, ValueError):  # noqa: N818 - the documented name
    """An op changed an input that its ``destroy_map`` does not name.

    Attributes
    ----------
    node
        The node.
    idx
        Position of the input.
    old_val, new_val
        The input before and after.
    perform
        What ran: ``perform``, the name of a backend, and so on.
    """

    def __init__(self, node: Apply, idx: int, old_val: Value, new_val: Value, perform: str) -> None:
        self.node, self.idx, self.old_val, self.new_val, self.perform = node, idx, old_val, new_val, perform
        var = node.inputs[idx]
        super().__init__(
            f"{described(node)}: {perform} changed input {idx}, {var}, which its destroy_map "
            f"{dict(node.op.destroy_map)} does not name: {var.type.describe_difference(old_val, new_val)}. Before it "
            f"was {value_text(old_val)}, after it is {value_text(new_val)}. Work on a copy, or declare the input "
            "in destroy_map."
        )


class BadViewMap(DebugModeError, ValueError):  # noqa: N818 - the documented name
    """An output shares memory with an input, or with another output, and ``view_map`` does not say so.

    Attributes
    ----------
    node
        The node.
    output_idx
        Position of the output.
    out_storage
        Its value.
    in_alias_idx, out_alias_idx
        Positions of the inputs, or of the outputs, whose memory it shares.
    """

    def __init__(
        self,
        node: Apply,
        output_idx: int,
        out_storage: Value,
        in_alias_idx: Sequence[int] = (),
        out_alias_idx: Sequence[int] = (),
        perform: str = "perform",
    ) -> None:
        self.node, self.output_idx, self.out_storage = node, output_idx, out_storage
        self.in_alias_idx, self.out_alias_idx = tuple(in_alias_idx), tuple(out_alias_idx)
        kind, shared = ("input", in_alias_idx) if in_alias_idx else ("output", out_alias_idx)
        super().__init__(
            f"{described(node)}: output {output_idx} of {perform}, {value_text(out_storage)}, shares the memory of "
            f"{kind} {', '.join(map(str, shared))}, which neither its view_map {dict(node.op.view_map)} nor its "
            f"destroy_map {dict(node.op.destroy_map)} says. Return a copy, or declare it in view_map."
        )


class StochasticOrder(DebugModeError, ValueError):  # noqa: N818 - the documented name
    """Rewriting the same graph anew gave another result."""


class InvalidValueError(DebugModeError, ValueError):
    """A value is not one of its variable's type, or not finite.

    Attributes
    ----------
    r
        The variable.
    v
        The value.
    client_node
        A node that takes it, or None.
    hint
        What is wrong.
    """

    def __init__(
        self, r: Variable, v: Value, client_node: Apply | None = None, hint: str = "", inputs_val: Sequence[Value] = ()
    ) -> None:
        self.r, self.v, self.client_node, self.hint = r, v, client_node, hint
        destination = f" It goes to {described(client_node)}." if client_node is not None else ""
        super().__init__(
            f"{source(r)}: {hint or 'the value is none of its type'}, got {type(v).__name__} {value_text(v)}."
            f"{inputs_text(inputs_val)}{destination} Correct what made it, or the type."
        )
