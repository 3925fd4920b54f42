"""C texts of functions of the kernel language, which texts of kernels call."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from treadle.kernels.printing.c_conversions import CONVERSIONS
from treadle.kernels.printing.c_vectors import VECTORS

# The registers whose upper halves are cleared.
_LOW = ", ".join(f'"xmm{k}"' for k in range(16))

# Functions of the language that C has no operator or function for; what calls them names them.
HELPERS: Mapping[str, str] = MappingProxyType(
    {
        **VECTORS,
        **CONVERSIONS,
        "tr_k_min": "static inline int64_t tr_k_min(int64_t a, int64_t b) { return a < b ? a : b; }\n",
        "tr_k_max": "static inline int64_t tr_k_max(int64_t a, int64_t b) { return a > b ? a : b; }\n",
        "tr_k_min_u64": "static inline uint64_t tr_k_min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }\n",
        "tr_k_max_u64": "static inline uint64_t tr_k_max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }\n",
        "tr_k_team": (
            "#ifdef _OPENMP\n#define tr_k_team(work) (int64_t)tr_team(work)\n"
            "#else\n#define tr_k_team(work) ((int64_t)1)\n#endif\n"
        ),
        "tr_k_abs": "static inline int64_t tr_k_abs(int64_t a) { return a < 0 ? -a : a; }\n",
        "tr_k_floor_div": (
            "static inline int64_t tr_k_floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }\n"
        ),
        "tr_k_floor_mod": (
            "static inline int64_t tr_k_floor_mod(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }\n"
        ),
        # Before functions that others compiled, and at a program's end: gcc clears the upper halves of vector registers
        # from -O2 on only, and what was compiled without AVX takes up to twice as long while they are in use, as
        # NumPy's Fourier transforms do. gcc's builtin does not say before version 12 that it clears registers.
        "tr_k_clear": (
            "#ifdef __AVX__\n"
            f'#define tr_k_clear() ({{ __asm__ volatile("vzeroupper" ::: {_LOW}, "memory"); }})\n'
            "#else\n#define tr_k_clear() ((void)0)\n#endif\n"
        ),
        # gcc 12 contracts products and sums of complex numbers in vectors, with -ffp-contract=off too: an element would
        # depend on whether it is computed in a vector or after the last one.
        "tr_k_alone": (
            "#if __GNUC__ > 11 && !defined __clang__\n#define tr_k_alone(x) __builtin_assoc_barrier(x)\n"
            "#else\n#define tr_k_alone(x) (x)\n#endif\n"
        ),
        **{
            f"tr_k_times_{short}": (
                f"static inline {t} _Complex tr_k_times_{short}({t} _Complex a, {t} _Complex b) {{\n"
                f"  const {t} x = __real__ a, y = __imag__ a, u = __real__ b, v = __imag__ b;\n"
                "  return __builtin_complex(tr_k_alone(x * u) - y * v, tr_k_alone(x * v) + y * u);\n}\n"
            )
            for short, t in (("c64", "float"), ("c128", "double"))
        },
        "tr_k_bits": ("static inline int64_t tr_k_bits(double x) { int64_t n; memcpy(&n, &x, sizeof n); return n; }\n"),
        "tr_k_bitsf": (
            "static inline int64_t tr_k_bitsf(float x) { int32_t n; memcpy(&n, &x, sizeof n); return n; }\n"
        ),
        "tr_k_from_bits": (
            "static inline double tr_k_from_bits(int64_t n) { double x; memcpy(&x, &n, sizeof x); return x; }\n"
        ),
        # Smith's algorithm (1962).
        **{
            f"tr_k_over_{short}": (
                f"static inline {t} _Complex tr_k_over_{short}({t} _Complex a, {t} _Complex b) {{\n"
                f"  {t} x = __real__ a, y = __imag__ a, u = __real__ b, v = __imag__ b;\n"
                f"  if (!(fabs{f}(u) >= fabs{f}(v))) {{ {t} z = x; x = -y; y = z; z = u; u = -v; v = z; }}\n"
                f"  const {t} low = v / u, scale = u + v * low;\n"
                f"  const {t} p = tr_k_alone(y * low), q = tr_k_alone(x * low);\n"
                "  return __builtin_complex((x + p) / scale, (y - q) / scale);\n}\n"
            )
            for short, t, f in (("c64", "float", "f"), ("c128", "double", ""))
        },
    }
)
