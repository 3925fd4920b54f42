"""Functions whose arguments or results are nested: a compiled function of the leaves, and the trees around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from treadle.compile.errors import CallError, FunctionTypeError
from treadle.compile.functions.function import Function
from treadle.compile.io import In, Out, as_in
from treadle.config import dataclass, text_of
from treadle.graph import GraphTypeError, TreeForm, Variable, is_tree, tree_flatten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Compute, Value


@dataclass(frozen=True, slots=True)
class Nesting:
    """How the arguments and results of a function are nested.

    Attributes
    ----------
    arguments
        The form of each item of the list of inputs; a leaf for one that is an input itself.
    roots
        What messages call each of them.
    results
        The form of the result; None where the compiled function returns it as it is.
    """

    arguments: tuple[TreeForm, ...]
    roots: tuple[str, ...]
    results: TreeForm | None

    @property
    def count(self) -> int:
        """The number of inputs of the compiled function."""
        return sum(form.count for form in self.arguments)


def read_nesting(inputs: object, outputs: object) -> tuple[list[Any], Any, Nesting | None]:
    """Return the inputs and outputs without nesting, and how they are nested; None if they are not.

    Inputs and outputs that are no trees of variables are returned as they are: what is wrong with them is said
    elsewhere.
    """
    items: Any = inputs
    is_nested_input = isinstance(inputs, list | tuple) and any(map(_is_nested, inputs))
    results = _form_of_results(outputs)
    if not is_nested_input and results is None:
        return items, outputs, None
    if not isinstance(inputs, list | tuple):
        return items, outputs, None
    leaves: list[Any] = []
    forms: list[TreeForm] = []
    for at, item in enumerate(inputs):
        if not _is_nested(item):
            leaves.append(item)
            forms.append(TreeForm(None))
            continue
        parts, form = tree_flatten(item)
        _check_inputs(parts, form, f"input {at}")
        leaves += parts
        forms.append(form)
    roots = tuple(f"argument {at}" for at in range(len(forms)))
    if results is None:
        return leaves, outputs, Nesting(tuple(forms), roots, None)
    form, parts = results
    for part, path in zip(parts, form.paths("outputs"), strict=True):
        if not isinstance(part, Variable | Out):
            msg = (
                f"function: {path}: an output must be a variable or Out, got {text_of(part)}. Wrap values with "
                "tt.as_tensor_variable."
            )
            raise FunctionTypeError(msg)
    return leaves, parts, Nesting(tuple(forms), roots, form)


def _is_nested(item: object) -> bool:
    """Whether an item of the inputs is a tree of inputs. A pair of an input and its new value is not meant as one."""
    if not isinstance(item, list | tuple):
        return is_tree(item)
    is_pair = len(item) == 2 and isinstance(item[1], Variable) and item[1].owner is not None
    return not is_pair and all(x is None or isinstance(x, Variable | In) or is_tree(x) for x in item)


def _check_inputs(parts: Sequence[object], form: TreeForm, root: str) -> None:
    for part, path in zip(parts, form.paths(root), strict=True):
        if not isinstance(part, Variable | In):
            msg = (
                f"function: {path}: an input must be a variable or In, got {text_of(part)}. Make it with "
                "tt.matrix('x') or the like."
            )
            raise FunctionTypeError(msg)
        if as_in(part).implicit:
            msg = f"function: {path}: an implicit input takes no argument. Put it into the list of inputs itself."
            raise FunctionTypeError(msg)


def _form_of_results(outputs: object) -> tuple[TreeForm, list[Any]] | None:
    """Return the form and leaves of outputs that are nested; None of those that `function` takes as they are."""
    if not is_tree(outputs):
        return None
    tree: Any = outputs
    if isinstance(outputs, Mapping):
        if not any(map(is_tree, outputs.values())):
            return None
        tree = dict(outputs)
    elif isinstance(outputs, list | tuple):
        if not any(map(is_tree, outputs)) or any(map(_have_updates, outputs)):
            return None
        tree = list(outputs)
    leaves, form = tree_flatten(tree)
    return form, leaves


def _have_updates(item: object) -> bool:
    """Whether an output is or holds what loops return as updates, perhaps none, rather than a dictionary of results."""
    if isinstance(item, list | tuple):
        return any(map(_have_updates, item))
    return isinstance(item, Mapping) and all(isinstance(key, Variable) for key in item)


class NestedFunction(Function):
    """A compiled function whose arguments or results are nested. Made by `function`, and called as declared.

    It is a function of the leaves, in the order of `treadle.graph.tree_flatten`, with a call of its own: that takes the
    trees apart, and puts results together. Inputs that are not nested may be given by name; trees are given by
    position. All that is said of the inputs and outputs elsewhere is about the leaves.

    Attributes
    ----------
    nesting
        How arguments and results are nested.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> from treadle.compile import function
    >>> params = {"w": tt.dvector("w"), "b": tt.dscalar("b")}
    >>> x = tt.dvector("x")
    >>> f = function([params, x], {"y": [params["w"] * x + params["b"]]}, mode="VM")
    >>> f({"w": [1.0, 2.0], "b": 3.0}, [1.0, 1.0])
    {'y': [array([4., 5.])]}
    """

    __slots__ = ("_flat_call", "nesting")

    _flat_call: Compute

    def __init__(self, flat: Function, nesting: Nesting) -> None:
        self.nesting = nesting
        super().__init__(flat.maker, flat.program, flat.name, flat.trust_input)
        self.pickle_aliased_memory_strategy = flat.pickle_aliased_memory_strategy

    @property
    def caller(self) -> Compute:
        """What a call with the leaves runs."""
        return self._flat_call

    @caller.setter
    def caller(self, caller: Compute) -> None:
        self._flat_call = caller
        self.__call__ = self._call

    def _call(self, *args: Value, **kwargs: Value) -> Value:
        nesting = self.nesting
        is_subset = kwargs.get("output_subset") is not None
        if is_subset and nesting.results is not None:
            msg = f"{self.signature.title}: results that are nested come all at once. Leave output_subset out."
            raise CallError(msg)
        leaves = self.leaves(args)
        try:
            results = self._flat_call(*leaves, **kwargs)
        except CallError as error:
            self._say_where(args, leaves, error)
            raise
        return results if nesting.results is None else nesting.results.fill(results)

    def call_subset(self, args: Sequence[Value], rest: Sequence[Value], kwargs: dict[str, object]) -> Value:
        """Compute some of the outputs, given the leaves."""
        flat = Function(self.maker, self.program, self.name, self.trust_input)
        return flat(*args, *rest, **kwargs)

    def _taking(self) -> list[tuple[TreeForm, str]]:
        """Return the forms of the arguments by position, with what messages call them."""
        nesting, taking, at = self.nesting, [], 0
        for form, root in zip(nesting.arguments, nesting.roots, strict=True):
            if form.cls is not None or not self.signature.inputs[at].implicit:
                taking.append((form, root))
            at += form.count
        return taking

    def leaves(self, args: Sequence[Value]) -> list[Value]:
        """Return the leaves of the arguments given by position.

        Raises
        ------
        CallError
            If they are too many, one that is nested is missing, or one is not nested as declared.
        """
        taking = self._taking()
        if len(args) > len(taking):
            msg = f"{self.signature.title}: {len(taking)} arguments at most, got {len(args)}."
            raise CallError(msg)
        for form, root in taking[len(args) :]:
            if form.cls is not None:
                msg = (
                    f"{self.signature.title}: {root} is missing, {form.describe()}. Pass it by position: only inputs "
                    "that are not nested have names."
                )
                raise CallError(msg)
        leaves: list[Value] = []
        for (form, root), value in zip(taking, args, strict=False):
            if form.cls is None:
                leaves.append(value)
                continue
            try:
                leaves += form.leaves(value, root, self._expected(len(leaves)))
            except GraphTypeError as error:
                msg = f"{self.signature.title}: {error}"
                raise CallError(msg) from None
        return leaves

    def _expected(self, before: int) -> Callable[[int], str]:
        return lambda at: f"a value of type {self.signature.inputs[self.signature.open[before + at]].variable.type}"

    def _say_where(self, args: Sequence[Value], leaves: Sequence[Value], error: CallError) -> None:
        """Raise the error of the first leaf that does not fit its input, with its path."""
        taking = self._taking()[: len(args)]
        places = [(form.cls is not None, path) for form, root in taking for path in form.paths(root)]
        for at, ((is_part, path), value) in zip(self.signature.open, zip(places, leaves, strict=True), strict=False):
            try:
                self.signature.convert(at, value, self.maker.options)
            except CallError as wrong:
                name = "" if is_part else f", {self.signature.inputs[at].variable}"
                msg = f"{self.signature.title}: {path}{name}: {wrong.__cause__ or wrong}"
                raise CallError(msg) from error

    def copy(self, *args: Any, **kwargs: Any) -> NestedFunction:
        """Return another function that computes the same (parameters and errors as for `Function.copy`)."""
        return NestedFunction(super().copy(*args, **kwargs), self.nesting)

    def apart(self) -> NestedFunction:
        """Return a function that computes the same on cells of its own (see `Function.apart`)."""
        return NestedFunction(super().apart(), self.nesting)

    @property
    def has_trees(self) -> bool:
        """Whether arguments are nested."""
        return any(form.cls is not None for form in self.nesting.arguments)

    def __deepcopy__(self, memo: dict[int, object]) -> NestedFunction:
        """Return a function with a graph and state of its own."""
        return NestedFunction(super().__deepcopy__(memo), self.nesting)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle what `Function` does, and the nesting."""
        restore, state = super().__reduce__()
        return _restore, (restore, state, self.nesting)


def _restore(
    restore: Callable[..., Function | None], state: tuple[object, ...], nesting: Nesting
) -> NestedFunction | None:
    flat = restore(*state)
    return None if flat is None else NestedFunction(flat, nesting)
