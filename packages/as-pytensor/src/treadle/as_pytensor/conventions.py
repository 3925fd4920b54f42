"""PyTensor's conventions, as options of treadle's, while treadle is in its place."""

from __future__ import annotations

from contextlib import suppress

from treadle.config import ReadOnlyOptionError, config

_CONVENTIONS = {
    # Constants are as narrow as PyTensor makes them, so that values are equal to its own.
    "cast_policy": "custom",
    # Tensors are objects to NumPy.
    "numpy_functions": "objects",
    # A length is an element of a shape.
    "length_form": "element",
    # Parameters of draws have as many dimensions in front as the draws.
    "random__parameters": "padded",
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
    # Programs go on where an op computes another length than it said.
    "on_wrong_length": "warn",
    # What is put in a variable's place may be known less of: its lengths are checked.
    "less_known_replacements": "check",
    # Nodes are told from the last output and the last input on.
    "toposort_from": "last",
    # A size that the parameters do not fit is no error before the draw.
    "random__check_size": "draw",
    # A product with a constant zero is zero, whatever the other factor is; narrow numbers in a product or a sum
    # are computed with in its dtype.
    "optimizer_including": "zero_products:wide_numbers",
}


class Conventions:
    """The options that are in force, and what they were before."""

    def __init__(self) -> None:
        self._before: dict[str, object] = {}

    def adopt(self) -> None:
        """Set the options, but for what the option ``as_pytensor__constants`` leaves as it is."""
        # A snapshot does not count as use: an option that is fixed by its first use can still be set.
        options = config.snapshot()
        for name, value in _CONVENTIONS.items():
            if name == "cast_policy" and config.as_pytensor__constants == "exact":
                continue
            before = options[name]
            if name == "optimizer_including" and before:
                value = f"{before}:{value}"  # noqa: PLW2901 - what else modes are to include
            # Some options are fixed by their first use: modes that were made before stay as they are.
            with suppress(ReadOnlyOptionError):
                setattr(config, name, value)
                self._before[name] = before

    def leave(self) -> None:
        """Set the options back."""
        for name, value in self._before.items():
            with suppress(ReadOnlyOptionError):
                setattr(config, name, value)
        self._before.clear()


CONVENTIONS = Conventions()
