"""PyTensor's conventions, as options of treadle's, while treadle is in its place."""

from __future__ import annotations

from treadle.config import config

_CONVENTIONS = {
    # Constants are as narrow as PyTensor makes them, so that values are equal to its own.
    "cast_policy": "custom",
    # Tensors are objects to NumPy.
    "numpy_functions": "objects",
    # A length is an element of a shape.
    "length_form": "element",
    # float32 is added in float64.
    "accumulation": "wide",
    # At a tie, the gradient of maximum is all the first operand's.
    "gradient_at_ties": "first",
    # Gradients by integers are floats, and where nothing can flow they are zeros.
    "nondifferentiable": "zero",
    # L_op gives a variable for every input.
    "absent_gradients": "disconnected",
    # A query may exclude rules that there are not.
    "rewrite__unknown_names": "ignore",
}


class Conventions:
    """The options that are in force, and what they were before."""

    def __init__(self) -> None:
        self._before: dict[str, object] = {}

    def adopt(self) -> None:
        """Set the options, but for what the option ``as_pytensor__constants`` leaves as it is."""
        for name, value in _CONVENTIONS.items():
            if name == "cast_policy" and config.as_pytensor__constants == "exact":
                continue
            self._before[name] = getattr(config, name)
            setattr(config, name, value)

    def leave(self) -> None:
        """Set the options back."""
        for name, value in self._before.items():
            setattr(config, name, value)
        self._before.clear()


CONVENTIONS = Conventions()
