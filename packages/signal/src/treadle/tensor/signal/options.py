"""Options that treadle.tensor.signal reads."""

from __future__ import annotations

from treadle.config import BOOL, Option

OPTIONS: tuple[Option[object], ...] = (
    Option(
        "conv__assert_shape",
        False,
        "Check the shapes given for convolutions (input_shape, filter_shape) when they run.",
        BOOL,
        affects_code=False,
    ),
)
