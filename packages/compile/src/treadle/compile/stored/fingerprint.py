"""Texts that identify rewriters, linkers and modes in every process, and the modules that their code is in."""

from __future__ import annotations

import re
import sys
from functools import partial
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

from treadle.cache import SOURCES
from treadle.compile.stored.code_text import (
    UndigestibleError,
    check_name,
    code_texts,
    functions_behind,
    functions_of,
    member_texts,
    refusal,
    state_of,
)
from treadle.compile.stored.reads import attributes_read, values_read
from treadle.graph import GraphTypeError, Op, Type, encode

_NAME = re.compile(rb"[A-Za-z_]\w*(?:\.[A-Za-z_<]\w*>?)+")
_MOST_OBJECTS = 10_000
# Members that Python and decorators of classes add; some of them differ from process to process.
_GENERATED = frozenset(
    {"__doc__", "__module__", "__dict__", "__weakref__", "__annotations__", "__slotnames__", "_abc_impl"}
)
# Members and parameters of ops and types that are called when a graph is built or a program runs, not in between.
AT_RUN_TIME = frozenset(
    (
        *("perform", "debug_perform", "prepare_node", "make_thunk", "make_py_thunk", "impl", "fn", "filter"),
        *("filter_inplace", "values_eq", "values_eq_approx", "is_valid_value", "grad", "L_op", "R_op", "pullback"),
        *("pushforward", "printed_form", "__repr__", "__str__"),
    )
)


class Identity:
    """Collects the text of objects, and the names of the modules whose code they run."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self._text: list[str] = []
        self._numbers: dict[int, int] = {}
        self._objects: list[object] = []
        self._pending: list[object] = []
        self._members: set[int] = set()

    def of(self, thing: object) -> str:
        """Return a text that is equal for objects that do the same, in every process."""
        self._text = []
        self._numbers.clear()
        self._objects.clear()
        self._pending = [thing]
        while self._pending:
            self._add(self._pending.pop())
            if len(self._numbers) > _MOST_OBJECTS:
                raise UndigestibleError(refusal(thing, "it holds too many objects"))
        return "\n".join(self._text)

    def add_names(self, encoding: bytes) -> None:
        """Collect the modules of the classes and functions that a canonical encoding names."""
        for name in _NAME.findall(encoding):
            module = name.decode()
            while "." in module:
                module = module.rpartition(".")[0]
                if module in sys.modules:
                    self.modules.add(module)
                    break

    def _add(self, thing: object) -> None:
        if thing is None or isinstance(thing, bool | int | float | complex | str | bytes):
            self._text.append(f"{type(thing).__name__} {thing!r}")
            return
        number = self._numbers.get(id(thing))
        if number is not None:
            self._text.append(f"again {number}")
            return
        self._numbers[id(thing)] = len(self._numbers)
        self._objects.append(thing)
        self._add_object(thing)

    def _add_object(self, thing: object) -> None:
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

    def _add_parts(self, head: str, parts: list[object]) -> None:
        self._text.append(head)
        self._pending += reversed(parts)

    def _add_named(self, kind: str, thing: Any) -> None:
        if not isinstance(thing.__module__, str):
            raise UndigestibleError(refusal(thing, "it belongs to no module"))
        self._text.append(f"{kind} {thing.__module__}.{thing.__qualname__}")
        self.modules.add(thing.__module__)
        if isinstance(thing, type) and SOURCES.is_users(thing.__module__):
            self._add_members(thing)

    def _add_members(self, kind: type) -> None:
        """Add the code of a user's class and of the user's classes that it derives from.

        What runs while a program is made is followed into what it reads; the rest enters as far as it has a text.
        """
        others: list[tuple[str, object]] = []
        early: list[FunctionType] = []
        late = AT_RUN_TIME if issubclass(kind, Op | Type) else frozenset()
        for base in kind.__mro__:
            if not SOURCES.is_users(base.__module__):
                continue
            check_name(base)
            self._text.append(f"{base.__module__}.{base.__qualname__}")
            for name, member in sorted(vars(base).items()):
                if name in _GENERATED:
                    continue
                functions = functions_of(member)
                if functions and name not in late:
                    self._text.append(name)
                    early += functions
                else:
                    others.append((name, member))
        read = {name for function in early for name in attributes_read(function)}
        for name, member in others:
            if name in read and not isinstance(member, MemberDescriptorType):  # what is in slots is an object's own
                self._pending += functions_of(member) or [member]
            else:
                self._text += (name, *member_texts(member))
        # Decorated methods are closures, whose values are known.
        self._members.update(map(id, early))
        self._pending += early

    def _add_function(self, function: FunctionType) -> None:
        users = SOURCES.is_users(function.__module__)
        if function.__closure__ and not (users and id(function) in self._members):
            raise UndigestibleError(refusal(function, "it was made inside another function, whose values it uses"))
        self._add_named("function", function)
        if users:
            code_texts(function.__code__, self._text)
            for name, value in values_read(function, self.modules):
                self._text.append(name)
                self._pending.append(value)
            return
        # The line tells lambdas of one module apart; what they use is in the module's source.
        self._text.append(f"line {function.__code__.co_firstlineno}")
        self._pending += [function.__defaults__, function.__kwdefaults__]

    def _add_encoded(self, thing: object) -> None:
        try:
            encoding = encode(thing)
        except GraphTypeError as error:
            raise UndigestibleError(str(error)) from error
        self.add_names(encoding)
        self._text.append(encoding.hex())
        self._pending.append(type(thing))
        self._pending += [value for value in state_of(thing).values() if functions_behind(value)]

    def _add_instance(self, thing: object) -> None:
        kind = type(thing)
        try:
            encoding = encode(thing)
        except GraphTypeError:
            pass
        else:
            self.add_names(encoding)
            self._text.append(encoding.hex())
            self._add_behind(thing, kind)
            return
        if isinstance(thing, ModuleType) or kind.__module__ in sys.stdlib_module_names or kind.__module__ == "builtins":
            raise UndigestibleError(refusal(thing, "it has no text that is the same in every process"))
        self._add_named("instance", kind)
        state = state_of(thing)
        self._pending.append({name: state[name] for name in sorted(state)})

    def _add_behind(self, thing: object, kind: type) -> None:
        """Add what an encoding only names: the function that a decorator wrapped, what a user's object consists of."""
        wrapped = getattr(thing, "__wrapped__", None)
        if SOURCES.is_users(kind.__module__):
            self._pending += [kind, state_of(thing)]
        elif isinstance(wrapped, FunctionType):
            self._pending.append(wrapped)
        elif behind := functions_behind(thing):
            self.modules.update(function.__module__ for function in behind.values())
            self._pending.append({k: f for k, f in behind.items() if SOURCES.is_users(f.__module__)})
        elif SOURCES.is_users(getattr(thing, "__module__", None)):
            raise UndigestibleError(refusal(thing, "its code has no text"))
