"""Texts of the user's functions, as they are in this process: their code, and the plain values that it uses."""

from __future__ import annotations

import sys
from dataclasses import fields, is_dataclass
from functools import cached_property
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from treadle.cache import SOURCES
from treadle.config import TreadleError, text_of
from treadle.graph import GraphTypeError, Op, Type, encode

if TYPE_CHECKING:
    from collections.abc import Iterable

_ATOMS = frozenset({type(None), type(...), bool, int, float, complex, str, bytes})
# Attributes that ops derive from their parameters.
_DERIVED = frozenset({"_canonical", "_fn", "_hash"})


class UndigestibleError(TreadleError, TypeError):
    """Something in a function cannot be identified in another process, so the function is not kept."""


def refusal(thing: object, reason: str) -> str:
    """Return the message of an `UndigestibleError`."""
    # The text of a value, such as the environment, may hold secrets, and messages are written to a file.
    code = isinstance(thing, type | FunctionType | MethodType | ModuleType | Op | Type)
    shown = text_of(thing) if code else f"an object of class {type(thing).__module__}.{type(thing).__qualname__}"
    return f"compile cache: {shown} cannot be told from others in another process: {reason}."


def state_of(thing: object) -> dict[str, Any]:
    """Return the attributes of an object by name, those in slots too, without those derived from others."""
    names = [name for base in type(thing).__mro__ for name in _slots_of(base)]
    state = {name: getattr(thing, name) for name in names if hasattr(thing, name)}
    state.update(getattr(thing, "__dict__", {}))
    derived = set(_DERIVED)
    if is_dataclass(thing) and not SOURCES.is_users(type(thing).__module__):
        # Fields that treadle's own classes compute themselves, such as the traced bodies of a scalar op.
        derived |= {field.name for field in fields(thing) if not field.init}
    return {name: value for name, value in state.items() if name not in derived}


def functions_behind(thing: object) -> dict[str, FunctionType]:
    """Return the functions of an object that is encoded by its name alone, such as a scalar op."""
    if isinstance(thing, Op | Type) or not hasattr(type(thing), "canonical"):
        return {}
    return {name: value for name, value in sorted(state_of(thing).items()) if isinstance(value, FunctionType)}


def _slots_of(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in names if name not in {"__weakref__", "__dict__"})


def check_name(thing: Any) -> None:
    """Raise an error if a class or function is not what its module holds under its name."""
    if "<locals>" in thing.__qualname__:
        raise UndigestibleError(refusal(thing, "it was made inside a function, whose values it may use"))
    held: object = sys.modules.get(thing.__module__)
    for name in thing.__qualname__.split("."):
        held = getattr(held, name, None)
    # A decorator may have put another object there, which names what it wraps.
    if held is not thing and getattr(held, "__wrapped__", None) is not thing:
        raise UndigestibleError(refusal(thing, "its module holds something else under its name"))


def functions_of(member: object) -> list[FunctionType]:
    """Return the functions that a member of a class is made of; none for a value."""
    if isinstance(member, property):
        parts: tuple[object, ...] = (member.fget, member.fset, member.fdel)
    elif isinstance(member, staticmethod | classmethod):
        parts = (member.__func__,)
    elif isinstance(member, cached_property):
        parts = (member.func,)
    else:
        parts = (member, *functions_behind(member).values())
    return [part for part in parts if isinstance(part, FunctionType)]


def member_texts(member: object) -> Iterable[str]:
    """Return texts of a member of a class, as far as it has some that are the same in every process."""
    functions = functions_of(member)
    return [text for part in functions for text in function_texts(part)] if functions else [_value_text(member)]


def _value_text(value: object) -> str:
    """Return a text of a value as far as it has one that is the same in every process."""
    try:
        return encode(value).hex()
    except GraphTypeError:
        return type(value).__qualname__


def function_texts(function: FunctionType) -> list[str]:
    """Return texts of a function, of what it uses of its module's variables, and of the values that it closes over."""
    texts: list[str] = []
    seen: set[FunctionType] = set()
    pending = [function]
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        texts += (current.__qualname__, _value_text(current.__defaults__), _value_text(current.__kwdefaults__))
        names = code_texts(current.__code__, texts)
        for name in sorted(names & current.__globals__.keys()):
            pending += _used(name, current.__globals__[name], texts)
        for name, cell in zip(current.__code__.co_freevars, current.__closure__ or (), strict=True):
            try:
                pending += _used(name, cell.cell_contents, texts)
            except ValueError:  # the cell is still empty
                texts.append(name)
    return texts


def _used(name: str, value: object, texts: list[str]) -> list[FunctionType]:
    """Add the text of a value that code uses; return the user's function that it is."""
    if isinstance(value, FunctionType):
        return [value] if SOURCES.is_users(value.__module__) else []
    if type(value) in _ATOMS or (type(value) is tuple and all(type(part) in _ATOMS for part in value)):
        texts += (name, _value_text(value))
    return []


def code_texts(code: CodeType, texts: list[str]) -> set[str]:
    """Add texts of code, and of the code inside it; return the names that it uses."""
    names: set[str] = set()
    pending = [code]
    while pending:
        current = pending.pop()
        names.update(current.co_names)
        texts += (current.co_name, current.co_code.hex(), *current.co_names)
        for constant in current.co_consts:
            if isinstance(constant, CodeType):
                pending.append(constant)
            else:
                texts.append(_value_text(constant))
    return names
