"""Run: one run of rewriting over one graph, shared by all rewriters that take part in it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from treadle.config import COLLECTOR, config, dataclass, lazy_module, span
from treadle.graph import Feature, InconsistencyError, ShapeInferenceError, Variable, carried, composing, user_line
from treadle.rewrite.engine.checking import Checker
from treadle.rewrite.engine.report import Firing, Report
from treadle.rewrite.errors import MissingTraceError, RewriteError, RewriteWarning, RuleFaultError

if TYPE_CHECKING:
    import pdb
    from collections.abc import Callable, Iterator

    from treadle.graph import Apply, FunctionGraph, Op, UserLine
    from treadle.rewrite.engine.checking import Checker
    from treadle.rewrite.engine.interface import GraphRewriter
    from treadle.rewrite.engine.merging import MergeFeature
    from treadle.rewrite.engine.report import RuleCost

    Callback = Callable[[Exception, Any, Apply], object]
else:
    pdb = lazy_module("pdb")

# As many variables are looked at to find that a change makes no cycle; beyond that, the order of the graph tells.
MOST_LOOKED_AT = 256

_FeatureKind = TypeVar("_FeatureKind", bound=Feature)


def feature_of(fgraph: FunctionGraph, kind: type[_FeatureKind]) -> _FeatureKind | None:
    """Return the graph's feature of a class, or None."""
    for feature in fgraph.features:
        if type(feature) is kind:
            return feature
    return None


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options that a run reads once, when it starts."""

    on_error: str = "warn"
    verbose: bool = False
    unmentioned: frozenset[str] = frozenset()  # ids of rules that `verbose` leaves out
    traces: str = "off"
    deferred: bool = False  # whether the graph's features check a stage's changes once, at its end
    profile: bool = False
    carries: bool = True  # whether new nodes have the line of the node they replace, and no frames of rules

    @staticmethod
    def from_options() -> RunOptions:
        """Return the options as they are now."""
        ignored = str(config.optimizer_verbose_ignore).split(",")
        return RunOptions(
            config.on_opt_error,
            config.optimizer_verbose,
            frozenset(name.strip() for name in ignored if name.strip()),
            config.check_stack_trace,
            config.cycle_detection == "fast",
            config.profile_optimizer,
            not config.traceback__compile_limit,
        )


class Run(Feature):
    """Feature that sees every change of a graph while it is rewritten, and does what each asks for.

    Attributes
    ----------
    new, changed
        New nodes, and nodes that have another input, since the lists were last taken.
    ops
        The ops that the graph has had since the run began, each object once.
    kinds
        The classes of these.
    merging
        What merges new nodes, once a merge rewriter has run.
    phase
        Name of the database whose rules run.
    running
        Name of the rewriter of whole graphs that runs, empty while rules of single nodes do.
    rewriter
        What runs the rules of the phase: passes that rewrite graphs inside ops use the same rules for them.
    """

    def __init__(self, fgraph: FunctionGraph, options: RunOptions, keep_nodes: bool) -> None:
        self.fgraph = fgraph
        self.options = options
        self.report = Report(nodes_before=len(fgraph))
        self.ops: list[Op] = []
        self._identities: set[int] = set()
        self.kinds: dict[type[Op], None] = {}
        self.merging: MergeFeature | None = None
        self.checker: Checker | None = None
        self.phase = ""
        self.running = ""
        self.rewriter: GraphRewriter | None = None
        self.new: list[Apply] = []
        self.changed: list[Apply] = []
        self.changes = 0
        self.keep_nodes = keep_nodes
        self.line: UserLine | None = user_line(3)
        self.refined: dict[Apply, None] = {}
        self._replaced: list[tuple[Variable, Variable]] | None = None
        self._attached: list[Feature] = []

    # What happens to the graph

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Note the ops of the graph."""
        for node in fgraph.apply_nodes:
            self._note_op(node.op)

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Note a new node, and its op, for which rules may wait."""
        self.new.append(node)
        self._note_op(node.op)

    def _note_op(self, op: Op) -> None:
        # The list keeps the op, and so its identity.
        if id(op) not in self._identities:
            self._identities.add(id(op))
            self.ops.append(op)
            self.kinds[type(op)] = None

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply, i: int, var: Variable, new_var: Variable, reason: str | None = None
    ) -> None:
        """Note a node that has another input now."""
        if reason == "merge_constants":
            return
        self.changes += 1
        if self._replaced is not None:
            self._replaced.append((var, new_var))
        if not node.outputs:
            return
        self.changed.append(node)
        if var.type is not new_var.type and var.type != new_var.type:
            self.refined[node] = None

    def take(self) -> tuple[list[Apply], list[Apply]]:
        """Return the nodes that came in and those that changed since the last call."""
        touched = self.new, self.changed
        self.new, self.changed = [], []
        return touched

    # Features

    def attach(self, feature: Feature) -> None:
        """Attach a feature until the run ends."""
        self.fgraph.attach_feature(feature)
        self._attached.append(feature)

    def require(self, kind: type[Feature]) -> None:
        """Attach a feature of a class until the run ends, unless the graph has one."""
        if feature_of(self.fgraph, kind) is None:
            self.attach(kind())

    def finish(self) -> None:
        """Remove the features of the run."""
        for feature in reversed(self._attached):
            self.fgraph.remove_feature(feature)
        self._attached.clear()

    @property
    def guarded(self) -> bool:
        """Whether the graph has features that may refuse changes."""
        return any(type(feature).validate is not Feature.validate for feature in self.fgraph.features)

    @property
    def refusing(self) -> bool:
        """Whether one of the features might refuse a change now."""
        return any(feature.may_refuse(self.fgraph) for feature in self.fgraph.features)

    # Changing the graph

    def replace(
        self, name: str, cost: RuleCost, node: Apply, answer: object, guarded: bool, refusing: bool = True
    ) -> bool:
        """Put what a rule answered in a node's place; return whether anything changed.

        In a guarded graph, changes are checked. Unless features are refusing, one that cannot make a cycle need not be.

        Raises
        ------
        RewriteError
            If the answer cannot take the node's place. The graph is as before.
        """
        graph = self.fgraph
        pairs, removed = replacements(name, node, answer)
        pairs = [(old, new) for old, new in pairs if new is not old and graph.clients.get(old)]
        if not pairs:
            return False
        for i, (old, new) in enumerate(pairs):
            checked = graph.as_replacement(old, new)
            if checked is None:
                msg = (
                    f"rule {name!r}: the replacement of {node.op} has type {new.type}, which neither equals nor "
                    f"refines {old.type}{node.where()}. Correct the rule, or exclude it by its name."
                )
                raise RewriteError(msg)
            pairs[i] = old, checked
        if self.checker is not None:
            self.checker.check(name, node, pairs, self.report)
        checked_now = guarded and not self.options.deferred and (refusing or not stays_below(graph, node, pairs))
        if checked_now or removed:
            if not self._replace_if_valid(pairs, removed, name, cost):
                return False
        elif len(pairs) == 1:
            graph.replace(*pairs[0], name)
        else:
            graph.replace_all(pairs, name)
        for old, new in pairs:
            if old.name is not None and new.name is None and new.owner is not None and new.owner in self.new:
                new.name = old.name
        return True

    def _replace_if_valid(
        self, pairs: Sequence[tuple[Variable, Variable]], removed: Sequence[Variable], name: str, cost: RuleCost
    ) -> bool:
        """Replace, unless a feature refuses the graph that this makes; then the graph is as before."""
        graph = self.fgraph
        new, changed, changes = len(self.new), len(self.changed), self.changes
        try:
            with graph.transaction():
                graph.replace_all(pairs, name)
                for var in removed:
                    if var in graph:
                        msg = f"rule {name!r}: {var} is still in use after its removal. Replace all its uses."
                        raise RewriteError(msg)
                self._validate(cost)
        except InconsistencyError:
            cost.refused += 1
            # What was undone need not be looked at.
            del self.new[new:], self.changed[changed:]
            self.changes = changes
            return False
        return True

    def merge_new(self) -> None:
        """Merge the nodes that have just come in."""
        merging = self.merging
        if merging is not None and merging.pending:
            self._merged(merging.enter_new(self.fgraph))

    def is_stale(self, node: Apply) -> bool:
        """Whether changes of a node's inputs ask for `freshen`."""
        merging = self.merging
        return node in self.refined or (merging is not None and node in merging.stale)

    def freshen(self, node: Apply) -> bool:
        """Infer a node's types again and merge it, as changes of its inputs ask for; return whether it was removed.

        This waits until the node is looked at: many inputs of a wide node may change one after the other.
        """
        if node in self.refined:
            del self.refined[node]
            self._refine(node)
            if node not in self.fgraph:
                return True
        merging = self.merging
        if merging is None or node not in merging.stale:
            return False
        removed = merging.enter(self.fgraph, node)
        self._merged(removed)
        return removed

    def settle(self) -> int:
        """Infer types again and merge until neither has anything left to do; return the number of nodes merged."""
        merged = 0
        merging = self.merging
        while self.refined or (merging is not None and (merging.pending or merging.stale)):
            batch, self.refined = self.refined, {}
            for node in batch:
                self._refine(node)
            if merging is not None:
                merged += self._merged(merging.enter_all(self.fgraph))
        return merged

    def _merged(self, count: int) -> int:
        if count:
            self.report.cost("merge").hits += count
        return count

    def _refine(self, node: Apply) -> None:
        """Infer a node's types again, now that an input is known better."""
        graph = self.fgraph
        if node not in graph:
            return
        cost = self.report.cost("refine_types")
        cost.tries += 1
        try:
            refined = node.op.make_node(*node.inputs)
            pairs = list(zip(node.outputs, refined.outputs, strict=True))
            if all(old.type == new.type for old, new in pairs) or not all(o.type.is_super(n.type) for o, n in pairs):
                return
            refined.user_line = carried(node.user_line, refined.user_line)
            if node._tag is not None:
                refined.tag = node._tag.copy()
            for old, new in pairs:
                new.name = old.name
                if graph.clients.get(old):
                    graph.replace(old, new, "refine_types")
        except Exception as error:  # noqa: BLE001 - a user's op may raise anything; on_opt_error decides
            self.failed("refine_types", node, error)
            return
        cost.hits += 1
        cost.added += 1
        self.merge_new()

    # Reporting

    def fired(self, name: str, cost: RuleCost, node: Apply) -> None:
        """Record a local rule's change of a node, and give the new nodes the node's line."""
        line = node.user_line
        new = self.new
        for fresh in new:
            fresh.user_line = carried(line, fresh.user_line)
        added = len(new)
        cost.hits += 1
        cost.added += added
        firing = Firing(name, self.phase, node.op, line, added)
        if self.keep_nodes:
            firing = firing._replace(before=node, after=tuple(new))
        self.record(firing)
        if line is None and self.options.traces != "off":
            self._missing_trace(name, new)

    def record(self, firing: Firing) -> None:
        """Record a change; print it if the options say so."""
        self.report.firings.append(firing)
        options = self.options
        if options.verbose and firing.rule not in options.unmentioned:
            sys.stdout.write(f"{firing}\n")

    def _missing_trace(self, name: str, nodes: Sequence[Apply]) -> None:
        """Deal with new nodes that come from no line of the user's, as option check_stack_trace says."""
        lost = [node for node in nodes if node.user_line is None or node.user_line is self.line]
        if not lost:
            return
        msg = (
            f"rule {name!r}: {lost[0].op} has lost the user's line. Set user_line on the nodes that the rule makes, or "
            "call copy_stack_trace."
        )
        if self.options.traces == "raise":
            raise MissingTraceError(msg)
        if self.options.traces == "warn":
            warnings.warn(msg, RewriteWarning, stacklevel=2)
        for node in lost:
            node.tag.trace = [f"rewrite {name}"]

    def failed(self, name: str, node: Apply | None, error: Exception, callback: Callback | None = None) -> None:
        """Deal with a rule's failure as the option on_opt_error says."""
        # An option or the caller asked for these.
        if isinstance(error, RuleFaultError | MissingTraceError | ShapeInferenceError):
            raise error
        text = f"{type(error).__name__}: {error}"
        on = "" if node is None else f" on {node.op}{node.where()}"
        msg = f"rule {name!r}: failed{on} ({text}). Exclude it by its name, and report it to its author."
        self.report.failures.append((name, text))
        if callback is not None and node is not None:
            callback(error, self, node)
            return
        on_error = self.options.on_error
        if on_error == "raise":
            raise RewriteError(msg) from error
        if on_error == "warn":
            warnings.warn(msg, RewriteWarning, stacklevel=2)
        elif on_error == "pdb":
            pdb.post_mortem(error.__traceback__)

    def endless(self, name: str, loop: tuple[str, ...], msg: str) -> None:
        """Deal with rules that do not come to an end, as the option on_opt_error says."""
        self.report.looping.append(name)
        self.report.loops.append(loop)
        if self.options.on_error == "raise":
            raise RewriteError(msg)
        if self.options.on_error != "ignore":
            warnings.warn(msg, RewriteWarning, stacklevel=2)

    # Rewriters of whole graphs

    @contextmanager
    def in_phase(self, name: str) -> Iterator[None]:
        """Let what runs in the block belong to a phase; an empty name changes nothing."""
        outer = self.phase
        self.phase = name or outer
        try:
            with span(name):
                yield
        finally:
            self.phase = outer

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """If checks are deferred (option cycle_detection), check the block's changes at its end, or undo them all."""
        if not self.options.deferred or not self.guarded:
            yield
            return
        cost = self.report.cost(name or "rewriting")
        finished = False
        try:
            with self.fgraph.transaction():
                yield
                finished = True
                self._validate(cost)
        except InconsistencyError as error:
            if not finished:
                raise
            cost.refused += 1
            self.failed(name, None, error)

    def apply(self, rewriter: GraphRewriter) -> int:
        """Let a rewriter of whole graphs take part in the run; return the number of its changes.

        If it fails, the graph is as before, and ``on_opt_error`` decides what follows.
        """
        graph = self.fgraph
        if rewriter.reports_itself:
            before = self.changes
            rewriter.apply(graph)
            return self.changes - before
        if not rewriter.is_of_use(self.kinds):
            return 0
        name = str(rewriter)
        cost = self.report.cost(name)
        cost.tries += 1
        start = perf_counter()
        earlier = self.take()
        replaced: list[tuple[Variable, Variable]] = []
        self._replaced, self.running = replaced, name
        try:
            with graph.transaction():
                rewriter.add_requirements(graph)
                answer = rewriter.apply(graph)
                self._validate(cost)
        except Exception as error:  # noqa: BLE001 - a user's pass may raise anything; on_opt_error decides
            self.new, self.changed = earlier
            self.failed(name, None, error)
            return 0
        finally:
            self._replaced, self.running = None, ""
            cost.seconds += perf_counter() - start
        self._report_pass(rewriter, cost, replaced)
        self.settle()
        new, changed = self.take()
        self.new, self.changed = [*earlier[0], *new], [*earlier[1], *changed]
        count = answer if isinstance(answer, int) and not isinstance(answer, bool) else len(replaced)
        cost.hits += count
        return count

    def _validate(self, cost: RuleCost) -> None:
        """Let the graph's features check what a pass has done."""
        if self.guarded:
            start = perf_counter()
            self.fgraph.validate()
            cost.validation += perf_counter() - start

    def _report_pass(
        self, rewriter: GraphRewriter, cost: RuleCost, replaced: Sequence[tuple[Variable, Variable]]
    ) -> None:
        """Record what a pass replaced by what, and carry the user's lines over to the new nodes."""
        name = str(rewriter)
        added = len(self.new)
        cost.added += added
        new_nodes = frozenset(self.new)
        fresh = set(self.new)
        seen: dict[Variable, Variable] = {}
        for old, new in replaced:
            if seen.get(old) is new:
                continue
            seen[old] = new
            before, after = old.owner, new.owner
            inside = after is not None and after in new_nodes
            if inside and before is not None and after is not None:
                self._carry_line(before, after, fresh, always=not rewriter.sets_lines)
            firing = Firing(
                name,
                self.phase,
                None if before is None else before.op,
                None if before is None else before.user_line,
                added if len(seen) == 1 else 0,
            )
            if self.keep_nodes:
                firing = firing._replace(before=before, after=(after,) if inside and after is not None else ())
            self.record(firing)
        if self.options.traces != "off":
            self._missing_trace(name, self.new)

    def _carry_line(self, before: Apply, after: Apply, fresh: set[Apply], *, always: bool) -> None:
        """Give new nodes the line of a node that they replace, unless they have one of their own."""
        pending = [after]
        while pending:
            node = pending.pop()
            fresh.discard(node)
            if always or node.user_line is None or node.user_line is self.line:
                node.user_line = carried(before.user_line, node.user_line)
            pending += [x.owner for x in node.inputs if x.owner in fresh]


def replacements(name: str, node: Apply, answer: object) -> tuple[list[tuple[Variable, Variable]], Sequence[Variable]]:
    """Return what a rule's answer, in any of its forms, replaces by what, and what must be gone afterwards."""
    outputs = node.outputs
    if isinstance(answer, Variable):
        if len(outputs) == 1:
            return [(outputs[0], answer)], ()
        answer = [answer]
    pairs: list[tuple[Any, Any]]
    removed: Sequence[Variable] = ()
    if isinstance(answer, Mapping):
        removed = tuple(answer.get("remove", ()))
        pairs = [(old, new) for old, new in answer.items() if not isinstance(old, str) or old != "remove"]
    elif isinstance(answer, Sequence) and len(answer) == len(outputs):
        pairs = list(zip(outputs, answer, strict=True))
    else:
        msg = (
            f"rule {name!r}: must return None, a variable, or one variable (or None) for each of the "
            f"{len(outputs)} outputs of {node.op}, got {answer!r}. Correct the rule."
        )
        raise RewriteError(msg)
    for old, new in pairs:
        if not isinstance(old, Variable) or not (new is None or isinstance(new, Variable)):
            msg = f"rule {name!r}: variables are needed as replacements of {node.op}, got {new!r}. Correct the rule."
            raise RewriteError(msg)
    return [(old, new) for old, new in pairs if new is not None], removed


def stays_below(graph: FunctionGraph, node: Apply, pairs: Sequence[tuple[Variable, Variable]]) -> bool:
    """Whether what replaces a node's outputs is for certain not computed from the node itself: no cycle comes of it.

    A look at few nodes decides: where it is not enough, the answer is no.
    """
    if any(old.owner is not node for old, _ in pairs):
        return False
    known = set(node.inputs)
    for var in node.inputs:
        if var.owner is not None:
            known.update(var.owner.inputs)
    pending = [new for _, new in pairs]
    seen: set[Apply] = set()
    while pending:
        var = pending.pop()
        owner = var.owner
        if owner is None or var in known or owner in seen or graph.is_given(var):
            continue
        if owner is node or len(seen) == MOST_LOOKED_AT:
            return False
        seen.add(owner)
        pending.extend(owner.inputs)
    return True


def current_run(fgraph: FunctionGraph) -> Run | None:
    """Return the run that is rewriting a graph now, or None."""
    return feature_of(fgraph, Run)


@contextmanager
def running(fgraph: FunctionGraph, *, checks: bool = False, keep_nodes: bool = False) -> Iterator[Run]:
    """Yield the run that is rewriting the graph now, or a new one that ends with the block."""
    run = current_run(fgraph)
    if run is not None:
        yield run
        return
    run = Run(fgraph, RunOptions.from_options(), keep_nodes)
    if checks:
        run.checker = Checker(fgraph)
    start = perf_counter()
    with ExitStack() as stack:
        stack.enter_context(COLLECTOR.paused())
        stack.enter_context(composing())
        if config.compute_test_value != config.compute_test_value_opt:
            stack.enter_context(config.change_flags(compute_test_value=config.compute_test_value_opt))
        fgraph.attach_feature(run)
        stack.callback(fgraph.remove_feature, run)
        stack.callback(run.finish)
        yield run
    run.report.nodes_after = len(fgraph)
    run.report.seconds = perf_counter() - start
    if run.options.profile:
        sys.stdout.write(f"{run.report.profile()}\n")
