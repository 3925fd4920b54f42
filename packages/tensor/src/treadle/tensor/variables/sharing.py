"""`shared` with the types that checkers and editors see: numbers and arrays give tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import shared as _shared

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Protocol, overload

    import numpy as np

    from treadle.tensor.variables.variable import TensorSharedVariable

    class _Shared(Protocol):
        @overload
        def __call__(
            self,
            value: complex | np.ndarray[Any, Any] | np.generic | Sequence[Any],
            name: str | None = None,
            strict: bool = False,
            allow_downcast: bool | None = None,
            *,
            borrow: bool = False,
            shape: Sequence[int | None] | None = None,
        ) -> TensorSharedVariable: ...

        @overload
        def __call__(
            self,
            value: Any,
            name: str | None = None,
            strict: bool = False,
            allow_downcast: bool | None = None,
            *,
            borrow: bool = False,
            **type_options: Any,
        ) -> Any: ...


shared: _Shared = _shared
