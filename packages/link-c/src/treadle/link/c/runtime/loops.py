"""C text of loops: rows of sequences and results, and carries from one step to the next."""

from __future__ import annotations

LOOPS = {
    # The first row of a sequence of rank nd.
    "tr_first_row": """\
static void tr_first_row(tr_var *o, const tr_var *x, int nd) {
  for (int d = 1; d < nd; d++) { o->n[d - 1] = x->n[d]; o->s[d - 1] = x->s[d]; }
  o->p = x->p;
}
""",
    # What a carry starts with: with its block, where nothing else needs that.
    "tr_start": """\
static void tr_start(tr_var *o, tr_var *x, int nd, int64_t size, int free) {
  if (nd == 0) {
    memcpy(&o->cell, x->p, (size_t)size);
    o->p = (char *)&o->cell;
    return;
  }
  if (free && x->p == (char *)x->own) tr_hand_on(o, x, nd);
  else tr_show(o, x, nd);
}
""",
    # Keeps what may show a block of the step that ends: it takes over the block, or copies what another carry has.
    "tr_pass": """\
static int tr_pass(tr_var *w, int next, int at, const int *from, int blocks, const int *before, int others, int copy,
                   int nd, int64_t size, tr_kernel k) {
  tr_var *o = w + next, *x = w + at;
  const char *p = x->p;
  for (int b = 0; !copy && b < blocks; b++) {
    tr_var *y = w + from[b];
    if (y->own && p >= (char *)y->own && p < (char *)y->own + y->room) {
      tr_show(o, x, nd);
      o->own = y->own;
      o->room = y->room;
      y->own = 0;
      return 0;
    }
  }
  for (int b = 0; !copy && b < others; b++) {
    const tr_var *y = w + before[b];
    copy = y->own && p >= (char *)y->own && p < (char *)y->own + y->room;
  }
  if (copy) return tr_copy(o, x, nd, size, k);
  tr_show(o, x, nd);
  return 0;
}
""",
    # A stacked result of rank nd: its rows have so many bytes, its block has room for so many rows. dst: where the
    # caller wants it, if the number of rows is not known before the end.
    "tr_rows": """\
typedef struct { tr_var *o; int nd; int64_t size, bytes, room; char *dst; } tr_rows;
""",
    "tr_rows_begin": """\
static int tr_rows_begin(tr_rows *t, const tr_var *row, int64_t steps, int grows) {
  tr_var *o = t->o;
  if (row) for (int d = 1; d < t->nd; d++) o->n[d] = row->n[d - 1];
  t->bytes = t->size;
  for (int d = 1; d < t->nd; d++)
    if (o->n[d] && __builtin_mul_overflow(t->bytes, o->n[d], &t->bytes)) return TR_MEMORY;
  for (int d = 1; d < t->nd; d++) if (o->n[d] == 0) t->bytes = 0;
  t->room = steps;
  if (grows) {
    const int64_t few = 4096 + 65536 / (t->bytes + 1);
    if (t->bytes && t->room > few) t->room = few;
    t->dst = o->dst;
    o->dst = 0;
  }
  o->n[0] = t->bytes || !grows ? t->room : 0;
  return tr_alloc(o, t->nd, t->size);
}
""",
    "tr_rows_put": """\
static int tr_rows_put(tr_rows *t, const tr_var *x, int64_t i, tr_kernel k) {
  tr_var place;
  place.p = t->o->p + i * t->bytes;
  if (x->p == place.p) return 0;
  for (int d = 1; d < t->nd; d++) {
    if (x->n[d - 1] != t->o->n[d]) return TR_ROWS;
    place.n[d - 1] = t->o->n[d];
    place.s[d - 1] = t->o->s[d];
  }
  return tr_transfer(&place, t->nd - 1, x, t->nd - 1, t->size, k);
}
""",
    # Loops look at the clock after a number of steps that is found by looking, and ask Python 20 times a second. The
    # words of the memory that they watch are those of `treadle.link.vm.WATCH`.
    "tr_watch tr_watched": """\
typedef struct { int64_t every; double seen, asked; } tr_watch;
static int64_t tr_watched(const uintptr_t *F, tr_watch *w, int64_t i) {
  volatile uintptr_t *const told = (volatile uintptr_t *)F[TR_WATCH];
  struct timespec t;
  if (!told || told[0] != (uintptr_t)pthread_self()) return INT64_MAX;
  if (told[1]) return -1;
  clock_gettime(CLOCK_MONOTONIC, &t);
  const double now = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
  if (!w->every) { w->every = i; w->asked = w->seen = now; }
  if (now - w->seen < 0.01 && w->every < INT64_C(1) << 40) w->every *= 2;
  else if (now - w->seen > 0.04 && w->every > 1) w->every /= 2;
  w->seen = now;
  if (now - w->asked > 0.05) {
    w->asked = now;
    const int state = ((int (*)(void))told[4])(), ends = ((int (*)(void))told[5])();
    if (ends) ((void (*)(uintptr_t, uintptr_t, uintptr_t))told[6])(F[TR_WATCH] + 8, F[TR_WATCH] + 16, F[TR_WATCH] + 24);
    ((void (*)(int))told[7])(state);
    if (ends) return -1;
  }
  return i + w->every;
}
""",
    # Twice the room. Carries that show a row follow it.
    "tr_rows_grow": """\
static int tr_rows_grow(tr_rows *t, int64_t steps, tr_var *w, const int *carries, int count) {
  tr_var *o = t->o, old = *o;
  int status;
  const int64_t used = t->room * t->bytes;
  if (t->room > steps / 2) t->room = steps;
  else t->room *= 2;
  o->own = 0;
  o->n[0] = t->room;
  if ((status = tr_alloc(o, t->nd, t->size))) { *o = old; return status; }
  memcpy(o->p, old.p, (size_t)used);
  for (int c = 0; c < count; c++) {
    tr_var *x = w + carries[c];
    if (!x->own && x->p >= old.p && x->p < old.p + used) x->p = o->p + (x->p - old.p);
  }
  tr_free(&old);
  return 0;
}
""",
    # The number of rows is known: what is left of the room is given back, where it is much.
    "tr_rows_end": """\
static int tr_rows_end(tr_rows *t, int64_t done) {
  tr_var *o = t->o, old = *o;
  const int64_t used = done * t->bytes;
  int status, fits = t->dst && o->own;
  o->n[0] = done;
  o->s[0] = done == 1 ? 0 : t->bytes;
  o->dst = t->dst;
  for (int d = 0; fits && d < t->nd; d++) fits = o->dn[d] == o->n[d];
  if (!o->own || (!fits && o->room - used <= used / 8 + 4096)) return 0;
  o->own = 0;
  if ((status = tr_alloc(o, t->nd, t->size))) { o->own = old.own; return status; }
  memcpy(o->p, old.p, (size_t)used);
  tr_free(&old);
  return 0;
}
""",
    # The status of a step of the body, with the number of the innermost step in the upper half.
    "tr_in_step": """\
static int64_t tr_in_step(int64_t r, int64_t i) {
  return r >> 32 ? r : r | (i < INT32_MAX / 2 ? i + 1 : INT32_MAX / 2) << 32;
}
""",
}
