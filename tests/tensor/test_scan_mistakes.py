"""Common mistakes with loops, and the errors that explain them."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import FunctionTypeError, function
from treadle.graph import GraphTypeError, GraphValueError
from treadle.scan import foldl, scan
from treadle.scan import map as map_

V = tt.dvector("v")


def test_rows_of_less_known_lengths_are_checked_when_the_loop_runs() -> None:
    rows = tt.matrix("rows", shape=(None, 3))
    total, _ = scan(lambda row, t: t + row.sum(), rows, outputs_info=[np.float64(0.0)], n_steps=2)
    m = tt.dmatrix("m")
    node = total.owner
    out = node.op.make_node(*[m if x.ndim == 2 else x for x in node.inputs]).outputs[0]
    assert function([m], out)(np.ones((2, 3))) == 6.0
    with pytest.raises(ValueError, match="length"):
        function([m], out)(np.ones((2, 4)))
    with pytest.raises(GraphTypeError, match="has other rows than"):
        node.op.make_node(*[tt.fmatrix("m") if x.ndim == 2 else x for x in node.inputs])


@pytest.mark.parametrize("loop", [scan, map_, foldl])
def test_step_that_forgets_to_return_is_refused(loop: Any) -> None:
    options = {"outputs_info": 0.0} if loop is foldl else {}
    with pytest.raises(GraphValueError, match=f"^{loop.__name__}: the function of a step returned None"):
        loop(lambda *_: None, V, **options)


def test_outputs_and_updates_that_were_not_unpacked_are_reported() -> None:
    for outputs in (scan(lambda a: a * 2, V), [scan(lambda a: a * 2, V)]):
        with pytest.raises(FunctionTypeError, match="Write outputs, updates ="):
            function([V], outputs)
    with pytest.raises(AttributeError, match=r"no attribute 'sum'.*outputs, updates = scan"):
        scan(lambda a: a * 2, V)[-1].sum()


def test_updates_are_a_dictionary_all_the_same() -> None:
    count = tt.shared(np.array(0), "count")
    _, updates = scan(lambda a: (a * 2, {count: count + 1}), V)
    assert isinstance(updates, dict)
    assert list(updates) == [count]
    assert copy.copy(updates) == updates
    assert scan(lambda a: a * 2, V)[1] == {}
    assert pickle.loads(pickle.dumps(scan(lambda a: a * 2, V)[1])) == {}


def test_condition_that_is_a_number_is_refused() -> None:
    s = tt.dscalar("s")
    with pytest.raises(GraphTypeError, match=r"must be true or false, got .*float64"):
        tt.while_loop(lambda a: a - 3, lambda a: a + 1, s)
