"""Arguments of derivatives that are nested: variables in dictionaries, dataclasses and so on, at any depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.config import text_of
from treadle.graph import GraphTypeError, Variable, is_tree, tree_flatten

if TYPE_CHECKING:
    from treadle.graph import TreeForm


def nested_form(argument: object) -> TreeForm | None:
    """Return the form of a tree; None for one variable, and for a list or tuple of them."""
    if isinstance(argument, Variable) or not is_tree(argument):
        return None
    if isinstance(argument, list | tuple) and not hasattr(argument, "_fields") and not any(map(is_tree, argument)):
        return None
    return tree_flatten(argument)[1]


def nested_variables(what: str, argument: object, form: TreeForm) -> list[Variable]:
    """Return the leaves of a tree of variables that derivatives are taken by; refuse others with their path."""
    leaves = form.leaves(argument, what)
    for leaf, path in zip(leaves, form.paths(what), strict=True):
        if not isinstance(leaf, Variable):
            msg = f"{path}: derivatives are taken by variables, got {text_of(leaf)}. Pass the variable itself."
            raise GraphTypeError(msg)
    return leaves


def aligned(what: str, like: object, argument: object) -> object:
    """Return the leaves of an argument in the order of those of a tree that it goes with; without a tree, as it is."""
    form = nested_form(like)
    return argument if form is None else form.leaves(argument, what, optional=True)
