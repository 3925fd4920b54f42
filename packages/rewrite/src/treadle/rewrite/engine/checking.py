"""Checking of rules: every change is evaluated before and after it, on sample values."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from treadle.config import text_of
from treadle.graph import Constant, SharedVariable, order_nodes
from treadle.link.vm import TABLE, lower_node
from treadle.rewrite.errors import RuleFaultError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, FunctionGraph, Variable
    from treadle.rewrite.engine.report import Report

# The types make one sample of values for each of these.
SEEDS = (0, 1)


_UNKNOWN = object()  # stands for a value that could not be computed


class Samples:
    """Values of a graph's variables for one set of sample inputs. Rewriting keeps values, so each is computed once."""

    def __init__(self, fgraph: FunctionGraph, seed: int) -> None:
        self._values: dict[Variable, object] = {}
        for i, var in enumerate(fgraph.inputs):
            if isinstance(var, SharedVariable):
                self._values[var] = var.get_value(borrow=True)
                continue
            try:
                self._values[var] = var.type.sample(1000 * seed + i)
            except TypeError:
                self._values[var] = _UNKNOWN

    def value(self, var: Variable) -> object:
        """Return the value of a variable, or a marker where it cannot be computed."""
        values = self._values
        if var not in values:
            if isinstance(var, Constant):
                return var.data
            for node in order_nodes([var], values.__contains__):
                self._compute(node)
        return values.get(var, _UNKNOWN)

    def _compute(self, node: Apply) -> None:
        values = self._values
        arguments = [x.data if isinstance(x, Constant) else values.get(x, _UNKNOWN) for x in node.inputs]
        results: Sequence[object] = [_UNKNOWN] * len(node.outputs)
        # A loop may not end on sample values.
        if not any(value is _UNKNOWN for value in arguments) and not getattr(node.op, "may_not_end", False):
            overwritten = {i for places in node.op.destroy_map.values() for i in places}
            arguments = [node.inputs[i].type.copy_value(v) if i in overwritten else v for i, v in enumerate(arguments)]
            try:
                answer = lower_node(node)(*arguments)
                results = [answer] if len(node.outputs) == 1 else list(answer)
            except (ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError):
                # What fails before a change may fail after it: such a change is not judged.
                pass
        values.update(zip(node.outputs, results, strict=True))


class Checker:
    """Evaluates each change of a run before and after it."""

    def __init__(self, fgraph: FunctionGraph) -> None:
        TABLE.load()
        self._scope = TABLE.scope or nullcontext
        self._inputs = tuple(fgraph.inputs)
        self._samples = [Samples(fgraph, seed) for seed in SEEDS]

    def check(self, name: str, node: Apply, pairs: Sequence[tuple[Variable, Variable]], report: Report) -> None:
        """Compare what is to be replaced with what takes its place.

        Where a value before the change is infinite or not a number, another one after it is no fault, since stable
        forms are meant to be better. Where it could not be computed, the change is not judged.
        """
        judged = False
        with self._scope():
            for samples in self._samples:
                for old, new in pairs:
                    before = samples.value(old)
                    if before is _UNKNOWN:
                        continue
                    after = samples.value(new)
                    fault = self._fault(old, new, before, after)
                    if fault is not None:
                        raise RuleFaultError(self._message(name, node, samples, new, fault))
                    judged = True
        if judged:
            report.checked += 1
        else:
            report.unchecked += 1

    @staticmethod
    def _fault(old: Variable, new: Variable, before: object, after: object) -> str | None:
        """Return what is wrong with a value that took another's place, or None."""
        if after is _UNKNOWN:
            return f"made a value that cannot be computed, which was {text_of(before, str)}"
        for what in ("shape", "dtype"):
            was, now = getattr(before, what, None), getattr(after, what, None)
            if was != now:
                return f"changed the {what} from {was} to {now}"
        if not new.type.is_valid_value(after, strict=True):
            return f"made a value that is none of type {new.type}: {text_of(after, str)}"
        if old.type.values_eq_approx(before, after) or any(old.type.non_finite(before)):
            return None
        return f"changed the value from {text_of(before, str)} to {text_of(after, str)}"

    def _message(self, name: str, node: Apply, samples: Samples, new: Variable, fault: str) -> str:
        inputs = ", ".join(f"{x} = {text_of(samples.value(x), str)}" for x in node.inputs)
        return (
            f"rule {name!r}: {fault}, on {node.op}{node.where()}, with {inputs}; the replacement is {new}. "
            "Correct the rule, or exclude it by its name."
        )
