"""The user's classes and functions that a graph is made of: their code, as it is in this process.

A canonical encoding names a class; the digest of its module's source says what the name stood for when the module was
read. That is not all: a module may define a class in one way or another, or twice, a method may use what stood in its
module's variables, and an object may hold more than its declared parameters.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from treadle.cache import SOURCES, digest
from treadle.compile.stored.code_text import check_name, function_texts, functions_behind, state_of
from treadle.compile.stored.fingerprint import AT_RUN_TIME, Identity
from treadle.graph import FunctionGraph, HasInnerGraph, Op, Type, encode, toposort

if TYPE_CHECKING:
    from collections.abc import Iterable

_ATOMS = frozenset({type(None), type(...), bool, int, float, complex, str, bytes})


class Definitions:
    """Collects the user's classes and functions that ops and types consist of."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._objects: list[object] = []
        self._texts: dict[object, str] = {}
        self._identity = Identity()

    @property
    def modules(self) -> set[str]:
        """Modules that the classes and functions use."""
        return self._identity.modules

    def texts(self) -> list[str]:
        """Return one text for each class, function and object."""
        return sorted(self._texts.values())

    def add(self, things: Iterable[object]) -> None:
        """Collect the classes of ops, types and values, and what their parameters consist of."""
        pending: list[object] = list(things)
        while pending:
            thing = pending.pop()
            if type(thing) in _ATOMS or id(thing) in self._seen:
                continue
            self._seen.add(id(thing))
            self._objects.append(thing)  # so that nothing else gets its id
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

    def _parts_of_instance(self, thing: object) -> Iterable[Any]:
        kind = type(thing)
        self._define(kind)
        if kind is FunctionGraph:
            return ()
        parts: list[object] = []
        if isinstance(thing, HasInnerGraph):
            for node in toposort(thing.inner_outputs, thing.inner_inputs):
                parts += (node.op, *(out.type for out in node.outputs))
        if isinstance(thing, Op | Type) or dataclasses.is_dataclass(thing):
            state = state_of(thing)
            if SOURCES.is_users(kind.__module__):
                self._define_undeclared(thing, state)
            behind = functions_behind(thing)
            self._define_behind(thing, {name: behind[name] for name in behind if name not in AT_RUN_TIME})
            for name, value in state.items():
                if name in AT_RUN_TIME and isinstance(value, FunctionType):
                    self._define_text(value, *function_texts(value))
                elif name not in behind:
                    parts.append(value)
        return parts

    def _define(self, thing: object) -> None:
        if thing in self._texts or not SOURCES.is_users(thing.__module__):
            return
        if not isinstance(thing, type):
            check_name(thing)
        self._define_text(thing, self._identity.of(thing))

    def _define_text(self, thing: Any, *texts: str) -> None:
        if SOURCES.is_users(thing.__module__):
            self._texts[thing] = f"{thing.__module__}.{thing.__qualname__} {digest(*texts)[:32]}"

    def _define_behind(self, thing: object, functions: dict[str, FunctionType]) -> None:
        """Collect functions that an object's encoding does not name."""
        self.modules.update(function.__module__ for function in functions.values())
        users = {name: function for name, function in functions.items() if SOURCES.is_users(function.__module__)}
        if users:
            self._texts[id(thing)] = f"behind {encode(thing).hex()} {self._identity.of(users)}"

    def _define_undeclared(self, thing: object, state: dict[str, object]) -> None:
        """Collect what an object holds beside its declared parameters, which alone identify it in a graph."""
        declared = _declared(thing)
        undeclared = {name: state[name] for name in sorted(state) if name not in declared}
        if undeclared:
            self._texts[id(thing)] = f"undeclared {encode(thing).hex()} {self._identity.of(undeclared)}"


def _declared(thing: Any) -> Iterable[str]:
    if isinstance(thing, Op):
        return thing._parameter_names() or ()
    if isinstance(thing, Type):
        return type(thing).__props__ or ()
    return [field.name for field in dataclasses.fields(thing) if field.compare]
