"""Trees: values nested in dictionaries, tuples, lists, named tuples, dataclasses and registered classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from treadle.config import dataclass, text_of
from treadle.graph.errors import DuplicateRegistrationError, GraphTypeError, GraphValueError
from treadle.graph.ir.variable import Variable

__all__ = ["TreeForm", "is_tree", "register_tree_node", "tree_flatten", "tree_leaves", "tree_map", "tree_unflatten"]

# A leaf, None, or a container of such trees.
Tree = Any
# Deeper than anyone nests trees by hand.
_DEEPEST = 100
# Entry of a dataclass field's metadata: the field is no part of the tree and is kept as it is.
STATIC = "static"


class _Opened(NamedTuple):
    """A container taken apart: what its parts are called, the parts, and what else tells it from others."""

    entries: tuple[str, ...]
    parts: Sequence[Tree]
    static: Any


@dataclass(frozen=True, slots=True)
class _Kind:
    """How containers of a class are taken apart and put together again from an old one and new parts."""

    opened: Callable[[Tree], _Opened]
    closed: Callable[..., Tree]


class _Registry:
    """The classes that have been registered, each once."""

    def __init__(self) -> None:
        self._kinds: dict[type, _Kind] = {}

    def add(self, cls: type, kind: _Kind) -> None:
        if cls in self._kinds:
            msg = f"register_tree_node: {cls.__qualname__} is registered already. Register each class once."
            raise DuplicateRegistrationError(msg)
        self._kinds[cls] = kind

    def get(self, cls: type) -> _Kind | None:
        return self._kinds.get(cls)


_REGISTERED = _Registry()


def _indices(parts: Sequence[object]) -> tuple[str, ...]:
    return tuple(f"[{i}]" for i in range(len(parts)))


def _opened_dict(item: Mapping[object, Tree]) -> _Opened:
    return _Opened(tuple(f"[{_key_text(key)}]" for key in item), list(item.values()), tuple(item))


def _key_text(key: object) -> str:
    return f'"{key}"' if isinstance(key, str) and '"' not in key else text_of(key)


def _closed_dict(cls: type, keys: Sequence[object], parts: Sequence[Tree]) -> Tree:
    items = dict(zip(keys, parts, strict=True))
    if cls is dict:
        return items
    try:
        return cls(items)
    except TypeError:  # a defaultdict, which takes its factory first: what is in it is what was given
        new = cls()
        new.update(items)
        return new


def _closed_sequence(cls: type, static: None, parts: Sequence[Tree]) -> Tree:
    del static
    return cls(parts)


def _opened_record(item: Tree) -> _Opened:
    return _Opened(tuple(f".{name}" for name in item._fields), tuple(item), None)


def _closed_record(cls: Tree, static: None, parts: Sequence[Tree]) -> Tree:
    del static
    return cls._make(parts)


def _opened_dataclass(item: Tree) -> _Opened:
    names = [field.name for field in fields(item) if not field.metadata.get(STATIC)]
    kept = tuple((field.name, getattr(item, field.name)) for field in fields(item) if field.metadata.get(STATIC))
    return _Opened(tuple(f".{name}" for name in names), [getattr(item, name) for name in names], kept)


def _closed_dataclass(cls: type, static: Iterable[tuple[str, object]], parts: Sequence[Tree]) -> Tree:
    # The class may check or convert what it is made of in __init__: values there were checked when they were given.
    new: object = object.__new__(cls)
    names = [field.name for field in fields(cls) if not field.metadata.get(STATIC)]
    for name, value in (*static, *zip(names, parts, strict=True)):
        object.__setattr__(new, name, value)
    return new


_DICT = _Kind(_opened_dict, _closed_dict)
_SEQUENCE = _Kind(lambda item: _Opened(_indices(item), item, None), _closed_sequence)
_RECORD = _Kind(_opened_record, _closed_record)
_DATACLASS = _Kind(_opened_dataclass, _closed_dataclass)


def _kind(item: object) -> _Kind | None:
    """Return how a container is taken apart; None for a leaf."""
    cls = type(item)
    registered = _REGISTERED.get(cls)
    if registered is not None:
        return registered
    if isinstance(item, tuple):
        return _RECORD if hasattr(item, "_fields") else _SEQUENCE
    if isinstance(item, list):
        return _SEQUENCE
    if isinstance(item, dict):
        return _DICT
    is_record = is_dataclass(item) and not isinstance(item, type | Variable) and not hasattr(item, "__array__")
    return _DATACLASS if is_record and not callable(item) else None


def is_tree(item: object) -> bool:
    """Whether a value is a container of others, rather than a leaf; None is neither.

    >>> is_tree({"w": 1.0}), is_tree(1.0)
    (True, False)
    """
    return _kind(item) is not None


def register_tree_node(cls: type[Any], flatten: Any, unflatten: Any) -> None:
    """Let objects of a class be containers of trees, as tuples and dictionaries are (as in jax.tree_util).

    Parameters
    ----------
    cls
        The class; its subclasses are not registered with it.
    flatten
        Takes an object; returns the parts of it that are trees, and what else it consists of. The latter is compared
        with ``==``, and must be hashable where compiled functions are kept by it.
    unflatten
        Takes what else it consists of, and new parts; returns an object.

    Raises
    ------
    GraphTypeError
        If `cls` is not a class, or one of the functions is none.
    DuplicateRegistrationError
        If the class is registered already.

    Examples
    --------
    >>> class Line:
    ...     def __init__(self, slope, start):
    ...         self.slope, self.start = slope, start
    >>> register_tree_node(Line, lambda line: ((line.slope, line.start), None), lambda _, parts: Line(*parts))
    >>> tree_leaves({"line": Line(1, 2), "noise": 3})
    [1, 2, 3]
    """
    given: Any = cls
    if not isinstance(given, type):
        msg = f"register_tree_node: cls must be a class, got {text_of(cls)}. Pass the class of the containers."
        raise GraphTypeError(msg)
    for what, function in (("flatten", flatten), ("unflatten", unflatten)):
        if not callable(function):
            msg = f"register_tree_node: {what} must be a function, got {text_of(function)}."
            raise GraphTypeError(msg)

    def opened(item: Tree) -> _Opened:
        taken = flatten(item)
        if not isinstance(taken, tuple) or len(taken) != 2:
            msg = (
                f"{cls.__qualname__}: flatten must return its parts and what else it consists of, got {text_of(taken)}."
            )
            raise GraphTypeError(msg)
        parts = list(taken[0])
        return _Opened(_indices(parts), parts, taken[1])

    _REGISTERED.add(cls, _Kind(opened, lambda _, static, parts: unflatten(static, parts)))


@dataclass(frozen=True, slots=True)
class TreeForm:
    """The form of a tree: its containers and where their leaves are, without the leaves.

    Attributes
    ----------
    cls
        The class of the container; None for a leaf, and ``type(None)`` for None.
    entries
        How each part is reached from the container, as ``["w"]``, ``[0]`` or ``.w``.
    static
        Keys of a dictionary, or what else the container consists of.
    parts
        The forms of its parts.
    count
        The number of leaves.

    Examples
    --------
    >>> leaves, form = tree_flatten({"w": [1, 2], "b": 3})
    >>> form.paths("params")
    ['params["w"][0]', 'params["w"][1]', 'params["b"]']
    """

    cls: type | None
    entries: tuple[str, ...] = ()
    static: Any = None
    parts: tuple[TreeForm, ...] = ()
    count: int = 1

    def paths(self, root: str = "") -> list[str]:
        """Return how each leaf is reached from the root."""
        if self.cls is None:
            return [root]
        pairs = zip(self.entries, self.parts, strict=True)
        return [path for entry, part in pairs for path in part.paths(root + entry)]

    def fill(self, leaves: Iterable[object]) -> Tree:
        """Return a tree of the form with these leaves."""
        return self._filled(iter(leaves))

    def _filled(self, remaining: Iterator[object]) -> Tree:
        if self.cls is None:
            return next(remaining)
        if self.cls is type(None):
            return None
        parts = [part._filled(remaining) for part in self.parts]
        return _kind_of_class(self.cls).closed(self.cls, self.static, parts)

    def leaves(
        self, tree: Tree, root: str, leaf: Callable[[int], str] | None = None, *, optional: bool = False
    ) -> list[Tree]:
        """Return the leaves of a tree, which must be of this form; messages call it `root`.

        Entries of dictionaries may come in any order, and a list may stand for a tuple or a named tuple.

        Parameters
        ----------
        leaf
            Returns what is expected at the place of a leaf of this number, for messages. If given, leaves are values
            that are converted later, so that a list may stand for an array.
        optional
            Whether None may stand for a leaf, or for a container: its leaves are None then.

        Raises
        ------
        GraphTypeError
            If the tree is of another form; the message has the path of the first difference.
        """
        found: list[object] = []
        self._collect(tree, root, leaf, optional, found)
        return found

    def _collect(
        self, tree: Tree, path: str, leaf: Callable[[int], str] | None, optional: bool, found: list[object]
    ) -> None:
        if tree is None and optional:
            found += [None] * self.count
            return
        if self.cls is None:
            is_value = isinstance(tree, list | tuple) if leaf is not None else False
            if tree is None or (is_tree(tree) and not is_value):
                what = "a value" if leaf is None else leaf(len(found))
                msg = f"{path}: expected {what}, got {_described(tree)}. Nest the values as they were declared."
                raise GraphTypeError(msg)
            found.append(tree)
            return
        if self.cls is type(None):
            if tree is not None:
                msg = f"{path}: expected None, got {text_of(tree)}. Pass None here, as in the form that was declared."
                raise GraphTypeError(msg)
            return
        for entry, part, item in zip(self.entries, self.parts, self._parts_of(tree, path), strict=True):
            part._collect(item, path + entry, leaf, optional, found)

    def _parts_of(self, tree: Tree, path: str) -> Sequence[Tree]:
        """Return the parts of a container in this form's order."""
        kind = _kind(tree)
        if kind is not None and self._takes(tree):
            opened = kind.opened(tree)
            if kind is _DICT:
                # Entries may come in any order.
                if len(opened.static) == len(self.static) and set(opened.static) == set(self.static):
                    return [tree[key] for key in self.static]
            elif opened.static == self.static and len(opened.parts) == len(self.parts):
                return opened.parts
        msg = f"{path}: expected {self.describe()}, got {_described(tree)}. Nest the values as they were declared."
        raise GraphTypeError(msg)

    def _takes(self, tree: Tree) -> bool:
        assert self.cls is not None
        registered = _REGISTERED.get(self.cls) or _REGISTERED.get(type(tree))
        if registered is not None or not issubclass(self.cls, dict | list | tuple):
            return type(tree) is self.cls
        return isinstance(tree, dict if issubclass(self.cls, dict) else list | tuple)

    def describe(self) -> str:
        """Return in words what container it is, or that it is a leaf."""
        if self.cls is None:
            return "a value"
        if self.cls is type(None):
            return "None"
        if issubclass(self.cls, dict):
            return _dict_text(self.static)
        if self.cls in {list, tuple}:
            return f"a {self.cls.__name__} of {len(self.parts)}"
        extra = "" if not self.static else f" with {text_of(self.static)}"
        return f"an object of {self.cls.__qualname__}{extra}"


_LEAF = TreeForm(None)
_NOTHING = TreeForm(type(None), count=0)


def _dict_text(keys: Iterable[object]) -> str:
    listed = ", ".join(map(_key_text, keys))
    return f"a dict with the keys {listed}" if listed else "an empty dict"


def _described(tree: Tree) -> str:
    """Return in words what was given in the place of a container."""
    if type(tree) is dict:
        return _dict_text(tree)
    if type(tree) in {list, tuple}:
        return f"a {type(tree).__name__} of {len(tree)}"
    return f"an object of {type(tree).__qualname__}" if is_tree(tree) else text_of(tree)


def _kind_of_class(cls: type) -> _Kind:
    """Return how containers of a class are put together."""
    registered = _REGISTERED.get(cls)
    if registered is not None:
        return registered
    if issubclass(cls, tuple):
        return _RECORD if hasattr(cls, "_fields") else _SEQUENCE
    if issubclass(cls, list):
        return _SEQUENCE
    return _DICT if issubclass(cls, dict) else _DATACLASS


def _flattened(tree: Tree, depth: int, leaves: list[Tree]) -> TreeForm:
    if tree is None:
        return _NOTHING
    if depth > _DEEPEST:
        msg = f"tree: {text_of(tree)} is nested more than {_DEEPEST} deep. Pass variables and values."
        raise GraphValueError(msg)
    kind = _kind(tree)
    if kind is None:
        leaves.append(tree)
        return _LEAF
    opened = kind.opened(tree)
    before = len(leaves)
    parts = tuple(_flattened(item, depth + 1, leaves) for item in opened.parts)
    return TreeForm(type(tree), opened.entries, opened.static, parts, len(leaves) - before)


def tree_flatten(tree: Tree) -> tuple[list[Tree], TreeForm]:
    """Return the leaves of a tree, in order, and its form.

    Containers are dictionaries, tuples, lists, named tuples, dataclasses, and classes given to `register_tree_node`;
    None holds nothing, and all else is a leaf. Fields of a dataclass with ``metadata={"static": True}`` are no part of
    the tree: they are kept as they are, and belong to the form.

    Raises
    ------
    GraphValueError
        If containers are nested without end.

    Examples
    --------
    >>> leaves, form = tree_flatten({"w": (1, 2), "b": None})
    >>> leaves, form.fill(["one", "two"])
    ([1, 2], {'w': ('one', 'two'), 'b': None})
    """
    leaves: list[Tree] = []
    return leaves, _flattened(tree, 0, leaves)


def tree_leaves(tree: Tree) -> list[Tree]:
    """Return the leaves of a tree, in order (see `tree_flatten`).

    >>> tree_leaves([1, {"a": 2, "b": (3, None)}])
    [1, 2, 3]
    """
    return tree_flatten(tree)[0]


def tree_unflatten(form: TreeForm, leaves: Iterable[object]) -> Tree:
    """Return a tree of a form with these leaves (see `tree_flatten`).

    Raises
    ------
    GraphValueError
        If there are not as many leaves as the form has.

    Examples
    --------
    >>> tree_unflatten(tree_flatten({"a": 0, "b": [0]})[1], [1, 2])
    {'a': 1, 'b': [2]}
    """
    given = list(leaves)
    if not isinstance(form, TreeForm) or len(given) != form.count:
        count = f"{form.count} leaves" if isinstance(form, TreeForm) else "a form that tree_flatten returns"
        got = f"{len(given)}" if isinstance(form, TreeForm) else text_of(form)
        msg = f"tree_unflatten: expected {count}, got {got}."
        raise GraphValueError(msg)
    return form.fill(given)


def tree_map(function: Callable[..., Tree], tree: Tree, *rest: Tree) -> Tree:
    """Return a tree of what a function returns for each leaf, with the leaves of further trees at the same places.

    Parameters
    ----------
    function
        Takes a leaf of each tree.
    tree
        The tree whose form the result has.
    rest
        Further trees of the same form.

    Raises
    ------
    GraphTypeError
        If a tree is of another form than the first; the message has the path of the first difference.

    Examples
    --------
    >>> tree_map(lambda w, step: w - step, {"w": 3, "b": [1]}, {"b": [1], "w": 2})
    {'w': 1, 'b': [0]}
    """
    leaves, form = tree_flatten(tree)
    columns = [form.leaves(other, f"tree_map: tree {i}") for i, other in enumerate(rest, 1)]
    return form.fill([function(*row) for row in zip(leaves, *columns, strict=True)])
