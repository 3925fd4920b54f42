"""Edits of function graphs: each is checked, journalled, reported to features, and done as a whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from treadle.config import config, text_of
from treadle.graph.algorithms.clone import replacement_pairs
from treadle.graph.algorithms.traversal import check_node, cycle_error, order_nodes, walk
from treadle.graph.errors import GraphTypeError, GraphValueError, MissingInputError
from treadle.graph.fgraph.abstract_graph import AbstractFunctionGraph
from treadle.graph.fgraph.observers import Transaction
from treadle.graph.fgraph.structure import Output
from treadle.graph.ir.variable import Variable, has_value, listed

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from treadle.graph.fgraph.observers import Observers
    from treadle.graph.fgraph.structure import Client, Clients, GraphStructure
    from treadle.graph.ir.apply import Apply


class EditableGraph(AbstractFunctionGraph):
    """Base of `FunctionGraph`: the contents of the graph, and the methods that change it."""

    inputs: list[Variable]
    outputs: list[Variable]
    clients: dict[Variable, Clients]
    _nodes: dict[Apply, int]
    _structure: GraphStructure
    _observers: Observers

    # What is in the graph

    @property
    def apply_nodes(self) -> Iterable[Apply]:
        """The nodes, in order of import; a view that compares like a set."""
        return self._structure.sorted_nodes().keys()

    @property
    def variables(self) -> Iterable[Variable]:
        """Inputs, orphans (constants) and what the nodes compute; a view that compares like a set."""
        return self.clients.keys()

    def __contains__(self, item: object) -> bool:
        return item in self.clients or item in self._nodes

    def __len__(self) -> int:
        return len(self._structure.nodes)

    def get_clients(self, var: Variable) -> list[Client]:
        """Return the users of a variable as pairs (node, input position); an output's node has the op `Output`.

        Raises
        ------
        GraphValueError
            If the variable is not in the graph.
        """
        unchecked: object = var
        if not isinstance(unchecked, Variable):
            listed("FunctionGraph: variable", (unchecked,))
        if var not in self.clients:
            msg = f"FunctionGraph: {var} of type {var.type} is not in the graph. Import it first."
            raise GraphValueError(msg)
        return self._structure.sorted_clients(var)

    def is_given(self, var: Variable) -> bool:
        """Whether a variable is an input of the graph."""
        return var in self._structure.given

    # Edits

    def transaction(self) -> Transaction:
        """Return a context in which edits belong together: an error that leaves it undoes all of them."""
        return Transaction(self._observers)

    def add_input(self, var: Variable, check: bool = True, reason: str | None = None) -> None:
        """Add an input.

        Parameters
        ----------
        var
            The variable. One that the graph computes is taken as given from now on.
        check
            Whether a variable that is an input already is refused; otherwise nothing happens.
        reason
            Told to the features.

        Raises
        ------
        GraphValueError
            If the variable is an input already.
        """
        listed("FunctionGraph: new input", (var,))
        core = self._structure
        if var in core.given:
            if not check:
                return
            msg = f"FunctionGraph: {var} is listed twice among the inputs. List each input once."
            raise GraphValueError(msg)
        with Transaction(self._observers):
            core.add_input(var, reason)
            core.prune(var, reason)

    def remove_input(self, input_idx: int, reason: str | None = None) -> None:
        """Remove an input, and everything that depends on it, outputs too."""
        self._check_place("input", input_idx, self.inputs)
        core = self._structure
        var = self.inputs[input_idx]
        with Transaction(self._observers):
            self._remove_users([var], reason)
            core.remove_input(input_idx, reason)
            core.prune(var, reason)

    def add_output(self, var: Variable, reason: str | None = None, import_missing: bool = False) -> None:
        """Add an output, importing what it depends on (as `import_var` does)."""
        listed("FunctionGraph: new output", (var,))
        with Transaction(self._observers):
            self._import(var, reason, import_missing)
            self._structure.add_output(var, reason)

    def remove_output(self, output_idx: int, reason: str | None = None) -> None:
        """Remove an output, and what it alone needed."""
        self._check_place("output", output_idx, self.outputs)
        var = self.outputs[output_idx]
        with Transaction(self._observers):
            self._structure.remove_output(output_idx, reason)
            self._structure.prune(var, reason)

    def remove_node(self, node: Apply, reason: str | None = None) -> None:
        """Remove a node, everything that depends on it, outputs too, and what they alone needed."""
        check_node("FunctionGraph", node)
        if node not in self._structure.nodes:
            msg = f"FunctionGraph: {node.op} is not a node of the graph{node.where()}. Pass one of apply_nodes."
            raise GraphValueError(msg)
        with Transaction(self._observers):
            self._remove_users(node.outputs, reason)
            for out in node.outputs:
                self._structure.prune(out, reason)

    def _remove_users(self, variables: Iterable[Variable], reason: str | None) -> None:
        """Remove outputs and nodes that depend on variables."""
        core = self._structure
        dependent = list(walk(variables, self._computed_from))
        positions = sorted(n.op.idx for v in dependent for n, _ in core.clients[v] if isinstance(n.op, Output))
        removed_outputs = [core.outputs[index] for index in positions]
        for index in reversed(positions):
            core.remove_output(index, reason)
        # Breadth first is no order of evaluation, but pruning a node without users also prunes those before it.
        for var in (*removed_outputs, *reversed(dependent)):
            core.prune(var, reason)

    def _computed_from(self, var: Variable) -> list[Variable]:
        return [out for node, _ in self.clients[var] for out in node.outputs if out not in self._structure.given]

    def import_var(self, var: Variable, reason: str | None = None, import_missing: bool = False) -> None:
        """Bring a variable, and the nodes that compute it, into the graph.

        Parameters
        ----------
        var
            The variable.
        reason
            Told to the features.
        import_missing
            Whether variables that are no input, constant or shared variable become inputs.

        Raises
        ------
        MissingInputError
            If there is such a variable and it may not become an input.
        """
        listed("FunctionGraph: new variable", (var,))
        with Transaction(self._observers):
            self._import(var, reason, import_missing)

    def import_node(
        self, apply_node: Apply, check: bool = True, reason: str | None = None, import_missing: bool = False
    ) -> None:
        """Bring a node, and those that it needs, into the graph (see `import_var`).

        Parameters
        ----------
        apply_node
            The node.
        check
            False takes what is missing as it is, without making it an input.
        reason, import_missing
            As for `import_var`.
        """
        check_node("FunctionGraph", apply_node)
        with Transaction(self._observers):
            if apply_node not in self._structure.nodes:
                new_nodes = order_nodes(apply_node.outputs, self.clients.__contains__)
                if check:
                    self._check_given(new_nodes, import_missing, reason)
                self._structure.import_nodes(new_nodes, reason)

    def _import(self, var: Variable, reason: str | None, import_missing: bool) -> list[Apply]:
        """Bring a variable into the graph; return the nodes that are new."""
        core = self._structure
        if var in core.clients:
            return []
        if var.owner is None:
            if not has_value(var):
                if not import_missing:
                    _refuse_missing(var, None)
                core.add_input(var, reason)
            else:
                core.list_variable(var)
            return []
        clients, node = core.clients, var.owner
        if clients.keys() >= set(node.inputs):
            new_nodes = [node]
        else:
            new_nodes = order_nodes([var], clients.__contains__)
            self._check_given(new_nodes, import_missing, reason)
        core.import_nodes(new_nodes, reason)
        return new_nodes

    def _check_given(self, nodes: Iterable[Apply], import_missing: bool, reason: str | None) -> None:
        """Refuse nodes that need variables from outside the graph, or make these inputs."""
        variables = self.clients
        for node in nodes:
            for var in node.inputs:
                if var.owner is None and var not in variables and not has_value(var):
                    if not import_missing:
                        _refuse_missing(var, node)
                    self._structure.add_input(var, reason)

    def change_node_input(
        self,
        node: Apply,
        i: int,
        new_var: Variable,
        reason: str | None = None,
        import_missing: bool = False,
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
            The variable to put there; it is imported where it is new.
        reason
            Told to the features.
        import_missing
            As for `import_var`.
        check
            Whether the type must be kept or refined.

        Raises
        ------
        GraphTypeError
            If the type does not fit.
        GraphValueError
            If the node is not in the graph, or has no such input.
        CycleError
            If the node computes the variable itself.
        """
        check_node("FunctionGraph", node)
        listed("FunctionGraph: new input", (new_var,))
        core = self._structure
        nodes: Container[Apply] = core.nodes if node.outputs or not isinstance(node.op, Output) else core.output_nodes
        if node not in nodes:
            msg = f"FunctionGraph: {node.op} is not a node of the graph{node.where()}. Pass one of apply_nodes."
            raise GraphValueError(msg)
        self._check_place("input", i, node.inputs)
        old = node.inputs[i]
        if old is new_var:
            return
        if check and not old.type.is_super(new_var.type):
            msg = (
                f"{node.op}: input {i} has type {old.type}, which cannot become {new_var.type}{node.where()}. "
                "Keep the type, or refine it."
            )
            raise GraphTypeError(msg)
        _check_no_loop(node, new_var, core.given)
        with Transaction(self._observers):
            self._import(new_var, reason, import_missing)
            core.change_input(node, i, new_var, reason)
            core.prune(old, reason)

    def replace(
        self,
        var: Variable,
        new_var: Variable,
        reason: str | None = None,
        verbose: bool | None = None,
        import_missing: bool = False,
    ) -> None:
        """Replace `var` by `new_var` in all its clients.

        Parameters
        ----------
        var
            A variable; nothing happens if it is not in the graph.
        new_var
            What takes its place. It may be computed from `var`: nodes that are new keep it.
        reason
            Told to the features.
        verbose
            Whether to print what is replaced.
        import_missing
            As for `import_var`.

        Raises
        ------
        GraphTypeError
            If the type is neither kept nor refined, and is no less known one whose lengths are to be checked, as the
            option ``less_known_replacements`` says.
        MissingInputError
            If `new_var` depends on a variable that is not given.
        CycleError
            If `new_var` is computed by a client of `var` in the graph. A longer way from `var` to `new_var` inside
            the graph is found by the next `toposort` or `validate`.
        """
        unchecked: tuple[object, object] = (var, new_var)
        if not isinstance(unchecked[0], Variable) or not isinstance(unchecked[1], Variable):
            listed("FunctionGraph: replacement", unchecked)
        if verbose:
            print(f"rewriting: rewrite {reason} replaces {var} with {new_var}")  # noqa: T201 - what verbose asks for
        if var is new_var or var not in self.clients:
            return
        if not var.type.is_super(new_var.type):
            checked_var = self.as_replacement(var, new_var)
            if checked_var is None:
                msg = (
                    f"replace: {var} has type {var.type}, which cannot become {new_var.type} "
                    f"(reason: {reason}). Keep the type, or refine it."
                )
                raise GraphTypeError(msg)
            new_var = checked_var
        core, observers = self._structure, self._observers
        # As Transaction does it, without the cost of an object: rewriting replaces all the time.
        mark = observers.begin()
        try:
            was_present = new_var in core.clients
            new_nodes = set(self._import(new_var, reason, import_missing))
            maker = None if new_var in core.given else new_var.owner
            for node, i in core.sorted_clients(var):
                if node not in new_nodes:
                    if node is maker:
                        _check_no_loop(node, new_var, core.given)
                    core.change_input(node, i, new_var, reason)
            core.prune(var, reason)
            if not was_present:
                # It may have no client: the old variable may have been used by its new nodes only.
                core.prune(new_var, reason)
            observers.finish()
        except BaseException:
            observers.fail(mark)
            raise

    @staticmethod
    def as_replacement(var: Variable, new_var: Variable) -> Variable | None:
        """Return what takes a variable's place: the new one, its lengths checked if fewer are known; None if none can.

        Parameters
        ----------
        var
            What is replaced.
        new_var
            What is to take its place: its type is the old one or refines it. Where the option
            ``less_known_replacements`` is ``check``, fewer lengths may be known.
        """
        if var.type.is_super(new_var.type):
            return new_var
        if config.less_known_replacements != "check":
            return None
        checked_var = var.type.convert_variable(new_var)
        return checked_var if checked_var is not None and var.type.is_super(checked_var.type) else None

    def replace_all(
        self,
        pairs: Iterable[tuple[Variable, Any]],
        reason: str | None = None,
        import_missing: bool = False,
    ) -> None:
        """Replace each old variable of the pairs by its new one, one after the other; all of them or none.

        In place of a new variable, a value of the old one's type will do.
        """
        with Transaction(self._observers):
            for var, new_var in replacement_pairs("replace_all", pairs):
                self.replace(var, new_var, reason, import_missing=import_missing)

    def setup_var(self, var: Variable) -> None:
        """Make a variable known to the graph, without importing what computes it."""
        listed("FunctionGraph: new variable", (var,))
        with Transaction(self._observers):
            self._structure.list_variable(var)

    def setup_node(self, node: Apply) -> None:
        """Make a node known to the graph, whose inputs must be known already."""
        unknown = [var for var in node.inputs if var not in self.clients]
        if unknown:
            msg = f"{node.op}: the input {unknown[0]} is not in the graph{node.where()}. Import it first."
            raise GraphValueError(msg)
        self.import_node(node)

    def add_client(self, var: Variable, new_client: Client) -> None:
        """List a client of a variable.

        Raises
        ------
        GraphValueError
            If the variable is not in the graph, or is not that input of the client.
        """
        node, i = new_client
        if var not in self.clients or not 0 <= i < len(node.inputs) or node.inputs[i] is not var:
            msg = f"FunctionGraph: input {i} of {node.op} is not {var} in this graph. Use change_node_input."
            raise GraphValueError(msg)
        if new_client not in self.clients[var]:
            with Transaction(self._observers):
                self._structure.set_client(var, node, i, listed=True)

    def remove_client(
        self, var: Variable, client_to_remove: Client, reason: str | None = None, remove_if_empty: bool = False
    ) -> None:
        """Remove a client from the list of a variable's clients.

        Parameters
        ----------
        var
            The variable.
        client_to_remove
            The client; nothing happens if it is not listed.
        reason
            Told to the features.
        remove_if_empty
            Whether to remove the variable, and what it alone needed, if it has no client left.
        """
        if client_to_remove not in self.clients.get(var, ()):
            return
        with Transaction(self._observers):
            self._structure.set_client(var, *client_to_remove, listed=False)
            if remove_if_empty:
                self._structure.prune(var, reason)

    @staticmethod
    def _check_place(role: str, index: int, places: Sequence[object]) -> None:
        if not isinstance(index, int) or not 0 <= index < len(places):
            msg = f"FunctionGraph: there is no {role} {text_of(index)}, there are {len(places)}. Pass a position."
            raise GraphValueError(msg)


def _refuse_missing(var: Variable, node: Apply | None) -> NoReturn:
    use = "the outputs" if node is None else f"{node.op}{node.where()}"
    msg = (
        f"{var} of type {var.type}: the variable is needed by {use}, but is not among the inputs. "
        "Add it to the inputs, or give it a value through givens."
    )
    raise MissingInputError(msg)


def _check_no_loop(node: Apply, new_var: Variable, inputs: Mapping[Variable, None]) -> None:
    """Refuse a node that would need its own output."""
    if new_var.owner is node and new_var not in inputs:
        raise cycle_error([node])
