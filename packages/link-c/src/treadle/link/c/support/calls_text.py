"""C text of the helper extension: calls of programs that take and return NumPy arrays without going through Python.

It is the one text that includes Python's and NumPy's headers; nothing waits for it, and everything works without it.
"""

from __future__ import annotations

from treadle.tensor import SHORT_VECTOR

CALLS = r"""
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <stddef.h>
#include <string.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef Py_GIL_DISABLED
#error "results and guesses are kept under the interpreter lock"
#endif
#define LARGE 65536
#define FEW 24
#define SHORT @SHORT@

typedef int64_t (*run_function)(const uintptr_t *, const uintptr_t *, int64_t *);
typedef void (*give_function)(void *);

/* Owns the memory of a result that the program itself made: the base of the array on it. */
typedef struct { PyObject_HEAD void *p; give_function give; } Block;
static void block_dealloc(PyObject *self) {
  Block *b = (Block *)self;
  b->give(b->p);
  Py_TYPE(self)->tp_free(self);
}
static PyTypeObject BlockType = {
  PyVarObject_HEAD_INIT(NULL, 0)
  .tp_name = "treadle.link.c.Block", .tp_basicsize = sizeof(Block), .tp_dealloc = block_dealloc,
  .tp_flags = Py_TPFLAGS_DEFAULT,
};

typedef struct { PyArray_Descr *descr; int nd; int64_t size; npy_intp shape[NPY_MAXDIMS]; } Result;
typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  run_function run;
  const uintptr_t *fixed, *pool;
  Py_ssize_t nin, nout, told;
  PyObject *fallback, *keep;
  int single, lock;
  Result *results;
} Caller;

static PyObject *wrapped(const Result *r, const int64_t *told, const uintptr_t *pool) {
  npy_intp shape[NPY_MAXDIMS];
  PyObject *array;
  void *p = (void *)(intptr_t)(told[0] & ~INT64_C(1));
  const give_function give = told[0] & 1 ? (give_function)pool[1] : free;
  Block *b = PyObject_New(Block, &BlockType);
  if (!b) { give(p); return NULL; }
  b->p = p;
  b->give = give;
  for (int d = 0; d < r->nd; d++) shape[d] = (npy_intp)told[1 + d];
  Py_INCREF(r->descr);
  array = PyArray_NewFromDescr(&PyArray_Type, r->descr, r->nd, shape, NULL, b->p, NPY_ARRAY_CARRAY, NULL);
  if (!array) { Py_DECREF(b); return NULL; }
  if (PyArray_SetBaseObject((PyArrayObject *)array, (PyObject *)b) < 0) { Py_DECREF(array); return NULL; }
  return array;
}

static int is_large(const Result *r) {
  int64_t bytes = r->size;
  for (int d = 0; d < r->nd; d++) bytes *= r->shape[d];
  return bytes >= LARGE;
}

/* Make a place for each result: none where a large one will come out of the pool. */
static int make_results(Caller *c, uintptr_t *a) {
  for (Py_ssize_t k = 0; k < c->nout; k++) {
    Result *r = c->results + k;
    a[c->nin + k] = 0;
    if (r->nd && c->pool[1] && is_large(r)) continue;
    Py_INCREF(r->descr);
    a[c->nin + k] = (uintptr_t)PyArray_NewFromDescr(&PyArray_Type, r->descr, r->nd, r->shape, NULL, NULL, 0, NULL);
    if (!a[c->nin + k]) return -1;
  }
  return 0;
}

/* Take over what the program made itself, and remember its lengths for the next call. */
static int take_results(Caller *c, uintptr_t *a, int64_t *info) {
  int failed = 0;
  for (Py_ssize_t k = 0; k < c->nout; k++) {
    int64_t *told = info + k * c->told;
    Result *r = c->results + k;
    PyObject *made;
    if (!told[0]) continue;
    made = wrapped(r, told, c->pool);
    if (!made) { failed = -1; continue; }
    for (int d = 0; d < r->nd; d++) r->shape[d] = (npy_intp)told[1 + d];
    Py_XDECREF((PyObject *)a[c->nin + k]);
    a[c->nin + k] = (uintptr_t)made;
  }
  return failed;
}

static PyObject *listed(Caller *c, uintptr_t *a) {
  PyObject *list;
  if (c->single) { PyObject *one = (PyObject *)a[c->nin]; a[c->nin] = 0; return one; }
  list = PyList_New(c->nout);
  if (!list) return NULL;
  for (Py_ssize_t k = 0; k < c->nout; k++) {
    PyList_SET_ITEM(list, k, (PyObject *)a[c->nin + k]);
    a[c->nin + k] = 0;
  }
  return list;
}

/* Whether an argument is a vector of so many elements that the program may take long. */
static int is_long(const Caller *c, PyObject *const *args) {
  for (Py_ssize_t i = 0; i < c->nin; i++)
    if (PyArray_CheckExact(args[i]) && PyArray_NDIM((PyArrayObject *)args[i]) == 1 &&
        PyArray_DIM((PyArrayObject *)args[i], 0) > SHORT) return 1;
  return 0;
}

static PyObject *call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
  Caller *c = (Caller *)self;
  uintptr_t few[FEW], *a = few;
  int64_t some[FEW * 4], *info = some;
  int64_t status;
  PyObject *result = NULL;
  const size_t count = (size_t)(c->nin + c->nout + 1), words = (size_t)(c->nout * c->told + 4);
  if (PyVectorcall_NARGS(nargsf) != c->nin || (names && PyTuple_GET_SIZE(names)))
    return PyObject_Vectorcall(c->fallback, args, nargsf, names);
  if (count > FEW && !(a = PyMem_Malloc(count * sizeof *a))) return PyErr_NoMemory();
  if (words > FEW * 4 && !(info = PyMem_Malloc(words * sizeof *info))) {
    if (a != few) PyMem_Free(a);
    return PyErr_NoMemory();
  }
  for (Py_ssize_t k = 0; k < c->nout; k++) info[k * c->told] = 0;
  for (Py_ssize_t i = 0; i < c->nin; i++) a[i] = (uintptr_t)args[i];
  for (Py_ssize_t k = c->nin; k < (Py_ssize_t)count; k++) a[k] = 0;
  if (make_results(c, a) == 0) {
    if (c->lock == 1 || (c->lock == 2 && is_long(c, args))) {
      Py_BEGIN_ALLOW_THREADS
      status = c->run(c->fixed, a, info);
      Py_END_ALLOW_THREADS
    } else {
      status = c->run(c->fixed, a, info);
    }
    if (status == 0) result = listed(c, a);
    else if (status == 1) result = take_results(c, a, info) == 0 ? listed(c, a) : NULL;
    else result = PyObject_Vectorcall(c->fallback, args, nargsf, names);
  }
  for (Py_ssize_t k = 0; k < c->nout; k++) Py_XDECREF((PyObject *)a[c->nin + k]);
  if (a != few) PyMem_Free(a);
  if (info != some) PyMem_Free(info);
  return result;
}

static int caller_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(((Caller *)self)->fallback);
  Py_VISIT(((Caller *)self)->keep);
  return 0;
}
static int caller_clear(PyObject *self) {
  Py_CLEAR(((Caller *)self)->fallback);
  Py_CLEAR(((Caller *)self)->keep);
  return 0;
}
static void caller_dealloc(PyObject *self) {
  Caller *c = (Caller *)self;
  PyObject_GC_UnTrack(self);
  caller_clear(self);
  for (Py_ssize_t k = 0; c->results && k < c->nout; k++) Py_XDECREF(c->results[k].descr);
  PyMem_Free(c->results);
  PyObject_GC_Del(self);
}
static PyTypeObject CallerType = {
  PyVarObject_HEAD_INIT(NULL, 0)
  .tp_name = "treadle.link.c.Caller", .tp_basicsize = sizeof(Caller), .tp_dealloc = caller_dealloc,
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
  .tp_vectorcall_offset = offsetof(Caller, vectorcall), .tp_call = PyVectorcall_Call,
  .tp_traverse = caller_traverse, .tp_clear = caller_clear,
};

/* caller(run, fixed, pool, nin, told, results, fallback, single, lock, keep); results: (dtype, shape) each. */
static PyObject *make_caller(PyObject *module, PyObject *args) {
  unsigned long long run, fixed, pool;
  Py_ssize_t nin, told;
  PyObject *results, *fallback, *keep;
  int single, lock;
  Caller *c;
  (void)module;
  if (!PyArg_ParseTuple(args, "KKKnnO!OpiO", &run, &fixed, &pool, &nin, &told, &PyList_Type, &results, &fallback,
                        &single, &lock, &keep)) return NULL;
  c = PyObject_GC_New(Caller, &CallerType);
  if (!c) return NULL;
  c->vectorcall = call;
  c->run = (run_function)(uintptr_t)run;
  c->fixed = (const uintptr_t *)(uintptr_t)fixed;
  c->pool = (const uintptr_t *)(uintptr_t)pool;
  c->nin = nin;
  c->nout = PyList_GET_SIZE(results);
  c->told = told;
  c->single = single;
  c->lock = lock;
  c->fallback = Py_NewRef(fallback);
  c->keep = Py_NewRef(keep);
  c->results = PyMem_Calloc((size_t)c->nout + 1, sizeof *c->results);
  PyObject_GC_Track((PyObject *)c);
  if (!c->results) { Py_DECREF(c); return PyErr_NoMemory(); }
  for (Py_ssize_t k = 0; k < c->nout; k++) {
    Result *r = c->results + k;
    PyObject *descr, *shape;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(results, k), "O!O!", &PyArrayDescr_Type, &descr, &PyTuple_Type, &shape)) {
      Py_DECREF(c);
      return NULL;
    }
    r->descr = (PyArray_Descr *)Py_NewRef(descr);
    r->nd = (int)PyTuple_GET_SIZE(shape);
    r->size = (int64_t)PyDataType_ELSIZE(r->descr);
    for (int d = 0; d < r->nd && d < NPY_MAXDIMS; d++) r->shape[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, d));
    if (r->nd > NPY_MAXDIMS) PyErr_SetString(PyExc_ValueError, "treadle.link.c: a result has too many dimensions");
    if (PyErr_Occurred()) { Py_DECREF(c); return NULL; }
  }
  return (PyObject *)c;
}

static PyMethodDef methods[] = {{"caller", make_caller, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {
  PyModuleDef_HEAD_INIT, "_treadle_calls", NULL, -1, methods, NULL, NULL, NULL, NULL,
};
PyMODINIT_FUNC PyInit__treadle_calls(void) {
  import_array();
  if (PyType_Ready(&BlockType) < 0 || PyType_Ready(&CallerType) < 0) return NULL;
  return PyModule_Create(&definition);
}
""".replace("@SHORT@", str(SHORT_VECTOR))
