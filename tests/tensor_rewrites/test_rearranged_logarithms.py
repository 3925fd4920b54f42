"""Stable logarithms stay stable behind transposes, reshapes, indices and their combinations, in gradients too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import rewrite, run
from treadle.compile import function

GIVEN = np.array([[-10.0, -10, 999], [-800, 3, 800]])
ROWS, COLUMNS = np.array([1, 0, 0]), np.array([0, 2])
# Each picks or rearranges; None for those whose gradients are not looked at.
VIEWS: dict[str, Any] = {
    "T": lambda p: p.T,
    "[None]": lambda p: p[None],
    "[:, None]": lambda p: p[:, None],
    "expand_dims": lambda p: m_of(p).expand_dims(p, -1),
    "ravel": lambda p: p.ravel(),
    "reshape": lambda p: p.reshape((p.shape[1], p.shape[0])),
    "[0]": lambda p: p[0],
    "[::-1]": lambda p: p[::-1],
    "[rows]": lambda p: p[ROWS],
    "T[1]": lambda p: p.T[1],
    "[0][None]": lambda p: p[0][None],
    "[None].T": lambda p: p[None].T,
    "reshape[1:]": lambda p: p.reshape((-1,))[1:],
    "[arange, columns]": lambda p: p[np.arange(2), COLUMNS],
    "T[columns, arange]": lambda p: p.T[COLUMNS, np.arange(2)],
    "broadcast": lambda p: m_of(p).broadcast_to(p, (4, 2, 3)),
    "moveaxis": lambda p: m_of(p).moveaxis(p[None], 0, -1),
    "diagonal": lambda p: p.diagonal(),
    "flip": lambda p: m_of(p).flip(p, 1),
    "T[:, 1][::-1][None]": lambda p: p.T[:, 1][::-1][None],
}
FORMS: dict[str, Any] = {
    "softmax": (lambda x: tt.softmax(x, axis=-1), tt.log),
    "softmax of columns": (lambda x: tt.softmax(x, axis=0), tt.log),
    "written softmax": (lambda x: tt.exp(x) / tt.exp(x).sum(-1, keepdims=True), tt.log),
    "sigmoid": (tt.sigmoid, tt.log),
    "one minus sigmoid": (tt.sigmoid, lambda p: tt.log(1 - p)),
    "log1p of minus sigmoid": (tt.sigmoid, lambda p: tt.log1p(-p)),
    "exp": (tt.exp, tt.log),
    "softplus": (tt.exp, tt.log1p),
    "log of one plus exp": (lambda x: 1 + tt.exp(x), tt.log),
    "logsumexp": (lambda x: tt.exp(tt.stack([x, x - 1])).sum(0), tt.log),
    "logaddexp": (lambda x: tt.exp(x) + tt.exp(x - 1), tt.log),
    "log of difference": (lambda x: tt.exp(x) - tt.exp(x - 1), tt.log),
    "log1mexp": (lambda x: tt.exp(-tt.abs(x) / 1e17), lambda p: tt.log1p(-p)),
}


def m_of(p: Any) -> Any:
    """Return the library of an array or a variable."""
    return np if isinstance(p, np.ndarray) else tt


@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_logarithms_stay_stable_behind_views(form: str, is_shared: bool) -> None:
    inner, outer = FORMS[form]
    x = tt.dmatrix("x")
    fgraph, _ = rewrite([x], [outer(inner(x))])
    (plain,) = run(fgraph, [GIVEN])
    assert np.isfinite(plain).all()
    p = inner(x)
    outputs = [outer(view(p)) for view in VIEWS.values()]
    if is_shared:
        outputs += [tt.sin(p), p.sum()]
    fgraph, _ = rewrite([x], outputs)
    with np.errstate(all="ignore"):
        results = run(fgraph, [GIVEN])
    for (name, view), value in zip(VIEWS.items(), results, strict=False):
        np.testing.assert_allclose(value, view(plain), rtol=1e-12, err_msg=f"{form} {name}")


# Not those that put a part of a part into zeros: something stands between the quotient and the exponential then.
REARRANGED = [
    "T",
    "[None]",
    "[:, None]",
    "expand_dims",
    "ravel",
    "reshape",
    "[0]",
    "[::-1]",
    "[rows]",
    "[None].T",
    "flip",
]


@pytest.mark.parametrize("name", REARRANGED)
@pytest.mark.parametrize("mode", ["VM", "FAST_COMPILE"])
def test_gradients_of_logarithms_of_softmax_stay_finite_behind_views(name: str, mode: str) -> None:
    x = tt.dmatrix("x")
    gradient = tt.grad(tt.log(VIEWS[name](tt.softmax(x, axis=-1))).sum(), x)
    wanted = tt.grad(VIEWS[name](tt.log_softmax(x, axis=-1)).sum(), x)
    slope, right = function([x], [gradient, wanted], mode=mode)(GIVEN)
    np.testing.assert_allclose(slope, right, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", REARRANGED)
def test_gradients_of_logarithms_of_exponentials_stay_finite_behind_views(name: str) -> None:
    x = tt.dmatrix("x")
    view = VIEWS[name]
    gradient = tt.grad(tt.log(view(tt.exp(x))).sum(), x)
    fgraph, _ = rewrite([x], [gradient, tt.grad(view(x).sum(), x)])
    with np.errstate(all="ignore"):
        slope, wanted = run(fgraph, [GIVEN])
    np.testing.assert_allclose(slope, wanted)
