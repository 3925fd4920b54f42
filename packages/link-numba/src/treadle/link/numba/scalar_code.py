"""Scalar functions as expressions of generated code, from the table of scalar ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import DuplicateRegistrationError
from treadle.link.numba.dtypes import STORAGES, converted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.tensor import ScalarOp

# By scalar op, the text for each kind of the dtype computed with: {0} {1} {2} are the operands, {t} the type code.
_NUMBERS: Mapping[str, Mapping[str, str]] = {
    "add": {"fiu": "{0} + {1}", "b": "{0} | {1}"},
    "sub": {"fiu": "{0} - {1}"},
    "mul": {"fiu": "{0} * {1}", "b": "{0} & {1}"},
    "true_div": {"f": "{0} / {1}"},
    "floor_div": {"fiu": "floor_div_{t}({0}, {1})"},
    "mod": {"fiu": "mod_{t}({0}, {1})"},
    "neg": {"fiu": "-{0}"},
    "sign": {
        "f": "pick({0} > 0, {t}(1), pick({0} < 0, {t}(-1), pick({0} == 0, {t}(0), {0})))",
        "iu": "i8({0} > 0) - i8({0} < 0)",
    },
    "abs": {"f": "fabs({0})", "i": "pick({0} < 0, {t}(-{0}), {0})", "ub": "{0}"},
    "maximum": {"f": "larger({0}, {1})", "iu": "pick({0} > {1}, {0}, {1})", "b": "{0} | {1}"},
    "minimum": {"f": "smaller({0}, {1})", "iu": "pick({0} < {1}, {0}, {1})", "b": "{0} & {1}"},
    "identity": {"fiub": "{0}"},
    "real": {"fiub": "{0}"},
    "imag": {"fiu": "{t}(0)", "b": "False"},
    "conj": {"fiu": "{0}"},
    "angle": {"f": "libm_atan2_{t}({t}(0), {0})"},
    "second": {"fiub": "{1}"},
    "switch": {"fiub": "pick({0}, {1}, {2})"},
    "ceil": {"f": "ceil({0})", "iub": "{0}"},
    "floor": {"f": "floor({0})", "iub": "{0}"},
    "trunc": {"f": "trunc({0})", "iub": "{0}"},
    "round_half_to_even": {"f": "rint({0})", "iub": "{0}"},
    "round_half_away_from_zero": {"f": "half_away({0})", "iub": "{0}"},
    "sqr": {"fiu": "{0} * {0}", "b": "{0}"},
    "sqrt": {"f": "sqrt({0})"},
    "reciprocal": {"f": "{t}(1) / {0}", "i": "i8(1.0 / f8({0}))", "u": "u8({0} == 1)", "b": "{0}"},
    "pow": {"f": "libm_pow_{t}({0}, {1})", "iu": "pow_{t}({0}, {1})"},
    "arctan2": {"f": "libm_atan2_{t}({0}, {1})"},
    "deg2rad": {"f": "{0} * {t}(0.017453292519943295)"},
    "rad2deg": {"f": "{0} * {t}(57.29577951308232)"},
    "sigmoid": {
        "f": "pick({0} >= 0, {t}(1), libm_exp_{t}(-fabs({0}))) / ({t}(1) + libm_exp_{t}(-fabs({0})))",
    },
    "softplus": {"f": "larger({0}, {t}(0)) + libm_log1p_{t}(libm_exp_{t}(-fabs({0})))"},
    "log1mexp": {
        "f": "pick({0} > {t}(-0.6931471805599453), libm_log_{t}(-libm_expm1_{t}({0})), "
        "libm_log1p_{t}(-libm_exp_{t}({0})))",
    },
    "logaddexp": {
        "f": "pick({0} == {1}, {0} + {t}(0.6931471805599453), "
        "larger({0}, {1}) + libm_log1p_{t}(libm_exp_{t}(-fabs({0} - {1}))))",
    },
}
_TRUTHS: Mapping[str, Mapping[str, str]] = {
    "eq": {"fiub": "{0} == {1}"},
    "neq": {"fiub": "{0} != {1}"},
    "lt": {"fiub": "{0} < {1}"},
    "le": {"fiub": "{0} <= {1}"},
    "gt": {"fiub": "{0} > {1}"},
    "ge": {"fiub": "{0} >= {1}"},
    "isnan": {"fiub": "{0} != {0}"},
    "isinf": {"f": "fabs({0}) == {t}(INF)", "iub": "{0} != {0}"},
    "isfinite": {"f": "fabs({0}) < {t}(INF)", "iub": "{0} == {0}"},
    "isposinf": {"f": "{0} == {t}(INF)", "iub": "{0} != {0}"},
    "isneginf": {"f": "{0} == {t}(-INF)", "iub": "{0} != {0}"},
    "logical_and": {"fiub": "({0} != 0) & ({1} != 0)"},
    "logical_or": {"fiub": "({0} != 0) | ({1} != 0)"},
    "logical_xor": {"fiub": "({0} != 0) ^ ({1} != 0)"},
    "logical_not": {"fiub": "{0} == 0"},
}
_BITS: Mapping[str, Mapping[str, str]] = {
    "and": {"iub": "{0} & {1}"},
    "or": {"iub": "{0} | {1}"},
    "xor": {"iub": "{0} ^ {1}"},
    "invert": {"iu": "~{0}", "b": "{0} == 0"},
    "left_shift": {"iu": "left_shift_{t}({0}, {1})"},
    "right_shift": {"iu": "right_shift_{t}({0}, {1})"},
}
# Scalar ops that are a function of libm by another name than NumPy's, or by the same.
_LIBM: Mapping[str, str] = {
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10",
    "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh",
}  # fmt: skip


class ScalarTexts:
    """Texts of elementwise functions by scalar op name, for scalar ops that treadle has no text for."""

    __slots__ = ("_texts",)

    def __init__(self) -> None:
        self._texts: dict[str, Mapping[str, str]] = {}

    def register(self, name: str, texts: Mapping[str, str]) -> None:
        """Give a scalar op its text.

        Parameters
        ----------
        name
            Name of the scalar op.
        texts
            For kinds of the dtype computed with, such as ``"f"`` or ``"iu"``, a Python expression: ``{0}`` ``{1}``
            ``{2}`` are the operands, ``{t}`` is the code of that dtype (``f8``), and ``libm_exp_{t}`` and its like
            are the functions of libm.
        """
        if self.has(name):
            msg = f"numba: the scalar op {name!r} has a text already. Remove one of the two."
            raise DuplicateRegistrationError(msg)
        self._texts[name] = dict(texts)

    def has(self, name: str) -> bool:
        """Whether a scalar op has a text, for whichever dtypes."""
        return any(name in table for table in (_NUMBERS, _TRUTHS, _BITS, _LIBM, self._texts)) or name.startswith(
            "cast_"
        )

    def of(self, name: str) -> Mapping[str, str]:
        """Return what was registered for a scalar op, by kinds."""
        return self._texts.get(name, {})


SCALARS = ScalarTexts()


def scalar_text(scalar_op: ScalarOp, kind: str) -> str | None:
    """Return the text of a scalar op for a kind of dtype, None where the backend has none."""
    if scalar_op.name.startswith("cast_"):
        return "{0}"
    if kind == "f" and scalar_op.name in _LIBM:
        return f"libm_{_LIBM[scalar_op.name]}_{{t}}({{0}})"
    for texts in (*(table.get(scalar_op.name, {}) for table in (_NUMBERS, _TRUTHS, _BITS)), SCALARS.of(scalar_op.name)):
        for kinds, text in texts.items():
            if kind in kinds:
                return text
    return None


def step_text(scalar_op: ScalarOp, operands: Sequence[tuple[str, str]], loops: Sequence[str], out: str) -> str:
    """Return the expression of one scalar op applied to variables.

    Parameters
    ----------
    scalar_op
        The function.
    operands
        Variable and dtype of each operand.
    loops
        Dtypes to compute with.
    out
        Dtype of the result.
    """
    args = [converted(text, dtype, loop) for (text, dtype), loop in zip(operands, loops, strict=True)]
    if scalar_op.name.startswith("cast_"):
        return converted(args[0], loops[0], out)
    lead = STORAGES[loops[-1] if scalar_op.name in {"switch", "second"} else loops[0]]
    text = scalar_text(scalar_op, lead.kind)
    if text is None:
        msg = f"{scalar_op.name}: no text for {lead.dtype}. Check scalar ops with why_not first."
        raise KeyError(msg)
    filled = text.replace("{t}", lead.code)
    for i, arg in enumerate(args):
        filled = filled.replace(f"{{{i}}}", arg)
    if out == "bool":
        return filled
    if scalar_op.name in _TRUTHS:
        return converted(filled, "bool", out)
    if out == "float16":
        return filled if scalar_op.name in {"identity", "second", "switch", "abs", "neg"} else f"half_f4({filled})"
    return filled if filled in args or lead.kind == "f" else f"{STORAGES[out].code}({filled})"


def can_fail(scalar_op: ScalarOp, loops: Sequence[str]) -> bool:
    """Whether a scalar op refuses some values at run time: integers to negative powers."""
    return scalar_op.name == "pow" and STORAGES[loops[0]].kind == "i"


def why_not(scalar_op: ScalarOp, loops: Sequence[str], out: str) -> str:
    """Return why a scalar op cannot be lowered for these dtypes, or an empty text."""
    missing = [d for d in (*loops, out) if d not in STORAGES]
    if missing:
        return f"the dtype {missing[0]} is not lowered by this backend"
    kind = STORAGES[loops[-1] if scalar_op.name in {"switch", "second"} else loops[0]].kind
    return (
        ""
        if scalar_text(scalar_op, kind) is not None
        else f"the elementwise function {scalar_op.name} has no text for {loops[0]}"
    )
