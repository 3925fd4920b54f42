"""Options that treadle.as_pytensor reads."""

from __future__ import annotations

from treadle.config import Option, choice

OPTIONS: tuple[Option[object], ...] = (
    Option(
        "as_pytensor__constants",
        "narrow",
        "What Python numbers become where treadle is in PyTensor's place. narrow: the shortest dtype that holds them, "
        "as PyTensor has it, so that results are equal to its own (option cast_policy=custom). exact: what "
        "treadle makes of them, so that functions of whole numbers and of halves are computed in double precision.",
        choice("narrow", "exact"),
        affects_code=False,
    ),
)
