"""Programs called with too few or too many values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("count", [1, 60])
@pytest.mark.parametrize("difference", [-1, 1])
def test_program_refuses_another_number_of_values(count: int, difference: int, link: Callable[..., Any]) -> None:
    xs = [tt.dvector(f"x{k}") for k in range(count)]
    program = link(xs, [sum(xs[1:], xs[0])])
    with pytest.raises(TypeError, match=f"takes {count} values, got {count + difference}"):
        program(*[np.ones(3)] * (count + difference))
