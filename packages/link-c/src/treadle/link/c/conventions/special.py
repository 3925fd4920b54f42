"""SciPy's compiled special functions, which generated C calls by the pointers that `scipy.special` publishes."""

from __future__ import annotations

import re

from treadle.kernels import SPECIAL_MODULE, capsule_signature, special_capsule
from treadle.link.c.capsules import CPointer
from treadle.link.c.conventions.dtypes import CType
from treadle.link.c.errors import BackendUnavailableError

# The texts of scalar ops call ``tr_special_gammainc_{t}({0}, {1})``, with the function's name in the module.
CALL = re.compile(r"\btr_special_(\w+?)_(f32|f64)\b")


def special_pointer(name: str, short: str) -> tuple[str, CPointer]:
    """Return the C variable that holds a function's address, and the pointer that it is filled with."""
    found = special_capsule(name, single=short == "f32")
    if found is not None:
        kind, own, capsule = found
        return f"tr_at_{name}_{kind}", CPointer(SPECIAL_MODULE, own, capsule_signature(capsule))
    msg = f"c: SciPy's cython_special has no {name} of real numbers. Install a version of SciPy that has it."
    raise BackendUnavailableError(msg)


def special_function(name: str, ctype: CType) -> str:
    """Return the text of ``tr_special_<name>_<short>``, which takes and returns the type."""
    variable, pointer = special_pointer(name, ctype.short)
    kind, _, parameters = pointer.signature.partition(" ")
    names = [f"x{k}" for k in range(parameters.count(f"{kind}, "))]
    declared = ", ".join(f"{ctype.computed} {x}" for x in names)
    return (
        f"static inline {ctype.computed} tr_special_{name}_{ctype.short}({declared}) {{\n  tr_k_clear();\n"
        f"  return ({ctype.computed})(({kind} (*){parameters.replace(' __pyx_skip_dispatch', '')}){variable})"
        f"({', '.join(names)}, 0);\n}}\n"
    )
