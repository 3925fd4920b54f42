"""Options that treadle.graph reads."""

from __future__ import annotations

from typing import Any

from treadle.config import BOOL, INT, Option, choice

OPTIONS: tuple[Option[Any], ...] = (
    Option(
        "compute_test_value",
        "off",
        "Run each op on tag.test_value while the graph is built; what to do where an input has none.",
        choice("off", "ignore", "warn", "raise"),
        affects_code=False,
    ),
    Option(
        "traceback__limit",
        8,
        "Frames kept in tag.trace, the user's line first; -1 keeps all.",
        INT,
        affects_code=False,
    ),
    Option("allow_gc", True, "Free intermediate results as soon as nothing needs them any more.", BOOL),
)
