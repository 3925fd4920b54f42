"""Schur forms in C, by LAPACK."""

from __future__ import annotations

from treadle.link.c import TABLE, Unit
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.schur import QZ, RealToComplexSchur, Schur
from treadle.tensor.linalg.lower.c.writing.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices

# The rules take complex numbers too.
TAKES_COMPLEX = True

# The condition for an eigenvalue x + iy to come first.
_FIRST = {"lhp": "x < 0", "rhp": "x >= 0", "iuc": "hypot(x, y) <= 1", "ouc": "hypot(x, y) > 1"}
# The same for eigenvalues alpha / beta, by real part re and absolute value, and for those with a beta of 0.
_RATIO_FIRST = {"lhp": ("re < 0", "0"), "rhp": ("re > 0", "0"), "iuc": ("size < 1", "0"), "ouc": ("size > 1", "up > 0")}
# A rotation for each 2 x 2 block, from the last to the first, makes the element below the diagonal 0; the first
# eigenvalue of a pair is the one above the real axis.
_ROTATIONS = """\
typedef __typeof__(*made) number;
  for (int i = 0; i < m; i++) for (int j = 0; j < m; j++) {
    made[(int64_t)i * ld_made + j] = t[(int64_t)i * ld_t + j];
    turned[(int64_t)i * ld_turned + j] = z[(int64_t)i * ld_z + j];
  }
  for (int k = m - 1; k > 0; k--) {
    number *above = made + (int64_t)(k - 1) * ld_made, *below = made + (int64_t)k * ld_made;
    const double _Complex beside = below[k - 1], half = ((double _Complex)above[k - 1] - below[k]) / 2;
    if (__builtin_cabs(beside) > 0x1p-52 * (__builtin_cabs(above[k - 1]) + __builtin_cabs(below[k]))) {
      double _Complex square = half * half + above[k] * beside;
      if (__imag__ square == 0) __imag__ square = 0;
      const double _Complex shift = half + __builtin_csqrt(square);
      const double length = hypot(__builtin_cabs(shift), __builtin_cabs(beside));
      const number c = shift / length, s = beside / length, cc = ~c, sc = ~s;
      for (int j = k - 1; j < m; j++) {
        const number x = above[j], y = below[j];
        above[j] = cc * x + s * y;
        below[j] = c * y - s * x;
      }
      for (int i = 0; i <= k + m; i++) {
        number *row = i <= k ? made + (int64_t)i * ld_made : turned + (int64_t)(i - k - 1) * ld_turned;
        const number x = row[k - 1], y = row[k];
        row[k - 1] = x * c + y * sc;
        row[k] = y * cc - x * sc;
      }
    }
    below[k - 1] = 0;
  }"""


@TABLE.register(Schur)
def schur(op: Schur, node: TensorNode, unit: Unit) -> None:
    """Write calls of gees."""
    is_complex = node.inputs[0].type.numpy_dtype.kind == "c"
    sort, select, before = "N", "0", ""
    if op.sort is not None:
        sort, select = "S", "(void *)tr_first@"
        parameters = "const $T *w" if is_complex else "const $R *wr, const $R *wi"
        parts = "__real__ *w, y = __imag__ *w" if is_complex else "*wr, y = *wi"
        before = (
            f"static int tr_first@({parameters}) {{\n  const double x = {parts};\n  (void)y;\n"
            f"  return {_FIRST[op.sort]};\n}}\n"
        )
    values, real = ("w, ", "rwork, ") if is_complex else ("wr, wi, ", "")
    some, none = ("&best, ", "&real, ") if is_complex else ("&best, &best, ", "")
    call = f'$gees("V", "{sort}", {select}, &m'
    body = MatrixBody(
        operands=[MatrixOperand("a", "columns", into=0)],
        results=[
            MatrixResult("t", "columns"),
            MatrixResult("z", "columns"),
            *([MatrixResult("count")] if op.sort is not None else []),
        ],
        routines={"gees": "cc1ixiixxixirii" if is_complex else "cc2ixiixxxixiii"},
        query=(
            "int ask = -1, found = 0, flag = 0; $T best = 1; $R real = 1; (void)real;\n"
            f"    {call}, &best, &ld_t, &found, {some}&best, &ld_z, &best, &ask, {none}&flag, &info);"
        ),
        scratch={
            "work": "T (int)$re(best)",
            **({"w": "T m", "rwork": "R m"} if is_complex else {"wr": "T m", "wi": "T m"}),
            "flags": "int m",
        },
        text=(
            f"int found = 0;\n  {call}, t, &ld_t, &found, {values}z, &ld_z, work, &n_work, {real}flags, &info);"
            f"{'' if op.sort is None else chr(10) + '  *count = found;'}"
        ),
        before=before,
    )
    write_matrices(op, node, unit, body)


@TABLE.register(QZ)
def qz(op: QZ, node: TensorNode, unit: Unit) -> None:
    """Write calls of gges, and of tgsen if the eigenvalues are to be sorted."""
    is_complex = node.inputs[0].type.numpy_dtype.kind == "c"
    values = "alpha, beta, " if is_complex else "re, im, beta, "
    some, rwork, none = ("&best, ", "rwork, ", "&real, ") if is_complex else ("&best, &best, ", "", "")
    call = '$gges("V", "V", "N", 0, &m'
    text = (
        f"int found = 0;\n  {call}, s, &ld_s, t, &ld_t, &found, {values}q, &ld_q, z, &ld_z, work, &n_work, "
        f"{rwork}flags, &info);\n  if (info) return info;\n"
    )
    routines = {"gges": "ccc2ixixiixxxixixirii" if is_complex else "ccc3ixixiixxxxixixiii"}
    if op.sort is not None:
        regular, infinite = _RATIO_FIRST[op.sort]
        x, y = ("__real__ alpha[k]", "__imag__ alpha[k]") if is_complex else ("re[k]", "im[k]")
        text += f"""\
  for (int k = 0; k < m; k++) {{
    const double x = {x}, y = {y}, b = $re(beta[k]), up = hypot(x, y), size = up / fabs(b), re = x / b;
    (void)size, (void)re;
    flags[k] = b == 0 ? {infinite} : {regular};
  }}
  int none = 0, all = 1, one = 1, few = 1;
  $R parts[4];
  $tgsen(&none, &all, &all, flags, &m, s, &ld_s, t, &ld_t, {values}q, &ld_q, z, &ld_z, &found, parts, parts, parts,
         work, &n_work, &few, &one, &info);
"""
        numbers = "xx" if is_complex else "xxx"
        routines["tgsen"] = f"iiiiixixi{numbers}xixiirrrxiiii"
    if not is_complex:
        text += "  for (int k = 0; k < m; k++) (($T *)alpha)[2 * k] = re[k], (($T *)alpha)[2 * k + 1] = im[k];"
    body = MatrixBody(
        operands=[MatrixOperand("a", "columns", into=0), MatrixOperand("b", "columns", into=1)],
        results=[
            *(MatrixResult("s", "columns"), MatrixResult("t", "columns"), MatrixResult("alpha"), MatrixResult("beta")),
            *(MatrixResult("q", "columns"), MatrixResult("z", "columns")),
        ],
        routines=routines,
        query=(
            "int ask = -1, found = 0, flag = 0; $T best = 1; $R real = 1; (void)real;\n"
            f"    {call}, &best, &ld_s, &best, &ld_t, &found, {some}&best, &best, &ld_q, &best, &ld_z, &best, &ask, "
            f"{none}&flag, &info);"
        ),
        scratch={
            # tgsen needs this much.
            "work": "T (int)$re(best) > 4 * m + 16 ? (int)$re(best) : 4 * m + 16",
            **({"rwork": "R 8 * m"} if is_complex else {"re": "T m", "im": "T m"}),
            "flags": "int m",
        },
        text=text,
    )
    write_matrices(op, node, unit, body)


@TABLE.register(RealToComplexSchur)
def rsf2csf(op: RealToComplexSchur, node: TensorNode, unit: Unit) -> None:
    """Write one complex rotation for each 2 x 2 block."""
    body = MatrixBody(
        operands=[MatrixOperand("t"), MatrixOperand("z")],
        results=[MatrixResult("made"), MatrixResult("turned")],
        text=_ROTATIONS,
    )
    write_matrices(op, node, unit, body)
