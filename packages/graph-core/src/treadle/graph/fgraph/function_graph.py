"""FunctionGraph: a graph with known inputs and outputs, which can be changed and keeps the users of each variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from treadle.config import config, text_of
from treadle.graph.algorithms.clone import clone_get_equiv
from treadle.graph.algorithms.traversal import explicit_graph_inputs, order_nodes, walk_toposort
from treadle.graph.errors import CycleError, GraphTypeError, GraphValueError
from treadle.graph.fgraph.editing import EditableGraph
from treadle.graph.fgraph.features.validation import ON_DEMAND, method_on_demand
from treadle.graph.fgraph.integrity import check_integrity
from treadle.graph.fgraph.observers import Observers
from treadle.graph.fgraph.structure import GraphStructure
from treadle.graph.ir.arguments import as_flag, as_list
from treadle.graph.ir.variable import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from treadle.graph.fgraph.features import Feature
    from treadle.graph.fgraph.frozen_graph import FrozenFunctionGraph
    from treadle.graph.fgraph.order import OrderStatistics
    from treadle.graph.fgraph.structure import Clients
    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.variable import Variable


class FunctionGraph(EditableGraph):
    """A graph between inputs and outputs.

    Two function graphs are equal (``==``) only if they are the same object; `equals` and `stable_key` compare what
    they compute, and `freeze` returns a graph that compares by it.

    Every edit is done as a whole or not at all: one that is refused, by the graph or by a feature, leaves everything
    as it was. A cycle through one node is refused at once; a longer one is found by the next `toposort` or `validate`,
    so that an edit need not search the graph (`transaction` undoes what a failing `validate` finds).

    Parameters
    ----------
    inputs
        Its inputs; what the outputs depend on, except constants and shared variables, if None.
    outputs
        Its outputs; a variable may be given twice, and may be an input or a constant.
    features
        Features to attach.
    clone
        Whether to work on a copy of the graph; False takes possession of the variables given.
    update_mapping
        Which output is the new value of which input, by position.
    memo
        With `clone`, copies that exist already, by what they are copies of: they are used, and the others are entered,
        of variables and of nodes (see `clone_get_equiv`).
    copy_inputs, copy_orphans, clone_inner_graphs
        Passed on to the copying.

    Attributes
    ----------
    inputs, outputs
        Lists of variables, changed through the methods only.
    clients
        For every variable of the graph, who uses it.
    tag, profile
        Free for tools.

    Raises
    ------
    MissingInputError
        If an output depends on a variable that is not given.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> fgraph = FunctionGraph([x, y], [tt.exp(x) + y])
    >>> [str(node.op) for node in fgraph.toposort()]
    ['Exp', 'Add']
    >>> total = fgraph.outputs[0]
    >>> fgraph.replace(total, fgraph.inputs[1])
    >>> len(fgraph.toposort())
    0
    """

    # Set by treadle.graph.fgraph.frozen_graph, which needs this class to define itself.
    frozen_kind: ClassVar[type[Any]]

    if TYPE_CHECKING:
        # What the features of this package install.
        checkpoint: Callable[[], int]
        revert: Callable[[int], None]
        get_nodes: Callable[[Any], list[Apply]]
        consistent: Callable[[], bool]
        replace_validate: Callable[..., None]
        replace_all_validate: Callable[..., None]
        replace_all_validate_remove: Callable[..., bool]
        destroyers: Callable[[Variable], list[Apply]]
        has_destroyers: Callable[[Iterable[Variable]], bool]
        destroy_handler: Any
        shape_feature: Any
        shape_of: Callable[[Variable], tuple[Any, ...] | None]

    def __init__(
        self,
        inputs: Sequence[Variable] | None = None,
        outputs: Sequence[Variable] | None = None,
        features: Sequence[Feature] | None = None,
        clone: bool = True,
        update_mapping: dict[int, int] | None = None,
        *,
        memo: dict[Any, Any] | None = None,
        copy_inputs: bool = True,
        copy_orphans: bool = True,
        clone_inner_graphs: bool | None = None,
    ) -> None:
        if outputs is None:
            msg = "FunctionGraph: no outputs are given. Pass outputs=[...]."
            raise GraphValueError(msg)
        outs = listed("FunctionGraph: output", outputs)
        ins = list(explicit_graph_inputs(outs)) if inputs is None else listed("FunctionGraph: input", inputs)
        feature_list = [] if features is None else as_list(features)
        if feature_list is None:
            msg = f"FunctionGraph: features must be a list, got {text_of(features)}. Put them into one."
            raise GraphTypeError(msg)
        if as_flag("FunctionGraph: clone", clone):
            copies = clone_get_equiv(ins, outs, copy_inputs, copy_orphans, memo, clone_inner_graphs)
            ins = [copies[v] for v in ins]
            outs = [copies[v] for v in outs]
        self._set_up(ins, outs, feature_list, update_mapping, {})

    def _set_up(
        self,
        ins: Sequence[Variable],
        outs: Sequence[Variable],
        features: Iterable[Feature],
        update_mapping: dict[int, int] | None,
        tag: dict[str, Any],
    ) -> None:
        self._structure = GraphStructure()
        self.inputs: list[Variable] = self._structure.inputs
        self.outputs: list[Variable] = self._structure.outputs
        self.clients: dict[Variable, Clients] = self._structure.clients
        self._nodes = self._structure.nodes
        self.tag = tag
        self.profile: Any = None
        self._observers = Observers(self, self._structure)
        for var in ins:
            self.add_input(var)
        for var in outs:
            self.add_output(var, reason="init")
        self.update_mapping = update_mapping
        for feature in features:
            self.attach_feature(feature)

    # What is attached to the graph

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Return a method of `ReplaceValidate`, which every graph has on demand, without the feature attached."""
            if name in ON_DEMAND:
                return method_on_demand(self, name)
            msg = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(msg, name=name, obj=self)

    @property
    def features(self) -> Sequence[Feature]:
        """The features attached, in order of attachment."""
        return tuple(self._observers.features)

    # PyTensor's name for them, which programs that look for a feature use.
    _features = features

    @property
    def update_mapping(self) -> dict[int, int] | None:
        """Which output is the new value of which input, by position."""
        return self._structure.update_mapping

    @update_mapping.setter
    def update_mapping(self, mapping: dict[int, int] | None) -> None:
        counts = len(self.outputs), len(self.inputs)
        pairs = mapping.items() if isinstance(mapping, dict) else [()] if mapping is not None else []
        for pair in pairs:
            if not all(isinstance(at, int) and 0 <= at < n for at, n in zip(pair, counts, strict=False)) or not pair:
                msg = (
                    f"FunctionGraph: update_mapping must say for positions of outputs (of {counts[0]}) which positions "
                    f"of inputs (of {counts[1]}) they update, got {text_of(mapping)}. Pass a dict."
                )
                raise GraphTypeError(msg)
        self._structure.update_mapping = mapping

    @property
    def order_statistics(self) -> OrderStatistics:
        """Work done so far to keep the order of evaluation."""
        return self._structure.order.statistics

    # Features

    def attach_feature(self, feature: Feature) -> None:
        """Attach a feature; one that is there already, or says so (`AlreadyThere`), is left out.

        A feature that fails while it is attached is not attached, and leaves no attribute behind.

        Raises
        ------
        GraphTypeError
            If it is no feature.
        """
        self._observers.attach(feature)

    def remove_feature(self, feature: Feature) -> None:
        """Remove a feature, and the attributes that it installed; nothing happens if it is not attached."""
        if any(attached is feature for attached in self._observers.features):
            self._observers.detach(feature)

    def install(self, feature: Feature, attributes: Mapping[str, object]) -> None:
        """Set attributes of the graph until a feature is removed (see `Feature.install`)."""
        self._observers.install(feature, attributes)

    def execute_callbacks(self, name: str, *args: object) -> None:
        """Call a method of every feature that has it, with the graph and the arguments, in order of attachment."""
        self._observers.execute(_callback(name), args)

    def collect_callbacks(self, name: str, *args: object) -> dict[Feature, Any]:
        """Call a method of every feature that has it; return the results by feature."""
        _callback(name)
        methods = {feature: getattr(feature, name, None) for feature in self._observers.features}
        return {feature: method(self, *args) for feature, method in methods.items() if method is not None}

    def validate(self) -> None:
        """Check that there is an order of evaluation, and let every feature check the graph.

        Raises
        ------
        InconsistencyError
            If the graph contains a cycle (`CycleError`), or a feature does not accept it.
        """
        self._observers.execute("validate", ())
        self.repair_order()

    # Order

    def toposort(self) -> list[Apply]:
        """Return the nodes, every node after those it needs and those the features put before it.

        The order is kept from one call to the next: local edits move only nodes near them. With option
        ``toposort_from`` at ``last`` it is that of `treadle.graph.toposort`, unless features put nodes before others.

        Raises
        ------
        CycleError
            If there is no such order.
        """
        core = self._structure
        core.repair()
        order = core.order.sequence(final=not core.keeping)
        extra = self.orderings(kept=False)
        if extra:
            return self._constrained(order, extra)
        if config.toposort_from == "last" and not self.orderings():
            inputs = set(self.inputs)
            needed = order_nodes(self.outputs, inputs.__contains__, from_last=True)
            # Nodes that no output needs stay where they are.
            return needed if len(needed) == len(order) else order
        return order

    def orderings(self, kept: bool = True) -> dict[Apply, list[Apply]]:
        """Return for nodes the others that features put before them.

        Parameters
        ----------
        kept
            Whether those that features keep in the graph's own order are among them.
        """
        earlier: dict[Apply, list[Apply]] = {}
        for feature, orderings in self._observers.callbacks("orderings"):
            if kept or not getattr(feature, "keeps_orderings", False):
                for node, before in orderings(self).items():
                    earlier.setdefault(node, []).extend(before)
        return earlier

    def _constrained(self, order: Iterable[Apply], extra: Mapping[Apply, Iterable[Apply]]) -> list[Apply]:
        """Order anew, under constraints beyond the data flow, keeping close to the given order."""
        nodes, inputs = self._structure.nodes, self._structure.given

        def needs(node: Apply) -> list[Apply]:
            data = [v.owner for v in node.inputs if v.owner is not None and v not in inputs]
            return [need for need in (*data, *extra.get(node, ())) if need in nodes]

        try:
            return list(walk_toposort(order, needs))
        except CycleError as error:
            node = error.nodes[0]
            msg = (
                f"{node.op}: the required orderings contradict each other or the flow of data{node.where()}. "
                "Remove the feature that asks for them, or correct it."
            )
            refused = CycleError(msg)
            refused.nodes = error.nodes
            raise refused from error

    def repair_order(self) -> None:
        """Bring the order up to date, at the cost of what was changed.

        Raises
        ------
        CycleError
            If there is no such order. Orderings of features that do not keep them in the graph are left out.
        """
        self._structure.repair()

    def add_ordering(self, first: Apply, second: Apply) -> None:
        """Put a node before another one in every order from now on, for features that set ``keeps_orderings``."""
        if not self._observers.is_telling:
            # No edit undoes it, so the order noted at earlier places in the journal does not include it.
            self._structure.forget_marks()
        self._structure.order.add_constraint(first, second)

    def remove_ordering(self, first: Apply, second: Apply) -> None:
        """Take back `add_ordering`."""
        self._structure.order.remove_constraint(first, second)

    # History, for features that offer it

    def keep_journal(self, keep: bool) -> None:
        """Start (True) or stop (False) keeping the steps that `revert_journal` needs; calls are counted."""
        if keep:
            self._observers.keep()
        else:
            self._observers.drop()

    def journal_mark(self) -> int:
        """Return the place to go back to with `revert_journal`, while the journal is kept; the order is repaired."""
        return self._structure.mark()

    def told_mark(self) -> int:
        """Return the place in the journal after the step reported to features last."""
        return self._observers.told_mark()

    def revert_journal(self, mark: int) -> None:
        """Take back everything done since a place in the journal, exactly."""
        self._observers.revert(mark)

    # Copies

    def clone(self, check_integrity: bool = False) -> FunctionGraph:
        """Return a copy without features."""
        return self.clone_get_equiv(check_integrity, attach_feature=False)[0]

    def clone_get_equiv(
        self, check_integrity: bool = False, attach_feature: bool = True
    ) -> tuple[FunctionGraph, dict[Any, Any]]:
        """Return a copy, and a mapping from this graph's variables and nodes to the copy's.

        Parameters
        ----------
        check_integrity
            Whether to check the copy.
        attach_feature
            Whether the copy gets the clones of the features (see `Feature.clone_onto`).
        """
        equiv = clone_get_equiv(self.inputs, self.outputs)
        new = FunctionGraph(
            [equiv[v] for v in self.inputs],
            [equiv[v] for v in self.outputs],
            clone=False,
            update_mapping=None if self.update_mapping is None else dict(self.update_mapping),
        )
        new.tag = dict(self.tag)
        if check_integrity:
            new.check_integrity()
        if attach_feature:
            for feature in self.features:
                new.attach_feature(feature.clone_onto(equiv))
        return new, equiv

    def __copy__(self) -> FunctionGraph:
        """Return a copy with clones of the features: no node may be in two graphs that are edited."""
        return self.clone_get_equiv()[0]

    def freeze(self) -> FrozenFunctionGraph:
        """Return an unchangeable copy that compares and hashes by what it computes (`FrozenFunctionGraph`)."""
        frozen: FrozenFunctionGraph = self.frozen_kind(self.inputs, self.outputs)
        return frozen

    def check_integrity(self) -> None:
        """Check that nodes, clients, inputs, outputs and order agree with each other.

        Raises
        ------
        GraphValueError
            If they do not.
        """
        check_integrity(self, self._structure)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the parts of the graph; the features are attached anew when it is loaded."""
        # Outputs first: they bring the whole graph along in one record.
        state = (list(self.outputs), list(self.inputs), list(self.features), self.update_mapping, self.tag)
        return object.__new__, (type(self),), state

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        """Build the graph from what was pickled."""
        outputs, inputs, features, update_mapping, tag = state
        self._set_up(inputs, outputs, features, update_mapping, tag)


def _callback(name: object) -> str:
    """Return the name of a callback."""
    if isinstance(name, str):
        return name
    msg = f"FunctionGraph: callbacks are called by name, got {text_of(name)}. Pass a text such as 'on_import'."
    raise GraphTypeError(msg)
