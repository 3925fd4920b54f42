"""Sharing the loops of a kernel among threads: functions that cut its arrays into pieces (option ``numba__parallel``).

Pieces depend on lengths alone, never on the number of threads, and what pieces of a reduction result in is put together
in order: so results do not depend on how many threads there are. Threads are begun for one loop and end with it. There
is no pool of them, which a forked child would lack and which callers in several threads would have to share.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from treadle.config import config
from treadle.link.numba.routines.threads import SHARE, THREADS
from treadle.link.numba.text.library import LIBRARY
from treadle.link.numba.text.loops import Array, lengths
from treadle.link.numba.text.reducing import Reduced, identity
from treadle.link.numba.text.unit import Unit, indented, make_kernel

# A piece has at least so many elements, and there are at most so many pieces.
_LEAST, _MOST = 16384, 64


class _Words:
    """The words that hold the arguments of a kernel while threads read them."""

    def __init__(self, params: Sequence[tuple[str, str]]) -> None:
        self._places: dict[str, tuple[str, str]] = {}
        self.count = 0
        for name, code in params:
            memory = {"b1": "u1"}.get(code, "i8" if code.startswith("*") else code)
            size = int(memory[1:])
            self.count += self.count % 2 if size > 8 else 0
            self._places[name] = code, f"as_{memory}(room)[{8 * self.count // size}]"
            self.count += max(size // 8, 1)
        self.count += self.count % 2

    def stores(self) -> list[str]:
        """Return the statements that write the arguments; pointers are passed as addresses."""
        return [f"{place} = u1({n})" if code == "b1" else f"{place} = {n}" for n, (code, place) in self._places.items()]

    def loads(self) -> list[str]:
        """Return the statements that read them."""
        return [
            f"{n} = {place} != 0" if code == "b1" else f"{n} = {place}" for n, (code, place) in self._places.items()
        ]


def shared(
    unit: Unit,
    ndim: int,
    arrays: Sequence[Array],
    scalars: Sequence[tuple[str, str]],
    cut: Collection[int],
    reduced: Sequence[Reduced] = (),
    checks: bool = False,
) -> Unit:
    """Return the function that calls a kernel on pieces of its arrays, in threads where there are enough elements.

    It takes the number of threads, then what the kernel takes, arrays as addresses.

    Parameters
    ----------
    unit
        The kernel. It takes lengths, arrays and scalars, and returns the values of `reduced`, if there are any, after a
        status with `checks`; otherwise a status.
    cut
        The dimensions that pieces may be cut along; the longest of them is.
    """
    params = [*lengths(ndim), *(p for a in arrays for p in a.params()), *scalars]
    words = _Words(params)
    has_status = checks or not reduced
    results = [*(["bad"] if has_status else []), *(f"{r.name}_total" for r in reduced)]
    # Behind the arguments, each piece has two words for each result.
    wide = 2 * len(results)
    pieces = [
        f"total = {' * '.join(f'n{d}' for d in range(ndim))}",
        "at = -1",
        "longest = 1",
        *(line for d in sorted(cut) for line in (f"if n{d} > longest:", f"    longest = n{d}", f"    at = {d}")),
        f"pieces = min(min(total // {_LEAST}, {_MOST}), longest)",
    ]
    thread = _thread(unit, ndim, arrays, scalars, words, results, reduced, sorted(cut), pieces)
    body = [
        *pieces,
        "room = 0",
        f"if total >= {config.numba__parallel_minsize} and pieces > 1:",
        f"    room = buffer_new(8 * ({words.count} + {wide} * pieces) + {SHARE * THREADS})",
        "if room == 0:",
        f"    return {unit.name}({', '.join(_argument(name, code) for name, code in params)})",
        "owner = room",
        "room = buffer_data(owner)",
        *words.stores(),
        f"shares = room + 8 * ({words.count} + {wide} * pieces)",
        f"run_in_threads(min(threads, {THREADS}), pieces, address_of({thread.name}), room, shares)",
    ]
    stored = {r.name: r.storage.code.replace("b", "u") for r in reduced}
    gather: list[str] = []
    at = 0
    if has_status:
        body.append("bad = 0")
        gather.append(f"bad = max(bad, as_i8(room)[{words.count} + {wide} * piece])")
        at = 2
    for r in reduced:
        code = stored[r.name]
        place = f"as_{code}(room)[{_index(words.count, wide, at, code)}]"
        value = f"({place} != 0)" if r.storage.kind == "b" else place
        body += r.start()
        gather += [f"{r.name}_block = {value}", *r.after_block()] if r.has_blocks else []
        gather += [] if r.has_blocks else [Reduced(r.name, r.kind, r.storage, value).step()]
        at += 2
    body += [
        "for piece in range(pieces):",
        *indented(gather),
        *(line for r in reduced for line in r.end()),
        "buffer_free(owner)",
        f"return {', '.join(results)}",
    ]
    typed = [("threads", "i8"), *((n, "i8" if code.startswith("*") else code) for n, code in params)]
    return make_kernel("shared", typed, body, (unit, thread, *LIBRARY.used_by("\n".join(body))))


def _argument(name: str, code: str) -> str:
    return f"as_{code[1:]}({name})" if code.startswith("*") else name


def _index(count: int, wide: int, at: int, code: str) -> str:
    """Return the position of a piece's result, in elements of a type."""
    size = int(code[1:])
    if size == 16:
        return f"({count} + {wide} * piece + {at}) // 2"
    return f"({count} + {wide} * piece + {at}) * {8 // size}"


def _thread(
    unit: Unit,
    ndim: int,
    arrays: Sequence[Array],
    scalars: Sequence[tuple[str, str]],
    words: _Words,
    results: Sequence[str],
    reduced: Sequence[Reduced],
    cut: Sequence[int],
    pieces: Sequence[str],
) -> Unit:
    """Return the function that a thread runs: it calls the kernel for some pieces, and stores what it returns."""
    wide = 2 * len(results)
    calls: list[str] = []
    for d in cut:
        arguments = ["stop - start" if e == d else f"n{e}" for e in range(ndim)]
        for a in arrays:
            for name, code in a.params():
                if not code.startswith("*"):
                    arguments.append(name)
                elif a.still[d]:
                    arguments.append(f"as_{code[1:]}({name})")
                else:
                    arguments.append(f"shifted_{code[1:]}(as_{code[1:]}({name}), start * {a.stride(d)})")
        arguments += [name for name, _ in scalars]
        call = f"{', '.join(results)} = {unit.name}({', '.join(arguments)})"
        calls += [
            f"if at == {d}:",
            f"    start = cut_at(n{d}, piece, pieces)",
            f"    stop = cut_at(n{d}, piece + 1, pieces)",
            f"    {call}",
        ]
    codes = {f"{r.name}_total": r.storage.code for r in reduced}
    store: list[str] = []
    for k, name in enumerate(results):
        code = codes.get(name, "i8").replace("b", "u")
        value = f"u1({name})" if codes.get(name) == "b1" else name
        store.append(f"as_{code}(room)[{_index(words.count, wide, 2 * k, code)}] = {value}")
    start = ["bad = 0"] if "bad" in results else []
    start += [f"{r.name}_total = {identity('sum', r.storage)}" for r in reduced]
    body = [
        "given = as_i8(share)",
        "room = given[2]",
        *words.loads(),
        *pieces,
        *start,
        "for piece in range(given[0], given[1]):",
        *indented([*calls, *store]),
        "return 0",
    ]
    return make_kernel("thread", [("share", "i8")], body, (unit, *LIBRARY.used_by("\n".join(body))))
