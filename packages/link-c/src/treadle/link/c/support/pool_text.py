"""C text of the pool: large blocks that were released, kept for the next request of any program of the process."""

from __future__ import annotations

# A block is preceded by its size. A thread that finds the lock taken does without the pool, so that none ever waits. A
# child forked while a thread held the lock begins without blocks, since the list may be half changed. If no block fits,
# those that have not been used for a while are given back to the system.
POOL = """\
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#define SLOTS 32
#define HEAD 64
#define IDLE 32
#define HUGE_PAGE (INT64_C(1) << 21)
static struct { char *p; int64_t room, since; } slot[SLOTS];
static int64_t count, bytes, limit, taken, hits, lock;
static int try_lock(void) { return !__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE); }
static void unlock(void) { __atomic_store_n(&lock, 0, __ATOMIC_RELEASE); }
static char *start_of(void *p) { return (char *)p - HEAD; }
static char *take_out(int64_t i) {
  char *p = slot[i].p;
  bytes -= slot[i].room;
  count--;
  for (; i < count; i++) slot[i] = slot[i + 1];
  return p;
}
static void *make(int64_t room) {
  void *p = 0;
  const int64_t whole = room + HEAD;
  if (posix_memalign(&p, whole >= 2 * HUGE_PAGE ? HUGE_PAGE : 4096, (size_t)whole)) return 0;
  if (whole >= 2 * HUGE_PAGE) madvise(p, (size_t)whole, MADV_HUGEPAGE);
  *(int64_t *)p = room;
  return (char *)p + HEAD;
}
void *treadle_pool_take(int64_t room) {
  char *found = 0, *old[SLOTS];
  int64_t n = 0;
  if (try_lock()) {
    taken++;
    for (int64_t i = count - 1; i >= 0 && !found; i--)
      if (slot[i].room >= room && slot[i].room - room <= room / 8) found = take_out(i);
    hits += found != 0;
    while (!found && count && taken - slot[0].since > IDLE) old[n++] = take_out(0);
    unlock();
  }
  while (n) free(start_of(old[--n]));
  return found ? found : make(room);
}
void treadle_pool_give(void *p) {
  const int64_t room = *(int64_t *)start_of(p);
  char *old[SLOTS + 1];
  int64_t n = 0;
  if (room <= limit && try_lock()) {
    while (count && (count == SLOTS || bytes + room > limit)) old[n++] = take_out(0);
    slot[count].p = p;
    slot[count].since = taken;
    slot[count++].room = room;
    bytes += room;
    unlock();
  } else {
    old[n++] = p;
  }
  while (n) free(start_of(old[--n]));
}
void treadle_pool_limit(int64_t most) {
  char *old[SLOTS];
  int64_t n = 0;
  while (!try_lock()) sched_yield();
  limit = most;
  while (count && bytes > limit) old[n++] = take_out(0);
  unlock();
  while (n) free(start_of(old[--n]));
}
void treadle_pool_counts(int64_t *to) {
  to[0] = taken;
  to[1] = hits;
  to[2] = count;
  to[3] = bytes;
}
static void in_child(void) {
  if (lock) count = bytes = 0;
  unlock();
}
__attribute__((constructor)) static void begin(void) { pthread_atfork(0, 0, in_child); }
"""
