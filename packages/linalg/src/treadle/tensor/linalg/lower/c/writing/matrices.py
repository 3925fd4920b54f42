"""Ops on stacks of matrices: a rule says what happens to one matrix, in calls of LAPACK and BLAS or in plain C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import Template
from types import MappingProxyType

from treadle.link.c import Unit, ctype, lapack_pointer
from treadle.tensor import TensorNode, TensorVariable
from treadle.tensor.linalg.lower.c.writing.lapack import c_type
from treadle.tensor.linalg.matrix_op import MatrixOp

# The rules take complex numbers too.
TAKES_COMPLEX = True

_NOTHING: Mapping[str, str] = MappingProxyType({})
# Up to this many rows and columns, plain C replaces LAPACK where a body has text for it.
SMALL = 24
_HALVES = {"": 0, "lower": 1, "upper": 2}
_ORDERS = ("rows", "columns", "either")


@dataclass(frozen=True, slots=True)
class MatrixOperand:
    """One operand of a body: the variable of its matrix, and how the matrix has to lie in memory.

    A matrix that already lies like this is read in place; any other is copied first. A vector is a matrix of one row,
    and a number a matrix of one element.
    """

    # The C variable that points to its first element. ``ld_<name>`` holds the distance of its rows (or columns).
    name: str
    # ``"rows"`` if rows are to run through memory, as in NumPy; ``"columns"`` as in LAPACK; ``"either"`` as they
    # do: ``t_<name>`` (``int``) then is 1 if columns run through memory, else 0.
    order: str = "rows"
    # Whether the body overwrites it: a copy, or an operand that nothing needs after.
    writes: bool = False
    # The result, by number, in whose memory it is put: of the same shape, dtype and order. The body overwrites it
    # with that result.
    into: int | None = None
    # ``"lower"`` or ``"upper"`` if the body reads only this triangle: a copy has zeros on the other side, and
    # only this one has to be finite.
    half: str = ""
    # Whether the body does not read the triangle's diagonal.
    strict: bool = False
    # Whether all of it has to be finite where the op's `check_finite` is true; a body that reads only parts of it
    # looks at these itself.
    checked: bool = True


@dataclass(frozen=True, slots=True)
class MatrixResult:
    """One result of a body: the C variable of its matrix, which the body writes by ``"rows"`` or by ``"columns"``."""

    name: str
    order: str = "rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixBody:
    """The computation on one matrix of each operand.

    `text` and `query` are C statements. Dimensions are variables (``int``) with the names that the op's signature has
    for them; matrices are variables with the names in `operands` and `results`. ``$T`` is the C type of the first
    operand's elements, ``$R`` the real type of that precision. ``$conj``, ``$re`` and ``$abs`` take the conjugate, the
    real part and the absolute value of an element; ``$suffix`` ends the names of C's functions of real numbers
    (``log$suffix``); ``$complex`` is 1 or 0. A routine is called by ``$<name>(...)``.

    The integer ``info`` is 0 at the start. A body that sets or returns another value has no result: NaN or an error
    takes its place, as the op's `on_error` says. If the op has a field `check_finite` that is true, the same holds for
    operands with NaN or infinity, and the body is not run.

    LAPACK sees a matrix in C order as its transpose: a lower triangle is its ``"U"``.
    """

    # Its operands and results, in the order of the op's signature.
    operands: Sequence[MatrixOperand]
    results: Sequence[MatrixResult]
    # The statements.
    text: str
    # Routines of LAPACK by their names without the letter of the type, with their parameters as `lapack_pointer`
    # takes them; those of BLAS are named ``blas:trsm``.
    routines: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    # Working arrays of the body: names, each with the type of its elements (``T``, ``R`` or ``int``) and, after a
    # space, the expression of their number. ``n_<name>`` (``int``) holds that number. They are made once for the
    # whole stack.
    scratch: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    # Statements that run once before it, to ask a routine for the best size of an array, for example; variables
    # that they declare can be used in the expressions of `scratch`.
    query: str = ""
    # Definitions in front of the body; ``@`` in names stands for a name that no other body has.
    before: str = ""
    # Statements for small matrices of real numbers, in place of `text`: see `small_matrices`. They work on eight
    # matrices of a stack at once, or on one.
    small: str = ""
    # The condition, in C, under which they also work on one matrix: ``m <= 24``; empty if they never do.
    alone: str = ""
    # The largest number of rows and columns for which they work on a stack, and the smallest number of matrices.
    most: int = SMALL
    least: int = 4

    @property
    def parts(self) -> Sequence[MatrixOperand | MatrixResult]:
        """Operands, then results."""
        return (*self.operands, *self.results)


def write_matrices(op: MatrixOp, node: TensorNode, unit: Unit, body: MatrixBody) -> None:
    """Write the call of a body for each matrix of a stack; most rules of ops on matrices are this and the body.

    The Cholesky factor of each matrix, with zeros in the other triangle::

        @TABLE.register(Cholesky)
        def cholesky(op: Cholesky, node: TensorNode, unit: Unit) -> None:
            half, letter = ("lower", "U") if op.lower else ("upper", "L")
            body = MatrixBody(
                operands=[MatrixOperand("a", into=0, half=half)],
                results=[MatrixResult("l")],
                routines={"potrf": "cixii"},
                text=f'$potrf("{letter}", &m, l, &ld_l, &info);',
            )
            write_matrices(op, node, unit, body)

    Eigenvalues and vectors of real symmetric matrices, with work space of the size that LAPACK asks for. Vectors are
    columns of the result, and LAPACK leaves them by columns::

        body = MatrixBody(
            operands=[MatrixOperand("a", "columns", into=1)],
            results=[MatrixResult("w"), MatrixResult("v", "columns")],
            routines={"syevd": "ccixixxiiii"},
            query='''int ask = -1, whole; $T best;
              $syevd("V", "L", &m, &best, &ld_v, &best, &best, &ask, &whole, &ask, &info);''',
            scratch={"work": "T (int)best", "iwork": "int whole"},
            text='$syevd("V", "L", &m, v, &ld_v, w, work, &n_work, iwork, &n_iwork, &info);',
        )
    """
    input_cores, output_cores = op.cores
    inputs, outputs = node.inputs, node.outputs
    nd = inputs[0].type.ndim - len(input_cores[0])
    sources, results = [unit.slot(x) for x in inputs], [unit.owns(out) for out in outputs]
    lengths: dict[str, str] = {}
    for at, core in zip(sources, input_cores, strict=True):
        for d, name in enumerate(core):
            place = f"v[{at}].n[{nd + d}]"
            if name in lengths or name.isdigit():
                unit.call(f"{place} == {lengths.get(name, name)} ? 0 : TR_SHAPE")
            else:
                lengths[name] = place
    for at, core in zip(results, output_cores, strict=True):
        for d, dim in enumerate(core):
            unit.line(f"v[{at}].n[{nd + d}] = {_length(dim, lengths)};")
    finite = getattr(op, "check_finite", False)
    parts = [
        _core(x, at, core, f"{_ORDERS.index(t.order)}, {int(t.writes or t.into is not None)}, "
              f"{-1 if t.into is None else t.into}, {_HALVES[t.half] + 4 * t.strict}", finite and t.checked)
        for at, core, x, t in zip(sources, input_cores, inputs, body.operands, strict=True)
    ] + [
        _core(out, at, core, f"{_ORDERS.index(m.order)}, 0, -1, 0", False)
        for at, core, out, m in zip(results, output_cores, outputs, body.results, strict=True)
    ]  # fmt: skip
    free = sum(
        1 << i
        for i, (x, t) in enumerate(zip(inputs, body.operands, strict=True))
        if (t.writes or t.into is not None) and inputs.count(x) == 1 and unit.dying(x, inputs)
    )
    cores = f"v, {unit.table('tr_core', parts)}, {len(inputs)}, {len(outputs)}, {nd}"
    scratch, raises = unit.scratch(), int(op.on_error == "raise")
    call = (
        f"tr_matrices({cores}, {len(body.scratch)}, {scratch}, {free}, {raises}, "
        f"{unit.kernel(_kernel(op, node, unit, body))})"
    )
    if nd and _has_small(op, node, body):
        in_lanes = f"tr_lanes({cores}, {scratch}, {free}, {raises}, {_lanes(op, node, unit, body)})"
        call = f"tr_is_small({cores}, {body.most}, {body.least}) ? {in_lanes} : {call}"
    unit.call(call)


def _length(dim: str, lengths: Mapping[str, str]) -> str:
    """Return the C expression of a core dimension of a result."""
    if dim.isdigit():
        return dim
    if dim in lengths:
        return lengths[dim]
    if "+" in dim:
        return " + ".join(lengths[name] for name in dim.split("+"))
    if "-" in dim:
        name, less = dim.split("-")
        return f"{lengths[name]} > {less} ? {lengths[name]} - {less} : 0"
    a, b = (lengths[name] for name in dim.removeprefix("min(").removesuffix(")").split(","))
    return f"{a} < {b} ? {a} : {b}"


def _core(x: TensorVariable, at: int, core: Sequence[str], how: str, checked: bool) -> str:
    """Return the ``tr_core`` of an operand or result."""
    kind = ctype(x)
    real = {"f": kind.size, "c": kind.size // 2}.get(kind.kind, 0)
    finite = f"tr_finite_f{8 * real}" if checked and real else "0"
    return f"{{{at}, {len(core)}, {kind.size}, {how}, {real}, tr_pack{kind.size}, {finite}}}"


def _kernel(op: MatrixOp, node: TensorNode, unit: Unit, body: MatrixBody) -> str:
    """Return the C text of a body as a kernel: see ``tr_matrices``."""
    dtype = node.inputs[0].type.dtype
    element = ctype(node.inputs[0])
    real = "float" if element.suffix else "double"
    is_complex = element.kind == "c"
    words = {
        "T": element.computed,
        "R": real,
        "conj": f"__builtin_conj{element.suffix}" if is_complex else "",
        "re": "__real__" if is_complex else "",
        "abs": f"__builtin_cabs{element.suffix}" if is_complex else f"fabs{element.suffix}",
        "suffix": element.suffix,
        "complex": str(int(is_complex)),
    }
    for name, parameters in body.routines.items():
        library, _, own = name.rpartition(":")
        pointer = lapack_pointer(own, parameters, dtype, library or "lapack")
        variable = unit.pointer(f"tr_at_{pointer.name}", pointer)
        words[own] = f"(({c_type(parameters, element.computed, real)}){variable})"
    lines = ["  int info = 0;", *_variables(op, body, body.text + body.query + "".join(body.scratch.values()))]
    lines += _needs(body, 4 * len(body.parts), words)
    lines += [
        f"  {ctype(var).stored} *const {part.name} = ({ctype(var).stored} *)tr_p[{k}];"
        for k, (part, var) in enumerate(zip(body.parts, [*node.inputs, *node.outputs], strict=True))
    ]
    for j, (name, need) in enumerate(body.scratch.items()):
        kind, at = need.split(" ", 1)[0], 4 * len(body.parts) + 2 * j
        kind = words.get(kind, kind)
        lines.append(f"  {kind} *const {name} = ({kind} *)(tr_p[{len(body.parts)}] + tr_s[{at}]);")
        if f"n_{name}" in body.text:
            lines.append(f"  int n_{name} = (int)tr_s[{at + 1}];")
    # A separate function, since operands and dimensions may have the names of a kernel's parameters.
    head = "static int @_body(int64_t tr_runs, char *const *tr_p, const int64_t *tr_s) {"
    text = Template("\n".join([body.before, head, *lines])).substitute(words)
    if body.alone and _has_small(op, node, body):
        text += f"\n  if ({body.alone}) {{\n{_small_text(op, node, body, 'one')}\n    return bad != 0;\n  }}"
    body_text = Template(f"  {body.text}\n  return info;\n}}").substitute(words)
    return f"{text}\n{body_text}\n\f{{ return @_body(n, p, s); }}"


def _variables(op: MatrixOp, body: MatrixBody, used: str) -> list[str]:
    """Return the definitions of the dimensions, and of the row distances and orders of matrices that a text uses."""
    lines, known = [], set[str]()
    for k, (part, core) in enumerate(zip(body.parts, [core for side in op.cores for core in side], strict=True)):
        for d, name in enumerate(core):
            if name.isidentifier() and name not in known:
                known.add(name)
                lines.append(f"  int {name} = (int)tr_s[{4 * k + d}];")
        if f"ld_{part.name}" in used:
            lines.append(f"  int ld_{part.name} = (int)tr_s[{4 * k + 2}];")
        if f"t_{part.name}" in used:
            lines.append(f"  int t_{part.name} = (int)tr_s[{4 * k + 3}];")
    return lines


def _has_small(op: MatrixOp, node: TensorNode, body: MatrixBody) -> bool:
    """Whether the body's text for small matrices applies: real numbers, and no length known to be large."""
    kinds = {ctype(var).short for var in (*node.inputs, *node.outputs)}
    nd = node.inputs[0].type.ndim - len(op.cores[0][0])
    lengths = [n for x in node.inputs for n in x.type.shape[nd:]]
    fits = all(n is None or n <= body.most for n in lengths)
    return bool(body.small) and fits and len(kinds) == 1 and kinds <= {"f32", "f64"}


def _small_text(op: MatrixOp, node: TensorNode, body: MatrixBody, how: str) -> str:
    """Return the text for small matrices: for one matrix (``one``) or for eight at once (``w``)."""
    kind, many = ctype(node.inputs[0]), how == "w"
    words = {
        "V": f"tr_w_{kind.short}" if many else kind.computed,
        "M": f"tr_m_{kind.short}" if many else "int64_t",
        "T": kind.computed,
        "many": str(int(many)),
        "epsilon": "0x1p-23f" if kind.suffix else "0x1p-52",
        "gt": f"tr_{how}_gt",
        "eq": f"tr_{how}_eq",
        "pick": f"tr_w_pick_{kind.short}" if many else "tr_one_pick",
        "any": f"tr_w_any_{kind.short}" if many else "tr_one_any",
        "abs": f"tr_w_abs_{kind.short}" if many else f"fabs{kind.suffix}",
        **{name: f"tr_{how}_{name}_{kind.short}" for name in ("sqrt", "log", "swap")},
    }
    lines = ["    $M bad = {0};"]
    for k, part in enumerate(body.parts):
        if f"r_{part.name}" in body.small:
            ld, turned = f"tr_s[{4 * k + 2}]", f"tr_s[{4 * k + 3}]"
            lines.append(f"    const int64_t r_{part.name} = {turned} ? 1 : {ld}, c_{part.name} = {turned} ? {ld} : 1;")
    if many and getattr(op, "check_finite", False):
        for k, (part, core) in enumerate(zip(body.operands, op.cores[0], strict=True)):
            rows = f"tr_s[{4 * k}]" if len(core) == 2 else "1"
            first, last = {"": ("0", "c"), "lower": ("0", "i + on"), "upper": ("i + 1 - on", "c")}[part.half]
            lines += [
                "    {",
                f"      const int64_t r = {rows}, c = tr_s[{4 * k + 1}], on = {int(not part.strict)};",
                "      $V sum = {0};",
                f"      for (int64_t i = 0; i < r; i++) for (int64_t j = {first}; j < {last}; j++)",
                f"        sum += {part.name}[i * c + j] * 0;",
                "      bad |= ~$eq(sum, 0);",
                "    }",
            ]
    return Template("\n".join([*lines, f"    {body.small}"])).substitute(words)


def _lanes(op: MatrixOp, node: TensorNode, unit: Unit, body: MatrixBody) -> str:
    """Return the name of the kernel for eight small matrices at once: see ``tr_lanes``."""
    kind = ctype(node.inputs[0])
    lines = ["static int @_lanes(char *const *tr_p, const int64_t *tr_s) {", *_variables(op, body, "")]
    lines += [
        f"  tr_w_{kind.short} *const {part.name} = (tr_w_{kind.short} *)tr_p[{k}];" for k, part in enumerate(body.parts)
    ]
    text = _small_text(op, node, body, "w")
    lines += [f"  {{\n{text}\n    return tr_w_any_{kind.short}(&bad);\n  }}", "}", "\f{ return @_lanes(p, s); }"]
    return unit.kernel("\n".join(lines))


def _needs(body: MatrixBody, first: int, words: Mapping[str, str]) -> list[str]:
    """Return the statements that compute where each scratch array begins, its length, and the size of all of them."""
    if not body.scratch:
        return ["  if (!tr_runs) return 0;"]
    lines = ["  if (!tr_runs) {", f"    {body.query}", "    int64_t *tr_need = (int64_t *)tr_s, tr_end = 0;"]
    for j, need in enumerate(body.scratch.values()):
        kind, number = need.split(" ", 1)
        at = first + 2 * j
        lines += [
            f"    tr_need[{at}] = tr_end;",
            f"    tr_need[{at + 1}] = {number};",
            f"    if (tr_need[{at + 1}] < 1) tr_need[{at + 1}] = 1;",
            f"    tr_end += (tr_need[{at + 1}] * (int64_t)sizeof({words.get(kind, kind)}) + 63) & ~(int64_t)63;",
        ]
    return [*lines, f"    tr_need[{first + 2 * len(body.scratch)}] = tr_end;", "    return 0;", "  }"]
