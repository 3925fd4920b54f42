"""Texts that tell rewriters, linkers and modes apart in every process, and the modules that their code is in."""

from __future__ import annotations

import re
import sys
from functools import partial
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

from treadle.cache import SOURCES
from treadle.compile.definitions import UndigestibleError, code_of_class, code_of_function, refusal, slots_of
from treadle.graph import GraphTypeError, Op, Type, encode

_NAME = re.compile(rb"[A-Za-z_]\w*(?:\.[A-Za-z_<]\w*>?)+")
_MOST_OBJECTS = 10_000


class Identity:
    """Collects the text of objects, and the modules whose code they run.

    Attributes
    ----------
    modules
        Names of modules.
    """

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self._text: list[str] = []
        self._met: dict[int, int] = {}
        self._kept: list[Any] = []
        self._pending: list[Any] = []

    def of(self, thing: Any) -> str:
        """Return a text that is equal for objects that do the same, in every process.

        Raises
        ------
        UndigestibleError
            If the object is, or holds, something whose identity no other process can tell: a function that was made
            inside another one, a lock, an open file.
        """
        self._text = []
        self._met.clear()
        self._kept.clear()
        self._pending = [thing]
        while self._pending:
            self._add(self._pending.pop())
            if len(self._met) > _MOST_OBJECTS:
                raise UndigestibleError(refusal(thing, "it holds too many objects"))
        return "\n".join(self._text)

    def add_names(self, encoding: bytes) -> None:
        """Take in the modules of the classes and functions that a canonical encoding names."""
        for found in _NAME.findall(encoding):
            module = found.decode()
            while "." in module:
                module = module.rpartition(".")[0]
                if module in sys.modules:
                    self.modules.add(module)
                    break

    def _add(self, thing: Any) -> None:
        if thing is None or isinstance(thing, bool | int | float | complex | str | bytes):
            self._text.append(f"{type(thing).__name__} {thing!r}")
            return
        number = self._met.get(id(thing))
        if number is not None:
            self._text.append(f"again {number}")
            return
        self._met[id(thing)] = len(self._met)
        self._kept.append(thing)
        self._add_object(thing)

    def _add_object(self, thing: Any) -> None:
        if isinstance(thing, type):
            self._add_named("class", thing)
        elif isinstance(thing, FunctionType):
            self._add_function(thing)
        elif isinstance(thing, MethodType):
            self._add_parts("method", [thing.__self__, thing.__func__])
        elif isinstance(thing, BuiltinFunctionType):
            self._add_named("builtin", thing)
        elif isinstance(thing, partial):
            self._add_parts("partial", [thing.func, thing.args, thing.keywords])
        elif isinstance(thing, tuple | list):
            self._add_parts(f"{type(thing).__name__} {len(thing)}", list(thing))
        elif isinstance(thing, set | frozenset):
            self._add_parts(f"set {len(thing)}", sorted(thing, key=repr))
        elif isinstance(thing, dict | MappingProxyType):
            self._add_parts(f"dict {len(thing)}", [part for pair in thing.items() for part in pair])
        elif isinstance(thing, Op | Type):
            self._add_encoded(thing)
        else:
            self._add_instance(thing)

    def _add_parts(self, head: str, parts: list[Any]) -> None:
        self._text.append(head)
        self._pending += reversed(parts)

    def _add_named(self, kind: str, thing: Any) -> None:
        self._text.append(f"{kind} {thing.__module__}.{thing.__qualname__}")
        if isinstance(thing.__module__, str):
            self.modules.add(thing.__module__)
            if isinstance(thing, type) and SOURCES.is_users(thing.__module__):
                self._text.append(code_of_class(thing))

    def _add_function(self, function: FunctionType) -> None:
        if function.__closure__:
            raise UndigestibleError(refusal(function, "it was made inside another function, whose values it uses"))
        self._add_named("function", function)
        # The line tells lambdas of one module apart; what they use is in the module's source.
        self._text.append(f"line {function.__code__.co_firstlineno}")
        if SOURCES.is_users(function.__module__):
            self._text.append(code_of_function(function))
        self._pending += [function.__defaults__, function.__kwdefaults__]

    def _add_encoded(self, thing: Any) -> None:
        try:
            encoding = encode(thing)
        except GraphTypeError as error:
            raise UndigestibleError(str(error)) from error
        self.modules.add(type(thing).__module__)
        self.add_names(encoding)
        self._text.append(encoding.hex())

    def _add_instance(self, thing: Any) -> None:
        kind = type(thing)
        try:
            encoding = encode(thing)
        except GraphTypeError:
            pass
        else:
            self.add_names(encoding)
            self._text.append(encoding.hex())
            return
        if isinstance(thing, ModuleType) or kind.__module__ in sys.stdlib_module_names or kind.__module__ == "builtins":
            raise UndigestibleError(refusal(thing, "it has no text that is the same in every process"))
        self._add_named("instance", kind)
        names = [name for base in kind.__mro__ for name in slots_of(base)]
        state = {name: getattr(thing, name) for name in names if hasattr(thing, name)}
        state.update(getattr(thing, "__dict__", {}))
        self._pending.append({name: state[name] for name in sorted(state)})
