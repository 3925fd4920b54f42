"""Options that treadle.tensor reads."""

from __future__ import annotations

from typing import Any

from treadle.config import Option, choice

OPTIONS: tuple[Option[Any], ...] = (
    Option(
        "floatX",
        "float64",
        "Dtype of matrix(), vector() and their like, and of Python floats made into tensors.",
        choice("float64", "float32", "float16"),
    ),
)
