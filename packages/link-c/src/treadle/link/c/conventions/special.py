"""SciPy's compiled special functions, which generated C calls by the pointers that `scipy.special` publishes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module

from treadle.link.c.capsules import CPointer, capsule_signature
from treadle.link.c.conventions.dtypes import CType
from treadle.link.c.errors import BackendUnavailableError

MODULE = "scipy.special.cython_special"
# The texts of scalar ops call ``tr_special_gammainc_{t}({0}, {1})``, with the function's name in the module.
CALL = re.compile(r"\btr_special_(\w+?)_(f32|f64)\b")


def special_pointer(name: str, short: str) -> tuple[str, CPointer]:
    """Return the C variable that holds a function's address, and the pointer that it is filled with.

    float32 uses SciPy's function for float if there is one, otherwise the one for double. Functions with several
    variants have one capsule for each, ``__pyx_fuse_0name`` and so on.
    """
    capsules: Mapping[str, object] = import_module(MODULE).__pyx_capi__
    variants = {
        own: capsule for own, capsule in capsules.items() if re.fullmatch(rf"(__pyx_fuse_\d+(_\d)?)?{name}", own)
    }
    for kind in ("float", "double") if short == "f32" else ("double",):
        for own, capsule in variants.items():
            signature = capsule_signature(capsule)
            if re.fullmatch(rf"{kind} \(({kind}, )+int __pyx_skip_dispatch\)", signature):
                return f"tr_at_{name}_{kind}", CPointer(MODULE, own, signature)
    msg = f"c: SciPy's cython_special has no {name} of real numbers. Install a version of SciPy that has it."
    raise BackendUnavailableError(msg)


def special_function(name: str, ctype: CType) -> str:
    """Return the text of ``tr_special_<name>_<short>``, which takes and returns the type."""
    variable, pointer = special_pointer(name, ctype.short)
    kind, _, parameters = pointer.signature.partition(" ")
    names = [f"x{k}" for k in range(parameters.count(f"{kind}, "))]
    declared = ", ".join(f"{ctype.computed} {x}" for x in names)
    return (
        f"static inline {ctype.computed} tr_special_{name}_{ctype.short}({declared}) {{\n"
        f"  return ({ctype.computed})(({kind} (*){parameters.replace(' __pyx_skip_dispatch', '')}){variable})"
        f"({', '.join(names)}, 0);\n}}\n"
    )
