"""The translation unit of a graph: its kernels, the functions that run its nodes, and its entry points."""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING

from treadle.link.c.conventions.abi import object_layout
from treadle.link.c.conventions.convention import FIXED, MANY, MANY_STEPS, MOST_ARGUMENTS
from treadle.link.c.conventions.dtypes import ctype
from treadle.link.c.objects import Source
from treadle.link.c.runtime.core import CODES, TYPES
from treadle.link.c.text.division import MACRO, divided
from treadle.link.c.text.prelude import HEADERS, prelude
from treadle.link.c.text.unit import Unit, mark
from treadle.tensor import tensors

if TYPE_CHECKING:
    from treadle.link.c.runtime import Library

# Descriptions of arrays that need more than this many bytes are allocated, not put on the stack.
MOST_ON_STACK = 1 << 16


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
        head = self._head()
        linked = [name for name in FIXED if name in unit.routines and unit.own_blas]
        blas = "".join(f"extern void {name}_();\n" for name in linked)
        text = f"{head}{blas}{needs.preamble(written is not None)}{''.join(helpers.values())}{body}\n{init}"
        if not link:
            return Source(HEADERS + text)
        return Source(prelude(text) + text, HEADERS + head, library, tuple(filter(library.is_linked, helpers)))

    def _head(self) -> str:
        """Return the definitions that helpers need, which differ for some programs."""
        unit = self.unit
        type_at, head = object_layout()
        definitions = (
            f"#define TR_ND {unit.rank}\n#define TR_OPS {unit.operand_count}\n"
            f"#define TR_HEAD {head}\n#define TR_TYPE_AT {type_at}\n#define TR_SPARES {unit.spares}\n"
        )
        return f"{CODES}{definitions}{TYPES}"

    def _kernels(self) -> list[str]:
        functions = []
        for (body, name), node in zip(self.unit.kernels.items(), self.unit.kernel_nodes, strict=True):
            before, _, own = body.rpartition("\f")
            text = f"{before}static int {name}(int64_t n, char *const *p, const int64_t *s) {own}"
            functions.append(f"{mark(node)}\n{text.replace('@', name)}")
        return functions

    def _runs(self) -> list[str]:
        """Return the calls of the functions that always run."""
        return [f"  if ((r = {name}(v, F))) goto done;" for name in self.unit.runs(len(self.unit.lines))]

    def _arrays(self, no_memory: str) -> list[str]:
        """Return the declaration of the arrays' descriptions; `no_memory` runs if they cannot be allocated."""
        count = self.unit.count
        lines = [f"  tr_var v[{max(1, count)}];"]
        if self._on_heap():
            lines = [f"  tr_var *v = malloc({count} * sizeof *v);", f"  if (!v) {{ {no_memory}return TR_MEMORY; }}"]
        return [*lines, f"  for (int i = 0; i < {count}; i++) {{ v[i].own = v[i].dst = 0; v[i].arena = arena; }}"]

    def _releases(self, drop: str) -> list[str]:
        """Return the statements that free the arrays and release the arena."""
        free = [f"  for (int i = 0; i < {self.unit.count}; i++) tr_free(v + i);", drop]
        return [*free, "  free(v);"] if self._on_heap() else free

    def _on_heap(self) -> bool:
        return self.unit.count * (72 + 16 * self.unit.rank) > MOST_ON_STACK

    # The entry points

    def _entry(self) -> str:
        """Return the entry points: one that takes arguments as an array, and one that takes them one by one."""
        unit = self.unit
        count = len(unit.fgraph.inputs) + len(unit.outputs)
        info = len(unit.outputs) * unit.info_length
        counts = " ".join(
            f"info[{info + k}] = arena->{name};" for k, name in enumerate(("made", "reused", "overwritten", "peak"))
        )
        leave = [
            f"  r |= tr_leave(v + {at}, {var.type.ndim}, info ? info + {k * unit.info_length} : 0);"
            for k, (var, at) in enumerate(unit.outputs)
        ]
        lines = [
            "int64_t treadle_run(const uintptr_t *F, const uintptr_t *a, int64_t *info) {",
            "  int64_t r = 0;",
            *self._arena(),
            *self._arrays("tr_return(arena); " if unit.keeps_blocks else ""),
            *self._arguments(),
            *self._runs(),
            *leave,
            "done:",
            *self._long_loops(),
            *self._releases(f"  if (info) {{ {counts} }}\n  {'tr_return' if unit.keeps_blocks else 'tr_drop'}(arena);"),
            "  return r;",
            "}",
        ]
        if count <= MOST_ARGUMENTS:
            names = [f"a{i}" for i in range(count)]
            lines.append(
                f"int64_t treadle_call(const uintptr_t *F, {''.join(f'uintptr_t {a}, ' for a in names)}int64_t *info) "
                f"{{ const uintptr_t a[] = {{{', '.join([*names, '0'])}}}; return treadle_run(F, a, info); }}"
            )
        return "\n".join(lines)

    def _long_loops(self) -> list[str]:
        """Return the statement that marks a failure after many steps of loops."""
        return (
            [f"  if (r > TR_CHECK && arena->steps > {MANY_STEPS}) r |= INT64_C(1) << {MANY};"]
            if self.unit.loops
            else []
        )

    def _arena(self) -> list[str]:
        if self.unit.keeps_blocks:
            return [
                "  tr_arena *arena = tr_lend();",
                "  if (!arena) return TR_MEMORY;",
                "  arena->most = 1; arena->made = arena->reused = arena->overwritten = arena->peak = arena->steps = 0;",
            ]
        return [
            f"  const uintptr_t *pool = (const uintptr_t *)F[{FIXED.index('pool')}];",
            "  tr_arena own, *arena = &own;",
            "  memset(arena, 0, offsetof(tr_arena, spare));",
            "  if (pool && pool[0] && pool[1]) { own.take = (void *)pool[0]; own.give = (void *)pool[1]; }",
        ]

    def _arguments(self) -> list[str]:
        """Return the statements that read the arguments, the constants, and the caller's arrays for outputs."""
        unit = self.unit
        nin = len(unit.fgraph.inputs)
        entries = []
        for var in (*tensors(unit.fgraph.inputs), *unit.constants):
            lengths = var.type.shape
            known = any(n is not None for n in lengths)
            table = unit.table("int64_t", [-1 if n is None else n for n in lengths]) if known else "0"
            entries.append(f"{{{unit.slots[var]}, {var.type.ndim}, {ctype(var).alignment}, {table}}}")
        lines = []
        if entries:
            # A loop over a table, since compilers take more than linear time for that many calls.
            place = f"k < {nin} ? a[k] : F[k + {len(FIXED) - nin}]"
            descr = f"F[k + {len(FIXED) + len(unit.constants)}]"
            lines += [
                f"  for (int k = 0; k < {len(entries)}; k++) {{",
                f"    const tr_given *g = {unit.table('tr_given', entries)} + k;",
                f"    if (tr_enter(v + g->at, {place}, F[0], {descr}, g->nd, g->size, g->shape))",
                "      { r = TR_CHECK; goto done; }",
                "  }",
            ]
        return lines + [f"  tr_expect(v + {at}, a[{nin + k}]);" for k, (_, at) in enumerate(unit.outputs)]
