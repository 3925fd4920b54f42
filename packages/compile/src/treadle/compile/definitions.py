"""The user's classes and functions that a graph is made of: their code, as it is in this process.

A canonical encoding names a class; the digest of its module's source says what the name stood for when the module was
read. That is not all: a module may define a class in one way or another, or twice, and a method may use what stood
in its module's variables.
"""

from __future__ import annotations

import dataclasses
import sys
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from treadle.cache import SOURCES, digest
from treadle.config import TreadleError
from treadle.graph import FunctionGraph, GraphTypeError, HasInnerGraph, Op, Type, encode, toposort

if TYPE_CHECKING:
    from collections.abc import Iterable

_ATOMS = frozenset({type(None), type(...), bool, int, float, complex, str, bytes})
# What Python, and decorators of classes, put beside what the user wrote; some of it differs from process to process.
_MADE = frozenset({"__doc__", "__module__", "__dict__", "__weakref__", "__annotations__", "_abc_impl"})
# What ops derive from their parameters.
_DERIVED = frozenset({"_canonical", "_fn", "_hash"})


class UndigestibleError(TreadleError, TypeError):
    """What a function is made of cannot be told from others in another process, so the function is not kept."""


def refusal(thing: Any, reason: str) -> str:
    """Return the message of an `UndigestibleError`."""
    return f"compile cache: {thing!r} cannot be told from others in another process: {reason}."


def slots_of(kind: type) -> tuple[str, ...]:
    """Return the names of the attributes for which a class itself has slots."""
    given = kind.__dict__.get("__slots__", ())
    names = (given,) if isinstance(given, str) else tuple(given)
    return tuple(name for name in names if name not in {"__weakref__", "__dict__"})


def code_of_class(kind: type) -> str:
    """Return a digest of the code of a user's class and of the user's classes that it derives from.

    Raises
    ------
    UndigestibleError
        If the class's module does not hold it under its name.
    """
    parts: list[str] = []
    for base in kind.__mro__:
        if not SOURCES.is_users(base.__module__):
            continue
        _check_name(base)
        parts.append(f"{base.__module__}.{base.__qualname__}")
        for name, member in sorted(vars(base).items()):
            if name not in _MADE:
                parts += (name, *_member_texts(member))
    return digest(*parts)[:32]


def code_of_function(function: FunctionType) -> str:
    """Return a digest of the code of a user's function, and of the user's functions that it calls by their names."""
    return digest(*_function_texts(function))[:32]


def _check_name(thing: Any) -> None:
    if "<locals>" in thing.__qualname__:
        raise UndigestibleError(refusal(thing, "it was made inside a function, whose values it may use"))
    found: Any = sys.modules.get(thing.__module__)
    for name in thing.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is not thing:
        raise UndigestibleError(refusal(thing, "its module holds something else under its name"))


def _member_texts(member: Any) -> Iterable[str]:
    if isinstance(member, FunctionType):
        return _function_texts(member)
    if isinstance(member, staticmethod | classmethod) and isinstance(member.__func__, FunctionType):
        return _function_texts(member.__func__)
    if isinstance(member, property):
        parts = (member.fget, member.fset, member.fdel)
        return [text for part in parts if isinstance(part, FunctionType) for text in _function_texts(part)]
    return [_value_text(member)]


def _value_text(value: Any) -> str:
    """Return a text of a value as far as it has one that is the same in every process."""
    try:
        return encode(value).hex()
    except GraphTypeError:
        return type(value).__qualname__


def _function_texts(function: FunctionType) -> list[str]:
    """Return texts of a function, of what it uses of its module's variables, and of the values that it closes over."""
    texts: list[str] = []
    met: set[FunctionType] = set()
    pending = [function]
    while pending:
        made = pending.pop()
        if made in met:
            continue
        met.add(made)
        texts += (made.__qualname__, _value_text(made.__defaults__), _value_text(made.__kwdefaults__))
        names = _code_texts(made.__code__, texts)
        for name in sorted(names & made.__globals__.keys()):
            pending += _used(name, made.__globals__[name], texts)
        for name, cell in zip(made.__code__.co_freevars, made.__closure__ or (), strict=True):
            try:
                pending += _used(name, cell.cell_contents, texts)
            except ValueError:  # the cell is still empty
                texts.append(name)
    return texts


def _used(name: str, value: Any, texts: list[str]) -> list[FunctionType]:
    """Add the text of a value that code uses; return the user's function that it is."""
    if isinstance(value, FunctionType):
        return [value] if SOURCES.is_users(value.__module__) else []
    if type(value) in _ATOMS or (type(value) is tuple and all(type(part) in _ATOMS for part in value)):
        texts += (name, _value_text(value))
    return []


def _code_texts(code: CodeType, texts: list[str]) -> set[str]:
    """Add texts of code, and of the code inside it; return the names that it uses."""
    names: set[str] = set()
    pending = [code]
    while pending:
        found = pending.pop()
        names.update(found.co_names)
        texts += (found.co_name, found.co_code.hex(), *found.co_names)
        for constant in found.co_consts:
            if isinstance(constant, CodeType):
                pending.append(constant)
            else:
                texts.append(_value_text(constant))
    return names


class Definitions:
    """Collects the user's classes and functions that ops and types consist of."""

    def __init__(self) -> None:
        self._met: set[int] = set()
        self._kept: list[Any] = []
        self._texts: dict[Any, str] = {}

    def texts(self) -> list[str]:
        """Return a text of each."""
        return sorted(self._texts.values())

    def add(self, things: Iterable[Any]) -> None:
        """Take in the classes of ops, types and values, and what their parameters consist of.

        Raises
        ------
        UndigestibleError
            If a class or function of the user's is not what its module holds under its name.
        """
        pending: list[Any] = list(things)
        while pending:
            thing = pending.pop()
            if type(thing) in _ATOMS or id(thing) in self._met:
                continue
            self._met.add(id(thing))
            self._kept.append(thing)  # so that nothing else gets its number
            pending += self._parts(thing)

    def _parts(self, thing: Any) -> Iterable[Any]:
        kind = type(thing)
        if kind is tuple or kind is list or kind is set or kind is frozenset:
            parts: Iterable[Any] = thing
            return parts
        if kind is dict:
            return [*thing.keys(), *thing.values()]
        if isinstance(thing, type | FunctionType):
            self._define(thing)
            return ()
        if kind is partial:
            return [thing.func, *thing.args, *thing.keywords.values()]
        if kind is MethodType:
            return [thing.__self__, thing.__func__]
        return self._parts_of_instance(thing)

    def _parts_of_instance(self, thing: Any) -> Iterable[Any]:
        kind = type(thing)
        self._define(kind)
        if kind is FunctionGraph:
            return ()
        parts: list[Any] = []
        if isinstance(thing, HasInnerGraph):
            parts += (node.op for node in toposort(thing.inner_outputs, thing.inner_inputs))
        if isinstance(thing, Op | Type) or dataclasses.is_dataclass(thing):
            parts += (value for name, value in getattr(thing, "__dict__", {}).items() if name not in _DERIVED)
            names = [name for base in kind.__mro__ for name in slots_of(base)]
            parts += (getattr(thing, name) for name in names if hasattr(thing, name))
        return parts

    def _define(self, thing: Any) -> None:
        if thing in self._texts or not SOURCES.is_users(thing.__module__):
            return
        if isinstance(thing, type):
            self._texts[thing] = f"{thing.__module__}.{thing.__qualname__} {code_of_class(thing)}"
        else:
            _check_name(thing)
            self._texts[thing] = f"{thing.__module__}.{thing.__qualname__} {code_of_function(thing)}"
