"""Unit: one translation unit of C, made of a whole graph."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from treadle.link.c.convention import FIXED, MOST_ARGUMENTS
from treadle.link.c.division import divided
from treadle.link.c.dtypes import CTYPES
from treadle.link.c.requirements import Requirements
from treadle.link.c.runtime.core import HEADERS, TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.graph import FunctionGraph, Variable
    from treadle.link.c.layout import Layout
    from treadle.link.c.requirements import CFunction
    from treadle.link.c.runtime import Library

# Nodes in one C function: compilers take more than linear time for long functions.
CHUNK = 64
# Above this many bytes, the arrays' descriptions stand in memory of their own, not on the stack.
MOST_ON_STACK = 1 << 16
# In place of a node's position: the text belongs to none.
NO_NODE = -1
# Stand for the calls of a choice's branches until these are written.
_BRANCHES: Mapping[str, int] = MappingProxyType({"  /* first branch */": 0, "  /* second branch */": 1})
_MARK = re.compile(r"/\* node (-?\d+) \*/")


@dataclass(slots=True)
class Unit:
    """Collects the C text of a graph. A lowering rule calls its methods.

    Parameters
    ----------
    fgraph
        The graph.
    constants
        Its constants, in the order in which they are passed.
    type_at, head
        Where NumPy array objects keep their type, and how many bytes precede the array's own fields.
    own_blas
        Whether BLAS is linked, not passed as pointers.
    last
        The last node that takes each variable; variables that are not listed may always be needed later.
    keeps_blocks
        Whether blocks of intermediate results stay with the program between calls.
    layout
        Which nodes belong to branches of choices; none if None.
    """

    fgraph: FunctionGraph
    constants: Sequence[Variable]
    type_at: int
    head: int
    own_blas: bool = False
    last: Mapping[Variable, int] = field(default_factory=dict)
    keeps_blocks: bool = False
    layout: Layout | None = None
    uses_blas: bool = False
    requirements: Requirements = field(default_factory=Requirements)
    slots: dict[Variable, int] = field(default_factory=dict)
    _count: int = 0
    _kernels: dict[str, str] = field(default_factory=dict)
    _kernel_nodes: list[int] = field(default_factory=list)
    _tables: dict[str, str] = field(default_factory=dict)
    _lines: list[list[str]] = field(default_factory=list)
    _bases: dict[int, set[int]] = field(default_factory=dict)
    _shown: dict[int, list[Variable]] = field(default_factory=dict)
    _owners: set[int] = field(default_factory=set)
    _uses: dict[int, int] = field(default_factory=dict)
    _homes: dict[int, int] = field(default_factory=dict)
    _rank: int = 1
    _operands: int = 3
    _node: int = -1

    # For rules

    def slot(self, var: Variable) -> int:
        """Return a variable's position among the arrays of the program, making one if it is new."""
        if var not in self.slots:
            self.slots[var] = self._count
            self._homes[self._count] = self._node
            self._count += 1
            self._rank = max(self._rank, ndim(var))
        at = self.slots[var]
        self._uses[at] = self._node
        return at

    def ref(self, var: Variable) -> str:
        """Return the C expression that points to a variable's array."""
        return f"v + {self.slot(var)}"

    def scratch(self, count: int = 1) -> int:
        """Return the position of the first of some arrays of this node's own, freed after it."""
        at = self._count
        self._count += count
        for k in range(at, at + count):
            self._owners.add(k)
            self._uses[k] = self._homes[k] = self._node
        return at

    def owns(self, var: Variable) -> int:
        """Say that the node makes a block of memory for a result, and return the result's position."""
        at = self.slot(var)
        self._owners.add(at)
        return at

    def views(self, var: Variable, base: Variable) -> int:
        """Say that a result may share the memory of an operand, and return the result's position."""
        at = self.slot(var)
        below = self.slot(base)
        added = {below, *self._bases.get(below, ())}
        self._bases.setdefault(at, set()).update(added)
        for k in added:
            self._shown.setdefault(k, []).append(var)
        return at

    def dying(self, var: Variable, operands: Sequence[Variable]) -> bool:
        """Whether the present node is the last to need a block that an operand of it may own.

        Parameters
        ----------
        var
            The operand.
        operands
            All operands of the node: none but itself may show the block.
        """
        at = self.slots[var]
        if at not in self._owners or self.last.get(var) != self._node:
            return False
        views = self._shown.get(at, ())
        below = {self.slots[x] for x in operands} & self._bases.get(at, set())
        return not below and all(self.last.get(view, self._node) < self._node for view in views)

    def line(self, text: str) -> None:
        """Append a statement of the node."""
        self._lines[-1].append(f"  {text}")

    def call(self, text: str) -> None:
        """Append a call that returns a status; any but 0 ends the program."""
        self.line(f"if ((r = {text})) return r | INT64_C({self._node}) << 8;")

    def branch(self, taken: int) -> None:
        """Mark where a branch of the present node, which is a choice, runs: 0 for the first, 1 for the other."""
        self._lines[-1].append(next(line for line, at in _BRANCHES.items() if at == taken))

    def kernel(self, body: str) -> str:
        """Return the name of an elementwise kernel of this body; equal bodies share one."""
        if body not in self._kernels:
            self._kernels[body] = f"k{len(self._kernels)}"
            self._kernel_nodes.append(self._node)
        return self._kernels[body]

    def table(self, ctype: str, values: Sequence[object]) -> str:
        """Return the name of a constant array."""
        text = f"{ctype} NAME[] = {{{', '.join(map(str, values))}}};"
        if text not in self._tables:
            self._tables[text] = f"d{len(self._tables)}"
        return self._tables[text]

    def require(self, function: CFunction) -> None:
        """Ask for what a function of a user's op needs."""
        self.requirements.add(function, self._node)

    def operands(self, count: int) -> None:
        """Ask for room for so many operands of one iteration."""
        self._operands = max(self._operands, count)

    def rank(self, ndim_: int) -> None:
        """Ask for room for so many dimensions."""
        self._rank = max(self._rank, ndim_)

    def integer(self, var: Variable) -> str:
        """Return the C expression of an integer scalar as int64; uint64 beyond that counts as the largest."""
        kind = dtype(var)
        place = f"*(const {CTYPES[kind].stored} *)v[{self.slot(var)}].p"
        return f"({place} > INT64_MAX ? INT64_MAX : (int64_t){place})" if kind == "uint64" else f"(int64_t){place}"

    def fixed(self, name: str) -> str:
        """Return the C expression of an entry of the table of fixed values."""
        blas = name not in {"type", "pool"}
        self.uses_blas |= blas
        if self.own_blas and blas:
            return f"(uintptr_t){name}_"
        return f"F[{FIXED.index(name)}]"

    # For the linker

    def has_own_block(self, var: Variable) -> bool:
        """Whether a result always has a block of its own."""
        at = self.slots[var]
        return at in self._owners and at not in self._bases

    def may_have_own_block(self, var: Variable) -> bool:
        """Whether a result may have a block of its own."""
        return self.slots[var] in self._owners

    def begin(self, index: int) -> None:
        """Start the text of a node."""
        self._node = index
        self._lines.append([])

    def text(self, outputs: Sequence[tuple[Variable, int]], library: Library, divide: bool = False) -> str:
        """Return the whole translation unit.

        Parameters
        ----------
        outputs
            Each output's variable and the position of its array.
        library
            Where helper functions come from.
        divide
            Whether a large text may be written for two runs of the compiler at once (see `division`).
        """
        own, init = self.requirements.preamble(), self.requirements.initialisation()
        functions = [*self._kernel_lines(), *self._chunks(outputs), self._entry(outputs)]
        # What is kept between calls must be there once: blocks, and what a user's C keeps.
        written = divided(functions, library) if divide and not own and not self.keeps_blocks else None
        body = "\n".join([*self._table_lines(), *(functions if written is None else [written])])
        definitions = (
            f"#define TR_ND {self._rank}\n#define TR_OPS {self._operands}\n"
            f"#define TR_HEAD {self.head}\n#define TR_TYPE_AT {self.type_at}\n"
        )
        blas = "".join(f"extern void {name}_();\n" for name in FIXED[2:] if f"{name}_" in body) if self.own_blas else ""
        return f"{HEADERS}{definitions}{TYPES}{blas}{own}{library.needed(body)}{body}\n{init}"

    def _table_lines(self) -> list[str]:
        return ["static const " + text.replace("NAME", name) for text, name in self._tables.items()]

    def _kernel_lines(self) -> list[str]:
        lines = []
        for (body, name), node in zip(self._kernels.items(), self._kernel_nodes, strict=True):
            before, _, own = body.rpartition("\f")
            text = f"{before}static int {name}(int64_t n, char *const *p, const int64_t *s) {own}"
            lines.append(f"{mark(node)}\n{text.replace('@', name)}")
        return lines

    def _frees(self, outputs: Sequence[tuple[Variable, int]]) -> dict[int, list[int]]:
        """Return which arrays' blocks are free after each node: views prolong the life of what they show."""
        last = {at: self._uses[at] for at in self._owners}
        for at, below in self._bases.items():
            for base in below:
                if base in last:
                    last[base] = max(last[base], self._uses[at])
        kept = {at for _, at in outputs}
        ending: dict[int, list[int]] = {}
        for at, node in last.items():
            if at not in kept:
                # What was made before a choice ends after it, whichever branch is taken.
                end = node if self.layout is None else self.layout.outward(node, self._homes[at])
                ending.setdefault(end, []).append(at)
        return ending

    def _chunks(self, outputs: Sequence[tuple[Variable, int]]) -> list[str]:
        """Return the functions that run the nodes: ``runK`` those that always run, ``bN_K`` those of branches."""
        ending = self._frees(outputs)
        blocks = [*range(len(self._lines))] if self.layout is None else self.layout.blocks[-1]
        made = []
        for number, positions in enumerate(() if self.layout is None else self.layout.blocks[:-1]):
            made += self._block(f"b{number}_", positions, ending)
        made += self._block("run", [*blocks, *range(self._node_count(), len(self._lines))], ending)
        return made

    @property
    def chunk_count(self) -> int:
        """The number of functions ``runK``."""
        own = len(self._lines) if self.layout is None else len(self.layout.blocks[-1])
        return -(-(own + len(self._lines) - self._node_count()) // CHUNK)

    def _node_count(self) -> int:
        """Return how many positions the layout knows: what the outputs need comes after."""
        return len(self._lines) if self.layout is None else len(self.layout.order)

    def _block(self, name: str, positions: Sequence[int], ending: Mapping[int, Sequence[int]]) -> list[str]:
        made = []
        for k, start in enumerate(range(0, len(positions), CHUNK)):
            lines = [f"static int64_t {name}{k}(tr_var *v, const uintptr_t *F) {{", "  int64_t r;"]
            for index in positions[start : start + CHUNK]:
                lines += [f"  {mark(index)}", *self._with_branches(index)]
                lines += [f"  tr_free(v + {at});" for at in sorted(ending.get(index, ()))]
            made.append("\n".join([*lines, "  (void)r; (void)F;", "  return 0;", "}"]))
        return made

    def _with_branches(self, index: int) -> list[str]:
        """Return the statements of a node, the calls of branches put where `branch` marked their places."""
        arms = None if self.layout is None else self.layout.arms.get(index)
        if arms is None or self.layout is None:
            return self._lines[index]
        found: list[str] = []
        for line in self._lines[index]:
            taken = _BRANCHES.get(line)
            if taken is None:
                found.append(line)
                continue
            number = arms[taken]
            count = -(-len(self.layout.blocks[number]) // CHUNK)
            found += [f"  if ((r = b{number}_{k}(v, F))) return r;" for k in range(count)]
        return found

    def _entry(self, outputs: Sequence[tuple[Variable, int]]) -> str:
        """Return the entry points: one that takes arguments as an array, and one that takes them one by one."""
        inputs = self.fgraph.inputs
        count = len(inputs) + len(outputs)
        lines = [
            "int64_t treadle_run(const uintptr_t *F, const uintptr_t *a, int64_t *info) {",
            "  int64_t r = 0;",
            *self._openings(),
            *self._arguments(outputs),
        ]
        lines += [f"  if ((r = run{k}(v, F))) goto done;" for k in range(self.chunk_count)]
        for k, (var, at) in enumerate(outputs):
            lines.append(f"  r |= tr_leave(v + {at}, {ndim(var)}, info ? info + {k * self.info_length} : 0);")
        lines += ["done:", f"  for (int i = 0; i < {self._count}; i++) tr_free(v + i);"]
        told = len(outputs) * self.info_length
        counts = ("made", "reused", "overwritten", "peak")
        lines.append(f"  if (info) {{ {' '.join(f'info[{told + k}] = arena->{c};' for k, c in enumerate(counts))} }}")
        lines.append("  tr_return(arena);" if self.keeps_blocks else "  tr_drop(arena);")
        if self._on_heap():
            lines.append("  free(v);")
        lines += ["  return r;", "}"]
        if count <= MOST_ARGUMENTS:
            names = [f"a{i}" for i in range(count)]
            lines.append(
                f"int64_t treadle_call(const uintptr_t *F, {''.join(f'uintptr_t {a}, ' for a in names)}int64_t *info) "
                f"{{ const uintptr_t a[] = {{{', '.join([*names, '0'])}}}; return treadle_run(F, a, info); }}"
            )
        return "\n".join(lines)

    def _openings(self) -> list[str]:
        """Return what makes the arena and the arrays' descriptions."""
        lines = []
        if self.keeps_blocks:
            lines += ["  tr_arena *arena = tr_lend();", "  if (!arena) return TR_MEMORY;"]
            lines += ["  arena->most = 1; arena->made = arena->reused = arena->overwritten = arena->peak = 0;"]
        else:
            lines += ["  const uintptr_t *pool = (const uintptr_t *)F[1];", "  tr_arena own, *arena = &own;"]
            lines.append("  memset(arena, 0, offsetof(tr_arena, spare));")
            lines.append(
                "  if (pool && pool[0] && pool[1]) { own.take = (void *)pool[0]; own.give = (void *)pool[1]; }"
            )
        if self._on_heap():
            lines.append(f"  tr_var *v = malloc({self._count} * sizeof *v);")
            lines.append(f"  if (!v) {{ {'tr_return(arena); ' * self.keeps_blocks}return TR_MEMORY; }}")
        else:
            lines.append(f"  tr_var v[{max(1, self._count)}];")
        lines.append(f"  for (int i = 0; i < {self._count}; i++) {{ v[i].own = v[i].dst = 0; v[i].arena = arena; }}")
        return lines

    def _arguments(self, outputs: Sequence[tuple[Variable, int]]) -> list[str]:
        """Return what reads the arguments, the constants and where outputs are to go."""
        inputs = self.fgraph.inputs
        rows = []
        for var in (*inputs, *self.constants):
            lengths: Any = var.type
            known = any(n is not None for n in lengths.shape)
            table = self.table("int64_t", [-1 if n is None else n for n in lengths.shape]) if known else "0"
            rows.append(f"{{{self.slots[var]}, {ndim(var)}, {CTYPES[dtype(var)].size}, {table}}}")
        lines = []
        if rows:
            # A loop over a table: compilers take more than linear time for as many calls.
            given = self.table("tr_given", rows)
            place = f"k < {len(inputs)} ? a[k] : F[k + {len(FIXED) - len(inputs)}]"
            descr = f"F[k + {len(FIXED) + len(self.constants)}]"
            lines += [
                f"  for (int k = 0; k < {len(rows)}; k++) {{",
                f"    const tr_given *g = {given} + k;",
                f"    if (tr_enter(v + g->at, {place}, F[0], {descr}, g->nd, g->size, g->shape))",
                "      { r = TR_CHECK; goto done; }",
                "  }",
            ]
        for k, (_, at) in enumerate(outputs):
            lines.append(f"  tr_expect(v + {at}, a[{len(inputs) + k}]);")
        return lines

    @property
    def info_length(self) -> int:
        """Numbers that tell about one output: its block, then its lengths."""
        return 1 + self._rank

    def _on_heap(self) -> bool:
        return self._count * (72 + 16 * self._rank) > MOST_ON_STACK


def mark(node: int) -> str:
    """Return the comment before the text of a node, by its position in the order of evaluation."""
    return f"/* node {node} */"


def marked_node(source: str, line: int) -> int:
    """Return the position of the node that a line of a unit's text belongs to, or NO_NODE."""
    before = source.splitlines()[:line]
    found = next((at for text in reversed(before) if (at := _MARK.search(text))), None)
    return int(found[1]) if found else NO_NODE


def dtype(var: Variable) -> str:
    """Return the dtype of a tensor variable."""
    kind: Any = var.type
    name: str = kind.dtype
    return name


def ndim(var: Variable) -> int:
    """Return the rank of a tensor variable."""
    kind: Any = var.type
    rank: int = kind.ndim
    return rank


def is_scalar(var: Variable) -> bool:
    """Whether every dimension of a tensor variable is known to have length 1."""
    kind: Any = var.type
    return all(n == 1 for n in kind.shape)
