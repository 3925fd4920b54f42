"""Options that treadle.rewrite reads."""

from __future__ import annotations

from typing import Any

from treadle.config import BOOL, Option, choice

OPTIONS: tuple[Option[Any], ...] = (
    Option(
        "on_opt_error",
        "warn",
        "What to do when a rewrite rule fails: warn and skip it, raise, start the debugger, or skip it silently.",
        choice("warn", "raise", "pdb", "ignore"),
        affects_code=False,
    ),
    Option(
        "optimizer_verbose",
        False,
        "Print each rewrite that is applied to standard output.",
        BOOL,
        affects_code=False,
    ),
)
