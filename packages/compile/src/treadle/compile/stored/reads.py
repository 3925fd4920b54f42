"""What the user's code reads beside its arguments, as far as is known: variables of modules, closures, defaults.

Code that runs while a program is made leaves what it read in the program. So the key must hold it, or the program is
not kept.
"""

from __future__ import annotations

import builtins
import dis
import sys
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from treadle.cache import LIBRARIES, SOURCES
from treadle.compile.mode.backends import BACKENDS
from treadle.compile.stored.code_text import UndigestibleError, refusal
from treadle.config import config, is_own_module

if TYPE_CHECKING:
    from collections.abc import Iterator

# Modules of Python's whose functions give the same for the same arguments.
_PURE = frozenset(
    (
        *("abc", "bisect", "builtins", "cmath", "collections", "contextlib", "copy", "dataclasses", "decimal", "enum"),
        *("fractions", "functools", "heapq", "itertools", "math", "numbers", "operator", "re", "string", "struct"),
        *("textwrap", "types", "typing", "warnings", "_collections", "_functools", "_heapq", "_operator", "_struct"),
    )
)
_IMPURE = frozenset({"__import__", "breakpoint", "compile", "eval", "exec", "globals", "hash", "id", "input", "open"})
# Parts of libraries that read files, or a state of their own.
_STATEFUL = ("numpy.random", "numpy.lib.npyio", "numpy.lib._npyio_impl", "numpy.ctypeslib", "scipy.io")
_FILES = frozenset({"fromfile", "fromregex", "genfromtxt", "load", "loadtxt", "memmap"})
_IN_BETWEEN = frozenset({"CACHE", "EXTENDED_ARG", "PRECALL", "PUSH_NULL"})


def values_read(function: FunctionType, modules: set[str]) -> Iterator[tuple[str, Any]]:
    """Yield the names that a function reads outside of itself, each with its value; libraries' functions are left out.

    The libraries of backends that it uses are added to `modules`.
    """
    yield "defaults", function.__defaults__
    yield "keywords", function.__kwdefaults__
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # the cell is still empty
            continue
        if name != "__class__" and not _is_same_everywhere(function, name, value, modules):
            yield name, value
    for chain in _chains(function.__code__):
        name = ".".join(chain)
        exists, value = _resolved(function, chain)
        if exists and not _is_same_everywhere(function, name, value, modules):
            yield name, value


def attributes_read(function: FunctionType) -> frozenset[str]:
    """Return the names in a function's code that may be attributes of what it works with."""
    return _names(function.__code__)


def _resolved(function: FunctionType, chain: tuple[str, ...]) -> tuple[bool, Any]:
    """Return whether there is a value, and the value: of a variable, or of what modules and classes hold."""
    scope = function.__globals__
    if chain[0].startswith("import "):
        value: object = sys.modules.get(chain[0].removeprefix("import "))
        if value is None:
            raise UndigestibleError(refusal(function, f"it runs {chain[0]}, which is not loaded"))
    elif chain[0] in scope:
        value = scope[chain[0]]
    elif hasattr(builtins, chain[0]):
        value = getattr(builtins, chain[0])
    else:
        return False, None
    for name in chain[1:]:
        if not isinstance(value, ModuleType) or not hasattr(value, name):
            break
        _check_module(function, value, name)
        value = getattr(value, name)
    return True, value


def _check_module(function: FunctionType, module: ModuleType, name: str) -> None:
    place = f"{module.__name__}.{name}"
    if place.startswith(_STATEFUL) or (name in _FILES and _is_library(place)):
        raise UndigestibleError(refusal(function, f"it uses {place}"))


def _is_same_everywhere(function: FunctionType, name: str, value: object, modules: set[str]) -> bool:
    """Whether a value needs no text of its own: a function or class of a library, of treadle or of a package."""
    if value is config:
        return True  # its options are in the key
    if isinstance(value, ModuleType):
        if is_own_module(value.__name__) or _root(value.__name__) in _PURE:
            return True
        if _is_library(value.__name__):
            modules.add(_root(value.__name__))
            return True
        raise UndigestibleError(refusal(function, f"it uses the module {value.__name__} as a whole"))
    if not isinstance(value, type | FunctionType | BuiltinFunctionType):
        return False
    module = getattr(value, "__module__", None)
    if isinstance(value, BuiltinFunctionType) and module is None:
        owner = value.__self__
        return isinstance(owner, type) and owner.__module__ == "builtins"
    if not isinstance(module, str):
        raise UndigestibleError(refusal(function, f"it uses {name}, which belongs to no module"))
    if SOURCES.is_users(module) or module == "__main__":
        return False
    root = _root(module)
    impure = module == "builtins" and value.__name__ in _IMPURE
    if impure or module.startswith(_STATEFUL) or (root in sys.stdlib_module_names and root not in _PURE):
        raise UndigestibleError(refusal(function, f"it uses {name}"))
    if not is_own_module(module) and root not in sys.stdlib_module_names and _is_library(module):
        modules.add(root)
    return True


def _root(module: str) -> str:
    return module.partition(".")[0]


def _is_library(module: str) -> bool:
    """Whether a module belongs to a library that programs may depend on: keys can hold its version."""
    root = _root(module)
    return root in LIBRARIES or root in BACKENDS.libraries()


def _codes(code: CodeType) -> Iterator[CodeType]:
    pending = [code]
    while pending:
        current = pending.pop()
        yield current
        pending += (constant for constant in current.co_consts if isinstance(constant, CodeType))


@lru_cache(maxsize=1024)
def _names(code: CodeType) -> frozenset[str]:
    return frozenset(name for inner in _codes(code) for name in inner.co_names)


@lru_cache(maxsize=1024)
def _chains(code: CodeType) -> tuple[tuple[str, ...], ...]:
    """Return the variables of modules that code reads, each with the attributes that are read of it at once."""
    chains: set[tuple[str, ...]] = set()
    for inner in _codes(code):
        chain: tuple[str, ...] = ()
        imported = ""
        for step in dis.get_instructions(inner):
            if step.opname in _IN_BETWEEN:
                continue
            if chain and step.opname in {"LOAD_ATTR", "LOAD_METHOD"}:
                chain = (*chain, str(step.argval))
                continue
            if chain and step.opname != "IMPORT_FROM":
                chains.add(chain)
            chain = (str(step.argval),) if step.opname in {"LOAD_GLOBAL", "LOAD_NAME"} else ()
            if step.opname == "IMPORT_FROM":
                chains.add((imported, str(step.argval)))
            elif step.opname == "IMPORT_NAME":
                imported = f"import {step.argval}"
                chain = (imported,)
    return tuple(sorted(chains))
