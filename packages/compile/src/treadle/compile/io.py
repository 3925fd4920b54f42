"""In and Out: what `function` is told about an input or output beyond the variable."""

from __future__ import annotations

import copy
from typing import Any

from treadle.compile.errors import FunctionTypeError, FunctionValueError
from treadle.graph import Constant, Container, SharedVariable, Variable


class In:
    """An input of a function.

    Parameters
    ----------
    variable
        The variable.
    name
        Name for keyword arguments; the variable's if None.
    value
        Default value, or a Container that holds one.
    update
        Expression that becomes the new default after each call; needs a default value.
    mutable
        Whether the function may change the argument. True if None and there is an update.
    strict
        Whether the argument must be exactly of the variable's type; it is converted otherwise.
    allow_downcast
        Whether conversion may lose precision. None: only Python floats may become floatX.
    borrow
        Whether the function may keep a reference to the argument or the default.
    implicit
        Whether the argument may not be given in the call; needs a default value.

    Raises
    ------
    FunctionTypeError, FunctionValueError
        If the arguments are of a wrong kind or contradict each other.
    """

    __slots__ = (
        "allow_downcast",
        "borrow",
        "container",
        "implicit",
        "mutable",
        "name",
        "strict",
        "update",
        "variable",
    )

    def __init__(
        self,
        variable: Any,
        name: Any = None,
        value: Any = None,
        update: Any = None,
        mutable: bool | None = None,
        strict: bool = False,
        allow_downcast: bool | None = None,
        borrow: bool | None = None,
        implicit: bool = False,
    ) -> None:
        if not isinstance(variable, Variable):
            msg = f"In: an input must be a variable, got {variable!r}. Make it with tt.matrix('x') or the like."
            raise FunctionTypeError(msg)
        if name is not None and not isinstance(name, str):
            msg = f"In: the name must be a string, got {name!r}."
            raise FunctionTypeError(msg)
        if mutable and borrow is False:
            msg = f"In: {variable} is mutable, so it is borrowed too; borrow=False contradicts that."
            raise FunctionValueError(msg)
        if (update is not None or implicit) and value is None:
            msg = f"In: {variable} has an update or is implicit, so it needs a default. Pass value=..."
            raise FunctionTypeError(msg)
        self.variable: Variable = variable
        self.name: str | None = name if name is not None else variable.name
        self.update = None if update is None else variable.type.filter_variable(update)
        self.mutable = mutable if mutable is not None else update is not None
        self.borrow = borrow if borrow is not None else bool(mutable)
        self.strict = strict
        self.allow_downcast = allow_downcast
        self.implicit = implicit
        self.container = self._container(value)

    def _container(self, value: Any) -> Container | None:
        if value is None or isinstance(value, Container):
            return value
        if isinstance(value, SharedVariable):
            return value.container
        filtered = self.variable.type.filter(value, strict=self.strict, allow_downcast=self.allow_downcast)
        if not self.borrow and self.variable.type.may_share_memory(filtered, value):
            filtered = self.variable.type.copy_value(filtered)
        return Container(self.variable.type, filtered)

    def with_downcast(self, allowed: bool | None) -> In:
        """Return the input with a rule for downcasts where it has none of its own; the default stays shared."""
        if self.allow_downcast is not None or allowed is None:
            return self
        new = copy.copy(self)
        new.allow_downcast = allowed
        return new

    def __repr__(self) -> str:
        """Show the variable."""
        return f"In({self.variable})"


class Out:
    """An output of a function.

    Parameters
    ----------
    variable
        The variable.
    borrow
        Whether the result may be in the backend's own form (a JAX array, a PyTorch tensor) where that saves a copy.
    """

    __slots__ = ("borrow", "variable")

    def __init__(self, variable: Any, borrow: bool = False) -> None:
        if not isinstance(variable, Variable):
            msg = f"Out: an output must be a variable, got {variable!r}. Wrap values with tt.as_tensor_variable."
            raise FunctionTypeError(msg)
        self.variable: Variable = variable
        self.borrow = borrow

    def __repr__(self) -> str:
        """Show the variable."""
        return f"Out({self.variable})"


def as_in(given: Any) -> In:
    """Return an input given as In or as a variable.

    Raises
    ------
    FunctionTypeError
        If it is something else, a constant, or a shared variable.
    """
    variable = given.variable if isinstance(given, In) else given
    if isinstance(variable, SharedVariable):
        msg = f"function: {variable} is a shared variable, which is an input by itself. Leave it out of the inputs."
        raise FunctionTypeError(msg)
    if isinstance(variable, Constant):
        msg = f"function: {variable} is a constant and cannot be an input. Use a variable, and givens to replace it."
        raise FunctionTypeError(msg)
    if not isinstance(variable, Variable):
        msg = f"function: an input must be a variable or In, got {given!r}. Make it with tt.matrix('x') or the like."
        raise FunctionTypeError(msg)
    return given if isinstance(given, In) else In(given)


def as_out(given: Any) -> Out:
    """Return an output given as Out or as a variable.

    Raises
    ------
    FunctionTypeError
        If it is something else.
    """
    if isinstance(given, Out):
        return given
    if not isinstance(given, Variable):
        msg = f"function: an output must be a variable or Out, got {given!r}. Wrap values with tt.as_tensor_variable."
        raise FunctionTypeError(msg)
    return Out(given)
