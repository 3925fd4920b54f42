"""What public functions answer to junk: errors in their own name, none of anybody else's (counts: docs/junk.md)."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.tensor
from tests.tensor.bad_calls import NESTED
from tests.tensor.junk import CALLBACK, FOREIGN, NAMED, OTHERWISE, SLOW, answers, bases, junk
from treadle.config import TreadleError

tt: Any = treadle.tensor

# How many of all answers may be wrong: those that are known and listed on the page.
MOST_OTHERWISE = 0.02
MOST_FOREIGN = 0.002


def test_a_sample_of_the_functions_answers_in_its_own_name() -> None:
    results = list(answers(bases(records=False)[::6], junk(), count=2))
    counts = Counter(answer.kind for answer in results)
    assert counts[NAMED] > 10 * counts[OTHERWISE]
    assert [answer for answer in results if answer.kind in {FOREIGN, SLOW}] == []


X = tt.dvector("x")
# Calls that the fuzz found accepted, or refused by an error of another library or in another name.
REFUSED: dict[str, Callable[[], Any]] = {
    "as_tensor: a name": lambda: tt.as_tensor(X, name={"a": 1}),
    "as_tensor: a dtype": lambda: tt.as_tensor(X, dtype=object()),
    "atleast_1d": lambda: tt.atleast_1d(left=...),
    "real_if_close": lambda: tt.real_if_close(X, tol=...),
    "as_op": lambda: tt.as_op(itypes={"a": 1}, otypes=[tt.dvector]),
    "wrap_py": lambda: tt.wrap_py([tt.dvector], [tt.dvector], pullback=b"x"),
    "wrap_py: a builtin": lambda: tt.wrap_py(itypes=len, otypes=[tt.dvector]),
    "vectorize": lambda: tt.vectorize({"a": 1}),
    "vmap": lambda: tt.vmap(["a"]),
    "vmap: axes": lambda: tt.vmap(tt.exp, in_axes=["a"]),
    "interpolate1d": lambda: tt.interpolate1d(X, X, left_pad=b"x"),
    "interpolate1d: a flag": lambda: tt.interpolate1d(X, X, extrapolate=object()),
    "mode_not_slow": lambda: tt.mode_not_slow(np.ones((2, 3))),
    "scan": lambda: tt.scan(tt.exp, X, mode=["a"]),
    "unique": lambda: tt.unique(X, sorted=["a"]),
    "meshgrid": lambda: tt.meshgrid(X, copy=object()),
    "minimize_scalar": lambda: tt.optimize.minimize_scalar(X.sum(), tt.dscalar(), method=object()),
    "shared_rng": lambda: tt.random.shared_rng(borrow={"a": 1}),
    "cumsum": lambda: tt.cumsum(X + 1j, dtype="float32"),
    "get_scalar_constant_value": lambda: tt.get_scalar_constant_value(X),
    "construct_nominal_fgraph": lambda: tt.construct_nominal_fgraph(1.5, [X]),
    "construct_nominal_fgraph: inputs": lambda: tt.construct_nominal_fgraph([1.5], [X]),
    "histogram2d": lambda: tt.histogram2d(X, X + 1j),
    "histogram_bin_edges": lambda: tt.histogram_bin_edges(X + 1j),
    "unwrap": lambda: tt.unwrap(X, "a"),
    "minimize": lambda: tt.optimize.minimize((X**2).sum(), X, optimizer_kwargs={"a": 1}),
    "pad": lambda: tt.pad(X, 1, mode="reflect", reflect_type=np.ones(2)),
    "fori_loop": lambda: tt.fori_loop(0, 3, lambda _, y: y, NESTED),
    "scan_with_carry": lambda: tt.scan_with_carry(lambda y, row: (y, row), X, NESTED),
    "polyint": lambda: tt.polyint(X, 10**30),
    "stacklists": lambda: tt.stacklists(NESTED),
    "block": lambda: tt.block(NESTED),
    "apply_over_axes": lambda: tt.apply_over_axes(X, X, [0]),
    "fixed_point": lambda: tt.optimize.fixed_point(lambda *arguments: arguments, []),
    "broadcast_params": lambda: tt.random.broadcast_params([NESTED, np.ones(2)], [0, 1]),
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_the_fuzz_found_is_refused_in_the_name_of_the_function(call: str) -> None:
    with pytest.raises(TreadleError, match=rf"^{call.partition(':')[0]}\b"):
        REFUSED[call]()


def test_rolls_by_nothing_and_along_no_axes_leave_tensors_alone() -> None:
    x = np.arange(3.0)
    assert tt.roll(x, []).eval().tolist() == tt.roll(x, 1, axis=[]).eval().tolist() == [0.0, 1.0, 2.0]


@pytest.mark.slow
def test_every_function_answers_in_its_own_name() -> None:
    results = list(answers(bases(), junk(), count=15))
    counts = Counter(answer.kind for answer in results)
    total = counts.total() - counts[CALLBACK]
    assert counts[OTHERWISE] <= MOST_OTHERWISE * total, [a for a in results if a.kind == OTHERWISE][:20]
    assert counts[FOREIGN] <= MOST_FOREIGN * total, [a for a in results if a.kind == FOREIGN][:20]
    assert counts[SLOW] == 0, [a for a in results if a.kind == SLOW]
