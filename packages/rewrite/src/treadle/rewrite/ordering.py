"""The order of rules inside a phase: as declared, subject to before and after."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, TypeVar

from treadle.rewrite.errors import RuleDefinitionError

if TYPE_CHECKING:
    from collections.abc import Sequence

_Item = TypeVar("_Item", bound=Any)


def in_order(items: Sequence[_Item]) -> list[_Item]:
    """Return rewriters in an order that keeps every before and after, otherwise in the order given.

    Names of rules that are not among the items do not matter; rewriters need not have a before and after.
    """
    number = {item.name: i for i, item in enumerate(items)}
    followers: list[set[int]] = [set() for _ in items]
    for i, item in enumerate(items):
        followers[i].update(number[name] for name in getattr(item, "before", ()) if name in number)
        for name in getattr(item, "after", ()):
            if name in number:
                followers[number[name]].add(i)
    waits = [0] * len(items)
    for targets in followers:
        for j in targets:
            waits[j] += 1
    ready = [i for i, count in enumerate(waits) if count == 0]
    result: list[_Item] = []
    while ready:
        i = heapq.heappop(ready)
        result.append(items[i])
        for j in followers[i]:
            waits[j] -= 1
            if waits[j] == 0:
                heapq.heappush(ready, j)
    if len(result) < len(items):
        stuck = ", ".join(item.name for item, count in zip(items, waits, strict=True) if count > 0)
        msg = f"rules {stuck}: their before and after contradict each other. Remove one of the constraints."
        raise RuleDefinitionError(msg)
    return result
