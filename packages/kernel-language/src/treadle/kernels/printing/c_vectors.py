"""Vectors of kernels in C: types of the compiler's, as long as those that the C backend computes functions on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Template
from types import MappingProxyType
from typing import TYPE_CHECKING

from treadle.config import lazy_module
from treadle.kernels.kinds import EIGHTS, MASKS, NUMBERS, SHORT, SIZES

if TYPE_CHECKING:
    from treadle.kernels import tree
else:
    # Every program of C has the texts, few have kernels.
    tree = lazy_module("treadle.kernels.tree")

# The widest vectors that the compiler may use here decide which entry point is called: AVX-512 (e), AVX2 (d), SSE (b).
_WIDEST = """\
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

_C_TYPES = {"float32": "float", "float64": "double"}
_LANED = tuple(dtype for dtype in SHORT if "complex" not in dtype and dtype not in {"bool", "float16", *NUMBERS})


def vector_type(kind: str) -> str:
    """Return the C type of a vector."""
    return f"tr_k_v_{SHORT[kind[1:-1]]}"


def _types(dtype: str) -> str:
    short, element, size = SHORT[dtype], _C_TYPES.get(dtype, f"{dtype}_t"), SIZES[dtype]
    how = "__attribute__((vector_size(TR_BYTES)"
    return (
        # The elements of vectors in memory need not be aligned. As long as a tr_f64s.
        f"typedef {element} tr_k_v_{short} {how}));  /* as a tr_f64s */\n"
        f"typedef {element} tr_k_u_{short} {how}, aligned({size}), may_alias));\n"
        f"typedef int{8 * size}_t tr_k_i_{short} {how}));\n"
        f"typedef int{8 * size}_t tr_k_j_{short} {how}, aligned({size}), may_alias));\n"
        f"enum {{ tr_k_w_{short} = TR_BYTES / sizeof({element}) }};\n"
    )


def eight_type(kind: str) -> str:
    """Return the C type of eights or of masks of them."""
    return f"tr_k_{SHORT[kind] if kind in SHORT else f'm{kind[4:]}'}"


def eight_function(x: tree.Apply, arguments: Sequence[str]) -> str:
    """Return the text of a function of eights."""
    first = x.arguments[0].kind.removeprefix("*")
    if x.function == "filled":
        # Less 0 rather than plus 0, which would make 0.0 of -0.0.
        return f"({arguments[0]} - ({eight_type(x.kind)}){{0}})"
    if x.function == "eight":
        return f"(*(const tr_k_at_{SHORT[x.kind]} *){arguments[0]})"
    if x.function in {"eights", "numbers"}:
        element = _C_TYPES[NUMBERS.get(first, first)]
        if x.function == "numbers":
            return f"(({element} *){arguments[0]})"
        return f"(({eight_type(x.kind[1:])} *)(((uintptr_t){arguments[0]} + 63) & ~(uintptr_t)63))"
    kind = {"which": f"f{first[4:]}", "select": SHORT.get(x.kind), "weave": SHORT.get(EIGHTS.get(first, ""))}
    short = kind.get(x.function) or SHORT[x.kind if x.kind in NUMBERS else first]
    return f"tr_k_{x.function}_{short}({', '.join(arguments)})"


def _eights(eight: str) -> dict[str, str]:
    """Return the C text for eights: the types, functions, and eight matrices woven into one, four by four elements."""
    short, element, size = SHORT[eight], _C_TYPES[NUMBERS[eight]], SIZES[eight] // 8
    words = {"short": short, "Real": element, "Whole": f"int{8 * size}_t", "size": size, "m": MASKS[eight][4:]}
    words |= {"f": "f" if size == 4 else "", "most": f"INT{8 * size}_MAX"}
    # The instruction that compares eight, on processors with AVX-512.
    words |= {"compared": "ps256" if size == 4 else "pd512", "more": "" if size == 4 else ", 4"}
    return {
        names: Template(text).substitute(words)
        for names, text in (
            (
                Template("tr_k_$short tr_k_at_$short tr_k_m$m").substitute(words),
                """\
typedef $Real tr_k_$short __attribute__((vector_size(8 * sizeof($Real)), may_alias));
typedef $Real tr_k_at_$short __attribute__((vector_size(8 * sizeof($Real)), aligned($size), may_alias));
typedef $Whole tr_k_m$m __attribute__((vector_size(8 * sizeof($Real))));
""",
            ),
            (
                f"tr_k_sqrt_{short}",
                """\
static inline __attribute__((always_inline)) tr_k_$short tr_k_sqrt_$short(tr_k_$short x) {
  $Real y[8];
  memcpy(y, &x, sizeof y);
#pragma omp simd simdlen(8)
  for (int l = 0; l < 8; l++) y[l] = sqrt$f(y[l]);
  memcpy(&x, y, sizeof y);
  return x;
}
""",
            ),
            (f"tr_k_abs_{short}", "#define tr_k_abs_$short(x) ((tr_k_$short)((tr_k_m$m)(x) & $most))\n"),
            (
                f"tr_k_select_{short}",
                """\
#define tr_k_select_$short(m, x, y) ((tr_k_$short)(((tr_k_m$m)(x) & (m)) | ((tr_k_m$m)(y) & ~(m))))
""",
            ),
            (
                f"tr_k_which_{short}",
                """\
static inline __attribute__((always_inline)) int64_t tr_k_which_$short(tr_k_m$m m) {
  typedef signed char tr_bytes __attribute__((vector_size(8)));
  const tr_bytes bytes = __builtin_convertvector(m, tr_bytes);
  uint64_t word;
  memcpy(&word, &bytes, sizeof word);
  /* Byte l keeps bit l; the product adds all bytes in its highest one. */
  return (int64_t)((word & UINT64_C(0x8040201008040201)) * UINT64_C(0x0101010101010101) >> 56);
}
""",
            ),
            (
                f"tr_k_equal_{short}",
                """\
/* Which of eight numbers are equal to others, a bit for each. gcc makes vectors of masks first. */
static inline __attribute__((always_inline)) int64_t tr_k_equal_$short(tr_k_$short x, tr_k_$short y) {
#if defined(__AVX512DQ__) && defined(__AVX512VL__) && !defined(__clang__)
  return (unsigned char)__builtin_ia32_cmp${compared}_mask(x, y, 0, -1$more);
#else
  return tr_k_which_$short(x == y);
#endif
}
""",
            ),
            *(
                (
                    f"tr_k_{name}_{short}",
                    f"""\
#if defined(__AVX512F__) && defined(__AVX512VL__) && !defined(__clang__)
#define tr_k_{name}_$short(x, y) (tr_k_$short)__builtin_ia32_{instruction}{{extremum}}
#else
#define tr_k_{name}_$short(x, y) tr_k_select_$short((x) {sign} (y), x, y)
#endif
""".replace("{extremum}", "ps256(x, y)" if size == 4 else "pd512_mask(x, y, y, -1, 4)"),
                )
                for name, instruction, sign in (("larger", "max", ">"), ("smaller", "min", "<"))
            ),
            (
                f"tr_k_four_{short} tr_k_turn_{short}",
                """\
typedef $Real tr_k_four_$short __attribute__((vector_size(4 * $size), aligned($size), may_alias));
typedef $Whole tr_k_places_$short __attribute__((vector_size(4 * $size)));
#ifdef __clang__
#define TR_MIX_$short(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define TR_MIX_$short(a, b, i, j, k, l) __builtin_shuffle(a, b, (tr_k_places_$short){i, j, k, l})
#endif
/* One vector of two, which is stored as a whole: processors wait where it is read after stores of halves. */
#if defined(__clang__) || __GNUC__ >= 12
#define TR_JOIN_$short(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7)
#else
#define TR_JOIN_$short(a, b) (tr_k_$short){a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]}
#endif
/* Turns four by four elements. */
#define tr_k_turn_$short(p, q, r, s) { \\
  const tr_k_four_$short a = TR_MIX_$short(p, q, 0, 4, 2, 6), b = TR_MIX_$short(p, q, 1, 5, 3, 7); \\
  const tr_k_four_$short c = TR_MIX_$short(r, s, 0, 4, 2, 6), d = TR_MIX_$short(r, s, 1, 5, 3, 7); \\
  p = TR_MIX_$short(a, c, 0, 1, 4, 5); \\
  q = TR_MIX_$short(b, d, 0, 1, 4, 5); \\
  r = TR_MIX_$short(a, c, 2, 3, 6, 7); \\
  s = TR_MIX_$short(b, d, 2, 3, 6, 7); }
""",
            ),
            (
                f"tr_k_weave_{short}",
                """\
static inline __attribute__((always_inline)) void
tr_k_weave_$short(const $Real *x, const int64_t *at, tr_k_$short *to) {
#define TR_FOUR(l) *(const tr_k_four_$short *)(x + at[l])
  tr_k_four_$short p = TR_FOUR(0), q = TR_FOUR(1), r = TR_FOUR(2), s = TR_FOUR(3);
  tr_k_four_$short t = TR_FOUR(4), u = TR_FOUR(5), v = TR_FOUR(6), w = TR_FOUR(7);
#undef TR_FOUR
  tr_k_turn_$short(p, q, r, s)
  tr_k_turn_$short(t, u, v, w)
  to[0] = TR_JOIN_$short(p, t);
  to[1] = TR_JOIN_$short(q, u);
  to[2] = TR_JOIN_$short(r, v);
  to[3] = TR_JOIN_$short(s, w);
}
""",
            ),
            (
                f"tr_k_unweave_{short}",
                """\
static inline __attribute__((always_inline)) void
tr_k_unweave_$short(const tr_k_$short *x, $Real *to, const int64_t *at) {
#define TR_FOUR(l, h) *(const tr_k_four_$short *)((const $Real *)(x + l) + h)
  tr_k_four_$short p = TR_FOUR(0, 0), q = TR_FOUR(1, 0), r = TR_FOUR(2, 0), s = TR_FOUR(3, 0);
  tr_k_four_$short t = TR_FOUR(0, 4), u = TR_FOUR(1, 4), v = TR_FOUR(2, 4), w = TR_FOUR(3, 4);
#undef TR_FOUR
  tr_k_turn_$short(p, q, r, s)
  tr_k_turn_$short(t, u, v, w)
#define TR_FOUR(l, y) *(tr_k_four_$short *)(to + at[l]) = y;
  TR_FOUR(0, p) TR_FOUR(1, q) TR_FOUR(2, r) TR_FOUR(3, s) TR_FOUR(4, t) TR_FOUR(5, u) TR_FOUR(6, v) TR_FOUR(7, w)
#undef TR_FOUR
}
""",
            ),
        )
    }


VECTORS: Mapping[str, str] = MappingProxyType(
    {
        "tr_f64s tr_f32s": _WIDEST,
        **{names: text for eight in NUMBERS for names, text in _eights(eight).items()},
        **{
            f"tr_k_v_{short} tr_k_u_{short} tr_k_i_{short} tr_k_j_{short} tr_k_w_{short}": _types(dtype)
            for dtype, short in SHORT.items()
            if dtype in _LANED
        },
        # From the right place on, ones for the first elements of a vector and zeros for the others.
        **{
            f"tr_k_ones_{size}": (
                f"static const int{8 * size}_t tr_k_ones_{size}[{128 // size}] = {{[0 ... {64 // size - 1}] = -1}};\n"
            )
            for size in (1, 2, 4, 8)
        },
        # Products and sums of numbers, rounded once where that is one instruction.
        **{
            f"tr_k_fused_{short}": (
                f"static inline __attribute__((always_inline)) {real} "
                f"tr_k_fused_{short}({real} a, {real} b, {real} c) {{\n#ifdef __FP_FAST_FMA\n"
                f"  return __builtin_fma{single}(a, b, c);\n#else\n  return a * b + c;\n#endif\n}}\n"
            )
            for short, real, single in (("f64", "double", ""), ("f32", "float", "f"))
        },
        # What a kernel of fused vectors is compiled with: gcc has these for whole functions only.
        "tr_k_contracting tr_k_contract": (
            "#ifdef __clang__\n#define tr_k_contracting\n"
            '#define tr_k_contract _Pragma("clang fp contract(fast)")\n'
            '#else\n#define tr_k_contracting __attribute__((optimize("O2", "fp-contract=fast")))\n'
            "#define tr_k_contract\n#endif\n"
        ),
    }
)


def vector_function(x: tree.Apply, arguments: Sequence[str]) -> str:
    """Return the text of a function of vectors."""
    if x.function == "lanes":
        (of,) = x.arguments
        return f"(int64_t)tr_k_w_{SHORT[str(of.value)] if isinstance(of, tree.Literal) else ''}"
    if x.function == "total":
        dtype = x.arguments[0].kind[1:-1]
        short, element = SHORT[dtype], _C_TYPES.get(dtype, f"{dtype}_t")
        added = f"for (int tr_l = 0; tr_l < tr_k_w_{short}; tr_l++) tr_s = ({element})(tr_s + tr_v[tr_l]);"
        return f"({{ const tr_k_v_{short} tr_v = {arguments[0]}; {element} tr_s = 0; {added} tr_s; }})"
    dtype = x.kind[1:-1]
    short = SHORT[dtype]
    if x.function == "vector":
        return f"(*(const tr_k_u_{short} *){arguments[0]})"
    if x.function == "filled":
        # Less 0 rather than plus 0, which would make 0.0 of -0.0.
        return f"(({_C_TYPES.get(dtype, f'{dtype}_t')}){arguments[0]} - (tr_k_v_{short}){{0}})"
    if x.function == "fused":
        a, b, c = arguments
        return f"({a} * {b} + {c})"
    v, count = arguments
    place = f"tr_k_ones_{SIZES[dtype]} + {64 // SIZES[dtype]} - {count}"
    return f"((tr_k_v_{short})((tr_k_i_{short}){v} & *(const tr_k_j_{short} *)({place})))"
