"""NominalVariable: an input of a graph that is identified by its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast
from weakref import WeakValueDictionary

from treadle.config import new_lock
from treadle.graph.ir.variable import AtomicVariable

if TYPE_CHECKING:
    from collections.abc import Hashable

    from treadle.graph.ir.type import Type


class NominalVariable(AtomicVariable["Type"]):
    """An input of a graph that is identified by a number and its type: there is one variable of each.

    It has the methods of other variables of its type. Copies of graphs have plain variables in its place.

    Parameters
    ----------
    id
        Its identifier, such as its place among the inputs.
    typ
        Its type.
    name
        Shown when printed; the id if None.

    Examples
    --------
    >>> from treadle.graph import NominalVariable
    >>> from treadle.tensor import dvector
    >>> NominalVariable(0, dvector().type) is NominalVariable(0, dvector().type)
    True
    """

    _instances: ClassVar[WeakValueDictionary[tuple[Hashable, Type], NominalVariable]] = WeakValueDictionary()
    _classes: ClassVar[dict[type, type[Any]]] = {}
    _lock: ClassVar[Any] = new_lock()
    id: Hashable

    def __new__(cls, id: Hashable, typ: Type, name: str | None = None) -> NominalVariable:  # noqa: A002 - the documented name
        """Return the one variable of this id and type."""
        with NominalVariable._lock:
            variable = NominalVariable._instances.get((id, typ))
            if variable is None:
                base = type(typ.make_variable())
                kind = NominalVariable._classes.get(base)
                if kind is None:
                    kind = type(f"Nominal{base.__name__}", (NominalVariable, base), {})
                    NominalVariable._classes[base] = kind
                variable = cast("NominalVariable", object.__new__(kind))
                AtomicVariable.__init__(variable, typ, None, None, str(id) if name is None else name)
                variable.id = id
                NominalVariable._instances[id, typ] = variable
            return variable

    def __init__(self, id: Hashable, typ: Type, name: str | None = None) -> None:  # noqa: A002 - the documented name
        """Leave the variable as it was made."""

    def clone(self, *, name: str | None = None) -> Any:
        """Return a plain variable of the type."""
        return self.type.make_variable(self.name if name is None else name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Keep the id and the type: there is one variable of these in every process."""
        return NominalVariable, (self.id, self.type, self.name)
