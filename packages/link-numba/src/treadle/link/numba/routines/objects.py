"""Python's objects in generated code: arguments are read from arrays of NumPy, and results become arrays.

Arrays are read by their public fields (the start of ``PyArrayObject_fields``, part of NumPy's stable binary interface),
so that a call costs no conversion. What is made is made by functions of Python, NumPy and Numba's runtime.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from treadle.kernels import capsule_pointer
from treadle.link.numba.dtypes import STORAGES
from treadle.link.numba.status import INTERRUPT

# The words of an object's header, behind which an array has its data, rank, lengths, strides, base and dtype.
_HEAD = object.__basicsize__ // 8
# The word of a dtype that has its kind, letter, byte order and number, behind the class of its elements.
_KIND = _HEAD + 1
# Where NumPy's table of functions has PyArray_NewFromDescr; positions in it never change.
_NEW_FROM_DESCR = 94
# Results of so many bytes or fewer are copied into arrays that NumPy allocates, which costs less than an owner.
_SMALL = 2048
# Flags of a function that takes its arguments in an array, and names of keywords.
_FAST, _WITH_KEYWORDS = 0x80, 0x02
# The most lengths that an array has.
_MOST_DIMS = 64
# The flag of arrays that may be written to (``NPY_ARRAY_WRITEABLE``).
_WRITEABLE = 0x0400

# Words of a program's table: what is called in the place of the program where it cannot go on (0:
# the status is returned), whether the first result is returned instead of the list of all, NumPy's function and type of
# arrays, and the dtypes; then the memory that loops watch.
FALLBACK, SINGLE, NEW, TYPE, DTYPES = range(5)
WATCH = DTYPES + len(STORAGES)


def dtype_word(dtype: str) -> int:
    """Return the word of a program's table that holds the address of a dtype."""
    return DTYPES + [*STORAGES].index(dtype)


TEXT = f"""
def entered(x, type, descr, ndim, shift, place):  # i8 i8 i8 i8 i8 i8
    # Reads an array: writes its address, lengths, and strides in elements. Returns whether it is not as expected.
    head = as_i8(x)
    if head[{_HEAD - 1}] != type or i8(as_i4(x)[{2 * _HEAD + 2}]) != ndim:
        return 1
    dtype = head[{_HEAD + 5}]
    if dtype != descr:
        # That of an array that was pickled is equal to the others, and another object.
        if as_i8(dtype)[{_KIND}] != as_i8(descr)[{_KIND}]:
            return 1
    words = as_i8(place)
    bits = head[{_HEAD}]
    words[0] = bits
    dims = as_i8(head[{_HEAD + 2}])
    strides = as_i8(head[{_HEAD + 3}])
    for d in range(ndim):
        n = dims[d]
        stride = strides[d]
        if n != 1:
            bits = bits | stride
        words[1 + d] = n
        words[1 + ndim + d] = stride >> shift
    return bits & (min(1 << shift, 8) - 1)

def is_read_only(x):  # i8
    return as_i4(x)[{2 * _HEAD + 12}] & {_WRITEABLE} == 0

def made_number(table, descr, place, size):  # i8 i8 i8 i8
    # Returns an array of rank 0; 0 if memory runs out.
    made = new_array(table, descr, 0, 0)
    if made != 0:
        copied(as_i8(made)[{_HEAD}], place, size)
    return made

def made_array(table, descr, ndim, place, size):  # i8 i8 i8 i8 i8
    # Returns an array that owns a buffer, of which lengths follow at an address; 0 if memory runs out.
    words = as_i8(place)
    owner = words[0]
    data = buffer_data(owner)
    count = 1
    for d in range(ndim):
        count = count * words[1 + d]
    if count * size <= {_SMALL}:
        made = new_array(table, descr, ndim, place + 8)
        if made != 0:
            copied(as_i8(made)[{_HEAD}], data, count * size)
    else:
        parts = room_i8_{5 + 2 * _MOST_DIMS}(0)
        parts[0] = owner
        parts[1] = 0
        parts[2] = count
        parts[3] = size
        parts[4] = data
        stride = size
        for k in range(ndim):
            d = ndim - 1 - k
            parts[5 + d] = words[1 + d]
            parts[5 + ndim + d] = stride
            stride = stride * words[1 + d]
        type = as_i8(table)[{TYPE}]
        made = python_NRT_adapt_ndarray_to_python_acqref_wwiiw(place_i8(parts), type, ndim, 1, descr)
    buffer_free(owner)
    return made

def new_array(table, descr, ndim, dims):  # i8 i8 i8 i8
    t = as_i8(table)
    python_Py_IncRef_w(descr)
    return call_i8i8i4i8i8i8i4i8_i8(t[{NEW}], t[{TYPE}], descr, i4(ndim), dims, 0, 0, i4(0), 0)

def copied(to, source, count):  # i8 i8 i8
    target = as_u1(to)
    bytes = as_u1(source)
    for k in range(count):
        target[k] = bytes[k]
    return 0

def refused(table, args, count, names, status):  # i8 i8 i8 i8 i8
    # Returns what a call returns where the program could not go on: an interrupt's error is raised at once.
    t = as_i8(table)
    if status == {INTERRUPT}:
        told = as_i8(t[{WATCH}])
        python_PyErr_Restore_www(told[1], told[2], told[3])
        told[1] = 0
        told[2] = 0
        told[3] = 0
        return 0
    if t[{FALLBACK}] != 0:
        return python_PyObject_Vectorcall_wwww(t[{FALLBACK}], args, count, names)
    return python_PyLong_FromLongLong_w(status)

def listed(place, count):  # i8 i8
    # Returns the list of results that stand at an address; 0, and none of them is left, if one is missing.
    results = as_i8(place)
    made = python_PyList_New_w(count)
    for k in range(count):
        if results[k] == 0 and made != 0:
            python_Py_DecRef_w(made)
            made = 0
    for k in range(count):
        if made == 0:
            python_Py_DecRef_w(results[k])
        else:
            python_PyList_SetItem_www(made, k, results[k])
    return made
"""


@cache
def object_words() -> tuple[int, ...]:
    """Return the words of a table from `FALLBACK` to the last dtype, for a program that returns its status."""
    interface = import_module("numpy._core._multiarray_umath")._ARRAY_API
    functions = capsule_pointer(interface)
    new = ctypes.cast(functions, ctypes.POINTER(ctypes.c_void_p))[_NEW_FROM_DESCR]
    return 0, 0, new or 0, id(np.ndarray), *(id(np.dtype(name)) for name in STORAGES)


class _Method(ctypes.Structure):
    """Python's description of a function in machine code."""

    _fields_ = (("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


def python_function(address: int, table: np.ndarray, kept: object) -> Callable[..., Any]:
    """Return a function of Python that calls machine code with a program's table and what it is given.

    `kept` lives as long as the function.
    """
    method = _Method(b"program", address, _FAST | _WITH_KEYWORDS, None)
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )
    function: Callable[..., Any] = make(ctypes.addressof(method), table, (method, kept))
    return function
