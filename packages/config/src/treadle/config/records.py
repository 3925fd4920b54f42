"""`dataclass` of the standard library, with classes made in a third of the time.

The standard decorator compiles each method by itself, and a process makes some 150 such classes before its first
result. Here the code of the methods that must be quick is compiled once for all classes of as many fields, and renamed;
the others are closures.
"""

from __future__ import annotations

import builtins
from reprlib import recursive_repr
from types import FunctionType
from typing import TYPE_CHECKING, Any

from treadle.config.lazy import lazy_module

if TYPE_CHECKING:
    import dataclasses
    from collections.abc import Callable, Collection, Iterator, Sequence
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - type checkers know this one, and export it
    from types import CodeType

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
    # Frames of the methods are those of the class's module, as messages ask. PyTorch's compiler looks for the builtins.
    scope: dict[str, Any] = {"__name__": cls.__module__, "__builtins__": vars(builtins)}
    scope |= {"_set": object.__setattr__, "_MADE": _MADE}
    methods = {"__init__": _initializer(cls, fields, scope, frozen=frozen)}
    if eq:
        compared = [f.name for f in fields if f.compare]
        names = _placeholders(len(compared))
        text = f"""def __eq__(self, other):
 if other.__class__ is not self.__class__:
  return NotImplemented
 return {_tuple("self", names)} == {_tuple("other", names)}"""
        methods["__eq__"] = FunctionType(_code(text, compared), scope)
        if frozen:
            hashed = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
            text = f"def __hash__(self):\n return hash({_tuple('self', _placeholders(len(hashed)))})"
            methods["__hash__"] = FunctionType(_code(text, hashed), scope)
    return methods


def _initializer(cls: type, fields: Fields, scope: dict[str, Any], *, frozen: bool) -> Method:
    names = _placeholders(len(fields))
    # Those by keyword only come last.
    by_place = [(f, name) for f, name in zip(fields, names, strict=True) if f.init and not f.kw_only]
    by_name = [(f, name) for f, name in zip(fields, names, strict=True) if f.init and f.kw_only]
    parameters = ["self", *(name for _, name in by_place), *(["*"] if by_name else ()), *(name for _, name in by_name)]
    lines = [f"def __init__({', '.join(parameters)}):", *_assignments(fields, names, scope, frozen=frozen)]
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    lines += [] if len(lines) > 1 else [" pass"]
    code = _code("\n".join(lines), [f.name for f in fields])
    defaults = [_default(f) for f, _ in by_place]
    given = [value for value in defaults if value is not dataclasses.MISSING]
    if any(value is dataclasses.MISSING for value in defaults[len(defaults) - len(given) :]):
        msg = f"{cls.__qualname__}: a field without a default follows one that has one; give it one, or put it before"
        raise TypeError(msg)
    made = FunctionType(code, scope, None, tuple(given))
    named = {f.name: value for f, _ in by_name if (value := _default(f)) is not dataclasses.MISSING}
    made.__kwdefaults__ = named or None
    made.__annotations__ = {**{f.name: f.type for f, _ in (*by_place, *by_name)}, "return": None}
    return made


# The code of methods by their text, in which fields have other names: few texts serve all classes, and to rename takes
# a fiftieth of the time to compile.
_CODES: dict[str, CodeType] = {}


def _placeholders(count: int) -> list[str]:
    return [f"f{i}" for i in range(count)]


def _code(text: str, names: Sequence[str]) -> CodeType:
    """Return the code of a method, whose text has the fields' names as placeholders."""
    code = _CODES.get(text)
    if code is None:
        made: dict[str, Any] = {}
        exec(text, made)
        code = _CODES[text] = next(value.__code__ for value in made.values() if isinstance(value, FunctionType))
    named = dict(zip(_placeholders(len(names)), names, strict=True))
    return code.replace(
        co_varnames=tuple([named.get(name, name) for name in code.co_varnames]),
        co_names=tuple([named.get(name, name) for name in code.co_names]),
        co_consts=tuple([named.get(value, value) if type(value) is str else value for value in code.co_consts]),
    )


class _Made:
    def __repr__(self) -> str:
        return "<factory>"


# What a parameter is whose value a function of the field makes.
_MADE = _Made()


def _default(field: dataclasses.Field[Any]) -> object:
    """Return what a parameter of ``__init__`` is where it is not given, `dataclasses.MISSING` if it must be."""
    return field.default if field.default_factory is dataclasses.MISSING else _MADE


def _assignments(fields: Fields, names: Sequence[str], scope: dict[str, Any], *, frozen: bool) -> Iterator[str]:
    """Yield the lines of ``__init__`` that set the fields; what they need is entered in the scope."""
    for f, name in zip(fields, names, strict=True):
        value = name
        if f.default_factory is not dataclasses.MISSING:
            scope[f"_make_{name}"] = f.default_factory
            value = f"_make_{name}()" + (f" if {name} is _MADE else {name}" if f.init else "")
        elif not f.init:
            if f.default is dataclasses.MISSING:
                continue
            scope[f"_default_{name}"] = f.default
            value = f"_default_{name}"
        yield f" _set(self, {name!r}, {value})" if frozen else f" self.{name} = {value}"


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
