"""Functions of eights: how they are typed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from treadle.kernels import language
from treadle.kernels.kinds import EIGHTS, MASKS, NUMBERS, is_pointer
from treadle.kernels.tree import Apply, Expression


def function_of_eights(
    called: Any, arguments: Sequence[Expression], common: Callable[[Sequence[Expression]], Sequence[Expression]]
) -> Expression | None:
    """Return the call of a function of eights, None for other functions; `common` makes values be of one kind."""
    kinds = [a.kind for a in arguments]
    if called in (language.eights, language.numbers) and len(kinds) == 1:
        other = (EIGHTS if called is language.eights else NUMBERS).get(kinds[0].removeprefix("*"))
        if other is not None and is_pointer(kinds[0]):
            return Apply(f"*{other}", called.__name__, arguments)
    if called is language.eight and len(kinds) == 1:
        other = EIGHTS.get(kinds[0].removeprefix("*"))
        if other is not None and is_pointer(kinds[0]):
            return Apply(other, "eight", arguments)
    if called is language.select and len(kinds) == 3:
        first, second = common(arguments[1:])
        if MASKS.get(first.kind) == kinds[0]:
            return Apply(first.kind, "select", [arguments[0], first, second])
    if called is language.which and len(kinds) == 1 and kinds[0] in MASKS.values():
        return Apply("int64", "which", arguments)
    if called in (language.weave, language.unweave) and len(kinds) == 3:
        one = kinds[called is language.unweave].removeprefix("*")
        number, eight = f"*{one}", f"*{EIGHTS.get(one)}"
        if kinds == ([number, "*int64", eight] if called is language.weave else [eight, number, "*int64"]):
            return Apply("nothing", called.__name__, arguments)
    return None
