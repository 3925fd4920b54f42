"""SciPy's compiled special functions, as generated C calls them: by pointers that `scipy.special` publishes."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING

from treadle.link.c.capsules import CPointer, capsule_signature
from treadle.link.c.errors import BackendUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.link.c.conventions.dtypes import CType

MODULE = "scipy.special.cython_special"
# What a scalar op's text calls: ``tr_special_gammainc_{t}({0}, {1})``, by the function's name in the module.
CALL = re.compile(r"\btr_special_(\w+?)_(f32|f64)\b")


def special_pointer(name: str, short: str) -> tuple[str, CPointer]:
    """Return the C variable that holds a function's address, and where the address is found.

    A function that SciPy has for float only as well is called so for float32, any other with double. Those with more
    than one variant have several capsules, ``__pyx_fuse_0name`` and so on.
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
    kind, _, rest = pointer.signature.partition(" ")
    names = [f"x{k}" for k in range(rest.count(f"{kind}, "))]
    taken = ", ".join(f"{ctype.computed} {x}" for x in names)
    return (
        f"static inline {ctype.computed} tr_special_{name}_{ctype.short}({taken}) {{\n"
        f"  return ({ctype.computed})(({kind} (*){rest.replace(' __pyx_skip_dispatch', '')}){variable})"
        f"({', '.join(names)}, 0);\n}}\n"
    )
