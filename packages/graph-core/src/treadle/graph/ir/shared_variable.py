"""Shared variables: state that functions read and update."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from treadle.config import new_lock, text_of
from treadle.graph.errors import GraphTypeError, GraphValueError
from treadle.graph.ir.arguments import as_flag
from treadle.graph.ir.holding import let_go
from treadle.graph.ir.variable import T_co, Variable, check_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from treadle.graph.ir.thunk import Value
    from treadle.graph.ir.type import Type
_ORDER = itertools.count()


class _Tracing(NamedTuple):
    """A function of the user's that is called to make a graph of it, and where the cells made since begin."""

    title: str
    start: int


_TRACING: ContextVar[_Tracing | None] = ContextVar("treadle.tracing", default=None)


@contextmanager
def tracing(title: str) -> Iterator[None]:
    """Return a context in which a function of this title is called once, to make a graph of it.

    What it does to shared variables there were before happens once only, and is refused.
    """
    token = _TRACING.set(_Tracing(title, next(_ORDER)))
    try:
        yield
    finally:
        _TRACING.reset(token)


class Container:
    """The cell that holds a shared variable's value, in a backend's native form or as a plain host value.

    Every access goes through the re-entrant `lock`. Functions that update several containers take their locks in
    the order of `order`, so that they cannot wait for each other.

    Parameters
    ----------
    type
        What values the cell takes.
    value
        Its first value, already of that type.
    strict, allow_downcast
        How values that are assigned are converted: only those of the type already, or with a loss of precision.
    name
        The variable's name, for tools.
    device
        The name of the device that the value is to be on, in functions whose backend has devices; None for any.

    Examples
    --------
    >>> w = tt.shared(2.0)
    >>> w.container.value
    array(2.)
    >>> w.container.value = 5.0
    >>> w.get_value()
    array(5.)
    """

    __slots__ = (
        *("__weakref__", "_fetch", "_host", "_lent", "_value", "allow_downcast", "device", "lock", "name", "order"),
        *("readonly", "strict", "type"),
    )

    def __init__(
        self,
        type: Type,  # noqa: A002 - the documented name
        value: object,
        *,
        strict: bool = False,
        allow_downcast: bool | None = None,
        name: str | None = None,
        device: str | None = None,
    ) -> None:
        self.type = type
        self.strict = strict
        self.allow_downcast = allow_downcast
        self.name = name
        self.device = device
        self.readonly = False
        self._value = value
        self._host: object = value
        self._fetch: Callable[[object], object] | None = None
        # The identity of a host value that the user may change, because it is borrowed.
        self._lent = 0
        self.lock = new_lock()
        self.order = next(_ORDER)

    def read(self) -> Value:
        """Return the value in whatever form it was written."""
        try:
            with self.lock:
                return self._value
        except BaseException as error:
            self._let_go(error)
            raise

    def read_host(self) -> Value:
        """Return the value as a plain host value, converted once.

        The lock is taken even where nothing is to be converted: a call that updates several cells holds their locks,
        so that nobody sees one of them updated and then another one not.
        """
        try:
            with self.lock:
                if self._fetch is not None:
                    self._host = self._fetch(self._value)
                    self._fetch = None
                return self._host
        except BaseException as error:
            self._let_go(error)
            raise

    def moved(self, convert: Callable[[Value], Value], fetch: Callable[[Value], Value]) -> Value:
        """Return the value in a backend's own form, and keep it in this form; one that is borrowed stays as it is.

        Parameters
        ----------
        convert
            Makes that form, in memory of its own, of a host value.
        fetch
            Makes a host value of it.
        """
        try:
            with self.lock:
                host = self.read_host()
                if host is None or id(host) == self._lent:
                    return host
                value = convert(host)
                self._value, self._fetch, self._host = value, fetch, None
                return value
        except BaseException as error:
            self._let_go(error)
            raise

    def write(self, value: object, *, lent: bool = False) -> None:
        """Store a host value, already filtered; `lent` if the user holds it too, and may change it."""
        try:
            with self.lock:
                self._value = self._host = value
                self._fetch = None
                if lent:
                    self._lent = id(value)
        except BaseException as error:
            self._let_go(error)
            raise

    def change(self, edit: Callable[[object], object]) -> None:
        """Replace the host value by the result of a function of it, under the lock."""
        try:
            with self.lock:
                old = self._host if self._fetch is None else self._fetch(self._value)
                self._value = self._host = edit(old)
                self._fetch = None
        except BaseException as error:
            self._let_go(error)
            raise

    def _let_go(self, error: BaseException) -> None:
        # After an error of the block itself, such as of a conversion, the lock is released already.
        if not isinstance(error, Exception):
            let_go(self.lock, sys._getframe(2))

    @property
    def data(self) -> Value:
        """The value, as a host value; an assigned value is converted to the cell's type."""
        return self.read_host()

    @data.setter
    def data(self, value: object) -> None:
        self.write(self.type.accept(value, strict=self.strict, allow_downcast=self.allow_downcast))

    value = data

    @property
    def storage(self) -> Any:
        """The host value as the one element of a list; a value assigned to it is converted to the cell's type."""
        return _Storage(self)

    def write_native(self, value: Value, fetch: Callable[[Value], Value]) -> None:
        """Store a value in a backend's own form; `fetch` turns it into a host value when one is asked for."""
        try:
            with self.lock:
                self._fetch = fetch
                self._value = value
                self._host = None
        except BaseException as error:
            self._let_go(error)
            raise

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle type, host value and rules."""
        return _container, (self.type, self.read_host(), self.strict, self.allow_downcast, self.name, self.device)


def _container(
    type_: Type,
    value: object,
    strict: bool = False,
    allow_downcast: bool | None = None,
    name: str | None = None,
    device: str | None = None,
) -> Container:
    return Container(type_, value, strict=strict, allow_downcast=allow_downcast, name=name, device=device)


class _Storage(Sequence[Any]):
    """A list of one element, the value of a container; assigning None empties it."""

    __slots__ = ("_container",)

    def __init__(self, container: Container) -> None:
        self._container = container

    def __len__(self) -> int:
        return 1

    def __getitem__(self, at: Any) -> Any:
        return [self._container.data][at]

    def __setitem__(self, at: Any, value: object) -> None:
        # As in a list, other places are an IndexError.
        [None][at]
        if value is None:
            self._container.write(None)
        else:
            self._container.data = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Storage) and other._container is self._container

    __hash__ = None  # type: ignore[assignment]  # as a list

    def __repr__(self) -> str:
        return repr(list(self))


class SharedVariable(Variable[T_co]):
    """A variable with a value that persists between calls, and that functions can update.

    Parameters
    ----------
    type
        The variable's type.
    value
        Its first value.
    strict
        Whether values must be of the type already; otherwise they are converted.
    allow_downcast
        Whether conversion may lose precision.
    container
        The cell to use, in place of `value`.
    name
        Shown when printed.

    Examples
    --------
    >>> w = tt.shared([1.0, 2.0], name="w")
    >>> isinstance(w, SharedVariable), w.get_value()
    (True, array([1., 2.]))
    >>> w.set_value([3.0, 4.0])
    >>> w.get_value()
    array([3., 4.])
    """

    __slots__ = ("_default_update", "allow_downcast", "container", "strict")

    def __init__(
        self,
        type: T_co,  # noqa: A002 - the documented name
        value: object = None,
        strict: bool = False,
        allow_downcast: bool | None = None,
        container: Container | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(type, None, None, name)
        check_type(type)
        self.strict = strict
        self.allow_downcast = allow_downcast
        self._default_update: Variable | None = None
        if container is None:
            filtered = type.accept(value, strict=strict, allow_downcast=allow_downcast)
            container = Container(type, filtered, strict=strict, allow_downcast=allow_downcast, name=name)
        self.container = container

    @property
    def default_update(self) -> Variable | None:
        """Expression of the value after each call of a function that uses the variable and has no update for it.

        Raises
        ------
        GraphTypeError
            When it is set to something that is not of the variable's type and has no lossless conversion to it.
        """
        return self._default_update

    @default_update.setter
    def default_update(self, new: object) -> None:
        if new is None:
            self._default_update = None
            return
        try:
            self._default_update = self.type.filter_variable(new)
        except TypeError as error:
            described = f"{new} of type {new.type}" if isinstance(new, Variable) else text_of(new)
            msg = (
                f"{self}: the default update must be of type {self.type}, got {described}. Cast the expression, for "
                "instance with .astype(...)."
            )
            raise GraphTypeError(msg) from error

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Value:
        """Return the value.

        Parameters
        ----------
        borrow
            Whether the value kept inside may be returned, which must then not be changed; else a copy.
        return_internal_type
            Whether to return the form a backend left it in.

        Examples
        --------
        >>> tt.shared([1.0, 2.0]).get_value()
        array([1., 2.])
        """
        if return_internal_type is True or as_flag("get_value: return_internal_type", return_internal_type):
            return self.container.read()
        borrowed = as_flag("get_value: borrow", borrow)
        value = self.container.read_host()
        return value if borrowed else self.type.copy_value(value)

    def set_value(self, new_value: object, borrow: bool = False) -> None:
        """Set the value.

        Parameters
        ----------
        new_value
            A value the type accepts.
        borrow
            Whether the object given may be kept; else a copy of it.

        Raises
        ------
        TypeError
            If the type does not accept it. The old value stays.
        GraphValueError
            Inside a function that is being compiled by `compiled`: it would be set once, not at each call.

        Examples
        --------
        >>> w = tt.shared([1.0, 2.0])
        >>> w.set_value([3.0, 4.0])
        >>> w.get_value()
        array([3., 4.])
        """
        tracer = _TRACING.get()
        if tracer is not None and self.container.order < tracer.start:
            msg = (
                f"set_value: {self} is set inside {tracer.title}, which is called once, to make its graph. Let "
                f"{tracer.title} return {{variable: new value}} last in a tuple: that is an update, made at each call."
            )
            raise GraphValueError(msg)
        filtered = self.type.accept(new_value, strict=self.strict, allow_downcast=self.allow_downcast)
        is_shared = self.type.may_share_memory(filtered, new_value)
        is_borrowed = as_flag("set_value: borrow", borrow)
        if is_shared and not is_borrowed:
            filtered = self.type.copy_value(filtered)
        self.container.write(filtered, lent=is_shared and is_borrowed)

    def zero(self, borrow: bool = False) -> None:
        """Set every element to zero; in place if `borrow`.

        Examples
        --------
        >>> w = tt.shared(np.ones(2))
        >>> w.zero()
        >>> w.get_value()
        array([0., 0.])
        """
        in_place = as_flag("zero: borrow", borrow)

        def cleared(old: Value) -> Value:
            writable = getattr(getattr(old, "flags", None), "writeable", True)
            new = old if in_place and writable else self.type.copy_value(old)
            new[...] = 0
            return new

        self.container.change(cleared)

    def clone(self, *, name: str | None = None) -> SharedVariable[T_co]:
        """Return a shared variable of the same kind that uses the same cell."""
        new = type(self)(
            self.type,
            None,
            self.strict,
            self.allow_downcast,
            container=self.container,
            name=name if name is not None else self.name,
        )
        new.tag = self._tag.copy() if self._tag is not None else None
        return new

    def __str__(self) -> str:
        """Show name or type."""
        return self.name if self.name is not None else f"<shared {self.type}>"

    __repr__ = __str__
