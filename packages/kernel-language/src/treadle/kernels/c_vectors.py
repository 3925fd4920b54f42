"""Vectors of kernels in C: types of the compiler's, as long as those that the C backend computes functions on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from treadle.kernels.kinds import SHORT, SIZES
from treadle.kernels.tree import Apply, Literal

_C_TYPES = {"float32": "float", "float64": "double"}
_LANED = tuple(dtype for dtype in SHORT if "complex" not in dtype and dtype not in {"bool", "float16"})


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


VECTORS: Mapping[str, str] = MappingProxyType(
    {
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
        # What a kernel of fused vectors is compiled with: gcc has these for whole functions only.
        "tr_k_contracting tr_k_contract": (
            "#ifdef __clang__\n#define tr_k_contracting\n"
            '#define tr_k_contract _Pragma("clang fp contract(fast)")\n'
            '#else\n#define tr_k_contracting __attribute__((optimize("O2", "fp-contract=fast")))\n'
            "#define tr_k_contract\n#endif\n"
        ),
    }
)


def vector_function(x: Apply, arguments: Sequence[str]) -> str:
    """Return the text of a function of vectors."""
    if x.function == "lanes":
        (of,) = x.arguments
        return f"(int64_t)tr_k_w_{SHORT[str(of.value)] if isinstance(of, Literal) else ''}"
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
