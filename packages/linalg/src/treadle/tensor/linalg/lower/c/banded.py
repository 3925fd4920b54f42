"""Systems of banded and tridiagonal matrices."""

from __future__ import annotations

from treadle.link.c import TABLE, Unit
from treadle.tensor import TensorNode
from treadle.tensor.linalg.linear_systems import SolveBanded, SolveHermitianBanded
from treadle.tensor.linalg.lower.c.writing.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices
from treadle.tensor.linalg.tridiagonal_systems import LUFactorTridiagonal, SolveLUFactorTridiagonal

# The rules take complex numbers too.
TAKES_COMPLEX = True

# Only elements inside of the matrix are read.
_INSIDE = """\
$R sum = 0;
  for (int64_t j = 0; j < m; j++) for (int64_t k = 0; k < {rows}; k++) {{
    const int inside = j + k - {above} >= 0 && j + k - {above} < m;
    const $T y = inside ? {place} : 0;
    {kept} = y;
    sum += $abs(y) * 0;
  }}
  if (sum != 0 && {checked}) return 1;
  """


@TABLE.register(SolveBanded)
def solve_banded(op: SolveBanded, node: TensorNode, unit: Unit) -> None:
    """Write the call of gbsv, with extra rows on top, which pivoting fills."""
    low, up = op.lower, op.upper
    inside = _INSIDE.format(
        rows=low + up + 1,
        above=up,
        place="ab[k * ld_ab + j]",
        kept=f"wide[j * {2 * low + up + 1} + {low} + k]",
        checked=int(op.check_finite),
    )
    body = MatrixBody(
        operands=[MatrixOperand("ab", checked=False), MatrixOperand("b", "columns", into=0)],
        results=[MatrixResult("x", "columns")],
        routines={"gbsv": "iiiixiixii"},
        scratch={"wide": f"T {2 * low + up + 1} * (int64_t)m", "pivots": "int m"},
        text=f"""\
{inside}int low = {low}, up = {up}, rows = {2 * low + up + 1};
  if (m && n) $gbsv(&m, &low, &up, &n, wide, &rows, pivots, x, &ld_x, &info);""",
    )
    write_matrices(op, node, unit, body)


@TABLE.register(SolveHermitianBanded)
def solve_hermitian_banded(op: SolveHermitianBanded, node: TensorNode, unit: Unit) -> None:
    """Write the call of pbsv."""
    place = "ab[j * (int64_t)ld_ab + k]"
    inside = _INSIDE.format(
        rows="r", above="0" if op.lower else "(r - 1)", place=place, kept=place, checked=int(op.check_finite)
    )
    body = MatrixBody(
        operands=[MatrixOperand("ab", "columns", writes=True, checked=False), MatrixOperand("b", "columns", into=0)],
        results=[MatrixResult("x", "columns")],
        routines={"pbsv": "ciiixixii"},
        text=f"""\
{inside}int beside = r - 1;
  if (m && n) $pbsv("{"L" if op.lower else "U"}", &m, &beside, &n, ab, &ld_ab, x, &ld_x, &info);""",
    )
    write_matrices(op, node, unit, body)


def _check_shorter(node: TensorNode, unit: Unit, at: int, less: int) -> None:
    """Write the check that a diagonal is shorter than the main one (the second input) by `less`."""
    short, main = (f"v[{unit.slot(x)}].n[{x.type.ndim - 1}]" for x in (node.inputs[at], node.inputs[1]))
    unit.call(f"{short} == ({main} > {less} ? {main} - {less} : 0) ? 0 : TR_SHAPE")


@TABLE.register(LUFactorTridiagonal)
def lu_factor_tridiagonal(op: LUFactorTridiagonal, node: TensorNode, unit: Unit) -> None:
    """Write the call of gttrf; singular matrices have factors too."""
    _check_shorter(node, unit, 0, 1)
    body = MatrixBody(
        operands=[MatrixOperand("below", into=0), MatrixOperand("diagonal", into=1), MatrixOperand("above", into=2)],
        results=[
            MatrixResult("low"),
            MatrixResult("up"),
            MatrixResult("up1"),
            MatrixResult("up2"),
            MatrixResult("pivots"),
        ],
        routines={"gttrf": "ixxxxii"},
        text="if (m) $gttrf(&m, low, up, up1, up2, pivots, &info);\n  info = 0;",
    )
    write_matrices(op, node, unit, body)


@TABLE.register(SolveLUFactorTridiagonal)
def solve_lu_factor_tridiagonal(op: SolveLUFactorTridiagonal, node: TensorNode, unit: Unit) -> None:
    """Write the call of gttrs, and checks that U has no zero on its diagonal and that pivots are valid."""
    _check_shorter(node, unit, 0, 1)
    _check_shorter(node, unit, 3, 2)
    body = MatrixBody(
        operands=[
            *(MatrixOperand(name) for name in ("low", "up", "up1", "up2", "pivots")),
            MatrixOperand("b", "columns", into=0),
        ],
        results=[MatrixResult("x", "columns")],
        routines={"gttrs": "ciixxxxixii"},
        text=f"""\
for (int i = 0; i < m; i++) {{
    const int exchanged = pivots[i] - i - 1;
    if (up[i] == 0 || exchanged < 0 || exchanged > (i + 1 < m)) return 1;
  }}
  if (m && n) $gttrs("{"T" if op.transposed else "N"}", &m, &n, low, up, up1, up2, pivots, x, &ld_x, &info);""",
    )
    write_matrices(op, node, unit, body)
