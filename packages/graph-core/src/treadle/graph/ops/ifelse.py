"""IfElse, the conditional: one of two branches, and only the branch taken is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph.errors import GraphTypeError, GraphValueError
from treadle.graph.ir.apply import Apply
from treadle.graph.ir.arguments import as_count, as_flag
from treadle.graph.ir.notation import Form
from treadle.graph.ir.null_type import DisconnectedType
from treadle.graph.ir.op import Op
from treadle.graph.ir.sharing import CONVERTERS
from treadle.graph.ir.thunk import is_thunk_type
from treadle.graph.ir.type import HasShape, Type
from treadle.graph.ir.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph.ir.thunk import Cell, ComputeMap, StorageMap, SymbolicShape, ThunkType, Value


class IfElse(Op):
    """The values of one of two branches.

    The inputs of a node are the condition, the variables of the first branch, taken where the condition is true, and
    as many of the second. The nodes that only one branch needs belong to it (see `treadle.graph.Branching`): they run
    only if it is taken. A linker passes None for what was not computed.

    Parameters
    ----------
    n_outs
        Number of outputs: of variables in each branch.
    as_view
        Whether outputs may share the memory of the values chosen; else they are copies.
    name
        Shown when printed; it does not tell two ops apart.

    Examples
    --------
    >>> c, x = tt.bscalar("c"), tt.dscalar("x")
    >>> tt.ifelse(c, x, -x).owner.op
    if{}
    """

    __props__ = ("n_outs", "as_view")

    def __init__(self, n_outs: int, as_view: bool = False, name: str | None = None) -> None:
        self.n_outs = count = as_count("IfElse: n_outs", n_outs, 1)
        self.as_view = as_flag("IfElse: as_view", as_view)
        self.name = name
        if self.as_view:
            self.view_map = {i: [1 + i, 1 + count + i] for i in range(count)}

    def as_input(self, value: object) -> Variable:
        """Return a variable, or a plain value as a constant of the type that installed packages know for it."""
        return value if isinstance(value, Variable) else CONVERTERS.type_of(value).make_constant(value)

    def make_node(self, *inputs: object) -> Apply:
        """Return the node; the type of each output covers both branches' types.

        Raises
        ------
        GraphValueError
            If there are not two branches of `n_outs` variables.
        GraphTypeError
            If the condition is no scalar, or the types of the branches have nothing in common.
        """
        if len(inputs) != 1 + 2 * self.n_outs:
            msg = (
                f"{self}: a condition and two branches of {self.n_outs} are needed, got {len(inputs)} inputs. "
                "Give both branches as many variables."
            )
            raise GraphValueError(msg)
        condition = self.as_input(inputs[0])
        rank = getattr(condition.type, "ndim", 0)
        if rank:
            msg = (
                f"{self}: the condition must be a scalar, got {condition} of type {condition.type}. "
                "Reduce it with all or any, or choose elementwise with switch."
            )
            raise GraphTypeError(msg)
        branches = [self.as_input(x) for x in inputs[1:]]
        outputs = []
        for i in range(self.n_outs):
            first, second = branches[i], branches[self.n_outs + i]
            kind = common_type(first.type, second.type)
            if kind is None:
                msg = (
                    f"{self}: the branches must agree in type, got {first} of type {first.type} and {second} of type "
                    f"{second.type} at position {i}. Convert one of them."
                )
                raise GraphTypeError(msg)
            outputs.append(kind.make_variable())
        return Apply(self, [condition, *branches], outputs)

    def branches(self, node: Apply) -> tuple[list[Variable], list[Variable]]:
        """Return the variables of the first and of the second branch."""
        return node.inputs[1 : 1 + self.n_outs], node.inputs[1 + self.n_outs :]

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Pass the branch taken on; the values of the other are not looked at."""
        start = 1 if inputs[0] else 1 + self.n_outs
        for i, (out, cell) in enumerate(zip(node.outputs, output_storage, strict=True)):
            value = inputs[start + i]
            cell[0] = value if self.as_view else out.type.copy_value(value)

    def make_thunk(
        self,
        node: Apply,
        storage_map: StorageMap,
        compute_map: ComputeMap | None,
        no_recycling: Sequence[Variable],
        impl: str | None = None,
    ) -> ThunkType:
        """Return a lazy thunk: a call returns the positions of the inputs it needs next, nothing once it is done."""
        inputs = [storage_map[v] for v in node.inputs]
        outputs = [storage_map[v] for v in node.outputs]
        ready = None if compute_map is None else [compute_map[v] for v in node.inputs]
        done = [] if compute_map is None else [compute_map[v] for v in node.outputs]

        def run() -> list[int]:
            if ready is not None and not ready[0][0]:
                return [0]
            start = 1 if inputs[0][0] else 1 + self.n_outs
            if ready is not None:
                missing = [i for i in range(start, start + self.n_outs) if not ready[i][0]]
                if missing:
                    return missing
            self.perform(node, [cell[0] for cell in inputs], outputs)
            for flag in done:
                flag[0] = True
            return []

        thunk = is_thunk_type(run)
        thunk.inputs = inputs
        thunk.outputs = outputs
        thunk.lazy = True
        return thunk

    def infer_shape(self, node: Apply, shapes: Sequence[SymbolicShape | None]) -> Sequence[SymbolicShape | None]:
        """Return the branches' shapes where they are known to be the same."""
        pairs = zip(shapes[1 : 1 + self.n_outs], shapes[1 + self.n_outs :], strict=True)
        return [a if a is not None and b is not None and _same(a, b) else None for a, b in pairs]

    # Derivatives

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Each output depends on its variables in both branches; the condition only chooses."""
        count = self.n_outs
        return [[False] * count, *([o == i % count for o in range(count)] for i in range(2 * count))]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Pass the cotangents to the branch taken, and zeros to the other.

        `treadle.tensor.grad` does better: nothing is computed for the branch not taken, so that an infinite
        derivative there does no harm.
        """
        count = self.n_outs
        first: list[Variable | None] = []
        second: list[Variable | None] = []
        for i, ct in enumerate(cotangents):
            if isinstance(ct.type, DisconnectedType):
                first.append(None)
                second.append(None)
                continue
            x, y = inputs[1 + i], inputs[1 + count + i]
            first.append(chosen(inputs[0], ct, zeros_of(x)))
            second.append(chosen(inputs[0], zeros_of(y), ct))
        return [None, *first, *second]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Choose between the tangents of the branches."""
        count = self.n_outs
        moved: list[Variable | None] = []
        for i in range(count):
            pair = [tangents[1 + i], tangents[1 + count + i]]
            pair = [None if t is None or isinstance(t.type, DisconnectedType) else t for t in pair]
            if pair[0] is None and pair[1] is None:
                moved.append(None)
                continue
            first, second = (
                zeros_of(inputs[at]) if t is None else t for t, at in zip(pair, (1 + i, 1 + count + i), strict=True)
            )
            moved.append(chosen(inputs[0], first, second))
        return moved

    # Text

    def printed_form(self, node: Apply) -> Form | Sequence[Form]:
        """Write ``ifelse(condition, x, y)``."""
        first, second = self.branches(node)
        pattern = r"\begin{cases} #2 & \text{if } #1 \\ #3 & \text{otherwise} \end{cases}"
        triples = ([node.inputs[0], x, y] for x, y in zip(first, second, strict=True))
        forms = [Form.call("ifelse", triple).in_latex(pattern, triple) for triple in triples]
        return forms[0] if self.n_outs == 1 else forms

    def __str__(self) -> str:
        return f"if{{{self.name or ''}{',inplace' if self.as_view else ''}}}"

    __repr__ = __str__


def _same(first: Sequence[Any], second: Sequence[Any]) -> bool:
    return len(first) == len(second) and all(a is b for a, b in zip(first, second, strict=True))


def common_type(first: Type, second: Type) -> Type | None:
    """Return a type that covers both, or None; types with a shape get the lengths that both have."""
    if first.is_super(second):
        return first
    if second.is_super(first):
        return second
    if isinstance(first, HasShape) and isinstance(second, HasShape) and first.ndim == second.ndim:
        wide: Type = first.clone(
            shape=tuple(a if a == b else None for a, b in zip(first.shape, second.shape, strict=True))
        )
        return wide if wide.is_super(second) else None
    return None


def chosen(condition: Variable, first: Variable, second: Variable) -> Variable:
    """Return one variable where the condition is true, and the other where it is not."""
    output: Variable = IfElse(1)(condition, first, second)
    return output


def zeros_of(var: Variable) -> Variable:
    """Return zeros of a variable's type and shape, through its method ``zeros_like``."""
    make: Callable[[], Variable] | None = getattr(var, "zeros_like", None)
    if make is None:
        msg = f"IfElse: there are no zeros of type {var.type}, got {var}. Give its variables a method zeros_like."
        raise GraphTypeError(msg)
    return make()
