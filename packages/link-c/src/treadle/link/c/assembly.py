"""The translation unit of a graph: its kernels, the functions that run its nodes, and its entry points."""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING

from treadle.link.c.conventions.abi import object_layout
from treadle.link.c.conventions.convention import FIXED, MOST_ARGUMENTS
from treadle.link.c.conventions.dtypes import ctype
from treadle.link.c.objects import Source
from treadle.link.c.runtime.core import CODES, TYPES
from treadle.link.c.text.division import MACRO, divided
from treadle.link.c.text.prelude import HEADERS, prelude
from treadle.link.c.text.unit import Unit, mark
from treadle.tensor import tensors

if TYPE_CHECKING:
    from treadle.link.c.runtime import Library

# The statements of a program that keeps its blocks for the next call.
_KEEPING = (
    "  tr_arena *arena = tr_lend();",
    "  if (!arena) return TR_MEMORY;",
    "  arena->most = 1; arena->made = arena->reused = arena->overwritten = arena->peak = arena->steps = 0;",
    "  const int64_t r = tr_perform(&program, arena, F, a, info);",
    "  tr_return(arena);",
    "  return r;",
)


def helper_head(rank: int, operand_count: int) -> str:
    """Return the definitions that helpers need, which differ for some programs."""
    type_at, head = object_layout()
    definitions = (
        f"#define TR_ND {rank}\n#define TR_OPS {operand_count}\n#define TR_HEAD {head}\n#define TR_TYPE_AT {type_at}\n"
    )
    return f"{CODES}{definitions}{TYPES}"


class Assembly:
    """Assembles the text of a unit into a translation unit, whose entry points take NumPy's arrays."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit

    def text(self, library: Library) -> str:
        """Return the whole translation unit, helpers included."""
        return self.source(library, link=False).text

    def source(self, library: Library, *, link: bool, divide: bool = False) -> Source:
        """Return the translation unit, and which helpers are to be linked to it if `link`, else none.

        If `divide`, it is for two runs of the compiler at once where that pays.
        """
        unit = self.unit
        needs, init = unit.requirements, unit.requirements.initialisation()
        functions = [*self._kernels(), *unit.functions, *unit.run_functions(len(unit.lines)), self._entry()]
        # State that is kept between calls, of blocks or in a user's C, is defined once: such units are not divided.
        written = None
        if divide and not needs.has_texts and not unit.keeps_blocks:
            written = divided(functions, library.linked if link else library.helpers)
            if written is not None and init:
                init = f"#if !defined {MACRO} || {MACRO} == 0\n{init}#endif\n"
        tables = [Template(text).substitute(name=name) for text, name in unit.tables.items()]
        body = "\n".join([*tables, *(functions if written is None else [written])])
        helpers = library.linked(body) if link else library.helpers(body)
        head = helper_head(unit.rank, unit.operand_count)
        routines = [name for name in FIXED if name in unit.routines and unit.own_blas]
        blas = "".join(f"extern void {name}_();\n" for name in routines)
        text = f"{head}{blas}{needs.preamble(written is not None)}{''.join(helpers.values())}{body}\n{init}"
        if not link:
            return Source(HEADERS + text)
        linked = library.closed(filter(library.is_linked, helpers))
        return Source(prelude(text) + text, HEADERS + head, library, tuple(linked))

    def _kernels(self) -> list[str]:
        functions = []
        for (body, name), node in zip(self.unit.kernels.items(), self.unit.kernel_nodes, strict=True):
            *parts, own = body.split("\f")
            own = f"static int {name}(int64_t n, char *const *p, const int64_t *s) {own}"
            functions += [f"{mark(node)}\n{text.replace('@', name)}" for text in (*parts, own)]
        return functions

    # The entry points

    def _entry(self) -> str:
        """Return the entry points: one that takes arguments as an array, and one that takes them one by one.

        What all programs do alike is a helper's work, which gets a description of this one.
        """
        unit = self.unit
        count = len(unit.fgraph.inputs) + len(unit.outputs)
        run, text = self._run()
        given, results = self._arguments()
        lengths = f"{unit.count}, {len(unit.fgraph.inputs)}, {len(unit.constants)}, {len(unit.outputs)}"
        lines = [
            *text,
            f"static const tr_program program = {{{run}, {lengths}, {given}, {results}}};",
            "int64_t treadle_run(const uintptr_t *F, const uintptr_t *a, int64_t *info) {",
            *(_KEEPING if unit.keeps_blocks else ["  return tr_execute(&program, F, a, info);"]),
            "}",
        ]
        if count <= MOST_ARGUMENTS:
            names = [f"a{i}" for i in range(count)]
            lines.append(
                f"int64_t treadle_call(const uintptr_t *F, {''.join(f'uintptr_t {a}, ' for a in names)}int64_t *info) "
                f"{{ const uintptr_t a[] = {{{', '.join([*names, '0'])}}}; return treadle_run(F, a, info); }}"
            )
        return "\n".join(lines)

    def _run(self) -> tuple[str, list[str]]:
        """Return the name of the function that runs the nodes outside of branches, and its text if there are parts."""
        parts = self.unit.runs(len(self.unit.lines))
        if len(parts) == 1:
            return parts[0], []
        lines = [f"  if ((r = {part}(v, F))) return r;" for part in parts]
        return "run", [
            "static int64_t run(tr_var *v, const uintptr_t *F) {",
            "  int64_t r;",
            *lines,
            "  return 0;",
            "}",
        ]

    def _arguments(self) -> tuple[str, str]:
        """Return the names of two tables: of the arguments and constants, and of the caller's arrays for outputs."""
        unit = self.unit
        given = []
        for var in (*tensors(unit.fgraph.inputs), *unit.constants):
            lengths = var.type.shape
            known = any(n is not None for n in lengths)
            table = unit.table("int64_t", [-1 if n is None else n for n in lengths]) if known else "0"
            given.append(f"{{{unit.slots[var]}, {var.type.ndim}, {ctype(var).alignment}, {table}}}")
        results = [f"{{{at}, {var.type.ndim}}}" for var, at in unit.outputs]
        return (
            unit.table("tr_given", given) if given else "0",
            unit.table("tr_result_place", results) if results else "0",
        )
