"""What is public, and on which page of the reference it stands."""

from __future__ import annotations

import inspect
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tools import names as tables
from treadle.graph import Op

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# Modules whose names have entries, each under the first that has it, with the title of its page.
MODULES: Mapping[str, str] = {
    "treadle.compile": "Functions, modes and shared variables",
    "treadle.compile.debugmode": "DebugMode",
    "treadle.compile.profiling": "Profiling",
    "treadle.tensor": "Tensors",
    "treadle.tensor.linalg": "Linear algebra",
    "treadle.tensor.random": "Random variables and generators",
    "treadle.tensor.special": "Special functions and softmax",
    "treadle.tensor.signal": "Signals",
    "treadle.tensor.fft": "Fourier transforms",
    "treadle.tensor.optimize": "Minima, roots and fixed points",
    "treadle.tensor.nn": "Neural networks and optimisers",
    "treadle.tensor.array_api": "The array API standard",
    "treadle.scan": "Loops, by scan",
    "treadle.gradient": "Gradients, as PyTensor names them",
    "treadle.sparse": "Sparse matrices",
    "treadle.named": "Named dimensions",
    "treadle.named.linalg": "Linear algebra with named dimensions",
    "treadle.named.random": "Random numbers with named dimensions",
    "treadle.printing": "Printing",
    "treadle.typed_list": "Lists as values",
    "treadle.raise_op": "Checks inside graphs",
    "treadle.assumptions": "Assumptions",
    "treadle.graph": "Graphs",
    "treadle.rewrite": "Rewriting",
    "treadle.config": "Options and what all packages share",
    "treadle.cache": "The compile cache",
    "treadle.link.vm": "Linkers and the Python virtual machine",
    "treadle.link.c": "The C backend",
    "treadle.link.numba": "The Numba backend",
    "treadle.link.jax": "The JAX backend",
    "treadle.link.torch": "The PyTorch backend",
    "treadle.link.array_api": "The array API backend",
    "treadle.testing": "Records and the contract of backends",
    "treadle.scalar": "Scalars, as PyTensor names them",
    "treadle.as_pytensor": "Programs of PyTensor",
}
# Rooms of treadle.tensor, each with a page, and its title; what stands in others is on the page of the rest.
ROOMS: Mapping[str, str] = {
    "types": "Types, and how to make variables",
    "variables": "Tensor variables and their methods",
    "elementwise": "Elementwise functions",
    "special_functions": "Special functions",
    "reductions": "Reductions and statistics",
    "shapes": "Shapes and broadcasting",
    "joins": "Joining and splitting",
    "indexing": "Indexing",
    "arrangement": "Arrangement: repeating, padding, diagonals",
    "sorting": "Sorting, counting, sets",
    "products": "Products",
    "control": "Choices and checks",
    "loops": "Loops",
    "gradients": "Gradients",
    "differentiation": "Jacobians, Hessians, derivatives of your own",
    "batches": "Batches",
    "embedding": "Functions of other libraries as ops",
    "library": "Functions made of others",
    "signal": "Convolution, pooling, windows, polynomials",
    "linalg": "Ops of linear algebra",
}


# Names of functions that mean a parameter wherever a docstring has them.
PARAMETERS = {"dtype", "e", "name", "ndim", "shape", "size", "where"}


@dataclass(slots=True)
class Entry:
    """One public object, with the names that it has in its module."""

    module: str
    names: list[str]
    value: Any

    @property
    def path(self) -> str:
        """The dotted path of its first name."""
        return f"{self.module}.{self.names[0]}"


@dataclass(slots=True)
class Page:
    """One page of the reference."""

    name: str
    title: str
    module: str
    entries: list[Entry] = field(default_factory=list)
    # Names that have their entries elsewhere, with the paths of these.
    others: dict[str, str] = field(default_factory=dict)


def public_names(module: ModuleType) -> list[str]:
    """Return the names that a module offers."""
    return sorted({name for name in module.__all__ if not name.startswith("_")}, key=lambda name: (name.lower(), name))


def _is_simple(value: Any) -> bool:
    """Whether a value has no identity to speak of: numbers, texts, None."""
    return value is None or isinstance(value, bool | int | float | complex | str)


def identity(value: Any) -> object:
    """Return what a public object and its aliases share."""
    if isinstance(value, Op):
        return ("op", value)
    return ("object", id(inspect.unwrap(value) if callable(value) and not inspect.isclass(value) else value))


@cache
def pages() -> tuple[Page, ...]:
    """Return the pages of the reference, all public objects entered."""
    seen: dict[object, str] = {}
    found: list[Page] = []
    for path, title in MODULES.items():
        try:
            module = import_module(path)
        except ModuleNotFoundError:
            continue
        entries, others = _entries(path, module, seen)
        if path == "treadle.tensor":
            found += _by_rooms(entries, others)
        else:
            found.append(Page(path, title, path, entries, others))
    return tuple(page for page in found if page.entries or page.others)


def _entries(path: str, module: ModuleType, seen: dict[object, str]) -> tuple[list[Entry], dict[str, str]]:
    own: dict[object, Entry] = {}
    others: dict[str, str] = {}
    for name in public_names(module):
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            continue
        key = ("constant", name) if _is_simple(value) else identity(value)
        if key in own:
            own[key].names.append(name)
        elif key in seen:
            others[name] = seen[key]
        else:
            own[key] = Entry(path, [name], value)
    for key, entry in own.items():
        _own_name_first(entry)
        seen[key] = entry.path
    return list(own.values()), others


def _own_name_first(entry: Entry) -> None:
    """Put the name first that the object itself gives."""
    own = getattr(entry.value, "__name__", None) or getattr(entry.value, "name", None)
    for name in entry.names:
        if isinstance(own, str) and name == own.rstrip("_"):
            entry.names.remove(name)
            entry.names.insert(0, name)
            return


def _by_rooms(entries: Iterable[Entry], others: dict[str, str]) -> Iterator[Page]:
    """Part the names of treadle.tensor by the rooms that they are defined in."""
    rooms: dict[str, list[Entry]] = defaultdict(list)
    homes = _homes()
    for entry in entries:
        home = next((homes[name] for name in entry.names if name in homes), None)
        module = home or getattr(entry.value, "__module__", "") or ""
        room = module.removeprefix("treadle.tensor.").partition(".")[0]
        rooms[room if room in ROOMS else ""].append(entry)
    for room, title in ROOMS.items():
        yield Page(f"tensor_{room}", title, "treadle.tensor", rooms[room])
    yield Page("treadle.tensor", "The rest of treadle.tensor", "treadle.tensor", rooms[""], others)


@cache
def _homes() -> dict[str, str]:
    """Return the module that each name of treadle.tensor is defined in, by the ``__all__`` of its modules."""
    found = {}
    # Names of tensor itself come last: they stand, where a distribution beside it has them too.
    for source in (*(tables.ROOT / path.parent for path in tables.BROUGHT), tables.ROOT / tables.SOURCE):
        for path in sorted(source.rglob("*.py")):
            parts = path.with_suffix("").parts
            module = ".".join(parts[parts.index("src") + 1 :])
            if path.name != "__init__.py":
                found.update(dict.fromkeys(tables.exported(path), module))
    return found


@cache
def targets() -> Mapping[str, str]:
    """Return where the entry of a name in backticks is: of each path, and of each last name that is the only one."""
    paths: dict[str, str] = {}
    last: dict[str, set[str]] = defaultdict(set)
    for page in pages():
        for entry in page.entries:
            for name in entry.names:
                paths[f"{entry.module}.{name}"] = entry.path
                last[name].add(entry.path)
    alone = {name: next(iter(found)) for name, found in last.items() if len(found) == 1 and name not in PARAMETERS}
    return alone | {f"tt.{path.removeprefix('treadle.tensor.')}": path for path in paths.values()} | paths
