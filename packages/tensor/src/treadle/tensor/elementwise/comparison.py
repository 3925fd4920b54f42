"""Comparisons and predicates: numbers in, bool out; nothing flows back through them."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import alias
from treadle.graph import Infix, Precedence
from treadle.tensor.elementwise.elemwise import Elemwise, elementwise
from treadle.tensor.types.dtype_rules import predicate, real_predicate

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorVariable

__all__ = [
    "eq", "equal", "ge", "greater", "greater_equal", "gt", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "le",
    "less", "less_equal", "lt", "neq", "not_equal",
]  # fmt: skip


def _comparison(name: str, ufunc: str, operator: str, *, converse: str, negation: str) -> Elemwise:
    form = Infix(operator, Precedence.COMPARISON, "none").form
    commutative = converse == name
    return elementwise(
        name=name, ufunc=ufunc, cheap=True, form=form, commutative=commutative, converse=converse, negation=negation
    )


def _is_infinite(x: TensorVariable) -> TensorVariable:
    if x.type.numpy_dtype.kind == "c":
        return _is_infinite(x.real) | _is_infinite(x.imag)
    return eq(abs(x), inf)


def _is_finite(x: TensorVariable) -> TensorVariable:
    if x.type.numpy_dtype.kind == "c":
        # The absolute value of a finite number may be infinite.
        return _is_finite(x.real) & _is_finite(x.imag)
    return lt(abs(x), inf)


eq = _comparison("eq", "equal", "==", converse="eq", negation="neq")
neq = _comparison("neq", "not_equal", "!=", converse="neq", negation="eq")
lt = _comparison("lt", "less", "<", converse="gt", negation="ge")
le = _comparison("le", "less_equal", "<=", converse="ge", negation="gt")
gt = _comparison("gt", "greater", ">", converse="lt", negation="le")
ge = _comparison("ge", "greater_equal", ">=", converse="le", negation="lt")

isnan = elementwise(ufunc="isnan", cheap=True, dtypes=predicate, body=lambda x: neq(x, x))
isinf = elementwise(ufunc="isinf", cheap=True, dtypes=predicate, body=_is_infinite)
isfinite = elementwise(ufunc="isfinite", cheap=True, dtypes=predicate, body=_is_finite)
isposinf = elementwise(name="isposinf", cheap=True, dtypes=real_predicate, impl=np.isposinf, body=lambda x: eq(x, inf))
isneginf = elementwise(name="isneginf", cheap=True, dtypes=real_predicate, impl=np.isneginf, body=lambda x: eq(x, -inf))

greater = alias(gt, "greater")
greater_equal = alias(ge, "greater_equal")
less = alias(lt, "less")
less_equal = alias(le, "less_equal")
equal = alias(eq, "equal")
not_equal = alias(neq, "not_equal")
