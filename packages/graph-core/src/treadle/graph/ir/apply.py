"""Apply: one application of an Op to variables."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn

from treadle.config import config, text_of
from treadle.graph.diagnostics.failure import note_op
from treadle.graph.diagnostics.provenance import ORIGIN, UserLine, user_line
from treadle.graph.errors import GraphTypeError, GraphValueError
from treadle.graph.ir.variable import Constant, ScratchPad, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    # Only type checkers read the default: a bare `Apply` is a node on variables of any class.
    from typing_extensions import TypeVar

    from treadle.graph.ir.op import Op

    V_co = TypeVar("V_co", bound=Variable, covariant=True, default=Variable)
else:
    from typing import TypeVar

    V_co = TypeVar("V_co", covariant=True)


_SERIALS = itertools.count()


def new_serial() -> int:
    """Return a number above the serial numbers of all nodes of this process, and below those of nodes made later."""
    return next(_SERIALS)


class Apply(Generic[V_co]):
    """A node: an op, its input variables, and the output variables it computes.

    `Apply[V]` is a node whose inputs and outputs are of the class V.

    Parameters
    ----------
    op
        The op applied.
    inputs
        Its inputs.
    outputs
        Fresh variables, or variables of no node; the node becomes their owner.

    Raises
    ------
    GraphTypeError
        If an input or output is not a variable.
    GraphValueError
        If an output belongs to another node already.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> node = (x + y).owner
    >>> str(node.op), node.inputs, node.out is node.outputs[0]
    ('Add', [x, y], True)
    """

    __slots__ = ("__weakref__", "_tag", "inputs", "op", "outputs", "serial", "user_line")

    # Set by treadle.graph.algorithms.serialization.
    reducer: ClassVar[Callable[[Apply], tuple[object, ...]]]

    def __init__(self, op: Op, inputs: Sequence[V_co], outputs: Sequence[V_co]) -> None:
        self.op = op
        lists: tuple[object, object] = (inputs, outputs)
        if isinstance(lists[0], Variable) or isinstance(lists[1], Variable):
            self._refuse_single(*lists)
        try:
            self.inputs = list(inputs)
            self.outputs = list(outputs)
        except Exception as error:
            msg = (
                f"Apply of {self._op_text()}: inputs and outputs must be lists of variables, got {text_of(inputs)} and "
                f"{text_of(outputs)} ({error}). Put what is meant into lists."
            )
            raise GraphTypeError(msg) from error
        self._tag: ScratchPad | None = None
        # Tells nodes that a user's function built, such as a loop's step, from earlier ones (see `new_serial`).
        self.serial = next(_SERIALS)
        for var in self.inputs:
            if not isinstance(var, Variable):
                self._refuse_other("input", self.inputs)
        for var in self.outputs:
            if not isinstance(var, Variable):
                self._refuse_other("output", self.outputs)
        for i, var in enumerate(self.outputs):
            if var.owner is None:
                var.owner = self
                var.index = i
            elif var.owner is not self or var.index != i:
                self._refuse_owned(i, var.owner)
        self.user_line: UserLine | None = user_line(2)

    def _op_text(self) -> str:
        return text_of(self.op, str)

    def _refuse_owned(self, at: int, owner: Apply) -> NoReturn:
        for var in self.outputs[:at]:
            var.owner = var.index = None
        what = "is given twice" if owner is self else f"is computed by {owner} already"
        msg = f"Apply of {self._op_text()}: output {at} {what}. Give a fresh variable."
        raise GraphValueError(msg)

    def _refuse_single(self, inputs: object, outputs: object) -> NoReturn:
        role, variable = ("inputs", inputs) if isinstance(inputs, Variable) else ("outputs", outputs)
        msg = (
            f"Apply of {self._op_text()}: the {role} must be a list of variables, got {text_of(variable)}. "
            "Put it into a list."
        )
        raise GraphTypeError(msg)

    def _refuse_other(self, role: str, values: Sequence[object]) -> NoReturn:
        at, wrong = next((i, v) for i, v in enumerate(values) if not isinstance(v, Variable))
        msg = f"Apply of {self._op_text()}: {role} {at} must be a variable, got {text_of(wrong)}. Convert it."
        raise GraphTypeError(msg)

    @property
    def tag(self) -> ScratchPad:
        """Free attributes of this node."""
        if self._tag is None:
            self._tag = ScratchPad()
            self._tag.trace = self.trace
        return self._tag

    @tag.setter
    def tag(self, value: ScratchPad | None) -> None:
        self._tag = value

    @property
    def nin(self) -> int:
        """Number of inputs."""
        return len(self.inputs)

    @property
    def nout(self) -> int:
        """Number of outputs."""
        return len(self.outputs)

    def default_output(self) -> V_co:
        """Return the output that stands for the node.

        Raises
        ------
        GraphValueError
            If the node has several outputs and its op names no default.
        """
        index = self.op.default_output
        if index is None:
            if len(self.outputs) == 1:
                return self.outputs[0]
            msg = (
                f"{self.op}: the node has {len(self.outputs)} outputs and no default one{self.where()}. "
                "Use node.outputs[i]."
            )
            raise GraphValueError(msg)
        if not 0 <= index < len(self.outputs):
            msg = (
                f"{self.op}: default_output is {index!r}, but the node has {len(self.outputs)} outputs{self.where()}. "
                "Set it to the position of one of them."
            )
            raise GraphValueError(msg)
        return self.outputs[index]

    @property
    def out(self) -> V_co:
        """The default output."""
        return self.default_output()

    def clone(self) -> Apply:
        """Return a node with the same inputs and new outputs."""
        return self._rebuilt(self.inputs, [out.clone() for out in self.outputs])

    def _rebuilt(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Apply:
        new = node_at(self.user_line, self.op, inputs, outputs)
        if self._tag is not None:
            new.tag = self._tag.copy()
        return new

    def clone_with_new_inputs(self, inputs: Sequence[Variable], strict: bool = True) -> Apply:
        """Return a node of the same op on other inputs.

        Parameters
        ----------
        inputs
            As many as the node has.
        strict
            True: an input whose type neither equals nor refines the old one is converted, or refused where no
            conversion exists. False: any type; the op then decides anew what its outputs are.
        """
        if len(inputs) != len(self.inputs):
            msg = f"{self.op}: the node has {len(self.inputs)} inputs, got {len(inputs)}. Give one for each."
            raise GraphValueError(msg)
        new_inputs = list(inputs)
        remake = False
        for i, (old, new) in enumerate(zip(self.inputs, inputs, strict=True)):
            if old is new:
                continue
            if old.type != new.type:
                if strict:
                    new_inputs[i] = self._converted(old, new)
                remake = remake or new_inputs[i].type != old.type
            elif self.op._output_type_depends_on_input_value:
                # The value may depend on types further up: the node is made anew only where these may change.
                remake = remake or not strict or isinstance(old, Constant) or isinstance(new, Constant)
        if not remake:
            return self._rebuilt(new_inputs, [out.clone() for out in self.outputs])
        return self._remade(new_inputs)

    def _remade(self, inputs: Sequence[Variable]) -> Apply:
        """Return the op's node on other inputs, with this node's line, tag and names."""
        try:
            node = self.op.make_node_like(self, inputs)
        except Exception as error:
            note_op(error, self.op, "make_node", self.where())
            raise
        node.user_line = self.user_line
        if self._tag is not None:
            node.tag = self._tag.copy()
        for old_out, new_out in zip(self.outputs, node.outputs, strict=True):
            new_out.name = old_out.name
        return node

    def _converted(self, old: Variable, new: Variable) -> Variable:
        """Return an input converted to the type of the old one."""
        try:
            return old.type.filter_variable(new)
        except Exception as error:
            note_op(error, self.op, "clone_with_new_inputs", self.where())
            raise

    def with_distinct_inputs(self) -> Apply:
        """Return a node with a storage cell for each input: itself, unless it overwrites and repeats an input.

        Of an input that occurs twice, one occurrence may be overwritten while the other is still read.
        """
        if not self.op.destroy_map or len(set(self.inputs)) == len(self.inputs):
            return self
        seen: set[Variable] = set()
        inputs = []
        for var in self.inputs:
            inputs.append(var.type.make_variable() if var in seen else var)
            seen.add(var)
        return self._rebuilt(inputs, [out.clone() for out in self.outputs])

    @property
    def trace(self) -> list[UserLine]:
        """The user's lines that made the node, innermost first: as many as the option ``traceback__limit`` says."""
        line, limit = self.user_line, config.traceback__limit
        return [] if line is None or limit == 0 else line.trace

    @property
    def scope(self) -> str:
        """The name scopes that were open when the node was made, such as ``model/encoder``; empty outside of any."""
        return "" if self.user_line is None else self.user_line.scope

    def get_parents(self) -> list[V_co]:
        """Return the inputs."""
        return list(self.inputs)

    def where(self) -> str:
        """Return `` , built at model.py:41 "…"`` for error messages, or nothing where no line is known.

        It also names the op that the node is a part of, and in DebugMode the rewrite that made it.
        """
        line = "" if self.user_line is None else f", built at {self.user_line}"
        outer, rewrite = getattr(self._tag, "part_of", None), getattr(self._tag, "made_by", None)
        part = "" if outer is None else f", part of {outer}"
        return f"{part}{line}" if rewrite is None else f"{part}{line}, made by the rewrite {rewrite!r}"

    def __str__(self) -> str:
        return f"{self.op}({', '.join(map(str, self.inputs))})"

    __repr__ = __str__

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle through one flat record of the whole graph (see `treadle.graph.algorithms.serialization`)."""
        return Apply.reducer(self)


def node_at(line: UserLine | None, op: Op, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Apply:
    """Return a node that comes from a line of the user's, as that of a node it replaces: no frame is looked at.

    Parameters
    ----------
    line
        The line, None if it is not known.
    op, inputs, outputs
        As of `Apply`.
    """
    outer = ORIGIN.line
    ORIGIN.line = line or outer
    try:
        node = Apply(op, inputs, outputs)
    finally:
        ORIGIN.line = outer
    node.user_line = line
    return node


# What graphs are made of.
Node = Apply | Variable
