"""Comparisons and predicates: numbers in, bool out; nothing flows back through them."""

from __future__ import annotations

import numpy as np

from treadle.graph import Infix, Precedence
from treadle.tensor.dtype_rules import predicate, real_predicate
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.scalar_op import ScalarOp


def _comparison(name: str, ufunc: str, operator: str, converse: str) -> Elemwise:
    form = Infix(operator, Precedence.COMPARISON, "none").form
    return Elemwise(ScalarOp(name=name, ufunc=ufunc, form=form, commutative=converse == name, converse=converse))


eq = _comparison("eq", "equal", "==", "eq")
neq = _comparison("neq", "not_equal", "!=", "neq")
lt = _comparison("lt", "less", "<", "gt")
le = _comparison("le", "less_equal", "<=", "ge")
gt = _comparison("gt", "greater", ">", "lt")
ge = _comparison("ge", "greater_equal", ">=", "le")

isnan = Elemwise(ScalarOp(ufunc="isnan", dtypes=predicate))
isinf = Elemwise(ScalarOp(ufunc="isinf", dtypes=predicate))
isfinite = Elemwise(ScalarOp(ufunc="isfinite", dtypes=predicate))
isposinf = Elemwise(ScalarOp(name="isposinf", dtypes=real_predicate, impl=lambda x: x == np.inf))
isneginf = Elemwise(ScalarOp(name="isneginf", dtypes=real_predicate, impl=lambda x: x == -np.inf))

greater, greater_equal, less, less_equal, equal, not_equal = gt, ge, lt, le, eq, neq
