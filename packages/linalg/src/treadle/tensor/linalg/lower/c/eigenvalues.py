"""Eigenvalues and eigenvectors in C, by LAPACK."""

from __future__ import annotations

from treadle.link.c import TABLE, Unit
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.eigenvalues import Eig, Eigvals
from treadle.tensor.linalg.decompositions.hermitian_eigenvalues import Eigh, Eigvalsh
from treadle.tensor.linalg.lower.c.writing.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices
from treadle.tensor.linalg.lower.c.writing.small_matrices import JACOBI, diagonalised

# The rules take complex numbers too.
TAKES_COMPLEX = True

# The other triangle is 0. LAPACK's results are undefined for numbers that are not finite, so these are refused.
_OF_FINITE = """\
$T bad = 0;
  for (int j = 0; j < m; j++) for (int i = 0; i < m; i++) bad += 0 * {a}[(int64_t)j * ld_{a} + i];
  if (!(bad == 0)) return 1;
  """
# Combine real and imaginary parts: of eigenvalues, and of vectors, where a conjugate pair shares two columns.
_VALUES = "\n  for (int j = 0; j < m; j++) (($T *)w)[2 * j] = wr[j], (($T *)w)[2 * j + 1] = wi[j];"
_VECTORS = """
  for (int j = 0, pair; j < m; j += 1 + pair) {
    pair = wi[j] != 0 && j + 1 < m;
    for (int i = 0; i < m; i++) {
      const $T re = vr[(int64_t)j * m + i], im = pair ? vr[(int64_t)(j + 1) * m + i] : 0;
      $T *to = ($T *)(v + (int64_t)j * ld_v + i), *next = ($T *)(v + (int64_t)(j + 1) * ld_v + i);
      to[0] = re, to[1] = im;
      if (pair) next[0] = re, next[1] = -im;
    }
  }"""


@TABLE.register(Eigh)
@TABLE.register(Eigvalsh)
def of_hermitian(op: Eigh | Eigvalsh, node: TensorNode, unit: Unit) -> None:
    """Write calls of syevd or heevd, the divide-and-conquer routines."""
    is_complex = node.inputs[0].type.numpy_dtype.kind == "c"
    half = "lower" if op.lower else "upper"
    vectors = isinstance(op, Eigh)
    a, job = ("v", "V") if vectors else ("a", "N")
    name = "heevd" if is_complex else "syevd"
    jobs = f'"{job}", "{op.uplo}", &m'
    ask = f"${name}({jobs}, &best, &ld_{a}, {'&real' if is_complex else '&best'}, &best, &ask"
    call = f"${name}({jobs}, {a}, &ld_{a}, w, work, &n_work"
    scratch = {"work": "T (int)$re(best)"}
    if is_complex:
        ask += ", &real, &ask"
        call += ", rwork, &n_rwork"
        scratch["rwork"] = "R (int)real"
    body = MatrixBody(
        operands=[MatrixOperand("a", "columns", into=1 if vectors else None, writes=not vectors, half=half)],
        results=[MatrixResult("w"), MatrixResult("v", "columns")] if vectors else [MatrixResult("w")],
        routines={name: "ccixirxiriiii" if is_complex else "ccixixxiiii"},
        query=f"int ask = -1, whole = 1; $T best = 1; $R real = 1; (void)real;\n    {ask}, &whole, &ask, &info);",
        scratch={**scratch, "iwork": "int whole"},
        text=f"{_OF_FINITE.format(a=a)}{call}, iwork, &n_iwork, &info);",
        # In stacks of fewer matrices, eigenvectors have LAPACK's signs.
        small=diagonalised("v" if vectors else "a", "w", "v" if vectors else "", op.lower),
        most=JACOBI,
        least=32,
    )
    write_matrices(op, node, unit, body)


@TABLE.register(Eig)
@TABLE.register(Eigvals)
def of_square(op: Eig | Eigvals, node: TensorNode, unit: Unit) -> None:
    """Write calls of geev."""
    vectors = isinstance(op, Eig)
    jobs = f'"N", "{"V" if vectors else "N"}", &m'
    # Even when they are only asked for sizes, routines write into some arrays.
    query = "int ask = -1, one = 1; $T best = 1; (void)one;\n    "
    scratch = {"work": "T (int)$re(best)"}
    if node.inputs[0].type.numpy_dtype.kind == "c":
        into = "v, &ld_v" if vectors else "w, &one"
        query += "$R real[2];\n    "
        query += f"$geev({jobs}, &best, &ld_a, &best, &best, &one, &best, &ld_a, &best, &ask, real, &info);"
        text = f"int one = 1;\n  $geev({jobs}, a, &ld_a, w, w, &one, {into}, work, &n_work, rwork, &info);"
        scratch["rwork"] = "R 2 * m"
        parameters = "ccixixxixixiri"
    else:
        into = "vr, &ld_v" if vectors else "wr, &one"
        query += f"$geev({jobs}, &best, &ld_a, &best, &best, &best, &one, &best, &ld_a, &best, &ask, &info);"
        text = f"int one = 1;\n  $geev({jobs}, a, &ld_a, wr, wi, wr, &one, {into}, work, &n_work, &info);"
        text += f"\n  if (info) return info;{_VALUES}{_VECTORS if vectors else ''}"
        scratch |= {"wr": "T m", "wi": "T m", **({"vr": "T (int64_t)m * m"} if vectors else {})}
        parameters = "ccixixxxixixii"
    body = MatrixBody(
        operands=[MatrixOperand("a", "columns", writes=True)],
        results=[MatrixResult("w"), MatrixResult("v", "columns")] if vectors else [MatrixResult("w")],
        routines={"geev": parameters},
        query=query,
        scratch=scratch,
        text=text,
    )
    write_matrices(op, node, unit, body)
