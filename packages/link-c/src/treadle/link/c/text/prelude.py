"""The beginning of a text: declarations of what it uses of the C library, in place of the headers.

Reading the headers takes longer than compiling a small program. A text that uses anything else of the C library than
what is listed here gets the headers.
"""

from __future__ import annotations

import re

from treadle.kernels import VECTOR_FUNCTIONS

# glibc has one code for memcpy, which compilers call by themselves too, and memmove, but versions of the former alone,
# which the linker would have to look up.
_MEMCPY = 'void *memcpy(void *__restrict, const void *__restrict, __SIZE_TYPE__) __asm__("memmove");\n'
HEADERS = f"""\
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifdef __linux__
{_MEMCPY}#endif
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <pthread.h>
#include <time.h>
"""
# The compiler's own names of the types that <stdint.h> and <stddef.h> define.
_TYPES = (
    "".join(
        f"typedef __{name.upper()}_TYPE__ {name}_t;\n"
        for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intptr", "uintptr")
    )
    + "typedef __SIZE_TYPE__ size_t;\ntypedef __PTRDIFF_TYPE__ ptrdiff_t;\n"
    + _MEMCPY
)
# Functions on numbers, by the number of operands; those that there may be vectors of are listed there.
_ALSO = {
    "ceil": 1, "fabs": 1, "floor": 1, "j0": 1, "j1": 1, "lgamma": 1, "logb": 1, "nearbyint": 1, "rint": 1, "round": 1,
    "sqrt": 1, "tgamma": 1, "trunc": 1, "y0": 1, "y1": 1, "copysign": 2, "fdim": 2, "fmax": 2, "fmin": 2, "fmod": 2,
    "nextafter": 2, "remainder": 2, "fma": 3,
}  # fmt: skip
_NUMBERS = (("double", ""), ("float", "f"))
_FUNCTIONS = {
    **{
        f"{name}{suffix}": f"{t} {name}{suffix}({', '.join([t] * count)});"
        for name, count in {**VECTOR_FUNCTIONS, **_ALSO}.items()
        for t, suffix in _NUMBERS
    },
    **{f"ldexp{suffix}": f"{t} ldexp{suffix}({t}, int);" for t, suffix in _NUMBERS},
    **{f"frexp{suffix}": f"{t} frexp{suffix}({t}, int *);" for t, suffix in _NUMBERS},
    "abs": "int abs(int);",
    "labs": "long labs(long);",
    "llabs": "long long llabs(long long);",
    "memcmp": "int memcmp(const void *, const void *, size_t);",
    "memmove": "void *memmove(void *, const void *, size_t);",
    "memset": "void *memset(void *, int, size_t);",
    "aligned_alloc": "void *aligned_alloc(size_t, size_t);",
    "calloc": "void *calloc(size_t, size_t);",
    "free": "void free(void *);",
    "malloc": "void *malloc(size_t);",
    "realloc": "void *realloc(void *, size_t);",
    "pthread_self": "unsigned long pthread_self(void);",
    "clock_gettime": "struct timespec { long tv_sec, tv_nsec; };\nint clock_gettime(int, struct timespec *);",
}
_MACROS = {
    **{f"INT{bits}_MAX": f"__INT{bits}_MAX__" for bits in (8, 16, 32, 64)},
    **{f"INT{bits}_MIN": f"(-__INT{bits}_MAX__ - 1)" for bits in (8, 16, 32, 64)},
    **{f"UINT{bits}_MAX": f"__UINT{bits}_MAX__" for bits in (8, 16, 32, 64)},
    "SIZE_MAX": "__SIZE_MAX__",
    "NULL": "((void *)0)",
    "NAN": '__builtin_nanf("")',
    "INFINITY": "__builtin_inff()",
    "HUGE_VAL": "__builtin_huge_val()",
    # These are so on Linux, the only system for which programs are written like this.
    "INT64_C(x)": "x##L",
    "UINT64_C(x)": "x##UL",
    "CLOCK_MONOTONIC": "1",
    "offsetof(type, member)": "__builtin_offsetof(type, member)",
    **{f"{name}(x)": f"__builtin_{name}(x)" for name in ("isnan", "isinf", "isfinite", "signbit")},
}
_DECLARED = {
    **_FUNCTIONS,
    **{name.partition("(")[0]: f"#define {name} {text}" for name, text in _MACROS.items()},
}
# Words of the language that parentheses follow.
_WORDS = {
    "if", "for", "while", "switch", "return", "sizeof", "defined", "else", "do", "vector_size", "aligned", "visibility",
    "weak", "alias", "unused", "const", "restrict", "int", "char", "double", "float", "void", "simd", "reduction",
    "unroll", "noinline", "__attribute__", "__asm__", "__typeof__", "_Pragma", "case", "int64_t",
    "__real__", "__imag__", "always_inline", "GCC", "volatile", "memcpy",
}  # fmt: skip
_OWN = re.compile(r"tr_|TR_|treadle_|__builtin_|__atomic_|_ZGV|__restrict")
_COMMENT = re.compile(r"/\*.*?\*/|\"[^\"\n]*\"", re.DOTALL)
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_CAPITALS = re.compile(r"\b[A-Z][A-Z0-9_]+\b")
# Functions, function pointers and macros of the text itself.
_DEFINED = re.compile(
    r"^(?:static|extern|TR_LOCAL|int64_t|int|void)\b(?:__attribute__\(\(\w+\)\)|[^;{(])*?\b(?!__attribute__)(\w+)\("
    r"|\(\*(?:const )?(\w+)(?:\[\w*\])?\)\(|#define (\w+)",
    re.MULTILINE,
)
# Parameters and variables of types of the text's own, which may be pointers to functions.
_HELD = re.compile(r"\btr_\w+ \**(?:const )?(\w+)[,)=;\[ ]")


def prelude(text: str) -> str:
    """Return the declarations of what a text uses of the C library, or the headers if it uses what is not listed."""
    if "#include" in text:
        return HEADERS
    code = _COMMENT.sub(" ", text)
    used = {*_CALLED.findall(code), *_CAPITALS.findall(code)}
    own = {name for names in _DEFINED.findall(code) for name in names}.union(_HELD.findall(code))
    if any(not _OWN.match(name) for name in used - own - _WORDS - _DECLARED.keys()):
        return HEADERS
    return _TYPES + "".join(f"{line}\n" for name, line in _DECLARED.items() if name in used)
