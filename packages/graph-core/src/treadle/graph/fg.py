"""FunctionGraph: a graph with known inputs and outputs, which can be changed and knows who uses what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph.apply import Apply
from treadle.graph.clone import clone_get_equiv
from treadle.graph.equality import equal_computations
from treadle.graph.errors import CycleError, GraphTypeError, GraphValueError, MissingInputError
from treadle.graph.features import AlreadyThere, Feature
from treadle.graph.op import Op
from treadle.graph.traversal import explicit_graph_inputs, order_nodes, toposort
from treadle.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Client = tuple[Apply, int]


class Output(Op):
    """Stand-in client of a graph's output; it computes nothing and is never among the graph's nodes."""

    __props__ = ("idx",)

    def __init__(self, idx: int) -> None:
        self.idx = idx

    def make_node(self, *inputs: Any) -> Apply:
        """Return the stand-in node of one output variable."""
        return Apply(self, inputs, [])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Do nothing: there are no outputs to compute."""


class FunctionGraph:
    """A graph between inputs and outputs.

    Parameters
    ----------
    inputs
        Its inputs; what the outputs depend on, except constants and shared variables, if None.
    outputs
        Its outputs.
    features
        Features to attach.
    clone
        Whether to work on a copy of the graph; False takes possession of the variables given.
    update_mapping
        Which output is the new value of which input, by position.
    copy_inputs, copy_orphans
        Passed on to the copying.

    Raises
    ------
    MissingInputError
        If an output depends on a variable that is not given.
    """

    def __init__(
        self,
        inputs: Sequence[Variable] | None = None,
        outputs: Sequence[Variable] | None = None,
        features: Sequence[Feature] | None = None,
        clone: bool = True,
        update_mapping: dict[int, int] | None = None,
        *,
        copy_inputs: bool = True,
        copy_orphans: bool = True,
    ) -> None:
        if outputs is None:
            msg = "FunctionGraph: no outputs are given. Pass outputs=[...]."
            raise GraphValueError(msg)
        self._check_variables("output", outputs)
        ins = list(explicit_graph_inputs(outputs)) if inputs is None else list(inputs)
        self._check_variables("input", ins)
        outs = list(outputs)
        if clone:
            memo = clone_get_equiv(ins, outs, copy_inputs, copy_orphans)
            ins = [memo[v] for v in ins]
            outs = [memo[v] for v in outs]
        self.inputs: list[Variable] = []
        self.outputs: list[Variable] = []
        self.clients: dict[Variable, dict[Client, None]] = {}
        self._input_set: set[Variable] = set()
        self.update_mapping = update_mapping
        self.tag: dict[str, Any] = {}
        self._nodes: dict[Apply, None] = {}
        self._features: list[Feature] = []
        self._order: list[Apply] | None = None
        for var in ins:
            self.add_input(var)
        for var in outs:
            self.add_output(var, reason="init")
        for feature in features or ():
            self.attach_feature(feature)

    @staticmethod
    def _check_variables(role: str, variables: Iterable[Any]) -> None:
        for i, var in enumerate(variables):
            if not isinstance(var, Variable):
                msg = f"FunctionGraph: {role} {i} must be a variable, got {var!r}. Convert it to a variable first."
                raise GraphTypeError(msg)

    # What is in the graph

    @property
    def apply_nodes(self) -> Iterable[Apply]:
        """The nodes, in order of import."""
        return self._nodes.keys()

    @property
    def variables(self) -> Iterable[Variable]:
        """Inputs, orphans (constants) and what the nodes compute."""
        return self.clients.keys()

    @property
    def features(self) -> Sequence[Feature]:
        """The features attached."""
        return tuple(self._features)

    def __contains__(self, item: object) -> bool:
        """Whether a variable or node is in the graph."""
        return item in self._nodes if isinstance(item, Apply) else item in self.clients

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self._nodes)

    def get_clients(self, var: Variable) -> list[Client]:
        """Return who uses the variable: (node, input position); an output's node has the op `Output`."""
        return list(self.clients[var])

    # Changing it

    def add_input(self, var: Variable) -> None:
        """Add an input.

        Raises
        ------
        GraphValueError
            If the variable is an input already.
        """
        if var in self._input_set:
            msg = f"FunctionGraph: {var} is listed twice among the inputs. List each input once."
            raise GraphValueError(msg)
        self.inputs.append(var)
        self._input_set.add(var)
        self.clients.setdefault(var, {})

    def add_output(self, var: Variable, reason: str | None = None) -> None:
        """Add an output, importing what it depends on."""
        self.import_variable(var, reason)
        node = Apply(Output(len(self.outputs)), [var], [])
        self.outputs.append(var)
        self.clients[var][node, 0] = None

    def import_variable(self, var: Variable, reason: str | None = None) -> list[Apply]:
        """Bring a variable, and the nodes that compute it, into the graph; return the nodes that are new.

        Raises
        ------
        MissingInputError
            If it depends on a variable that is no input, constant or shared variable. The graph stays as it was.
        """
        clients = self.clients
        if var in clients:
            return []
        if var.owner is None:
            self._check_given(var, None)
            clients[var] = {}
            return []
        new_nodes = order_nodes([var], clients.__contains__)
        self._check_all_given(new_nodes)
        for node in new_nodes:
            self._nodes[node] = None
            for out in node.outputs:
                clients.setdefault(out, {})
            for i, x in enumerate(node.inputs):
                clients.setdefault(x, {})[node, i] = None
        self._order = None
        if self._features:
            for node in new_nodes:
                self.execute_callbacks("on_import", node, reason)
        return new_nodes

    def _check_all_given(self, nodes: Iterable[Apply]) -> None:
        """Refuse nodes, in order of evaluation, that need something from outside the graph."""
        made: set[Variable] = set()
        for node in nodes:
            for x in node.inputs:
                if x not in self.clients and x not in made:
                    self._check_given(x, node)
            made.update(node.outputs)

    def _check_given(self, var: Variable, node: Apply | None) -> None:
        if var.owner is None and not isinstance(var, Constant) and getattr(var, "container", None) is None:
            use = "the outputs" if node is None else f"{node.op}{node.where()}"
            msg = (
                f"{var} of type {var.type}: the variable is needed by {use}, but is not among the inputs. "
                "Add it to the inputs, or give it a value through givens."
            )
            raise MissingInputError(msg)

    def change_node_input(
        self,
        node: Apply,
        i: int,
        new_var: Variable,
        reason: str | None = None,
        import_missing: bool = True,
        check: bool = True,
    ) -> None:
        """Change input `i` of a node, or the variable of an output.

        Parameters
        ----------
        node
            A node of the graph, or the stand-in client of an output.
        i
            Position of the input.
        new_var
            The variable to put there.
        reason
            Told to the features.
        import_missing
            Whether `new_var` may come from outside the graph.
        check
            Whether the type must be kept or refined.

        Raises
        ------
        GraphTypeError
            If the type does not fit.
        """
        old = node.inputs[i]
        if old is new_var:
            return
        if check and not old.type.is_super(new_var.type):
            msg = (
                f"{node.op}: input {i} has type {old.type}, which cannot become {new_var.type}{node.where()}. "
                "Keep the type, or refine it."
            )
            raise GraphTypeError(msg)
        if import_missing:
            self.import_variable(new_var, reason)
        elif new_var not in self.clients:
            msg = f"{node.op}: {new_var} is not in the graph. Import it first, or pass import_missing=True."
            raise GraphValueError(msg)
        node.inputs[i] = new_var
        if isinstance(node.op, Output):
            self.outputs[node.op.idx] = new_var
        self.clients[new_var][node, i] = None
        del self.clients[old][node, i]
        self._order = None
        self._prune(old, reason)
        if self._features:
            self.execute_callbacks("on_change_input", node, i, old, new_var, reason)

    def replace(self, var: Variable, new_var: Variable, reason: str | None = None, import_missing: bool = True) -> None:
        """Let `new_var` take the place of `var` with all its clients.

        Raises
        ------
        GraphTypeError
            If the type is neither kept nor refined.
        CycleError
            If `new_var` is computed from a client of `var` that would then need itself.
        """
        if var is new_var or var not in self.clients:
            return
        if not var.type.is_super(new_var.type):
            msg = (
                f"replace: {var} has type {var.type}, which cannot become {new_var.type} "
                f"(reason: {reason}). Keep the type, or refine it."
            )
            raise GraphTypeError(msg)
        # A replacement may use what it replaces (x -> f(x)): the nodes imported for it keep the old variable.
        own = set(self.import_variable(new_var, reason)) if import_missing else set()
        for node, i in list(self.clients[var]):
            if node not in own:
                self.change_node_input(node, i, new_var, reason, import_missing=False, check=False)

    def replace_all(self, pairs: Iterable[tuple[Variable, Variable]], reason: str | None = None) -> None:
        """Replace each old variable of the pairs by its new one."""
        for var, new_var in pairs:
            self.replace(var, new_var, reason)

    def _prune(self, var: Variable, reason: str | None) -> None:
        """Remove what nothing uses any more, beginning with a variable."""
        pending = [var]
        while pending:
            unused = pending.pop()
            users = self.clients.get(unused)
            if users is None or users:
                continue
            node = unused.owner
            if node is None:
                if unused not in self._input_set:
                    del self.clients[unused]
                continue
            if node not in self._nodes or any(self.clients[out] for out in node.outputs):
                continue
            del self._nodes[node]
            for out in node.outputs:
                del self.clients[out]
            for i, x in enumerate(node.inputs):
                del self.clients[x][node, i]
                pending.append(x)
            if self._features:
                self.execute_callbacks("on_prune", node, reason)

    # Features

    def attach_feature(self, feature: Feature) -> None:
        """Attach a feature; one that says it is there already is left as it is."""
        if feature in self._features:
            return
        try:
            feature.on_attach(self)
        except AlreadyThere:
            return
        self._features.append(feature)

    def remove_feature(self, feature: Feature) -> None:
        """Remove a feature."""
        if feature in self._features:
            self._features.remove(feature)
            feature.on_detach(self)

    def execute_callbacks(self, name: str, *args: Any) -> None:
        """Call a method of every feature, in order of attachment."""
        for feature in list(self._features):
            getattr(feature, name)(self, *args)

    def collect_callbacks(self, name: str, *args: Any) -> dict[Feature, Any]:
        """Return what a method of every feature answers."""
        return {feature: getattr(feature, name)(self, *args) for feature in self._features}

    def validate(self) -> None:
        """Let every feature check the graph."""
        self.execute_callbacks("validate")

    # Order and copies

    def toposort(self) -> list[Apply]:
        """Return the nodes, every node after those it needs and those the features put before it.

        Raises
        ------
        CycleError
            If there is no such order.
        """
        if self._order is None:
            self._order = toposort(self.outputs, self._input_set)
        order = self._order
        extra: dict[Apply, list[Apply]] = {}
        for feature in self._features:
            for node, before in feature.orderings(self).items():
                extra.setdefault(node, []).extend(before)
        return list(order) if not extra else self._constrained(order, extra)

    @staticmethod
    def _constrained(order: list[Apply], extra: dict[Apply, list[Apply]]) -> list[Apply]:
        """Order anew, under constraints beyond the data flow, keeping close to the given order."""
        result: list[Apply] = []
        done: dict[Apply, bool] = {}
        for start in order:
            stack = [start]
            while stack:
                node = stack[-1]
                if node not in done:
                    done[node] = False
                    needs = [x.owner for x in node.inputs if x.owner is not None] + extra.get(node, [])
                    for need in needs:
                        if need not in done:
                            stack.append(need)
                        elif not done[need]:
                            msg = f"{node.op}: the required orderings contradict each other{node.where()}."
                            raise CycleError(msg)
                else:
                    stack.pop()
                    if not done[node]:
                        done[node] = True
                        result.append(node)
        return result

    def clone(self) -> FunctionGraph:
        """Return a copy without features."""
        return self.clone_get_equiv(attach_feature=False)[0]

    def clone_get_equiv(
        self, check_integrity: bool = False, attach_feature: bool = True
    ) -> tuple[FunctionGraph, dict[Any, Any]]:
        """Return a copy, and which of its variables and nodes stands for which of this graph's."""
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
            for feature in self._features:
                new.attach_feature(feature)
        return new, equiv

    def check_integrity(self) -> None:
        """Check that nodes, clients, inputs and outputs agree with each other.

        Raises
        ------
        GraphValueError
            If they do not.
        """
        nodes = set(toposort(self.outputs, self.inputs))
        known = set(self._nodes)
        if not nodes <= known:
            msg = f"FunctionGraph: the nodes {nodes - known} are needed but were never imported."
            raise GraphValueError(msg)
        for node in known:
            for i, var in enumerate(node.inputs):
                if (node, i) not in self.clients.get(var, ()):
                    msg = f"FunctionGraph: {node} is not listed as a client of its input {var}."
                    raise GraphValueError(msg)
        for i, out in enumerate(self.outputs):
            users = self.clients.get(out, {})
            if not any(isinstance(n.op, Output) and n.op.idx == i for n, _ in users):
                msg = f"FunctionGraph: output {i} is not listed among the clients of {out}."
                raise GraphValueError(msg)

    def equals(self, other: FunctionGraph) -> bool:
        """Whether the other graph computes the same in the same way, inputs matched by position."""
        return equal_computations(self.outputs, other.outputs, self.inputs, other.inputs)

    def __repr__(self) -> str:
        """Show inputs and outputs."""
        ins, outs = (", ".join(map(str, vs)) for vs in (self.inputs, self.outputs))
        return f"FunctionGraph([{ins}] -> [{outs}], {len(self._nodes)} nodes)"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle outputs first: they bring the whole graph along in one record."""
        return _restore, (list(self.outputs), list(self.inputs), self._features, self.update_mapping, self.tag)


def _restore(
    outputs: list[Variable],
    inputs: list[Variable],
    features: list[Feature],
    update_mapping: dict[int, int] | None,
    tag: dict[str, Any],
) -> FunctionGraph:
    graph = FunctionGraph(inputs, outputs, clone=False, update_mapping=update_mapping)
    graph.tag = tag
    for feature in features:
        graph.attach_feature(feature)
    return graph
