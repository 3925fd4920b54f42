"""Unit: one translation unit of C, made of a whole graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from treadle.link.c.dtypes import CTYPES
from treadle.link.c.runtime.core import HEADERS, TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import FunctionGraph, Variable
    from treadle.link.c.runtime import Library

# Nodes in one C function: compilers take more than linear time for long functions.
CHUNK = 64
# Above this many arguments, they are passed as one array.
MOST_ARGUMENTS = 48
# The table of fixed values starts with these: NumPy's array type, then BLAS.
FIXED = ("type", "dgemm", "sgemm", "dgemv", "sgemv")


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
    """

    fgraph: FunctionGraph
    constants: Sequence[Variable]
    type_at: int
    head: int
    own_blas: bool = False
    uses_blas: bool = False
    slots: dict[Variable, int] = field(default_factory=dict)
    _count: int = 0
    _kernels: dict[str, str] = field(default_factory=dict)
    _tables: dict[str, str] = field(default_factory=dict)
    _lines: list[list[str]] = field(default_factory=list)
    _bases: dict[int, set[int]] = field(default_factory=dict)
    _owners: set[int] = field(default_factory=set)
    _uses: dict[int, int] = field(default_factory=dict)
    _rank: int = 1
    _operands: int = 3
    _node: int = -1

    # For rules

    def slot(self, var: Variable) -> int:
        """Return a variable's position among the arrays of the program, making one if it is new."""
        if var not in self.slots:
            self.slots[var] = self._count
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
            self._uses[k] = self._node
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
        self._bases[at] = {below, *self._bases.get(below, ())}
        return at

    def line(self, text: str) -> None:
        """Append a statement of the node."""
        self._lines[-1].append(f"  {text}")

    def call(self, text: str) -> None:
        """Append a call that returns a status; any but 0 ends the program."""
        self.line(f"if ((r = {text})) return r | INT64_C({self._node}) << 8;")

    def kernel(self, body: str) -> str:
        """Return the name of an elementwise kernel of this body; equal bodies share one."""
        if body not in self._kernels:
            self._kernels[body] = f"k{len(self._kernels)}"
        return self._kernels[body]

    def table(self, ctype: str, values: Sequence[object]) -> str:
        """Return the name of a constant array."""
        text = f"{ctype} NAME[] = {{{', '.join(map(str, values))}}};"
        if text not in self._tables:
            self._tables[text] = f"d{len(self._tables)}"
        return self._tables[text]

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
        self.uses_blas |= name != "type"
        if self.own_blas and name != "type":
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

    def text(self, outputs: Sequence[tuple[Variable, int]], library: Library) -> str:
        """Return the whole translation unit.

        Parameters
        ----------
        outputs
            Each output's variable and the position of its array.
        library
            Where helper functions come from.
        """
        body = "\n".join([*self._table_lines(), *self._kernel_lines(), *self._chunks(outputs), self._entry(outputs)])
        definitions = (
            f"#define TR_ND {self._rank}\n#define TR_OPS {self._operands}\n"
            f"#define TR_HEAD {self.head}\n#define TR_TYPE_AT {self.type_at}\n"
        )
        blas = "".join(f"extern void {name}_();\n" for name in FIXED[1:] if f"{name}_" in body) if self.own_blas else ""
        return HEADERS + definitions + TYPES + blas + library.needed(body) + body + "\n"

    def _table_lines(self) -> list[str]:
        return ["static const " + text.replace("NAME", name) for text, name in self._tables.items()]

    def _kernel_lines(self) -> list[str]:
        return [
            f"static int {name}(int64_t n, char *const *p, const int64_t *s) {body}"
            for body, name in self._kernels.items()
        ]

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
                ending.setdefault(node, []).append(at)
        return ending

    def _chunks(self, outputs: Sequence[tuple[Variable, int]]) -> list[str]:
        ending = self._frees(outputs)
        made = []
        for start in range(0, len(self._lines), CHUNK):
            lines = [f"static int64_t run{start // CHUNK}(tr_var *v, const uintptr_t *F) {{", "  int64_t r;"]
            for index in range(start, min(start + CHUNK, len(self._lines))):
                lines += self._lines[index]
                lines += [f"  tr_free(v + {at});" for at in sorted(ending.get(index, ()))]
            made.append("\n".join([*lines, "  (void)r; (void)F;", "  return 0;", "}"]))
        return made

    def _entry(self, outputs: Sequence[tuple[Variable, int]]) -> str:
        inputs = self.fgraph.inputs
        count = len(inputs) + len(outputs)
        if count <= MOST_ARGUMENTS:
            names = [f"a{i}" for i in range(count)]
            head = "".join(f"uintptr_t {a}, " for a in names)
        else:
            names = [f"a[{i}]" for i in range(count)]
            head = "const uintptr_t *a, "
        descriptions = len(FIXED) + len(self.constants)
        lines = [
            f"int64_t treadle_run(const uintptr_t *F, {head}int64_t *info) {{",
            "  int64_t r = 0;",
            f"  tr_var *v = {f'calloc({self._count}, sizeof *v)' if self._on_heap() else 'on_stack'};",
        ]
        if self._on_heap():
            lines.append("  if (!v) return TR_MEMORY;")
        else:
            lines.insert(2, f"  tr_var on_stack[{max(1, self._count)}];")
            lines.append(f"  for (int i = 0; i < {self._count}; i++) v[i].own = v[i].dst = 0;")
        given = [*zip(inputs, names, strict=False)]
        given += [(c, f"F[{len(FIXED) + k}]") for k, c in enumerate(self.constants)]
        for k, (var, name) in enumerate(given):
            ctype = CTYPES[dtype(var)]
            lines.append(
                f"  if (tr_enter(v + {self.slots[var]}, {name}, F[0], F[{descriptions + k}], {ndim(var)}, "
                f"{ctype.size})) {{ r = TR_CHECK; goto done; }}"
            )
        for (_, at), name in zip(outputs, names[len(inputs) :], strict=True):
            lines.append(f"  tr_expect(v + {at}, {name});")
        chunks = range((len(self._lines) + CHUNK - 1) // CHUNK)
        lines += [f"  if ((r = run{k}(v, F))) goto done;" for k in chunks]
        for k, (var, at) in enumerate(outputs):
            lines.append(f"  r |= tr_leave(v + {at}, {ndim(var)}, info ? info + {k * (1 + self._rank)} : 0);")
        lines += ["done:", f"  for (int i = 0; i < {self._count}; i++) free(v[i].own);"]
        if self._on_heap():
            lines.append("  free(v);")
        return "\n".join([*lines, "  return r;", "}"])

    @property
    def info_length(self) -> int:
        """Numbers that tell about one output: its block, then its lengths."""
        return 1 + self._rank

    def _on_heap(self) -> bool:
        return self._count > 1000


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
