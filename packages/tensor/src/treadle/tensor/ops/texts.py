"""Attributes that say one thing of a class of ops and another of each op: the docstring, the signature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class OfEach:
    """An attribute of a class that each instance has one of its own of.

    Parameters
    ----------
    of_class
        What it is of the class.
    of_instance
        What it is of an instance, computed when it is asked for; None stands for that of the class.
    """

    def __init__(self, of_class: Any, of_instance: Callable[[Any], Any]) -> None:
        self._of_class = of_class
        self._of_instance = of_instance

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        own = None if instance is None else self._of_instance(instance)
        return self._of_class if own is None else own
