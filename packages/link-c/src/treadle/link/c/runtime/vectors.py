"""C text of math functions on blocks of numbers, by the C library's SIMD entry points where it has them."""

from __future__ import annotations

from treadle.link.c.runtime.text import replace_words

# C's name of each function that may be called on whole blocks, and how many operands it has.
BLOCK_FUNCTIONS = {
    "exp": 1, "exp2": 1, "expm1": 1, "log": 1, "log2": 1, "log10": 1, "log1p": 1, "sin": 1, "cos": 1, "tan": 1,
    "asin": 1, "acos": 1, "atan": 1, "sinh": 1, "cosh": 1, "tanh": 1, "asinh": 1, "acosh": 1, "atanh": 1,
    "cbrt": 1, "erf": 1, "erfc": 1, "pow": 2, "atan2": 2, "hypot": 2,
}  # fmt: skip

# The widest vectors that the compiler may use here decide which entry point is called: AVX-512 (e), AVX2 (d), SSE (b).
VECTOR_TYPES = """\
#if defined(__AVX512F__)
#define TR_BYTES 64
#define TR_F64(n, name) _ZGVeN8##n##_##name
#define TR_F32(n, name) _ZGVeN16##n##_##name##f
#elif defined(__AVX2__)
#define TR_BYTES 32
#define TR_F64(n, name) _ZGVdN4##n##_##name
#define TR_F32(n, name) _ZGVdN8##n##_##name##f
#else
#define TR_BYTES 16
#define TR_F64(n, name) _ZGVbN2##n##_##name
#define TR_F32(n, name) _ZGVbN4##n##_##name##f
#endif
typedef double tr_f64s __attribute__((vector_size(TR_BYTES)));
typedef float tr_f32s __attribute__((vector_size(TR_BYTES)));
"""

# An element's result does not depend on where it stands: what is left at the end goes the same way, padded.
_SIMD1 = """\
extern Vs CALL(v, FN)(Vs);
static void tr_v_FN_NAME(int64_t n, const T *x, T *o) {
  enum { W = TR_BYTES / sizeof(T) };
  int64_t i = 0;
  Vs a;
  for (; i + W <= n; i += W) {
    memcpy(&a, x + i, sizeof a);
    a = CALL(v, FN)(a);
    memcpy(o + i, &a, sizeof a);
  }
  if (i < n) {
    T rest[W];
    for (int k = 0; k < W; k++) rest[k] = x[i + k < n ? i + k : n - 1];
    memcpy(&a, rest, sizeof a);
    a = CALL(v, FN)(a);
    memcpy(o + i, &a, (size_t)(n - i) * sizeof(T));
  }
}
"""
_SIMD2 = """\
extern Vs CALL(vv, FN)(Vs, Vs);
static void tr_v_FN_NAME(int64_t n, const T *x, const T *y, T *o) {
  enum { W = TR_BYTES / sizeof(T) };
  int64_t i = 0;
  Vs a, b;
  for (; i + W <= n; i += W) {
    memcpy(&a, x + i, sizeof a);
    memcpy(&b, y + i, sizeof b);
    a = CALL(vv, FN)(a, b);
    memcpy(o + i, &a, sizeof a);
  }
  if (i < n) {
    T rest[2][W];
    for (int k = 0; k < W; k++) {
      const int64_t j = i + k < n ? i + k : n - 1;
      rest[0][k] = x[j];
      rest[1][k] = y[j];
    }
    memcpy(&a, rest[0], sizeof a);
    memcpy(&b, rest[1], sizeof b);
    a = CALL(vv, FN)(a, b);
    memcpy(o + i, &a, (size_t)(n - i) * sizeof(T));
  }
}
"""
_PLAIN1 = """\
static void tr_v_FN_NAME(int64_t n, const T *x, T *o) { for (int64_t i = 0; i < n; i++) o[i] = FNS(x[i]); }
"""
_PLAIN2 = """\
static void tr_v_FN_NAME(int64_t n, const T *x, const T *y, T *o) {
  for (int64_t i = 0; i < n; i++) o[i] = FNS(x[i], y[i]);
}
"""
# The exponentials of numbers less a shift, and their sum: they are kept at o, unless that is 0.
_SHIFTED = """\
static T tr_shifted_exp_NAME(int64_t n, const T *x, T shift, T *o) {
  enum { W = TR_BYTES / sizeof(T) };
  int64_t i = 0;
  T sum = 0;
  Vs total = {0}, a;
  for (; i + W <= n; i += W) {
    memcpy(&a, x + i, sizeof a);
    a = CALL(v, exp)(a - shift);
    total += a;
    if (o) memcpy(o + i, &a, sizeof a);
  }
  for (int k = 0; k < W; k++) sum += total[k];
  if (i < n) {
    T rest[W];
    for (int k = 0; k < W; k++) rest[k] = x[i + k < n ? i + k : n - 1];
    memcpy(&a, rest, sizeof a);
    a = CALL(v, exp)(a - shift);
    for (int64_t k = 0; k < n - i; k++) sum += a[k];
    if (o) memcpy(o + i, &a, (size_t)(n - i) * sizeof(T));
  }
  return sum;
}
"""
_SHIFTED_PLAIN = """\
static T tr_shifted_exp_NAME(int64_t n, const T *x, T shift, T *o) {
  T t[4] = {0, 0, 0, 0};
  for (int64_t i = 0; i < n; i++) {
    const T e = FNS(x[i] - shift);
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


def block_function(function: str, short: str, simd: bool, portable: bool = False) -> str:
    """Return the text of ``tr_v_<function>_<short>(n, x[, y], o)``.

    Parameters
    ----------
    function, short
        C's name of the function, and the short name of the dtype.
    simd
        Whether the C library has it for vectors.
    portable
        Whether the text is to be compiled elsewhere too, where the C library may not.
    """
    pair = BLOCK_FUNCTIONS[function] == 2
    return _chosen(function, short, (_SIMD2 if pair else _SIMD1, _PLAIN2 if pair else _PLAIN1), simd, portable)


def shifted_exponentials(short: str, simd: bool, portable: bool = False) -> str:
    """Return the text of ``tr_shifted_exp_<short>(n, x, shift, o)``; parameters as of `block_function`."""
    text = _chosen("exp", short, (_SHIFTED, _SHIFTED_PLAIN), simd, portable)
    # The SIMD function is declared with the block function.
    return f"/* tr_v_exp_{short} */\n{text}"


def _chosen(function: str, short: str, texts: tuple[str, str], simd: bool, portable: bool) -> str:
    """Return the first text if there are SIMD functions, else the second; both, to be chosen from, if portable."""
    text = texts[0] if simd else texts[1]
    if simd and portable:
        text = f"{_WHERE_SIMD}{text}#else\n{texts[1]}#endif\n"
    single = short == "f32"
    text = text.replace("CALL", f"TR_{short.upper()}").replace("Vs", f"tr_{short}s")
    text = text.replace("FNS", function + ("f" if single else "")).replace("FN", function).replace("NAME", short)
    return replace_words(text, {"T": "float" if single else "double"})
