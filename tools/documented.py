"""Write docs/contributing/what_pins_what.md: which test pins which documented name.

A test says what it pins with ``@pytest.mark.documents("function.givens", "In.mutable")``, in plain texts, which are
read without running the tests. The names that need a test are read from the public objects themselves: parameters from
signatures, members from classes, modes, linkers and sets of rewrites from their tables, errors and options from where
they are declared. What the reference list of features says is in docs/function_reference.tsv: an entry is pinned by
the tests that carry its number or, where none does, by those of the names that it lists.
"""

from __future__ import annotations

import ast
import csv
import inspect
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import treadle.compile as tc
from treadle.compile import debugmode, mode, monitormode, nanguardmode, profiling
from treadle.config import config
from treadle.config.errors import TreadleError
from treadle.graph import LoweringError, MissingInputError, NodeError, SharedVariable
from treadle.link import c, vm
from treadle.link.c.errors import ExportError
from treadle.link.vm import basic
from treadle.surface.thunks import VMLinker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "contributing" / "what_pins_what.md"
REFERENCE = ROOT / "docs" / "function_reference.tsv"

HEAD = """\
# What pins what

Written by `./dev pages`: every parameter, member, mode, linker, set of rewrites, error and option of
`function` and of what surrounds it, with the tests that pin it, and the entries of the reference list of features (in
docs/function_reference.tsv) with theirs. The tests of this repository fail where a name has no test, or a test names
what does not exist.
"""

# Callables whose parameters are documented, by the name that the markers use.
SIGNATURES: dict[str, Any] = {
    "function": tc.function,
    "function_dump": tc.function_dump,
    "In": tc.In,
    "Out": tc.Out,
    "shared": tc.shared,
    "SharedVariable.get_value": SharedVariable.get_value,
    "SharedVariable.set_value": SharedVariable.set_value,
    "SharedVariable.zero": SharedVariable.zero,
    "SharedVariable.clone": SharedVariable.clone,
    "Function.copy": tc.Function.copy,
    "Function.export": tc.Function.export,
    "FunctionMaker": tc.FunctionMaker,
    "rebuild_collect_shared": tc.rebuild_collect_shared,
    "Mode": tc.Mode,
    "Mode.clone": tc.Mode.clone,
    "DebugMode": debugmode.DebugMode,
    "NanGuardMode": nanguardmode.NanGuardMode,
    "MonitorMode": monitormode.MonitorMode,
    "AddFeatureOptimizer": tc.AddFeatureOptimizer,
    "PrintCurrentFunctionGraph": tc.PrintCurrentFunctionGraph,
    "ProfileStats": profiling.ProfileStats,
    "ProfileStats.summary": profiling.ProfileStats.summary,
    "OpFromGraph": tc.OpFromGraph,
    "ifelse": tc.ifelse,
    "wrap_py": tc.wrap_py,
    "wrap_jax": tc.wrap_jax,
    "wrap_torch": tc.wrap_torch,
    "PerformLinker": basic.PerformLinker,
    "VMLinker": VMLinker,
    "JITLinker": basic.JITLinker,
    "WrapLinker": basic.WrapLinker,
    "WrapLinkerMany": basic.WrapLinkerMany,
    "OpWiseCLinker": c.OpWiseCLinker,
}
# Classes whose public members are documented.
MEMBERS: dict[str, type] = {
    "Function": tc.Function,
    "FunctionMaker": tc.FunctionMaker,
    "SharedVariable": SharedVariable,
    "Mode": tc.Mode,
    "ProfileStats": profiling.ProfileStats,
    "Linker": basic.Linker,
}
# Members that implement a documented behaviour under a special name, or are set on each object.
FURTHER = {
    "Function": (
        *("__call__", "__contains__", "__copy__", "__deepcopy__", "__eq__", "__getitem__", "__hash__"),
        *("__reduce__", "__repr__", "__setitem__", "output_subset"),
    ),
    "FunctionMaker": ("mode", "name", "options", "profile", "source_line", "specification", "trust_input"),
    "SharedVariable": ("type", "name"),
    "Linker": ("allow_gc", "incompatible_rewrites", "required_rewrites"),  # of its base, which makes no thunks
    "ProfileStats": ("atexit_print", "ignore_first_call", "flag_time_thunks"),
}
# Members that parts of the package use among themselves.
INTERNAL = {
    "Function": {"aliased_strategies", "bind", "call_subset", "explain", "renew", "stored_values"},
    "FunctionMaker": {"load_fgraph_with", "variant", "where", "make", "linker", "function_class"},
    "Mode": {
        "backend",
        "make_node_linker",
        "name",
        "parameters",
        "provided_linker",
        "provided_optimizer",
        "own_rewriter",
    },
    "ProfileStats": {"compiling", "destination", "settings", "sum_of", "text", "title", "times_nodes"}
    | {"measures_memory"},
    "Linker": {"acts_at_nodes", "capabilities", "clone", "dump", "load", "export", "profile", "fgraph"},
}
# Options of other packages that affect functions.
OPTIONS = (
    *("allow_gc", "profile_optimizer", "vm__lazy", "cxx", "gcc__cxxflags", "gcc__timeout", "nocleanup"),
    *("cmodule__compilation_warning", "cmodule__debug", "cmodule__remove_gxx_opt", "compiler_verbose"),
    *("blas__ldflags", "openmp", "openmp_elemwise_minsize"),
)


@dataclass(frozen=True, slots=True)
class Section:
    """A table of the page: its title and the names in it."""

    title: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the reference list.

    Attributes
    ----------
    number
        Such as F13.
    names
        The documented names whose tests pin it, where no test carries its number.
    statement
        What it says.
    """

    number: str
    names: tuple[str, ...]
    statement: str


def parameters(name: str, function: Any) -> Iterator[str]:
    """Yield the names of a callable's parameters."""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name != "self" and parameter.kind not in {parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL}:
            yield f"{name}.{parameter.name}"


def members(name: str, kind: type) -> Iterator[str]:
    """Yield the names of a class's documented members, those of bases that are part of it alone included."""
    parts = [kind, *(base for base in kind.__bases__ if base.__module__.startswith("treadle.compile.functions."))]
    found = (member for part in parts for member in (*vars(part), *getattr(part, "__slots__", ())))
    public = {member for member in found if not member.startswith("_")}
    for member in sorted((public - INTERNAL.get(name, set())) | set(FURTHER.get(name, ()))):
        yield f"{name}.{member}"


def errors() -> Iterator[str]:
    """Yield the errors and warnings of functions and their modes."""
    public: dict[str, Any] = {
        **{name: getattr(module, name) for module in (tc, debugmode) for name in module.__all__},
        **{kind.__name__: kind for kind in (LoweringError, MissingInputError, NodeError)},
        **{kind.__name__: kind for kind in (nanguardmode.NanGuardError, nanguardmode.NanGuardWarning)},
        **{kind.__name__: kind for kind in (ExportError, vm.ExportUnsupportedError)},
    }
    for name, kind in sorted(public.items()):
        if inspect.isclass(kind) and issubclass(kind, TreadleError | Warning):
            yield f"error:{name}"


def public(elsewhere: Iterable[str]) -> Iterator[str]:
    """Yield the public names of functions, modes and linkers that are in no other table."""
    listed = {name.split(":")[-1] for name in elsewhere} | set(SIGNATURES) | set(MEMBERS)
    for module in (tc, debugmode, profiling, basic):
        yield from sorted(set(module.__all__) - listed)
        listed |= set(module.__all__)
    yield "detect_nan"


@cache
def sections() -> tuple[Section, ...]:
    """Return the tables of documented names."""
    tables = [
        Section(f"Parameters of {name}", tuple(parameters(name, function))) for name, function in SIGNATURES.items()
    ]
    seen = {name for table in tables for name in table.names}
    for name, kind in MEMBERS.items():
        tables.append(Section(f"Members of {name}", tuple(m for m in members(name, kind) if m not in seen)))
    tables.append(Section("Modes", tuple(f"mode:{name}" for name in mode.predefined_modes)))
    tables.append(Section("Linkers", tuple(f"linker:{name}" for name in mode.predefined_linkers)))
    tables.append(Section("Sets of rewrites", tuple(f"optimizer:{name}" for name in mode.predefined_optimizers)))
    tables.append(Section("Errors and warnings", tuple(errors())))
    tables.append(Section("Other names", tuple(public(n for table in tables for n in table.names))))
    options = [o.name for o in config.options() if o.owner == "compile" or o.name in OPTIONS]
    tables.append(Section("Options", tuple(f"option:{name}" for name in sorted(options))))
    return tuple(table for table in tables if table.names)


@cache
def entries() -> tuple[Entry, ...]:
    """Return the reference list."""
    with REFERENCE.open(encoding="utf-8", newline="") as file:
        return tuple(
            Entry(row["number"], tuple(row["names"].split()), row["statement"])
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        )


@cache
def documented() -> frozenset[str]:
    """Return all names that a marker may have: documented names, the callables themselves, numbers of entries."""
    names = {name for section in sections() for name in section.names}
    return frozenset(names | set(SIGNATURES) | set(MEMBERS) | {entry.number for entry in entries()})


def _marks(function: ast.FunctionDef) -> Iterator[str]:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.documents":
            for argument in decorator.args:
                is_text = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
                yield ast.literal_eval(argument) if is_text else f"no plain text: {ast.unparse(argument)}"


@cache
def pins() -> dict[str, tuple[str, ...]]:
    """Return for each name that a marker has the tests that carry it, as ``file::test``."""
    tests_of: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        if "mark.documents" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for name in _marks(node):
                    tests_of.setdefault(name, []).append(f"{path.relative_to(ROOT / 'tests').as_posix()}::{node.name}")
    return {name: tuple(tests) for name, tests in tests_of.items()}


def tests_of(entry: Entry) -> tuple[str, ...]:
    """Return the tests that pin an entry of the reference list."""
    known = pins()
    return known.get(entry.number) or tuple(dict.fromkeys(t for name in entry.names for t in known.get(name, ())))


def unpinned() -> list[str]:
    """Return the documented names and the entries of the reference list that no test pins."""
    known = pins()
    names = [name for section in sections() for name in section.names if name not in known]
    return names + [entry.number for entry in entries() if not tests_of(entry)]


def unknown() -> list[str]:
    """Return the names in markers and the reference list that are not documented."""
    listed = {name for entry in entries() for name in entry.names}
    return sorted((set(pins()) | listed) - documented())


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _tests(tests: Iterable[str]) -> str:
    return "<br>".join(f"`{test}`" for test in tests)


def page() -> str:
    """Return the page's text."""
    known = pins()
    lines = [HEAD]
    for section in sections():
        lines += [f"## {section.title}", "", "| name | tests |", "|---|---|"]
        lines += [_row(f"`{name}`", _tests(known.get(name, ()))) for name in section.names]
        lines.append("")
    lines += ["## Reference list", "", "| entry | says | tests |", "|---|---|---|"]
    lines += [_row(entry.number, entry.statement, _tests(tests_of(entry))) for entry in entries()]
    return "\n".join([*lines, ""])
