"""Options that treadle.surface reads."""

from __future__ import annotations

from treadle.config import INT, Option, choice

OPTIONS: tuple[Option[object], ...] = (
    Option(
        "metaopt__verbose",
        0,
        "What rewrites that choose between alternatives tell: nothing (0), where there is none (1), everything (2).",
        INT.where("0, 1 or 2", lambda value: value in {0, 1, 2}),
        affects_code=False,
    ),
    Option(
        "absent_gradients",
        "none",
        "What L_op and grad of an op give for an input that nothing flows back to, where the op defines pullback. "
        "none: None, as pullback does. disconnected: a variable of DisconnectedType.",
        choice("none", "disconnected"),
        affects_code=False,
    ),
)
