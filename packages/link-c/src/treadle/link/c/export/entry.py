"""Translation units whose entry points take DLPack tensors, not NumPy's arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from treadle.link.c.assembly import Assembly
from treadle.link.c.conventions.convention import FIXED, NODES, USER
from treadle.link.c.conventions.dtypes import CTYPES, CType, ctype
from treadle.link.c.export.declarations import CODES, NO_BLAS, NOT_READY, OUTPUT
from treadle.link.c.runtime.calls import MOST_ON_STACK
from treadle.link.c.text.unit import NO_NODE, Unit, mark
from treadle.tensor import TensorVariable, tensors

# DLPack's codes of dtype kinds.
_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}

_RUNTIME = f"""\
static int tr_in(tr_var *v, const DLTensor *x, int nd, int64_t size, int code, const int64_t *known) {{
  int64_t step = size;
  uintptr_t bits;
  if (!x || x->ndim != nd || x->device.device_type != 1) return TR_CHECK;
  if (x->dtype.code != code || x->dtype.bits != size * 8 || x->dtype.lanes != 1) return TR_CHECK;
  v->p = (char *)x->data + x->byte_offset;
  bits = (uintptr_t)v->p;
  for (int d = nd - 1; d >= 0; d--) {{
    const int64_t n = x->shape[d];
    if (n < 0 || (known && known[d] >= 0 && known[d] != n)) return TR_CHECK;
    v->n[d] = n;
    v->s[d] = n == 1 ? 0 : x->strides ? x->strides[d] * size : step;
    bits |= (uintptr_t)v->s[d];
    step *= n;
  }}
  return bits & (uintptr_t)(size - 1) ? TR_CHECK : 0;
}}
static void tr_constant(tr_var *v, const void *data, int nd, int64_t size, const int64_t *shape) {{
  v->p = (char *)data;
  for (int d = nd - 1; d >= 0; d--) {{
    v->n[d] = shape[d];
    v->s[d] = shape[d] == 1 ? 0 : size;
    size *= shape[d];
  }}
}}
static int tr_place_output(tr_var *v, const DLTensor *o, int nd, int64_t size, int code) {{
  int64_t step = 1;
  if (!o || (nd && !o->shape)) return TR_CHECK;
  if (!o->data) return 0;
  if (o->ndim != nd || o->device.device_type != 1) return TR_CHECK;
  if (o->dtype.code != code || o->dtype.bits != size * 8) return TR_CHECK;
  for (int d = nd - 1; d >= 0 && o->strides; d--) {{
    if (o->shape[d] != 1 && o->strides[d] != step) return {OUTPUT};
    step *= o->shape[d];
  }}
  v->dst = (char *)o->data + o->byte_offset;
  v->dn = o->shape;
  return (uintptr_t)v->dst & (uintptr_t)(size - 1) ? TR_CHECK : 0;
}}
static void tr_describe(DLTensor *o, int nd, int64_t size, int code) {{
  o->device.device_type = 1;
  o->device.device_id = 0;
  o->ndim = nd;
  o->dtype.code = (uint8_t)code;
  o->dtype.bits = (uint8_t)(size * 8);
  o->dtype.lanes = 1;
}}
static void tr_explain(treadle_status *status, int64_t r, int argument) {{
  const int64_t node = r >> 8 & {NODES};
  const int code = (int)(r & 255);
  if (!status) return;
  status->code = code;
  status->node = -1;
  status->argument = argument;
  status->message = tr_message(code, node);
  status->op = status->line = "";
  if (argument < 0 && node >= 0 && node < TR_NODES && code && code < {OUTPUT} + ({USER} <= code) * 256) {{
    status->node = (int32_t)node;
    status->op = tr_nodes[node][0];
    status->line = tr_nodes[node][1];
  }}
}}
"""

# The host of the running call, since the arena's hooks have no room for it. The host's functions may nest calls.
_MEMORY = """\
static __thread const treadle_host *tr_host;
static void *tr_host_take(int64_t bytes) { return tr_host->allocate(tr_host->context, (size_t)bytes, 64); }
static void tr_host_give(void *block) { tr_host->release(tr_host->context, block); }
static int tr_hand_over(tr_var *v, DLTensor *o, int nd, int64_t size, int code, const treadle_host *host) {
  const int own = host && host->allocate;
  if (v->p != v->dst) {
    if (o->data) return OUTPUT_CODE;
    if (v->own && v->p == (char *)v->own && (!own || v->room >= TR_LARGE)) {
      o->data = v->own;
      v->own = 0;
    } else {
      const size_t bytes = (size_t)(tr_count(v, nd) * size);
      o->data = own ? host->allocate(host->context, bytes | !bytes, 64) : malloc(bytes | !bytes);
      if (!o->data) return TR_MEMORY;
      memcpy(o->data, v->p, bytes);
    }
    o->byte_offset = 0;
    o->strides = 0;
    for (int d = 0; d < nd; d++) o->shape[d] = v->n[d];
  }
  tr_describe(o, nd, size, code);
  return 0;
}
""".replace("OUTPUT_CODE", str(OUTPUT))


class ExportAssembly(Assembly):
    """Assembles the text of a unit into a translation unit, whose entry points take DLPack tensors.

    `name` is the prefix of its functions. For a unit that computes lengths, `ranks` has the rank and dtype of each
    output of the function: its own outputs are the lengths, one after another. For one that computes the outputs it
    is None.
    """

    def __init__(self, unit: Unit, name: str, ranks: Sequence[tuple[int, str]] | None = None) -> None:
        super().__init__(unit)
        self._name = name
        self._ranks = ranks
        # The BLAS routines that the host passes.
        self._passed = [routine for routine in FIXED if routine in unit.routines and not unit.own_blas]

    def _entry(self) -> str:
        """Return the entry point and the definitions that it needs."""
        unit, name, runs = self.unit, self._name, self._ranks is None
        count = len(unit.outputs)
        parts = [mark(NO_NODE), self._node_texts(), _RUNTIME, *self._constants()]
        if runs:
            parts.append(_MEMORY)
        if unit.requirements.initialises:
            parts.append("static int64_t treadle_init(const uintptr_t *P);\n")
        lines = [
            f"int32_t {name}_{'run' if runs else 'shape'}(const DLTensor *const *inputs,",
            "    DLTensor *const *outputs, const treadle_host *host, treadle_status *status) {",
            "  int64_t r = 0;",
            "  int argument = -1;",
        ]
        if runs:
            lines.append(
                f"  const treadle_host *before = tr_host;\n  unsigned char allocated[{max(1, count)}] = {{0}};"
            )
        lines += [
            "  tr_arena own, *arena = &own;",
            "  memset(arena, 0, offsetof(tr_arena, spare));",
            *self._arrays(),
            *self._fixed_values(),
            *self._read_arguments(),
        ]
        if runs:
            lines.append("  if (host && host->allocate) { own.take = tr_host_take; own.give = tr_host_give; }")
        lines += [*self._runs(), *(self._results() if runs else self._lengths()), "done:"]
        if runs:
            lines.append(
                f"  if (r) for (int k = 0; k < {count}; k++) "
                f"if (allocated[k] && outputs[k]->data) {name}_free(outputs[k], host);"
            )
        lines += [f"  for (int i = 0; i < {unit.count}; i++) tr_free(v + i);", "  tr_drop(arena);"]
        lines += ["  free(v);"] if self._on_heap() else []
        if runs:
            lines.append("  tr_host = before;")
        lines += ["  tr_explain(status, r, argument);", "  return (int32_t)(r & 255);", "}"]
        if runs:
            lines.append(
                f"void {name}_free(DLTensor *output, const treadle_host *host) {{\n"
                "  if (host && host->allocate) host->release(host->context, output->data);\n"
                "  else free(output->data);\n  output->data = 0;\n}"
            )
        return "\n".join([*parts, *lines])

    def _runs(self) -> list[str]:
        """Return the calls of the functions that always run."""
        return [f"  if ((r = {name}(v, F))) goto done;" for name in self.unit.runs(len(self.unit.lines))]

    def _arrays(self) -> list[str]:
        """Return the declaration of the arrays' descriptions."""
        count = self.unit.count
        lines = [f"  tr_var v[{max(1, count)}];"]
        if self._on_heap():
            lines = [f"  tr_var *v = malloc({count} * sizeof *v);"]
            lines.append("  if (!v) { tr_explain(status, TR_MEMORY, -1); return TR_MEMORY; }")
        return [
            *lines,
            f"  for (int i = 0; i < {count}; i++) {{ v[i].own = v[i].dst = 0; v[i].fixed = 0; v[i].arena = arena; }}",
        ]

    def _on_heap(self) -> bool:
        return self.unit.count * (72 + 16 * self.unit.rank) > MOST_ON_STACK

    def _fixed_values(self) -> list[str]:
        """Return the statements that fill the table of fixed values in each call, from the host's functions."""
        entries = [
            f"host && host->blas ? (uintptr_t)host->blas->{name} : 0" if name in self._passed else "0" for name in FIXED
        ]
        lines = [f"  const uintptr_t F[] = {{{', '.join(entries)}}};"]
        if self._ranks is None:
            lines.append("  tr_host = host;")
        lines += [f"  if (!F[{FIXED.index(name)}]) {{ r = {NO_BLAS}; goto done; }}" for name in self._passed]
        if self.unit.requirements.initialises:
            lines.append(f"  if (treadle_init(0)) {{ r = {NOT_READY}; goto done; }}")
        return lines

    def _read_arguments(self) -> list[str]:
        unit = self.unit
        lines = []
        for k, var in enumerate(tensors(unit.fgraph.inputs)):
            known = any(n is not None for n in var.type.shape)
            table = _lengths_table([-1 if n is None else n for n in var.type.shape]) if known else "0"
            lines.append(
                f"  argument = {k}; if ((r = tr_in(v + {unit.slots[var]}, inputs[{k}], {_described(var)}, {table}))) "
                "goto done;"
            )
        for k, var in enumerate(unit.constants):
            shape = _lengths_table([*var.data.shape, 1])
            place = f"v + {unit.slots[var]}, constant{k}"
            lines.append(f"  tr_constant({place}, {var.type.ndim}, {ctype(var).size}, {shape});")
        if self._ranks is None:
            lines += self._for_outputs(lambda k, var, at: f"tr_place_output(v + {at}, outputs[{k}], {_described(var)})")
            lines += [f"  allocated[{k}] = !outputs[{k}]->data;" for k in range(len(unit.outputs))]
        return [*lines, "  argument = -1; (void)inputs; (void)outputs;"]

    def _results(self) -> list[str]:
        return self._for_outputs(lambda k, var, at: f"tr_hand_over(v + {at}, outputs[{k}], {_described(var)}, host)")

    def _for_outputs(self, call: Callable[[int, TensorVariable, int], str]) -> list[str]:
        """Write calls that return a status, one for each output."""
        first = len(self.unit.fgraph.inputs)
        return [
            f"  argument = {first + k}; if ((r = {call(k, var, at)})) goto done;"
            for k, (var, at) in enumerate(self.unit.outputs)
        ]

    def _lengths(self) -> list[str]:
        lines = []
        places = iter(self.unit.outputs)
        for k, (rank, dtype) in enumerate(self._ranks or ()):
            lines.append(f"  tr_describe(outputs[{k}], {rank}, {_kind(CTYPES[dtype])});")
            lines += [f"  outputs[{k}]->shape[{d}] = *(const int64_t *)v[{next(places)[1]}].p;" for d in range(rank)]
        return lines

    def _constants(self) -> list[str]:
        constants = enumerate(self.unit.constants)
        return [f"static const uint64_t constant{k}[] = {{{words(var.data)}}};\n" for k, var in constants]

    def _node_texts(self) -> str:
        texts = [
            f'  {{"{quoted(str(n.op))}", "{quoted(str(n.user_line or ""))}"}},\n' if n else '  {"", ""},\n'
            for n in self.unit.nodes[:-1]
        ]
        cases = [
            f'  if (code == {USER + number} && node == {node}) return "{quoted(text)}";\n'
            for (node, number), (_, text) in self.unit.requirements.errors.items()
        ]
        general = [f'    case {code}: return "{quoted(text)}";\n' for code, (_, text) in CODES.items()]
        return (
            f"#define TR_NODES {len(texts)}\n"
            f"static const char *const tr_nodes[][2] = {{\n{''.join(texts)}  {{0, 0}}}};\n"
            f"static const char *tr_message(int code, int64_t node) {{\n{''.join(cases)}  (void)node;\n"
            f'  switch (code > {USER} ? {USER} : code) {{\n{"".join(general)}  }}\n  return "unknown";\n}}\n'
        )


def initial_values(name: str, values: Sequence[object]) -> str:
    """Return the function that returns the values of inputs at the time of the export; None stands for no value."""
    data, cases = [], []
    for k, value in enumerate(values):
        if value is None:
            continue
        array = np.asarray(value)
        shape = "".join(f"      value->shape[{d}] = INT64_C({n});\n" for d, n in enumerate(array.shape))
        data.append(f"static const uint64_t initial{k}[] = {{{words(array)}}};\n")
        cases.append(
            f"    case {k}:\n      value->data = (void *)initial{k};\n"
            f"      tr_describe(value, {array.ndim}, {_kind(CTYPES[array.dtype.name])});\n{shape}"
            "      value->strides = 0;\n      value->byte_offset = 0;\n      return 0;\n"
        )
    return (
        f"{''.join(data)}int32_t {name}_initial(int32_t input, DLTensor *value) {{\n  (void)value;\n"
        f"  switch (input) {{\n{''.join(cases)}    default: return 1;\n  }}\n}}\n"
    )


def words(value: object) -> str:
    """Return an array's bytes as C's 64-bit numbers, in the order of this machine's memory."""
    raw = np.ascontiguousarray(value).tobytes()
    raw += b"\0" * (-len(raw) % 8 or (8 if not raw else 0))
    numbers = np.frombuffer(raw, "uint64").tolist()
    return ", ".join(f"0x{n:x}" for n in numbers)


def quoted(text: str) -> str:
    """Return the inside of a C string."""
    plain = b" !#$%&()*+,-./:;<=>@[]^_`{|}~'" + b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    return "".join(chr(b) if b in plain else f"\\{b:03o}" for b in text.encode())


def _lengths_table(numbers: Sequence[int]) -> str:
    return f"(const int64_t[]){{{', '.join(f'INT64_C({n})' for n in numbers)}}}"


def _kind(ctype: CType) -> str:
    """Return the size of an element and DLPack's code of its kind, as arguments."""
    return f"{ctype.size}, {_KINDS[ctype.kind]}"


def _described(var: TensorVariable) -> str:
    return f"{var.type.ndim}, {_kind(ctype(var))}"
