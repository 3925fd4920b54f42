"""Unit: the statements that lowering rules write for a graph, and the definitions that they need."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from treadle.config import config
from treadle.graph import Apply, Constant, FunctionGraph, MissingInputError, Op, Variable
from treadle.kernels import Site
from treadle.link.c.capsules import CPointer
from treadle.link.c.conventions.convention import CHUNK, FIXED
from treadle.link.c.conventions.dtypes import ctype
from treadle.link.c.conventions.special import CALL, special_pointer
from treadle.link.c.runtime.kernels import KERNELS
from treadle.link.c.table import TABLE
from treadle.link.c.text.kernels import CSite
from treadle.link.c.text.layout import Layout
from treadle.link.c.text.requirements import CFunction, Requirements
from treadle.tensor import TensorConstant, TensorVariable, tensors

# Instead of a node's position: the text does not belong to a node.
NO_NODE = -1
# Programs have room for this many operands of one iteration at least: that costs nothing but room on the stack, and
# nearly all then take the same helpers, which are compiled once.
FEWEST_OPERANDS = 256
_MARK = re.compile(r"/\* node (-?\d+) \*/")


def rounded_rank(rank: int) -> int:
    """Return what programs of so many dimensions have room for."""
    return power_of(2, rank)


def power_of(base: int, least: int) -> int:
    """Return the smallest power of a base that is at least so large, the base itself if not larger."""
    power = base
    while power < least:
        power *= base
    return power


class Unit:
    """Collects the C text of a graph: a lowering rule ``rule(op, node, unit)`` calls its methods.

    In the text, ``v`` is an array of ``tr_var``, one for each variable of the graph and each scratch array: ``v[3].p``
    points to its first element, ``v[3].n`` holds its lengths and ``v[3].s`` its strides in bytes (0 where the length is
    1). A rule asks for the positions of its operands and results, writes the result's lengths, has its memory made,
    and writes the loop, mostly as a call of a helper of the runtime (``tr_…``); whatever it names is included::

        @TABLE.register(Reverse)
        def reverse(op: Reverse, node: TensorNode, unit: Unit) -> None:
            (x,) = node.inputs
            source, out = unit.slot(x), unit.owns(node.outputs[0])
            unit.line(f"v[{out}].n[0] = v[{source}].n[0];")
            unit.call(f"tr_alloc(v + {out}, 1, {ctype(x).size})")
            unit.call(f"tr_reverse(v + {out}, v + {source})")

    A result either has a block of memory of its own (`owns`), shows an operand's memory (`views`), or may do either
    (both). Blocks are freed after the last node that needs them; `dying` tells a rule that it may overwrite one.
    Statements that can fail are written by `call`: they have a status, 0 if all is well, else one of ``TR_SHAPE``,
    ``TR_INDEX`` and the others of `convention.Status`, which becomes an error that names the node.

    The unit of a loop's body shares kernels, tables, constants and requirements with the unit `around` it, of the graph
    that has the loop; its arrays and functions are its own.
    """

    def __init__(self, fgraph: FunctionGraph, *, keeps_blocks: bool = False, around: Unit | None = None) -> None:
        self.fgraph = fgraph
        self.keeps_blocks = keeps_blocks
        # The outermost unit around.
        self.root: Unit = self if around is None else around.root
        # The nodes in order, and which of them belong to branches of choices.
        self.layout = Layout(fgraph)
        order = self.layout.order
        computed = {*fgraph.inputs, *(out for node in order for out in node.outputs)}
        own = [_constant(v) for v in fgraph.variables if v not in computed]
        # Whether BLAS is linked rather than passed as pointers.
        self.own_blas = bool(config.blas__ldflags)
        # The positions of variables in ``v``.
        self.slots: dict[Variable, int] = {}
        # Each output of the graph with the position that its value is left in.
        self.outputs: list[tuple[TensorVariable, int]] = []
        # The statements of each node; those that leave the outputs are the last.
        self.lines: list[list[str]] = []
        if around is None:
            # The constants of this unit alone; and those of loops' bodies too, in the order in which they are passed.
            self.own_constants = self.constants = own
            # The routines of BLAS that are needed.
            self.routines: set[str] = set()
            # Whether NumPy's sorting functions are called, where they are passed.
            self.uses_sorts = False
            # Whether an operand is overwritten that may be an argument.
            self.overwrites = False
            # The requirements of functions of users' ops.
            self.requirements = Requirements()
            # Names of functions and, below, of constant arrays by their texts.
            self.kernels: dict[str, str] = {}
            # For each kernel, the number of the node that asked for it first.
            self.kernel_nodes: list[int] = []
            self.tables: dict[str, str] = {}
            # Nodes by number, those of loops' bodies included; None for numbers of none.
            self.nodes: list[Apply | None] = [*order, None]
            # For each loop, the number of the first node of its body, and that of the loop.
            self.loops: list[tuple[int, int]] = []
            # The texts of functions that run loops, each after those that it calls.
            self.functions: list[str] = []
            # The prefix of names of functions that run nodes, and the number of the first node: numbers tell nodes of
            # all units apart.
            self.prefix, self.first = "", 0
        else:
            root = self.root
            self.own_constants = own
            self.constants, self.routines, self.requirements = root.constants, root.routines, root.requirements
            self.kernels, self.kernel_nodes, self.tables = root.kernels, root.kernel_nodes, root.tables
            self.nodes, self.loops, self.functions = root.nodes, root.loops, root.functions
            self.prefix, self.first = f"l{len(self.loops)}_", len(self.nodes)
            self.nodes += [*order, None]
            self.loops.append((self.first, around.number))
        # The length of ``v``, and the highest rank and number of operands of one iteration that were asked for.
        self.count = 0
        self._rank = 1
        self._operand_count = 1
        self._node = NO_NODE
        # The last node that reads each variable.
        self._last = {x: at for at, node in enumerate(order) for x in (*node.outputs, *node.inputs)}
        self._last.update(dict.fromkeys(fgraph.outputs, len(order)))
        # By position: the last node that uses it, the node that defines it, the positions whose memory it may share.
        self._uses: dict[int, int] = {}
        self._homes: dict[int, int] = {}
        self._owners: set[int] = set()
        self._bases: dict[int, set[int]] = {}
        self._shown: dict[int, list[Variable]] = {}
        # Nodes whose results are written by the nodes that read them.
        self.postponed: set[Apply] = set()

    # For rules: operands and results

    @property
    def number(self) -> int:
        """The number of the current node."""
        return self._node if self._node == NO_NODE else self.first + self._node

    @property
    def uses_blas(self) -> bool:
        """Whether the program needs the addresses of SciPy's BLAS routines."""
        return bool(self.routines) and not self.own_blas

    def slot(self, var: Variable) -> int:
        """Return a variable's position in ``v``, which is a new one if it has none yet."""
        if var not in self.slots:
            self.slots[var] = self.count
            self._homes[self.count] = self._node
            self.count += 1
            self.ask_rank(var.type.ndim)  # type: ignore[attr-defined]  # a tensor
        at = self.slots[var]
        self._uses[at] = self._node
        return at

    def scratch(self, count: int = 1) -> int:
        """Return the position of the first of some scratch arrays of this node, which are freed after it."""
        at = self.count
        self.count += count
        for k in range(at, at + count):
            self._owners.add(k)
            self._uses[k] = self._homes[k] = self._node
        return at

    def packed(self, var: TensorVariable) -> int:
        """Return the position of a variable in C order: a scratch array, which is a view of it if it lies so."""
        source, size, copy = self.slot(var), ctype(var).size, self.scratch()
        rank = var.type.ndim
        self.line(f"v[{copy}].p = v[{source}].p;")
        self.line(f"memcpy(v[{copy}].n, v[{source}].n, sizeof v[{source}].n);")
        self.line(f"memcpy(v[{copy}].s, v[{source}].s, sizeof v[{source}].s);")
        self.line(f"if (!tr_is_contiguous(v + {source}, {rank}, {size}))")
        self.call(f"tr_copy(v + {copy}, v + {source}, {rank}, {size}, tr_move{size})")
        return copy

    def place(self) -> int:
        """Return the position of a new array that the unit does not free."""
        at = self.count
        self.count += 1
        return at

    def owns(self, var: Variable) -> int:
        """Declare that the node allocates a block for a result, and return the result's position."""
        at = self.slot(var)
        self._owners.add(at)
        return at

    def views(self, var: Variable, base: Variable) -> int:
        """Declare that a result may share the memory of an operand, and return the result's position."""
        at = self.slot(var)
        below = self.slot(base)
        added = {below, *self._bases.get(below, ())}
        self._bases.setdefault(at, set()).update(added)
        for k in added:
            self._shown.setdefault(k, []).append(var)
        return at

    def dying(self, var: Variable, operands: Sequence[Variable]) -> bool:
        """Whether the current node is the last one that needs the block that an operand may own.

        No other of its operands may refer to the block.
        """
        at = self.slots[var]
        if at not in self._owners or self._last.get(var) != self._node:
            return False
        views = self._shown.get(at, ())
        below = {self.slots[x] for x in operands} & self._bases.get(at, set())
        return not below and all(self._last.get(view, self._node) < self._node for view in views)

    def is_owner(self, at: int) -> bool:
        """Whether an array may have a block of its own."""
        return at in self._owners

    def bases(self, at: int) -> set[int]:
        """Return the arrays whose memory an array may share."""
        return self._bases.get(at, set())

    def postpone(self, node: Apply, op_type: type[Op]) -> bool:
        """Leave the computation of the current node's result to the node that reads it, if that can do it in place.

        The node has one result. Its reader has to be the only one, apply an op of the type, have a result of
        the same dtype, and run whenever this node does; no node between them may overwrite this node's
        operands.
        """
        (out,) = node.outputs
        order, at = self.layout.order, self._last[out]
        if at == len(order) or not isinstance(order[at].op, op_type) or not self.layout.together(self._node, at):
            return False
        if {reader for reader, _ in self.fgraph.get_clients(out)} != {order[at]}:
            return False
        if order[at].outputs[0].type.dtype != out.type.dtype:  # type: ignore[attr-defined]  # tensors
            return False
        if any(between.op.destroy_map for between in order[self._node : at]):
            return False
        self.postponed.add(node)
        self._prolong(node, at)
        return True

    def _prolong(self, node: Apply, at: int) -> None:
        """Keep the blocks that a postponed node reads until another node has run."""
        for x in node.inputs:
            self._last[x] = max(self._last[x], at)
            if x.owner in self.postponed:
                self._prolong(x.owner, at)

    # For rules: text

    def site(self, node: Apply) -> Site:
        """Return where rules for all compiling backends write that kernels compute a node."""
        return CSite(node, self)

    def line(self, text: str) -> None:
        """Append a statement for the current node."""
        self.lines[-1].append(f"  {text}")

    def call(self, text: str) -> None:
        """Append a call that returns a status; any status but 0 ends the program."""
        self.line(f"if ((r = {text})) return r | INT64_C({self.number}) << 8;")

    def branch(self, arm: int) -> None:
        """Append the calls that run a branch of the current node, a choice: 0 for the first one, 1 for the other."""
        number = self.layout.arms[self._node][arm]
        for k in range(-(-len(self.layout.blocks[number]) // CHUNK)):
            self.line(f"if ((r = {self.prefix}b{number}_{k}(v, F))) return r;")

    def kernel(self, body: str) -> str:
        """Return the name of an elementwise kernel of this body; equal bodies share one."""
        if body not in self.kernels:
            self.kernels[body] = f"k{len(self.kernels)}"
            self.kernel_nodes.append(self.number)
        self.calls(body)
        return self.kernels[body]

    def calls(self, text: str) -> None:
        """Ask for the addresses of the functions of Python modules that a text of the current node calls."""
        for part in (text, *KERNELS.within(text)):
            for called in CALL.finditer(part):
                self.requirements.point(*special_pointer(called[1], called[2]), self.number)

    def table(self, ctype: str, values: Sequence[object]) -> str:
        """Return the name of a constant array."""
        text = f"static const {ctype} $name[] = {{{', '.join(map(str, values))}}};"
        return self.tables.setdefault(text, f"d{len(self.tables)}")

    def integer(self, var: TensorVariable) -> str:
        """Return the C expression of an integer scalar as int64; larger uint64 values become the largest int64."""
        place = f"*(const {ctype(var).stored} *)v[{self.slot(var)}].p"
        wide = var.type.dtype == "uint64"
        return f"({place} > INT64_MAX ? INT64_MAX : (int64_t){place})" if wide else f"(int64_t){place}"

    def constant(self, var: TensorConstant) -> int:
        """Return the position of a constant of a loop's body, after adding it to this graph's constants."""
        if var not in self.slots:
            self.own_constants.append(var)
        return self.slot(var)

    def blas(self, name: str) -> str:
        """Return the C expression of the address of a BLAS routine."""
        self.routines.add(name)
        return f"(uintptr_t){name}_" if self.own_blas else f"F[{FIXED.index(name)}]"

    def sorts(self) -> str:
        """Return the C expression of the address of the table of NumPy's sorting functions, or 0 if there is none."""
        self.root.uses_sorts = True
        return f"F[{FIXED.index('sorts')}]"

    def pointer(self, name: str, pointer: CPointer) -> str:
        """Return the C variable (``void *``) of this name, which holds the address of a function of a Python module."""
        self.requirements.point(name, pointer, self.number)
        return name

    def require(self, function: CFunction) -> None:
        """Add the requirements of a function of a user's op."""
        self.requirements.add(function, self.number)

    def ask_operands(self, count: int) -> None:
        """Ask for room for `count` operands of one iteration (``TR_OPS``)."""
        self.root._operand_count = max(self.root._operand_count, count)

    def ask_rank(self, rank: int) -> None:
        """Ask for room for this many dimensions (``TR_ND``)."""
        self.root._rank = max(self.root._rank, rank)

    # For the linker: lengths are rounded up, so that programs share helper functions that are compiled for them

    @property
    def rank(self) -> int:
        """The length of the arrays that have a number for each dimension (``TR_ND``)."""
        return rounded_rank(self._rank)

    @property
    def operand_count(self) -> int:
        """The length of the arrays that have a number for each operand (``TR_OPS``)."""
        return max(FEWEST_OPERANDS, power_of(4, self._operand_count))

    @property
    def info_length(self) -> int:
        """The number of words that a call returns about each output: its block, then its lengths."""
        return 1 + self.rank

    def begin(self, index: int) -> None:
        """Start the text of a node."""
        self._node = index
        self.lines.append([])

    def leave(self, var: TensorVariable) -> None:
        """Write that an output gets its own array: an input, constant, view, or repeated output is copied."""
        rank, size = var.type.ndim, ctype(var).size
        at = self.slot(var)
        if at in self._owners and at not in (slot for _, slot in self.outputs):
            if at in self._bases:
                outputs = {self.slots[x] for x in self.fgraph.outputs}
                for base in sorted((self._bases[at] & self._owners) - outputs):
                    self.call(f"tr_inherit(v + {at}, v + {base}, {rank}, {size}, tr_move{size})")
                self.call(f"tr_materialise(v + {at}, {rank}, {size}, tr_move{size})")
        else:
            source, at = at, self.scratch()
            self.call(f"tr_copy(v + {at}, v + {source}, {rank}, {size}, tr_move{size})")
        self.outputs.append((var, at))

    def run_functions(self, last: int) -> list[str]:
        """Return the functions that run the nodes up to a position.

        ``runK`` run the nodes that always run, ``bN_K`` those of a branch.
        """
        ending = self.frees()
        functions = []
        for number, positions in enumerate(self.layout.blocks[:-1]):
            functions += self._chunks(f"b{number}_", positions, ending)
        end = range(len(self.layout.order), last)
        return functions + self._chunks("run", [*self.layout.blocks[-1], *end], ending)

    def _chunks(self, name: str, positions: Sequence[int], ending: Mapping[int, Sequence[int]]) -> list[str]:
        functions = []
        for k, start in enumerate(range(0, len(positions), CHUNK)):
            lines = [f"static int64_t {self.prefix}{name}{k}(tr_var *v, const uintptr_t *F) {{", "  int64_t r;"]
            for index in positions[start : start + CHUNK]:
                lines += [f"  {mark(self.first + index)}", *self.lines[index]]
                lines += [f"  tr_free(v + {at});" for at in sorted(ending.get(index, ()))]
            functions.append("\n".join([*lines, "  (void)r; (void)F;", "  return 0;", "}"]))
        return functions

    def runs(self, last: int) -> list[str]:
        """Return the calls of the functions that run the nodes outside of branches, up to a position."""
        count = len(self.layout.blocks[-1]) + last - len(self.layout.order)
        return [f"{self.prefix}run{k}" for k in range(-(-count // CHUNK))]

    def frees(self) -> dict[int, list[int]]:
        """Return the arrays whose blocks can be freed after each node; views keep the blocks that they refer to."""
        last = {at: self._uses[at] for at in self._owners}
        for at, below in self._bases.items():
            for base in below:
                if base in last:
                    last[base] = max(last[base], self._uses[at])
        kept = {at for _, at in self.outputs}
        ending: dict[int, list[int]] = {}
        for at, node in last.items():
            if at not in kept:
                # An array from before a choice is freed after the choice, whichever branch is taken.
                ending.setdefault(self.layout.outward(node, self._homes[at]), []).append(at)
        return ending


def write_unit(fgraph: FunctionGraph, *, keeps_blocks: bool = False) -> Unit:
    """Return the unit of a graph with the text of its nodes; every output has its own array."""
    unit = Unit(fgraph, keeps_blocks=keeps_blocks)
    for var in (*fgraph.inputs, *unit.constants):
        unit.slot(var)
    for index, node in enumerate(unit.layout.order):
        unit.begin(index)
        TABLE.rule(node)(node.op, node, unit)
    unit.begin(len(unit.layout.order))
    for out in tensors(fgraph.outputs):
        unit.leave(out)
    return unit


def _constant(var: Variable) -> TensorConstant:
    """Return a variable that is neither an input nor computed."""
    if not isinstance(var, Constant):
        msg = f"c: {var} is neither an input nor a constant of the graph. Make it an input."
        raise MissingInputError(msg)
    return var  # type: ignore[return-value]  # of a tensor, since C has its type


def mark(node: int) -> str:
    """Return the comment before the text of a node, by its position in the order of evaluation."""
    return f"/* node {node} */"


def marked_node(source: str, line: int) -> int:
    """Return the position of the node that a line of a unit's text belongs to, or NO_NODE."""
    before = source.splitlines()[:line]
    match = next((at for text in reversed(before) if (at := _MARK.search(text))), None)
    return int(match[1]) if match else NO_NODE
