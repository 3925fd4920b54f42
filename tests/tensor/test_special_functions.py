"""Special functions have the dtypes of SciPy's."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import special

import treadle.tensor as tt
from treadle.tensor.dtype_rules import double_first, single_first
from treadle.tensor.errors import DtypeError

if TYPE_CHECKING:
    from treadle.tensor.dtype_rules import DtypeRule, Operand

DTYPES: tuple[Operand, ...] = (*(np.dtype(d) for d in "?bBhHiIlLefd"), int, float)


@pytest.mark.parametrize(
    ("rule", "function"), [(double_first, special.gammaln), (double_first, special.beta), (single_first, special.poch)]
)
def test_dtypes_are_those_of_scipy(rule: DtypeRule, function: np.ufunc) -> None:
    for operands in product(DTYPES, repeat=function.nin):
        assert rule(operands)[1] == function.resolve_dtypes((*operands, None))[-1], operands


def test_complex_operand_is_refused() -> None:
    with pytest.raises(DtypeError, match="does not take operands of dtype complex128"):
        tt.gammaln(tt.zvector())
