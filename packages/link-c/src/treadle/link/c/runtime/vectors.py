"""C text of math functions on blocks of numbers, which call the C library's SIMD functions where there are any."""

from __future__ import annotations

from collections.abc import Container
from string import Template

from treadle.kernels import VECTOR_FUNCTIONS
from treadle.link.c.conventions.dtypes import CType
from treadle.link.c.runtime.kernels import KERNELS
from treadle.tensor import BLOCK_KERNELS, SCALAR_OPS

# Functions of one operand that are kernels of `treadle.tensor.BLOCK_KERNELS`.
KERNEL_BLOCKS = ("digamma", "erfcinv", "erfinv", "gammaln", "ndtri")
# The C names of the functions that may be called on whole blocks, each with its number of operands.
BLOCK_FUNCTIONS = {**VECTOR_FUNCTIONS, **dict.fromkeys(KERNEL_BLOCKS, 1)}

# An element's result does not depend on where it stands: what is left at the end goes the same way, padded.
_SIMD = """\
extern $Vector $symbol($letters, $function)($Vectors);
static void tr_v_${function}_$short(int64_t n, $operands, $Type *o) {
  enum { W = TR_BYTES / sizeof($Type) };
  int64_t i = 0;
  $Vector $vectors;
  if (n == 1) {
    a = $symbol($letters, $function)($filled);
    *o = a[0];
    return;
  }
  for (; i + W <= n; i += W) {
    $loads
    a = $symbol($letters, $function)($vectors);
    memcpy(o + i, &a, sizeof a);
  }
  if (i < n) {
    $Type rest[$count][W];
    for (int k = 0; k < W; k++) { const int64_t j = i + k < n ? i + k : n - 1; $padded }
    $remaining
    a = $symbol($letters, $function)($vectors);
    memcpy(o + i, &a, (size_t)(n - i) * sizeof($Type));
  }
}
"""
_PLAIN = """\
static void tr_v_${function}_$short(int64_t n, $operands, $Type *o) {
  for (int64_t i = 0; i < n; i++) o[i] = $function$suffix($elements);
}
"""
# Where results go to the place of the operand, numbers are copied first.
_OF_KERNEL = """\
static void tr_v_${function}_$short(int64_t n, const $Type *x, $Type *o) {
  enum { HELD = 512 };
  $Type given[HELD];
  if (x != o) { $name(n, ($Type *)x, o); return; }
  for (int64_t i = 0; i < n; i += HELD) {
    const int64_t m = n - i < HELD ? n - i : HELD;
    memcpy(given, x + i, (size_t)m * sizeof *x);
    $name(m, given, o + i);
  }
}
"""
# The exponentials of numbers less a shift, and their sum: they are kept at o, unless that is 0.
_SHIFTED = """\
static $Type tr_shifted_exp_$short(int64_t n, const $Type *x, $Type shift, $Type *o) {
  enum { W = TR_BYTES / sizeof($Type) };
  int64_t i = 0;
  $Type sum = 0;
  $Vector total = {0}, last;
  for (; i + W <= n; i += W) {
    $Vector a;
    memcpy(&a, x + i, sizeof a);
    a = $symbol(v, exp)(a - shift);
    total += a;
    if (o) memcpy(o + i, &a, sizeof a);
  }
  for (int k = 0; k < W; k++) sum += total[k];
  if (i < n) {
    $Type rest[W];
    for (int k = 0; k < W; k++) rest[k] = x[i + k < n ? i + k : n - 1];
    memcpy(&last, rest, sizeof last);
    last = $symbol(v, exp)(last - shift);
    for (int64_t k = 0; k < n - i; k++) sum += last[k];
    if (o) memcpy(o + i, &last, (size_t)(n - i) * sizeof($Type));
  }
  return sum;
}
"""
_SHIFTED_PLAIN = """\
static $Type tr_shifted_exp_$short(int64_t n, const $Type *x, $Type shift, $Type *o) {
  $Type t[4] = {0, 0, 0, 0};
  for (int64_t i = 0; i < n; i++) {
    const $Type e = $function$suffix(x[i] - shift);
    t[i & 3] += e;
    if (o) o[i] = e;
  }
  return (t[0] + t[1]) + (t[2] + t[3]);
}
"""
# Where a text may be compiled: what is known to have the functions, unless TREADLE_SCALAR is defined.
_WHERE_SIMD = """\
#if defined(__x86_64__) && defined(__GLIBC__) && __GLIBC__ * 100 + __GLIBC_MINOR__ >= 235 && !defined(TREADLE_SCALAR)
"""


def block_function(function: str, ctype: CType, simd: Container[str], *, portable: bool) -> str:
    """Return the text of ``tr_v_<function>_<short>(n, x[, y], o)``, for float or double.

    `simd` are the functions that the C library has for vectors, which it may lack on other machines: `portable`
    says that the text may be compiled there.
    """
    return _chosen(function, ctype, (_SIMD, _PLAIN), simd, portable)


def kernel_block(function: str, ctype: CType) -> str:
    """Return the text of ``tr_v_<function>_<short>(n, x, o)``, which calls a kernel."""
    kernel = BLOCK_KERNELS.find(SCALAR_OPS[function], "f")
    assert kernel is not None
    dtype = "float64" if ctype.short == "f64" else "float32"
    name = KERNELS.add(kernel.specialised([("int64", 0), (dtype, -1), (dtype, -1)], {}))
    return Template(_OF_KERNEL).substitute(function=function, short=ctype.short, Type=ctype.computed, name=name)


def shifted_exponentials(ctype: CType, simd: Container[str], *, portable: bool) -> str:
    """Return the text of ``tr_shifted_exp_<short>(n, x, shift, o)``; parameters as of `block_function`."""
    # The SIMD function is declared with the block function.
    return f"/* tr_v_exp_{ctype.short} */\n" + _chosen("exp", ctype, (_SHIFTED, _SHIFTED_PLAIN), simd, portable)


def _chosen(function: str, ctype: CType, texts: tuple[str, str], simd: Container[str], portable: bool) -> str:
    """Return the first text if there is a SIMD function, otherwise the second; if portable, both with an ``#if``."""
    text = texts[0] if function + ctype.suffix in simd else texts[1]
    if portable and text is texts[0]:
        text = f"{_WHERE_SIMD}{text}#else\n{texts[1]}#endif\n"
    kind, vector = ctype.computed, f"tr_{ctype.short}s"
    count = BLOCK_FUNCTIONS[function]
    each = [*enumerate(zip("xy", "ab", strict=True))][:count]
    return Template(text).substitute(
        function=function,
        suffix=ctype.suffix,
        short=ctype.short,
        Type=kind,
        Vector=vector,
        symbol=f"TR_{ctype.short.upper()}",
        count=count,
        letters="v" * count,
        Vectors=", ".join([vector] * count),
        operands=", ".join(f"const {kind} *{x}" for _, (x, _) in each),
        vectors=", ".join(v for _, (_, v) in each),
        filled=", ".join(f"*{x} - ({vector}){{0}}" for _, (x, _) in each),
        loads=" ".join(f"memcpy(&{v}, {x} + i, sizeof {v});" for _, (x, v) in each),
        padded=" ".join(f"rest[{k}][k] = {x}[j];" for k, (x, _) in each),
        remaining=" ".join(f"memcpy(&{v}, rest[{k}], sizeof {v});" for k, (_, v) in each),
        elements=", ".join(f"{x}[i]" for _, (x, _) in each),
    )
