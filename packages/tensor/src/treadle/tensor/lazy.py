"""Which names load a module when they are first asked for, so that importing the package stays quick."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from treadle.config import lazy_module
from treadle.tensor.names import LAZY

if TYPE_CHECKING:
    from collections.abc import Callable

# Modules that are public themselves, as in ``treadle.tensor.special.softmax``.
SUBMODULES: tuple[str, ...] = ("array_api", "special")
NAMES = [*(name for names in LAZY.values() for name in names.split()), *SUBMODULES]
# Documented modules of further names, found as attributes too, as in ``treadle.tensor.math.exp``: no public names.
PATHS = ("basic", "extra_ops", "math", "sharedvar", "subtensor", "type", "utils", "variable")
_MODULES = LAZY | {name: name for name in (*SUBMODULES, *PATHS)}
# What programs need besides tensors, found here too so that they start with one import.
FRONT = {
    "treadle.config": "config",
    "treadle.graph": (
        "debugprint dprint latex pprint register_tree_node tree_flatten tree_leaves tree_map tree_unflatten write_html"
    ),
}
_elsewhere = lazy_module("treadle.tensor.variables.elsewhere")
# What `treadle.tensor` finds names in, by full names of modules.
MODULES = {f"treadle.tensor.{module}": names for module, names in _MODULES.items()} | FRONT


def lazy_scipy_module(name: str) -> ModuleType:
    """Return a module of SciPy's, which is imported when an attribute of it is first asked for.

    >>> lazy_scipy_module("special").erf(0.0)
    0.0
    """
    module: ModuleType = lazy_module(f"scipy.{name}")
    return module


def hint(name: str) -> str:
    """Return what the message about a name that `treadle.tensor` lacks ends with; see `function_hint`.

    >>> hint("vjp")
    '. Here: tt.pullback(expression, wrt, cotangents)'
    """
    text: str = _elsewhere.function_hint(name)
    return text


def hint_below(module: str) -> Callable[[str], str]:
    """Return what gives the end of the message about a name that a module below `treadle.tensor` lacks.

    >>> hint_below("random")("PRNGKey")
    '. Here: tt.random.RandomStream(seed), which needs no keys'
    """

    def hint_in_module(name: str) -> str:
        text: str = _elsewhere.module_hint(module, name)
        return text

    return hint_in_module
