"""Storage: cells that hold one value each, and containers that read and fill a cell under the rules of a type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import Cell, Constant, GraphTypeError, GraphValueError, SharedVariable, Type, Variable
from treadle.graph import Container as StateContainer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from treadle.graph import Apply, FunctionGraph, Value

StorageMap = dict[Variable, Cell]


class _Containers(type):
    """Metaclass of `Container`: the containers of functions and shared variables count as instances too."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, StateContainer)


class Container(StateContainer, metaclass=_Containers):
    """One input or output of a linked graph: a cell, and the rules by which values come into it.

    Parameters
    ----------
    r
        The variable whose value the cell holds, or its type.
    storage
        The cell, a list of one element; a value in it is converted to the type.
    readonly
        Whether `data` cannot be assigned.
    strict
        Whether values must be of the type already.
    allow_downcast
        Whether conversion may lose precision.
    name
        Shown in messages; the variable's name if None.

    Raises
    ------
    GraphTypeError
        If `r` is neither a variable nor a type, or `storage` is no list of one element.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> cell = [None]
    >>> box = Container(tt.dscalar("x"), cell)
    >>> box.data = 2
    >>> cell
    [array(2.)]
    """

    __slots__ = ("implicit", "provided", "required", "storage")
    # In place of the base's property: here the list is what holds the value.
    storage: Cell

    def __init__(
        self,
        r: Variable | Type,
        storage: Cell,
        *,
        readonly: bool = False,
        strict: bool = False,
        allow_downcast: bool | None = None,
        name: str | None = None,
    ) -> None:
        if not isinstance(storage, list) or len(storage) != 1:
            msg = f"Container: storage must be a list of one element, got {storage!r}. Pass [None] for an empty one."
            raise GraphTypeError(msg)
        unchecked: object = r
        if not isinstance(unchecked, Variable | Type):
            msg = f"Container: a variable or a type is needed, got {r!r}."
            raise GraphTypeError(msg)
        shown_name = getattr(r, "name", None) if name is None else name
        kind = r if isinstance(r, Type) else r.type
        super().__init__(kind, None, strict=strict, allow_downcast=allow_downcast, name=shown_name)
        self.storage = storage
        self.readonly = readonly
        # Documented flags: whether the value must be given in each call, how often it was, whether it is the graph's.
        self.required = False
        self.provided = 0
        self.implicit = False
        if storage[0] is not None:
            storage[0] = self._filtered(storage[0])

    def _filtered(self, value: object) -> Value:
        if value is None:
            return None
        try:
            return self.type.accept(value, strict=self.strict, allow_downcast=self.allow_downcast)
        except (TypeError, ValueError) as error:
            kind = GraphTypeError if isinstance(error, TypeError) else GraphValueError
            msg = f"container {self.name or 'without a name'}: {error}"
            raise kind(msg) from error

    @property
    def data(self) -> Value:
        """The value in the cell; an assigned value is converted to the type."""
        return self.storage[0]

    @data.setter
    def data(self, value: object) -> None:
        if self.readonly:
            msg = f"container {self.name or 'without a name'}: it is read-only, got {value!r} to put into it."
            raise GraphTypeError(msg)
        self.storage[0] = self._filtered(value)

    @property
    def value(self) -> Value:
        """The value in the cell (see `data`)."""
        return self.data

    @value.setter
    def value(self, value: object) -> None:
        self.data = value

    # As a cell of state

    def read(self) -> Value:
        """Return the value."""
        return self.storage[0]

    def read_host(self) -> Value:
        """Return the value."""
        return self.storage[0]

    def write(self, value: object, *, lent: bool = False) -> None:
        """Store a value, already converted."""
        del lent  # it is never moved
        with self.lock:
            self.storage[0] = value

    def change(self, edit: Callable[[object], object]) -> None:
        """Replace the value by the result of a function of it."""
        with self.lock:
            self.storage[0] = edit(self.storage[0])

    def write_native(self, value: Value, fetch: Callable[[Value], Value]) -> None:
        """Store a value in a backend's own form as the host value that `fetch` makes of it."""
        self.write(fetch(value))

    def __reduce__(self) -> tuple[object, ...]:
        return _container, (
            self.type,
            self.storage,
            {n: getattr(self, n) for n in ("readonly", "strict", "allow_downcast", "name")},
        )

    def __repr__(self) -> str:
        return f"<container {self.name or 'without a name'} of {self.type}: {self.storage[0]!r}>"


def _container(type_: Type, storage: Cell, rules: dict[str, Any]) -> Container:
    return Container(type_, storage, **rules)


def cell_of(container: Any) -> Cell:
    """Return the cell of an input or output of a triple, given as a container or as the cell itself."""
    cell: Cell = getattr(container, "storage", container)
    return cell


def _given(what: str, variables: Sequence[Variable], cells: Sequence[object] | None) -> list[Cell] | None:
    if cells is None:
        return None
    if len(cells) != len(variables):
        msg = f"{what}_storage: {len(variables)} cells are needed, one for each {what}, got {len(cells)}."
        raise GraphValueError(msg)
    return [cell_of(cell) for cell in cells]


def map_storage(
    fgraph: FunctionGraph,
    order: Iterable[Apply],
    input_storage: Sequence[object] | None,
    output_storage: Sequence[object] | None,
    storage_map: Mapping[Variable, Cell] | None = None,
) -> tuple[list[Cell], list[Cell], StorageMap]:
    """Return a cell for each input, each output and each other variable of a graph.

    Parameters
    ----------
    fgraph
        The graph.
    order
        Its nodes.
    input_storage, output_storage
        Cells or containers of inputs and outputs; new ones if None.
    storage_map
        Cells of any variables, used where the other arguments give none; it is filled where it is a dict.

    Returns
    -------
    The inputs' cells, the outputs' cells, and the cell of every variable. Constants and shared variables that are no
    inputs have their values in theirs. An output that is an input has the input's cell, unless it is given another.

    Raises
    ------
    GraphValueError
        If there are not as many cells as inputs or outputs, or `storage_map` has another cell for an input.
    """
    cells: StorageMap = storage_map if isinstance(storage_map, dict) else dict(storage_map or {})
    inputs = _given("input", fgraph.inputs, input_storage)
    if inputs is None:
        inputs = [cells.get(var, [None]) for var in fgraph.inputs]
    for var, cell in zip(fgraph.inputs, inputs, strict=True):
        if cells.setdefault(var, cell) is not cell:
            msg = f"input_storage: {var} has another cell in storage_map. Give it one, or leave one of the two out."
            raise GraphValueError(msg)
    outputs = _given("output", fgraph.outputs, output_storage)
    for var, cell in zip(fgraph.outputs, outputs or (), strict=False):
        cells.setdefault(var, cell)
    for var in (*(v for node in order for v in (*node.inputs, *node.outputs)), *fgraph.outputs):
        if var not in cells:
            cells[var] = [fixed_value(var)] if var.owner is None else [None]
    return inputs, [cells[var] for var in fgraph.outputs] if outputs is None else outputs, cells


def spare_outputs(fgraph: FunctionGraph, outputs: Sequence[Cell], cells: StorageMap) -> list[tuple[Variable, Cell]]:
    """Return the outputs whose cells are not the variables' own: values are to be copied there after a run."""
    return [(var, cell) for var, cell in zip(fgraph.outputs, outputs, strict=True) if cells[var] is not cell]


def fixed_value(var: Variable) -> Value:
    """Return the value of a constant, or of a shared variable that is no input of its graph."""
    if isinstance(var, Constant):
        return var.data
    if isinstance(var, SharedVariable):
        return var.container.read_host()
    msg = f"storage: {var} is neither computed nor an input, a constant or shared. Make it an input of the graph."
    raise GraphValueError(msg)


def containers(variables: Sequence[Variable], cells: Sequence[Cell]) -> list[Container]:
    """Return a container for each variable over its cell."""
    return [Container(var, cell) for var, cell in zip(variables, cells, strict=True)]
