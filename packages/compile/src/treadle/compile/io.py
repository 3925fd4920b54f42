"""In and Out: inputs and outputs of `function` with more than the variable."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from treadle.compile.errors import FunctionTypeError, FunctionValueError
from treadle.config import text_of
from treadle.graph import Constant, Container, SharedVariable, Variable, as_flag

if TYPE_CHECKING:
    from treadle.graph import Value


class In:
    """An input of a function. Further attributes may be set on it; functions do not look at them.

    Parameters
    ----------
    variable
        The variable.
    name
        Name for keyword arguments; the variable's if None.
    value
        Default value; or a Container, or a shared variable, whose value at the time of the call is the default.
    update
        Expression that becomes the new default after each call; needs a default value.
    mutable
        Whether the function may overwrite the argument. True if None and there is an update.
    strict
        Whether the argument must be exactly of the variable's type; it is converted otherwise.
    allow_downcast
        True: conversion may lose precision. False: never. None: only Python floats may become floatX.
    autoname
        Whether an input without `name` takes the variable's.
    implicit
        Whether the argument may not be given in the call; needs a default value.
    borrow
        Whether an output may share memory with the argument, and the default may be kept as given rather than copied.
        As `mutable` if None.

    Raises
    ------
    FunctionTypeError, FunctionValueError
        If the arguments are of a wrong kind or contradict each other.
    TypeError
        If default value or update are not of the variable's type.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> f = tt.function([x, In(y, value=2.0, name="power")], x**y, mode="VM")
    >>> float(f(3.0)), float(f(3.0, power=3.0))
    (9.0, 27.0)
    >>> count = tt.function([In(y, value=0.0, update=y + 1)], y, mode="VM")
    >>> [float(count()) for _ in range(3)]
    [0.0, 1.0, 2.0]
    """

    def __init__(
        self,
        variable: object,
        name: object = None,
        value: Value = None,
        update: Any = None,
        mutable: bool | None = None,
        strict: bool = False,
        allow_downcast: bool | None = None,
        autoname: bool = True,
        implicit: bool | None = None,
        borrow: bool | None = None,
    ) -> None:
        if not isinstance(variable, Variable):
            msg = f"In: an input must be a variable, got {text_of(variable)}. Make it with tt.matrix('x') or the like."
            raise FunctionTypeError(msg)
        if name is not None and not isinstance(name, str):
            msg = f"In: the name must be a string, got {text_of(name)}. Pass name='...' or leave it out."
            raise FunctionTypeError(msg)
        mutable, borrow, implicit = (
            None if flag is None else as_flag(f"In: {what}", flag)
            for what, flag in (("mutable", mutable), ("borrow", borrow), ("implicit", implicit))
        )
        autoname = as_flag("In: autoname", autoname)
        if mutable and borrow is False:
            msg = f"In: {variable} is mutable, so it is borrowed too; borrow=False contradicts that. Drop one of them."
            raise FunctionValueError(msg)
        if (update is not None or implicit) and value is None:
            msg = f"In: {variable} has an update or is implicit, so it needs a default. Pass value=..."
            raise FunctionTypeError(msg)
        check_downcast("In", allow_downcast)
        self.variable: Variable = variable
        self.name: str | None = variable.name if name is None and autoname else name
        self.update = None if update is None else variable.type.filter_variable(update)
        self.mutable = mutable if mutable is not None else update is not None
        self.borrow = borrow if borrow is not None else bool(mutable)
        self.strict = strict
        self.allow_downcast = allow_downcast
        self.implicit = bool(implicit)
        self.value = value
        # The cell of the default, if the user passed one; else each function gets one of its own.
        self.container: Container | None = self._given_container()
        if value is not None and self.container is None:
            # `function` may still say whether a downcast is allowed.
            self._filtered(allow_downcast is not False)

    def _given_container(self) -> Container | None:
        """Return the cell given as the default, which is not the function's own."""
        cell = self.value.container if isinstance(self.value, SharedVariable) else self.value
        if not isinstance(cell, Container):
            return None
        if not self.variable.type.is_super(cell.type):
            msg = (
                f"In: the default of {self.variable} must be of type {self.variable.type}, but the cell given holds "
                f"values of type {cell.type}. Give a cell of the input's type."
            )
            raise FunctionTypeError(msg)
        return cell

    def _filtered(self, allow_downcast: bool | None) -> Value:
        """Return the default as a value of the variable's type."""
        try:
            return self.variable.type.accept(self.value, strict=self.strict, allow_downcast=allow_downcast)
        except (TypeError, ValueError) as error:
            msg = f"In: the default of {self.variable}: {error}"
            raise FunctionTypeError(msg) from error

    def bound(self, allow_downcast: bool | None = None) -> In:
        """Return the input as one function has it: a default in a cell of its own, and a rule for downcasts.

        Parameters
        ----------
        allow_downcast
            The rule where the input has none.
        """
        new = copy.copy(self)
        if new.allow_downcast is None:
            new.allow_downcast = allow_downcast
        if self.value is None or self._given_container() is not None:
            return new
        type_ = self.variable.type
        value = self._filtered(new.allow_downcast)
        if not self.borrow and type_.may_share_memory(value, self.value):
            value = type_.copy_value(value)
        new.container = new.cell(value)
        return new

    def cell(self, value: object) -> Container:
        """Return a new cell for values of the input, with one that is converted already or None."""
        return Container(
            self.variable.type, value, strict=self.strict, allow_downcast=self.allow_downcast, name=self.name
        )

    def duplicated(self, values: Mapping[Container, Value]) -> In:
        """Return the input with the default that `values` has, in another cell; a cell that the user passed stays."""
        new = copy.copy(self)
        if self.container is not None and self.container is not self._given_container():
            type_ = self.variable.type
            new.container = new.cell(type_.copy_value(values[self.container]))
        return new

    def on(self, cells: Mapping[Container, Container]) -> In:
        """Return the input with its default in another cell, which `cells` has for each."""
        new = copy.copy(self)
        new.container = None if self.container is None else cells[self.container]
        return new

    def without_update(self) -> In:
        """Return the input, with the same default, as one that no call changes."""
        new = copy.copy(self)
        new.update = None
        return new

    def __repr__(self) -> str:
        return f"In({self.variable})"


class Out:
    """An output of a function. Further attributes may be set on it; functions do not look at them.

    Parameters
    ----------
    variable
        The variable.
    borrow
        Whether the result may share memory with an input that is borrowed too, with a shared variable or with another
        borrowed output, and may be in the backend's own form (a JAX array, a PyTorch tensor) where that saves a copy.

    Examples
    --------
    >>> x = tt.dvector("x")
    >>> f = tt.function([x], Out(x.cumsum(), borrow=True), mode="VM")
    >>> f([1.0, 2.0])
    array([1., 3.])
    """

    def __init__(self, variable: object, borrow: bool = False) -> None:
        if not isinstance(variable, Variable):
            msg = f"Out: an output must be a variable, got {text_of(variable)}. Wrap values with tt.as_tensor_variable."
            raise FunctionTypeError(msg)
        self.variable: Variable = variable
        self.borrow = borrow

    def __repr__(self) -> str:
        return f"Out({self.variable})"


# The names that FunctionMaker is documented with.
SymbolicInput = In
SymbolicOutput = Out


def check_downcast(what: str, rule: object) -> None:
    """Check a rule for downcasts."""
    if rule is not None and not isinstance(rule, bool):
        msg = f"{what}: the rule for downcasts must be True, False or None, got {text_of(rule)}."
        raise FunctionValueError(msg)


def as_in(argument: Value) -> In:
    """Return an In as it is, a variable as an In."""
    if isinstance(argument, list | tuple):
        listed = ", ".join(map(str, argument))
        msg = (
            f"function: an input must be a variable or In, got the pair or list ({listed}). For a new value after each "
            "call, write In(variable, value=..., update=...), or updates={shared_variable: new_value}."
        )
        raise FunctionTypeError(msg)
    variable = argument.variable if isinstance(argument, In) else argument
    if isinstance(variable, SharedVariable):
        msg = f"function: {variable} is a shared variable, which is an input by itself. Leave it out of the inputs."
        raise FunctionTypeError(msg)
    if isinstance(variable, Constant):
        msg = f"function: {variable} is a constant and cannot be an input. Use a variable, and givens to replace it."
        raise FunctionTypeError(msg)
    if not isinstance(variable, Variable):
        make = "Make it with tt.matrix('x') or the like."
        msg = f"function: an input must be a variable or In, got {text_of(argument)}. {make}"
        raise FunctionTypeError(msg)
    return argument if isinstance(argument, In) else In(argument)


def as_out(argument: Value) -> Out:
    """Return an Out as it is, a variable as an Out."""
    if isinstance(argument, Out):
        return argument
    if not isinstance(argument, Variable):
        wrap = "Wrap values with tt.as_tensor_variable."
        if isinstance(argument, Mapping) or (
            isinstance(argument, tuple) and argument and isinstance(argument[-1], Mapping)
        ):
            wrap = "Are these updates, beside outputs? Write outputs, updates = ..., and pass updates=updates."
        msg = f"function: an output must be a variable or Out, got {text_of(argument)}. {wrap}"
        raise FunctionTypeError(msg)
    return Out(argument)
