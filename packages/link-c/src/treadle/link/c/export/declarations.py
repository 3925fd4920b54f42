"""The header of an exported function: types that all exports share, and four functions."""

from __future__ import annotations

from treadle.link.c.conventions.convention import FIXED, USER, Status
from treadle.link.c.conventions.lapack import BLAS, blas_parameters
from treadle.link.c.program import ERRORS

# The version of the binary interface below; every change that a compiled host would notice raises it.
ABI_VERSION = 1
# Status codes that only exported functions return.
OUTPUT, NO_BLAS, NOT_READY = 90, 91, 92

# The names of the codes, and their messages where a node has none of its own.
CODES = {
    Status.OK: ("OK", "no error"),
    Status.CHECK: ("ARGUMENT", "an argument is not of the type, rank or length that the signature says"),
    **{code: (Status(code).name, text) for code, (_, text) in ERRORS.items()},
    OUTPUT: ("OUTPUT", "the memory given for an output has other lengths than the output, or is not in C order"),
    NO_BLAS: ("NO_BLAS", "the host passes no function for a BLAS routine that is needed"),
    NOT_READY: ("NOT_READY", "the initialisation of a user's function failed"),
    USER: ("USER", "a user's function returned an error"),
}

_DLPACK = """\
typedef struct { int32_t device_type; int32_t device_id; } DLDevice;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} DLTensor;
"""

_TYPES = {"d": "double", "s": "float", "z": "void", "c": "void"}
_ROUTINES = [f"  void (*{name})({blas_parameters(name[1:], _TYPES[name[0]])});\n" for name in FIXED if name[1:] in BLAS]
_HOST = (
    f"typedef struct {{\n{''.join(_ROUTINES)}}} treadle_blas;\n"
    """\
typedef struct {
  void *(*allocate)(void *context, size_t bytes, size_t alignment);
  void (*release)(void *context, void *block);
  void *context;
  const treadle_blas *blas;
} treadle_host;
typedef struct {
  int32_t code;
  int32_t node;
  int32_t argument;
  const char *message;
  const char *op;
  const char *line;
} treadle_status;
"""
)

_FUNCTIONS = """\
int32_t NAME_shape(const DLTensor *const *inputs, DLTensor *const *outputs, const treadle_host *host,
                   treadle_status *status);
int32_t NAME_run(const DLTensor *const *inputs, DLTensor *const *outputs, const treadle_host *host,
                 treadle_status *status);
void NAME_free(DLTensor *output, const treadle_host *host);
int32_t NAME_initial(int32_t input, DLTensor *value);
"""

_ABOUT = """\
/* Written by treadle: the function NAME, for programs in C or anything that calls C. NAME.json describes its arguments.

   Arrays are DLPack tensors in the memory of the CPU. Inputs may have any strides (NULL: C order).

   NAME_shape fills ndim, dtype and shape of every output, for inputs of these shapes. Where lengths depend on values,
   it reads the inputs' elements.

   NAME_run computes. An output whose data is NULL is allocated, and given back by NAME_free; else its memory is
   used, which must have the output's shape, lie in C order, and share nothing with an input or another output. In both
   functions an output's shape must point to room for its ndim numbers. State is explicit: it goes in as inputs and
   comes out as outputs; the JSON file says which belongs to which. No input is changed.

   NAME_initial gives an input's value at the time of the export, if it has one (state, defaults): a tensor that is
   not to be written to or freed. Its shape must point to room. It returns 0, or 1 if there is none.

   host may be NULL: memory is malloc's then, and there is no BLAS. BLAS_NOTE

   All functions return 0 or a code, which status (may be NULL) explains: the argument, or the node and the line of
   Python that built it; -1 or "" where there is none. They keep no state: any number of threads may call them at
   once. */
"""


def declarations(name: str) -> str:
    """Return the declarations without preprocessor lines, as cffi reads them."""
    return _DLPACK + _HOST + _FUNCTIONS.replace("NAME", name)


def header(name: str, inputs: int, outputs: int, blas: list[str], linked: bool) -> str:
    """Return the text of the header."""
    note = "None is needed."
    if blas:
        how = "is linked" if linked else "must be passed: functions as in Fortran's BLAS, with 32-bit integers"
        note = f"It needs {', '.join(blas)}, which {how}."
    guard = f"TREADLE_EXPORT_{name.upper()}_H"
    codes = "".join(f"#define TREADLE_{label} {code} /* {text} */\n" for code, (label, text) in CODES.items())
    return (
        _ABOUT.replace("BLAS_NOTE", note).replace("NAME", name)
        + f"#ifndef {guard}\n#define {guard}\n#include <stddef.h>\n#include <stdint.h>\n"
        + '#ifdef __cplusplus\nextern "C" {\n#endif\n'
        + "/* As in dlpack.h, which may be included before this file. */\n"
        + f"#ifndef DLPACK_DLPACK_H_\n#define DLPACK_DLPACK_H_\n{_DLPACK}#endif\n"
        + f"#ifndef TREADLE_HOST\n#define TREADLE_HOST {ABI_VERSION}\n{codes}{_HOST}#endif\n"
        + f"#define {name.upper()}_INPUTS {inputs}\n#define {name.upper()}_OUTPUTS {outputs}\n"
        + _FUNCTIONS.replace("NAME", name)
        + "#ifdef __cplusplus\n}\n#endif\n#endif\n"
    )
