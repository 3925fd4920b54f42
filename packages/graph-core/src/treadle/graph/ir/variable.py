"""Variables: the symbolic values of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, TextIO

from treadle.config import TreadleError, config, lazy_module, text_of
from treadle.graph.diagnostics.upward import upward
from treadle.graph.errors import GraphAttributeError, GraphTypeError
from treadle.graph.ir.encoding import digest, encode, tagged
from treadle.graph.ir.inner_graph import EVALUATOR
from treadle.graph.ir.type import Type

if TYPE_CHECKING:
    import html
    from collections.abc import Callable, Mapping

    # Only type checkers read the default: a bare `Variable` is a variable of any type.
    from typing_extensions import TypeVar

    from treadle.graph.diagnostics.provenance import UserLine
    from treadle.graph.html import GraphPage
    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.thunk import Value
    from treadle.graph.printing.typesetting import Formula

    T_co = TypeVar("T_co", bound=Type, covariant=True, default=Type)
else:
    html = lazy_module("html")
    from typing import TypeVar

    T_co = TypeVar("T_co", covariant=True)


class ScratchPad:
    """Free attributes attached to a variable or node (``tag.test_value``, ``tag.trace`` and the user's own).

    Examples
    --------
    >>> x = tt.dscalar("x")
    >>> x.tag.colour = "red"
    >>> x.tag.colour
    'red'
    """

    # Any attribute may be set and read.
    def __getattr__(self, name: str) -> Any:
        msg = f"tag: {name!r} was never set on it; set are {', '.join(vars(self)) or 'none'}. Set tag.{name} first."
        raise GraphAttributeError(msg)

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        attributes = ", ".join(f"{k}={v!r}" for k, v in vars(self).items())
        return f"ScratchPad({attributes})"

    def copy(self) -> ScratchPad:
        """Return a new pad with the same attributes."""
        new = ScratchPad()
        vars(new).update(vars(self))
        return new


def check_type(kind: object) -> None:
    """Refuse something that is not a type, and so cannot filter values."""
    if not hasattr(kind, "filter"):
        msg = f"Variable: a type is needed, got {text_of(kind)}. Pass an instance of a class derived from Type."
        raise GraphTypeError(msg)


class Variable(Generic[T_co]):
    """A value computed by one Apply node, or given from outside; `Variable[T]` is one whose type is a T.

    Variables compare by identity, so that they can be keys of dictionaries. Attributes of the user's own may be set on
    them: pickles and deep copies keep these, `clone` and copies of graphs keep only the name and what is under `tag`.
    Nothing that is compiled depends on them.

    Parameters
    ----------
    type
        What values the variable may hold.
    owner
        The node that computes it; None for an input.
    index
        Which of the owner's outputs it is; None for an input.
    name
        Shown when printed.

    Examples
    --------
    >>> x = tt.dscalar("x")
    >>> y = tt.exp(x)
    >>> str(y.owner.op), y.owner.inputs, x.owner is None
    ('Exp', [x], True)
    >>> y.eval({x: 0.0})
    array(1.)
    """

    # With the dict variables take further attributes; it is made with the first of them.
    __slots__ = ("__dict__", "__weakref__", "_tag", "index", "name", "owner", "type", "written_with")

    # Set by treadle.graph.algorithms.serialization: how a variable inside a graph is pickled without recursion.
    reducer: ClassVar[Callable[[Variable], tuple[object, ...]]]

    def __init__(self, type: T_co, owner: Apply | None, index: int | None = None, name: str | None = None) -> None:  # noqa: A002 - the documented name
        unchecked: object = name
        if not (unchecked is None or isinstance(unchecked, str)):
            msg = f"Variable: a name must be a string, got {text_of(unchecked)}. Pass name='...' or leave it out."
            raise GraphTypeError(msg)
        self.type = type
        self.owner = owner
        self.index = index
        self.name = name
        self._tag: ScratchPad | None = None
        # Variables that it was written with but is not computed from (see `treadle.graph.algorithms.origins`).
        self.written_with: tuple[Variable, ...] = ()

    @property
    def tag(self) -> ScratchPad:
        """Free attributes of this variable."""
        if self._tag is None:
            self._tag = ScratchPad()
            if self.owner is not None:
                self._tag.trace = self.owner.trace
        return self._tag

    @tag.setter
    def tag(self, value: ScratchPad | None) -> None:
        self._tag = value

    @property
    def user_line(self) -> UserLine | None:
        """The user's line that made the variable's node; None for an input."""
        return None if self.owner is None else self.owner.user_line

    def clone(self, *, name: str | None = None) -> Variable[T_co]:
        """Return a new variable of the same type without owner, keeping name and tag."""
        new = self.type.make_variable(name if name is not None else self.name)
        if self._tag is not None:
            new.tag = self._tag.copy()
        return new

    def eval(
        self,
        inputs_to_values: Mapping[Any, Value] | None = None,
        mode: object = None,
        **kwargs: object,
    ) -> Value:
        """Compute the variable's value.

        Parameters
        ----------
        inputs_to_values
            Values of the inputs, by variable or by name.
        mode
            Mode to compile with; the default mode if None.
        kwargs
            Passed on to the compiling function.

        Returns
        -------
        The value. Compiled functions are kept, so that a second call with the same inputs is fast.

        Raises
        ------
        MissingInputError
            If a value is missing.

        Examples
        --------
        >>> x = tt.dscalar("x")
        >>> (x**2).eval({x: 3.0})
        array(9.)
        """
        try:
            values = dict(inputs_to_values or {})
        except Exception as error:
            msg = (
                f"eval: inputs_to_values must map inputs, or their names, to values, got {text_of(inputs_to_values)}. "
                "Write {x: value}."
            )
            raise GraphTypeError(msg) from error
        return EVALUATOR.get()(self, values, mode, **kwargs)

    def dprint(self, **options: Any) -> str | TextIO | None:
        """Print the graph that computes the variable (options as for `debugprint`).

        Examples
        --------
        >>> tt.exp(tt.dscalar("x")).dprint()
        Exp [id A]
         └─ x [id B]
        """
        text: str | TextIO | None = upward.debugprint(self, **options)
        return text

    def latex(self) -> Formula:
        """Return the formula of the graph that computes the variable in LaTeX, which a notebook shows typeset.

        Examples
        --------
        >>> x = tt.dscalar("x")
        >>> (x**2 + 1).latex()
        x^{2} + 1
        """
        formula: Formula = upward.latex(self)
        return formula

    def show(self, height: int = 480) -> GraphPage:
        """Return the page of the graph that computes the variable, which a notebook shows (`height` in pixels)."""
        page: GraphPage = upward.GraphPage(self, height)
        return page

    def _repr_html_(self) -> str:
        """Show name and type in a notebook."""
        return f"<code>{html.escape(str(self))}</code>: {html.escape(str(self.type))}"

    def get_parents(self) -> list[Apply]:
        """Return the owner in a list, or an empty list."""
        return [] if self.owner is None else [self.owner]

    def __str__(self) -> str:
        """Show the name, or the op and output that made the variable; with ``print_test_value``, its test value."""
        text = self._title()
        if config.print_test_value and hasattr(self._tag, "test_value"):
            return f"{text} (test value {_shortened(self.tag.test_value)})"
        return text

    def _title(self) -> str:
        if self.name is not None:
            return self.name
        if self.owner is not None:
            op = self.owner.op
            if len(self.owner.outputs) == 1 or self.index == op.default_output:
                return f"{op}.out"
            return f"{op}.{self.index}"
        return f"<{self.type}>"

    __repr__ = __str__

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle through one flat record of the whole graph (see `treadle.graph.algorithms.serialization`)."""
        if self.owner is None:
            return super().__reduce_ex__(protocol)
        return Variable.reducer(self)


def _shortened(value: object) -> str:
    """Return a value's text on one line, its middle left out where it is long."""
    text = " ".join(str(value).split())
    return text if len(text) <= 40 else f"{text[:30]} … {text[-6:]}"


def listed(what: str, variables: Any) -> list[Variable]:
    """Return variables as a list."""
    if isinstance(variables, Variable) or not hasattr(type(variables), "__iter__"):
        msg = f"{what}: a list of variables is needed, got {text_of(variables)}. Put what is meant into a list."
        raise GraphTypeError(msg)
    try:
        items = list(variables)
    except TreadleError:
        raise
    except Exception as error:
        msg = f"{what}: a list of variables is needed, got {text_of(variables)} ({error}). Put what is meant into one."
        raise GraphTypeError(msg) from error
    for i, var in enumerate(items):
        if not isinstance(var, Variable):
            msg = f"{what} {i} must be a variable, got {text_of(var)}. Convert it to a variable first."
            raise GraphTypeError(msg)
    return items


class AtomicVariable(Variable[T_co]):
    """A variable that no node ever computes: a constant, or an input that is identified by its place.

    Examples
    --------
    >>> isinstance(tt.constant(1.0), AtomicVariable), isinstance(tt.dscalar("x"), AtomicVariable)
    (True, False)
    """

    __slots__ = ()


class Constant(AtomicVariable[T_co]):
    """A variable whose value is known when the graph is built.

    Parameters
    ----------
    type
        The constant's type; the data are filtered strictly through it.
    data
        The value. It must not be changed afterwards.
    name
        Shown when printed.

    Examples
    --------
    >>> c = tt.constant([1.0, 2.0])
    >>> c.data, c.owner is None
    (array([1., 2.]), True)
    """

    __slots__ = ("_signature", "data")

    def __init__(self, type: T_co, data: object, name: str | None = None) -> None:  # noqa: A002 - the documented name
        super().__init__(type, None, None, name)
        check_type(type)
        self.data = type.filter(data)
        self._signature: bytes | None = None

    @property
    def value(self) -> Value:
        """The constant's value."""
        return self.data

    def signature(self) -> bytes:
        """Return an encoding of type and value: equal exactly for interchangeable constants."""
        if self._signature is None:
            self._signature = tagged("C", encode(self.type), encode(self.data))
        return self._signature

    def stable_key(self) -> str:
        """Return a digest of type and value that is the same in every process."""
        return digest(self.signature())

    def equals(self, other: object) -> bool:
        """Whether the other is a constant of the same type and value.

        Values without canonical encoding, such as those of a type without ``__props__``, are compared by the type.
        """
        if self is other:
            return True
        if not isinstance(other, Constant) or self.type != other.type:
            return False
        try:
            return self.signature() == other.signature()
        except GraphTypeError:
            return self.data is other.data or bool(self.type.values_eq(self.data, other.data))

    def clone(self, *, name: str | None = None) -> Constant[T_co]:
        """Return the constant itself: its value never changes."""
        if name is None or name == self.name:
            return self
        return self.type.make_constant(self.data, name)

    def __str__(self) -> str:
        text = _shortened(self.data)
        return f"{self.name}{{{text}}}" if self.name is not None else text

    __repr__ = __str__


Type.variable_type = Variable
Type.constant_type = Constant


def has_value(var: Variable) -> bool:
    """Whether a variable brings its value along: a constant, or a shared variable."""
    return isinstance(var, Constant) or getattr(var, "container", None) is not None


def as_index(value: Any) -> int | None:
    """Return the integer a constant or plain index stands for, or None for a symbolic one.

    Examples
    --------
    >>> [10, 20][as_index(tt.constant(1))]
    20
    """
    if isinstance(value, Variable):
        if not isinstance(value, Constant):
            return None
        value = value.data
    try:
        return value.__index__()  # type: ignore[no-any-return]  # every integer-like object answers with an int
    except (AttributeError, TypeError):
        return None
