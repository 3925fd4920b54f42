"""The printing functions, as `treadle.graph` and methods such as `Variable.dprint` offer them.

Most programs print no graph, so the modules that do it are loaded at the first call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import lazy_module

if TYPE_CHECKING:
    from treadle.graph import printing
    from treadle.graph.printing import (
        as_string,
        debugprint,
        default_node_formatter,
        dot_text,
        dprint,
        op_as_string,
        pp,
        pprint,
        pydotprint,
    )
else:
    printing = lazy_module("treadle.graph.printing")

    class _Deferred:
        """Stands for a function of the printing modules: calls and attributes go to it."""

        def __init__(self, name: str) -> None:
            self.__name__ = name

        def __call__(self, *args: object, **kwargs: object) -> Any:
            return getattr(printing, self.__name__)(*args, **kwargs)

        @property
        def __doc__(self) -> str | None:
            return getattr(printing, self.__name__).__doc__

        @property
        def __wrapped__(self) -> Any:
            return getattr(printing, self.__name__)

        def __getattr__(self, name: str) -> Any:
            return getattr(getattr(printing, self.__name__), name)

        def __repr__(self) -> str:
            return repr(getattr(printing, self.__name__))

        def __reduce__(self) -> str:
            return self.__name__

    as_string = _Deferred("as_string")
    debugprint = _Deferred("debugprint")
    default_node_formatter = _Deferred("default_node_formatter")
    dprint = _Deferred("debugprint")
    dot_text = _Deferred("dot_text")
    op_as_string = _Deferred("op_as_string")
    pp = _Deferred("pp")
    pprint = _Deferred("pprint")
    pydotprint = _Deferred("pydotprint")

__all__ = [
    "as_string",
    "debugprint",
    "default_node_formatter",
    "dot_text",
    "dprint",
    "op_as_string",
    "pp",
    "pprint",
    "printing",
    "pydotprint",
]
