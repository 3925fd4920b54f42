"""treadle.kernels: kernels written once, in a small part of Python, for all compiling backends."""

from typing import TYPE_CHECKING

from treadle.config import versioned_names

if TYPE_CHECKING:
    from treadle.kernels.capsules import (
        SPECIAL_MODULE,
        capsule_pointer,
        capsule_signature,
        published,
        special_capsule,
    )
    from treadle.kernels.definition import Kernel, TextKernels, kernel, kernel_of_text
    from treadle.kernels.errors import KernelError
    from treadle.kernels.externals import Address, External, Source, external, external_table
    from treadle.kernels.kinds import SIZES, is_pointer, real_dtype, value_kind
    from treadle.kernels.language import Status
    from treadle.kernels.numpy_sorts import BY_NUMPY, numpy_sort, sorts_table
    from treadle.kernels.printing.c import c_name, c_text
    from treadle.kernels.printing.c_helpers import HELPERS
    from treadle.kernels.printing.c_types import stored_type
    from treadle.kernels.printing.numba import external_name, memory_code, numba_lines, numba_name, value_code
    from treadle.kernels.site import (
        TABLE,
        Axis,
        Comparison,
        Given,
        Length,
        Site,
        at_site,
        bits_of,
        overwritten_inputs,
        takes_real_only,
    )
    from treadle.kernels.tree import Routine, Specialised
    from treadle.kernels.vector_functions import INACCURATE, LIBMVEC, VECTOR_FUNCTIONS

    __version__: str
else:
    __getattr__ = versioned_names(
        __name__,
        "kernel-language",
        {
            "treadle.kernels.printing.c_helpers": "HELPERS",
            "treadle.kernels.printing.c": "c_name c_text",
            "treadle.kernels.printing.c_types": "stored_type",
            "treadle.kernels.capsules": "SPECIAL_MODULE capsule_pointer capsule_signature published special_capsule",
            "treadle.kernels.errors": "KernelError",
            "treadle.kernels.externals": "Address External Source external external_table",
            "treadle.kernels.definition": "Kernel TextKernels kernel kernel_of_text",
            "treadle.kernels.kinds": "SIZES is_pointer real_dtype value_kind",
            "treadle.kernels.language": "Status",
            "treadle.kernels.printing.numba": "external_name memory_code numba_lines numba_name value_code",
            "treadle.kernels.numpy_sorts": "BY_NUMPY numpy_sort sorts_table",
            "treadle.kernels.site": (
                "TABLE Axis Comparison Given Length Site at_site bits_of overwritten_inputs takes_real_only"
            ),
            "treadle.kernels.tree": "Routine Specialised",
            "treadle.kernels.vector_functions": "INACCURATE LIBMVEC VECTOR_FUNCTIONS",
        },
    )

__all__ = [
    "BY_NUMPY", "HELPERS", "INACCURATE", "LIBMVEC", "SIZES", "SPECIAL_MODULE", "TABLE", "VECTOR_FUNCTIONS", "Address",
    "Axis", "Comparison", "External", "Given", "Kernel", "KernelError", "Length", "Routine", "Site", "Source",
    "Specialised", "Status", "TextKernels", "at_site", "bits_of", "c_name", "c_text", "capsule_pointer",
    "capsule_signature", "external", "external_name", "external_table", "is_pointer", "kernel", "kernel_of_text",
    "memory_code", "numba_lines", "numba_name", "numpy_sort", "overwritten_inputs", "published", "real_dtype",
    "sorts_table", "special_capsule", "stored_type", "takes_real_only", "value_code", "value_kind",
]  # fmt: skip
