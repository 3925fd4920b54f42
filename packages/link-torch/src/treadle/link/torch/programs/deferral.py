"""When compiling is worth it: functions run operation by operation until that has cost more than compiling would.

What a function has cost, and what compiling it would cost, are estimated from the number of its operations and from the
sizes of arrays, not measured: when a function is compiled does not depend on how busy the machine is. Such a rule costs
at most twice what the better of the two choices would have cost, whatever the calls that are still to come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

import torch

from treadle.graph import Value
from treadle.link.torch.programs.compilation import Compiled
from treadle.link.torch.programs.forms import FunctionForms, met_in

# Microseconds, as measured with PyTorch 2.13 on a CPU: what a call of an operation costs; what each element costs that
# it reads and writes on its own; what the call of a compiled function costs; what compiling costs, and each operation
# more.
OPERATION = 3.0
ELEMENT = 1e-3
CALL = 25.0
COMPILATION = 1e7
COMPILED_OPERATION = 5e4
# The sizes of so many first calls are looked at, and then those of each call of so many.
EACH = 32
SOME = 16


class When(Enum):
    """When a function is compiled."""

    AT_ONCE = "at the first call"
    WORTH_IT = "when it is worth it"
    NEVER = "never"


class Budget:
    """What may be spent on running operations one by one before they are compiled.

    Parameters
    ----------
    operations
        The number of operations in the code that would be compiled.
    when
        When they are to be compiled.
    """

    __slots__ = ("_price", "_spent")

    def __init__(self, operations: int, when: When = When.WORTH_IT) -> None:
        self._price = 0.0 if when is When.AT_ONCE else COMPILATION + COMPILED_OPERATION * operations
        self._spent = 0.0

    @property
    def is_spent(self) -> bool:
        """Whether compiling is worth it by now."""
        return self._spent >= self._price

    def spend(self, operations: int, elements: int, calls: float = 1.0) -> None:
        """Add what so many operations, each on so many elements on average, have cost more than compiled calls."""
        # From several threads, some of it may be lost.
        self._spent += max(operations * (OPERATION + elements * ELEMENT) - calls * CALL, 0.0)


class Deferred:
    """A function of tensors, integers and constants that is compiled when that is worth it.

    For shapes for which another process has compiled it, it is from the first call: there is nothing to wait for.

    The first `tensors` arguments are tensors whose shapes may change; `operations` is how many operations it has.
    `may_compile` is asked when it would be compiled.

    Attributes
    ----------
    plain
        The function, while it runs operation by operation and nothing else is to be tried; else None. Who calls it
        directly counts `calls` down, and calls `account` when that is none.
    calls
        Calls until sizes are looked at again.
    """

    def __init__(
        self,
        function: Callable[..., Sequence[object]],
        tensors: int,
        operations: int,
        may_compile: Callable[[], bool],
        forms: FunctionForms,
    ) -> None:
        self._function = function
        self._forms = forms
        self._tensors = tensors
        self._operations = operations
        self._may_compile = may_compile
        self._budget = Budget(operations)
        self._compiled: Callable[..., Sequence[object]] | None = None
        self.plain = None if forms.may_have else function
        # How many calls the sizes that are looked at next stand for.
        self.calls = self._weight = 1
        self._looks = 0

    @property
    def is_compiled(self) -> bool:
        """Whether calls may be those of a compiled form."""
        return self._compiled is not None or self._forms.any

    def __call__(self, *args: Value) -> Sequence[object]:
        """Call the function, or its compiled form."""
        if self._compiled is not None:
            return self._compiled(*args)
        if self._forms.may_have:
            met = met_in(args, self._tensors)
            form = self._forms.get(met)
            found = None if form is None else self._forms.call(form, met, args)
            if found is not None:
                return found
        else:
            self.plain = self._function
        results = self._function(*args)
        self.calls -= 1
        if self.calls <= 0:
            self.account(args, results)
        return results

    def account(self, args: Sequence[Value], results: Sequence[object]) -> None:
        """Count what calls with such sizes cost; compile from the next one on if that is worth it."""
        sizes = [x.numel() for x in (*args[: self._tensors], *results) if isinstance(x, torch.Tensor)]
        elements = sum(sizes) // len(sizes) if sizes else 0
        self._budget.spend(self._operations * self._weight, elements, self._weight)
        self._looks += 1
        self.calls = self._weight = 1 if self._looks < EACH else SOME
        if self._budget.is_spent:
            self._compiled = (
                Compiled(self._function, self._tensors, self._forms) if self._may_compile() else self._function
            )
            self.plain = None
