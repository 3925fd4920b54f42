"""`dataclass` of the standard library, with classes made in a third of the time.

The standard decorator compiles each method by itself, and a process makes some 150 such classes before its first
result. Here the methods that must be quick are compiled together, and the others are closures.
"""

from __future__ import annotations

from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

from treadle.config.lazy import lazy_module

if TYPE_CHECKING:
    import dataclasses
    from collections.abc import Callable, Collection, Iterator, Sequence
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - type checkers know this one, and export it

    Fields = Sequence[dataclasses.Field[Any]]
    Method = Callable[..., Any]
else:
    # It takes longer to import than what imports this module at first.
    dataclasses = lazy_module("dataclasses")

    def dataclass(cls=None, /, **asked: bool):
        """Return a class with the methods that its fields ask for, as `dataclasses.dataclass` does.

        Parameters
        ----------
        cls
            The class; no field of it is an `InitVar`.
        asked
            `repr`, `eq`, `frozen`, `slots` and `kw_only` of `dataclasses.dataclass`, with its defaults.
        """

        def decorate(cls: type) -> type:
            return _with_methods(cls, **asked)

        return decorate if cls is None else decorate(cls)


def _with_methods(
    cls: Any,
    *,
    repr: bool = True,  # noqa: A002 - the names of dataclasses
    eq: bool = True,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
) -> type:
    hashes_itself = "__hash__" in cls.__dict__ and (cls.__hash__ is not None or "__eq__" not in cls.__dict__)
    # What inherits from a frozen class is frozen by the standard decorator: it refuses anything else.
    inherits = any(params.frozen for each in cls.__mro__ if (params := each.__dict__.get("__dataclass_params__")))
    as_base = frozen and inherits
    cls = dataclasses.dataclass(cls, init=False, repr=False, eq=False, frozen=as_base, slots=slots, kw_only=kw_only)
    params = cls.__dataclass_params__
    params.init, params.repr, params.eq, params.frozen = True, repr, eq, frozen
    fields = dataclasses.fields(cls)
    methods = _compiled(cls, fields, eq=eq, frozen=frozen)
    if repr:
        methods["__repr__"] = _repr([f.name for f in fields if f.repr])
    if frozen:
        names = {f.name for f in fields}
        methods |= {name: _refusal(cls, names, name) for name in _REFUSED}
        if slots:
            methods |= _pickling(fields)
    for name, method in methods.items():
        if name not in cls.__dict__ or (name == "__hash__" and not hashes_itself):
            method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
            method.__module__ = cls.__module__
            setattr(cls, name, method)
    if eq and not frozen and not hashes_itself:
        cls.__hash__ = None
    return cls  # type: ignore[no-any-return]  # the class, or another one with slots


def _compiled(cls: type, fields: Fields, *, eq: bool, frozen: bool) -> dict[str, Method]:
    """Return ``__init__``, and ``__eq__`` and ``__hash__`` where they are asked for."""
    # Frames of the methods are those of the class's module, as messages ask.
    scope: dict[str, Any] = {"__name__": cls.__module__, "_set": object.__setattr__, "_MADE": _MADE}
    # Those by keyword only come last.
    ordered = sorted((f for f in fields if f.init), key=lambda f: bool(f.kw_only))
    first_named = next((i for i, f in enumerate(ordered) if f.kw_only), None)
    parameters = ["self", *(_parameter(f, scope) for f in ordered)]
    if first_named is not None:
        parameters.insert(1 + first_named, "*")
    lines = [f"def __init__({', '.join(parameters)}):", *_assignments(fields, scope, frozen=frozen)]
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    lines += [] if len(lines) > 1 else [" pass"]
    names = ["__init__"]
    if eq:
        compared = [f.name for f in fields if f.compare]
        own, others = _tuple("self", compared), _tuple("other", compared)
        lines += ["def __eq__(self, other):", " if other.__class__ is not self.__class__:", "  return NotImplemented"]
        lines.append(f" return {own} == {others}")
        names.append("__eq__")
        if frozen:
            hashed = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
            lines += ["def __hash__(self):", f" return hash({_tuple('self', hashed)})"]
            names.append("__hash__")
    exec("\n".join(lines), scope)
    scope["__init__"].__annotations__ = {**{f.name: f.type for f in ordered}, "return": None}
    return {name: scope[name] for name in names}


class _Made:
    def __repr__(self) -> str:
        return "<factory>"


# What a parameter is whose value a function of the field makes.
_MADE = _Made()


def _parameter(field: dataclasses.Field[Any], scope: dict[str, Any]) -> str:
    """Return a parameter of ``__init__`` with its default, which is entered in the scope."""
    if field.default_factory is not dataclasses.MISSING:
        return f"{field.name}=_MADE"
    if field.default is dataclasses.MISSING:
        return field.name
    scope[f"_default_{field.name}"] = field.default
    return f"{field.name}=_default_{field.name}"


def _assignments(fields: Fields, scope: dict[str, Any], *, frozen: bool) -> Iterator[str]:
    """Yield the lines of ``__init__`` that set the fields."""
    for f in fields:
        value = f.name
        if f.default_factory is not dataclasses.MISSING:
            scope[f"_make_{f.name}"] = f.default_factory
            value = f"_make_{f.name}()" + (f" if {f.name} is _MADE else {f.name}" if f.init else "")
        elif not f.init:
            if f.default is dataclasses.MISSING:
                continue
            scope[f"_default_{f.name}"] = f.default
            value = f"_default_{f.name}"
        yield f" _set(self, {f.name!r}, {value})" if frozen else f" self.{f.name} = {value}"


def _tuple(thing: str, names: Sequence[str]) -> str:
    return f"({''.join(f'{thing}.{name}, ' for name in names)})"


def _repr(names: Sequence[str]) -> Method:
    def show(self: object) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return recursive_repr()(show)


# The methods that a frozen class refuses by, and what they say.
_REFUSED = {"__setattr__": "assign to", "__delattr__": "delete"}


def _refusal(cls: type, names: Collection[str], method: str) -> Method:
    def refuse(self: object, name: str, *value: object) -> None:
        if type(self) is cls or name in names:
            msg = f"cannot {_REFUSED[method]} field {name!r}"
            raise dataclasses.FrozenInstanceError(msg)
        getattr(super(cls, self), method)(name, *value)

    return refuse


def _pickling(fields: Fields) -> dict[str, Method]:
    """Return the methods by which objects with slots that cannot be assigned to are pickled."""
    names = [f.name for f in fields]

    def get_state(self: object) -> list[object]:
        return [getattr(self, name) for name in names]

    def set_state(self: object, state: Sequence[object]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {"__getstate__": get_state, "__setstate__": set_state}
