"""The C function that adds up an expression along rows, each in registers from its first element to its last."""

from __future__ import annotations

import re
from string import Template
from typing import TYPE_CHECKING

from treadle.link.c.conventions.dtypes import CTYPES
from treadle.link.c.runtime.reductions.reduction import halves
from treadle.link.c.text.kernel import on_numbers

if TYPE_CHECKING:
    from collections.abc import Collection

    from treadle.link.c.text.expression import Expression

# Longer expressions are left to loops over tiles: this text has each operation several times.
MOST_OPERATIONS = 8
# What means the same for vectors as for numbers.
_ARITHMETIC = re.compile(r"(?:\{\d\}|[-+*/() ])+")

# The order of the additions is that of sums of stored rows.
_ROWS = Template("""\
typedef $T @_v __attribute__((vector_size(64)));
typedef int${bits}_t @_m __attribute__((vector_size(64)));
static inline __attribute__((always_inline)) @_v @_at(int64_t i, $parameters) {
  $vectors
  return $last;
}
static int @_rows(int64_t rows, int64_t n, char *const *p, const int64_t *rs, const int64_t *s, void *sums) {
  if ($uneven) return 0;
  for (int64_t k = 0; k < rows; k++) {
    $places
    @_v a = {0}, b = a, c = a, d = a;
    $T t = 0;
    int64_t i = 0;
    for (; i + 4 * $lanes <= n; i += 4 * $lanes) {
      a += @_at(i, $passed);
      b += @_at(i + $lanes, $passed);
      c += @_at(i + 2 * $lanes, $passed);
      d += @_at(i + 3 * $lanes, $passed);
    }
    a = (a + b) + (c + d);
    for (; i + $lanes <= n; i += $lanes) a += @_at(i, $passed);
    $halves
    for (; i < n; i++) {
      $numbers
      t += $last;
    }
    (($T *)sums)[k] = a[0] + t;
  }
  return 1;
}
\f""")


def row_sums(expression: Expression, constant: Collection[int]) -> str:
    """Return the text of a function for sums along rows of an expression's result, or nothing where it would not pay.

    The function is a ``tr_row_sums`` that returns whether it takes the strides of elements, `s`; those of rows are
    `rs`. The inputs that are `constant` are single numbers in each row. An @ stands for the name of the expression's
    kernel.
    """
    arrays = [i for i in range(len(expression.inputs)) if i not in constant]
    operations, kind = expression.operations, CTYPES[expression.inputs[0]]
    dtypes = {*expression.inputs, *(o.dtype for o in operations)}
    is_arithmetic = all(_ARITHMETIC.fullmatch(o.text) and not o.check for o in operations)
    if not arrays or len(dtypes) > 1 or kind.kind != "f" or not is_arithmetic or len(operations) > MOST_OPERATIONS:
        return ""
    lanes, t = 64 // kind.size, kind.computed
    numbers = on_numbers(expression, [f"e{i}" for i in range(len(expression.inputs))], "r", "")
    vectors = [line.replace(f"const {t} ", "const @_v ").replace(f"({t})(", "(@_v)(") for line in numbers]
    read = [f"@_v e{i}; memcpy(&e{i}, x{i} + i, sizeof e{i});" for i in arrays]
    places = [f"const {t} *x{i} = (const {t} *)(p[{i}] + k * rs[{i}]);" for i in arrays]
    places += [f"const {t} c{i} = *(const {t} *)(p[{i}] + k * rs[{i}]);" for i in constant]
    # Not 0 + c, which loses the sign of -0.
    places += [f"const @_v w{i} = c{i} - (@_v){{0}};" for i in constant]
    elements = [f"const {t} e{i} = x{i}[i];" for i in arrays] + [f"const {t} e{i} = c{i};" for i in constant]
    return _ROWS.substitute(
        T=t,
        bits=8 * kind.size,
        lanes=lanes,
        parameters=", ".join([*(f"const {t} *x{i}" for i in arrays), *(f"@_v e{i}" for i in constant)]),
        passed=", ".join([*(f"x{i}" for i in arrays), *(f"w{i}" for i in constant)]),
        vectors="\n  ".join([*read, *vectors]),
        last=f"r{expression.outputs[0]}",
        uneven=" || ".join(f"s[{i}] != {kind.size}" for i in arrays),
        places="\n    ".join(places),
        halves="\n    ".join(f"a += tr_turned(a, @_m, {order});" for order in halves(lanes)),
        numbers="\n      ".join([*elements, *numbers]),
    )
