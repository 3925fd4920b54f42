"""Sequences of loops are checked at run time where the body knows more of their rows than they do."""

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import clone_replace


def test_loop_takes_a_sequence_of_less_known_rows() -> None:
    known, unknown = tt.tensor("known", dtype="float64", shape=(None, 2)), tt.dmatrix("unknown")
    out, _ = tt.scan(lambda row, total: total + row, sequences=known, outputs_info=tt.zeros(2))
    run = function([unknown], clone_replace(out, {known: unknown}, rebuild_strict=False), mode="VM")
    np.testing.assert_array_equal(run(np.ones((3, 2)))[-1], [3.0, 3.0])
    with pytest.raises(Exception, match="SpecifyShape"):
        run(np.ones((3, 4)))
