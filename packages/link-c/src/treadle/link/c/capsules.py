"""C functions that Python modules publish as capsules, as SciPy's modules for Cython do, looked up by checked names."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from treadle.config import dataclass
from treadle.kernels import capsule_pointer, capsule_signature, published
from treadle.link.c.errors import BackendUnavailableError

if TYPE_CHECKING:
    from treadle.kernels import Source


@dataclass(frozen=True, slots=True)
class CPointer:
    """A C function in a module's ``__pyx_capi__``, such as one of ``scipy.special.cython_special``.

    Parameters
    ----------
    module
        The module's dotted name.
    name
        The function's name there, such as ``gammaln`` or ``__pyx_fuse_1psi``.
    signature
        Its C type as the capsule names it, such as ``double (double, int __pyx_skip_dispatch)``. It is compared with
        the type in the installed version, since a call with other parameters would crash.
    """

    module: str
    name: str
    signature: str

    def address(self) -> int:
        """Return its address.

        Raises
        ------
        BackendUnavailableError
            If the module or the function is missing, or has another signature.
        """
        return _address(self)


@dataclass(frozen=True, slots=True)
class ExternalPointer(CPointer):
    """What kernels use that is compiled elsewhere; its signature is not looked at."""

    source: Source

    def address(self) -> int:
        """Return its address.

        Raises
        ------
        BackendUnavailableError
            If it is not there.
        """
        try:
            return self.source.address()
        except ImportError as error:
            msg = f"c: {error}"
            raise BackendUnavailableError(msg) from error


@cache
def _address(pointer: CPointer) -> int:
    try:
        capsule = published(pointer.module, pointer.name)
    except ImportError as error:
        msg = f"c: {error}"
        raise BackendUnavailableError(msg) from error
    stated = capsule_signature(capsule)
    if stated != pointer.signature:
        msg = (
            f"c: {pointer.module}.{pointer.name} has the C type {stated!r}, not {pointer.signature!r}. "
            "Check the module's version."
        )
        raise BackendUnavailableError(msg)
    return capsule_pointer(capsule)
