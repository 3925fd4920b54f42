"""Comparisons and predicates: numbers in, bool out; nothing flows back through them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Infix, Precedence
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.scalar_op import ScalarOp, float_or_error, of_ufunc, real_or_error

if TYPE_CHECKING:
    from typing import Any


def _isposinf(x: Any) -> Any:
    return x == np.inf


def _isneginf(x: Any) -> Any:
    return x == -np.inf


eq = Elemwise(
    ScalarOp(
        "eq",
        2,
        of_ufunc("equal"),
        np.equal,
        {"fiubc": "{0} == {1}"},
        ufunc="equal",
        commutative=True,
        form=Infix("==", Precedence.COMPARISON, "none").form,
    )
)
neq = Elemwise(
    ScalarOp(
        "neq",
        2,
        of_ufunc("not_equal"),
        np.not_equal,
        {"fiubc": "{0} != {1}"},
        ufunc="not_equal",
        commutative=True,
        form=Infix("!=", Precedence.COMPARISON, "none").form,
    )
)
lt = Elemwise(
    ScalarOp(
        "lt",
        2,
        of_ufunc("less"),
        np.less,
        {"fiub": "{0} < {1}"},
        ufunc="less",
        form=Infix("<", Precedence.COMPARISON, "none").form,
    )
)
le = Elemwise(
    ScalarOp(
        "le",
        2,
        of_ufunc("less_equal"),
        np.less_equal,
        {"fiub": "{0} <= {1}"},
        ufunc="less_equal",
        form=Infix("<=", Precedence.COMPARISON, "none").form,
    )
)
gt = Elemwise(
    ScalarOp(
        "gt",
        2,
        of_ufunc("greater"),
        np.greater,
        {"fiub": "{0} > {1}"},
        ufunc="greater",
        form=Infix(">", Precedence.COMPARISON, "none").form,
    )
)
ge = Elemwise(
    ScalarOp(
        "ge",
        2,
        of_ufunc("greater_equal"),
        np.greater_equal,
        {"fiub": "{0} >= {1}"},
        ufunc="greater_equal",
        form=Infix(">=", Precedence.COMPARISON, "none").form,
    )
)
isnan = Elemwise(ScalarOp("isnan", 1, float_or_error, np.isnan, {"f": "{0} != {0}", "iub": "0"}, ufunc="isnan"))
isinf = Elemwise(
    ScalarOp(
        "isinf", 1, float_or_error, np.isinf, {"f": "({0} - {0} != {0} - {0}) && {0} == {0}", "iub": "0"}, ufunc="isinf"
    )
)
isfinite = Elemwise(
    ScalarOp("isfinite", 1, float_or_error, np.isfinite, {"f": "{0} - {0} == {0} - {0}", "iub": "1"}, ufunc="isfinite")
)
isposinf = Elemwise(ScalarOp("isposinf", 1, real_or_error, _isposinf, {"f": "{0} > 0 && {0} - {0} != 0", "iub": "0"}))
isneginf = Elemwise(ScalarOp("isneginf", 1, real_or_error, _isneginf, {"f": "{0} < 0 && {0} - {0} != 0", "iub": "0"}))

greater, greater_equal, less, less_equal, equal, not_equal = gt, ge, lt, le, eq, neq
