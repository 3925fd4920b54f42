"""Draws of NumPy's generators, by NumPy's own compiled samplers, for all compiling backends.

The words of a state become a block of `BLOCK` words, which lies in memory as NumPy's samplers read it: NumPy's
``bitgen_t`` (the address of the state, four functions), from word `STATE` on the structure of the state, from word
`NUMBERS` on the numbers that some of these point to, from word `BINOMIAL` on what binomials keep between draws. An int
and the 32 bits behind it are one word, whose low half is the int: `bit_generator_functions` refuses other machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Given, Kernel, Length, Site, kernel
from treadle.kernels.blocks import (
    MOST_DIMENSIONS,
    MOST_OPERANDS,
    TABLE_ROW,
    add_operand,
    begin_batch,
    cleared,
    copied,
    first_line,
    merged,
    next_line,
    set_length,
)
from treadle.kernels.language import (
    OK,
    PARAMETER,
    SHAPE,
    VALUE,
    Number,
    Pointer,
    address,
    int64,
    local,
    uint64,
)
from treadle.tensor.random.generators.generator_draws import GeneratorDraws
from treadle.tensor.random.lower.kernels.compiled_samplers import bit_generators
from treadle.tensor.random.lower.kernels.generator_samplers import (
    BINOMIAL,
    FILLS,
    bounded_fill,
    conditions_of,
    draw_of,
    fill_of,
)
from treadle.tensor.random.words import KINDS

if TYPE_CHECKING:
    from treadle.kernels.externals import ExternalFunction
    from treadle.tensor import TensorNode

BLOCK, STATE, NUMBERS, KEPT = 360, 5, 320, 32
SFC64, PHILOX, MT19937 = map(KINDS.index, ("SFC64", "Philox", "MT19937"))

P = TypeVar("P", bound=Number)
Q = TypeVar("Q", bound=Number)
R = TypeVar("R", bound=Number)
T = TypeVar("T", bound=Number)


@kernel
def open_generator(words: Pointer[uint64], n: int, g: Pointer[uint64]) -> int:
    """Make the block of a state, whose words begin with the generator's kind."""
    if n < 1:
        return SHAPE
    kind = int(words[0])
    if kind < 0 or kind > MT19937 or n != (314 if kind == MT19937 else (13 if kind == PHILOX else 6)):
        return SHAPE
    state = g + STATE
    numbers = g + NUMBERS
    g[0] = uint64(address(state))
    for k in range(4):
        g[1 + k] = bit_generators[4 * kind + k]
    cleared(g + BINOMIAL, KEPT)
    if (kind == SFC64) | (kind == MT19937):
        copied(words + 1, state, n - 1)
        return OK
    state[0] = uint64(address(numbers))
    if kind == PHILOX:
        # The counter and the key; their addresses, the position, the buffer, the half that is kept.
        copied(words + 1, numbers, 6)
        state[1] = uint64(address(numbers + 4))
        state[2] = words[11]
        copied(words + 7, state + 3, 4)
        state[7] = words[12]
        return OK
    copied(words + 1, numbers, 4)
    state[1] = words[5]
    return OK


@kernel
def close_generator(g: Pointer[uint64], kind: Pointer[uint64], words: Pointer[uint64], n: int) -> int:
    """Write the words of a block's state, whose kind is the first of the words before."""
    words[0] = kind[0]
    state = g + STATE
    numbers = g + NUMBERS
    of = int(kind[0])
    if (of == SFC64) | (of == MT19937):
        copied(state, words + 1, n - 1)
    elif of == PHILOX:
        copied(numbers, words + 1, 6)
        copied(state + 3, words + 7, 4)
        words[11] = state[2] & 0xFFFFFFFF
        words[12] = state[7]
    else:
        copied(numbers, words + 1, 4)
        words[5] = state[1]
    return OK


# Draws with parameters that are numbers, of which three are passed in any case.


@kernel
def check_numbers(count: int, a: P, b: Q, c: R, *, used: int, holds: Kernel) -> int:
    """Look whether a condition holds of numbers, if any draws are made."""
    good = count == 0
    if used == 1:
        good = good or holds(a)
    elif used == 2:
        good = good or holds(a, b)
    else:
        good = good or holds(a, b, c)
    return OK if good else PARAMETER


@kernel
def draw_alike(
    g: Pointer[uint64],
    count: int,
    a: P,
    b: Q,
    c: R,
    o: Pointer[T],
    *,
    parameters: int,
    draw: Kernel | ExternalFunction,
) -> int:
    """Draw numbers of one distribution."""
    for i in range(count):
        if parameters == 0:
            o[i] = draw(g)
        elif parameters == 1:
            o[i] = draw(g, a)
        elif parameters == 2:
            o[i] = draw(g, a, b)
        else:
            o[i] = draw(g, a, b, c)
    return OK


@kernel
def fill_numbers(g: Pointer[uint64], count: int, o: Pointer[T], *, fill: ExternalFunction) -> int:
    """Fill an array."""
    fill(g, count, o)
    return OK


@kernel
def fill_integers(g: Pointer[uint64], count: int, low: int, high: int, o: Pointer[int64]) -> int:
    """Fill an array with integers of one range, which is not looked at where there are none."""
    if count > 0:
        bounded_fill(g, uint64(low), uint64(high) - uint64(low) - 1, count, False, o)
    return OK


# Draws with parameters that are arrays: a table says how they are broadcast.


@kernel
def check_parameters(
    count: int,
    table: Pointer[int64],
    rank: int,
    p0: Pointer[P],
    p1: Pointer[Q],
    p2: Pointer[R],
    m: int,
    *,
    used: int,
    vectors: bool,
    holds: Kernel,
) -> int:
    """Look whether a condition holds of all parameters, if any draws are made."""
    if count == 0:
        return OK
    lines = 1
    for d in range(rank - 1):
        lines = lines * table[TABLE_ROW * d]
    row = table + TABLE_ROW * (rank - 1)
    index = local(int64, MOST_DIMENSIONS)
    places = local(int64, MOST_OPERANDS)
    first_line(index, places, rank)
    for _ in range(lines):
        for i in range(row[0]):
            a = p0 + (places[0] + i * row[1])
            b = p1 + (places[1] + i * row[2])
            c = p2 + (places[2] + i * row[3])
            if vectors:
                good = holds(a, m) if used == 1 else holds(a, b, m)
            elif used == 1:
                good = holds(a[0])
            else:
                good = holds(a[0], b[0]) if used == 2 else holds(a[0], b[0], c[0])
            if not good:
                return PARAMETER
        next_line(table, rank, index, places)
    return OK


@kernel
def draw_each(
    g: Pointer[uint64],
    count: int,
    table: Pointer[int64],
    rank: int,
    p0: Pointer[P],
    p1: Pointer[Q],
    p2: Pointer[R],
    o: Pointer[T],
    m: int,
    *,
    parameters: int,
    vectors: bool,
    draw: Kernel | ExternalFunction,
) -> int:
    """Draw in C order, one after the other: numbers, or vectors of length m."""
    last = merged(table, rank)
    row = table + TABLE_ROW * (last - 1)
    n = row[0]
    s0 = row[1]
    s1 = row[2]
    s2 = row[3]
    index = local(int64, MOST_DIMENSIONS)
    places = local(int64, MOST_OPERANDS)
    first_line(index, places, last)
    done = 0
    while done < count:
        a = p0 + places[0]
        b = p1 + places[1]
        c = p2 + places[2]
        to = o + done * m
        for i in range(n):
            if vectors and parameters == 1:
                draw(g, a + i * s0, to + i * m, m)
            elif vectors:
                draw(g, a + i * s0, b + i * s1, to + i * m, m)
            elif parameters == 1:
                to[i] = draw(g, a[i * s0])
            elif parameters == 2:
                to[i] = draw(g, a[i * s0], b[i * s1])
            else:
                to[i] = draw(g, a[i * s0], b[i * s1], c[i * s2])
        done += n
        next_line(table, last, index, places)
    return OK


class _Parameters:
    """The parameters of a node, as kernels take them."""

    def __init__(self, op: GeneratorDraws, node: TensorNode, site: Site) -> None:
        self.site = site
        self.cores, (self.draw_core,) = op.cores
        _, _, self.variables = op.parts(node.inputs)
        self.ranks = [p.type.ndim - len(core) for p, core in zip(self.variables, self.cores, strict=True)]
        self.positions = range(len(self.variables))
        self.vectors = any(self.cores)
        # Whether there is one number for each parameter.
        self.alike = not self.vectors and not any(self.ranks)
        self.values = [self._value(k) for k in self.positions]
        lengths = [x.shape[-1] for x, core in zip(self.values, self.cores, strict=True) if core]
        # The length of the vectors; 1 for numbers, which lie one behind the other.
        self.length = lengths[0] if lengths else Length("1")

    def _value(self, k: int) -> Given:
        p = self.variables[k]
        if self.alike:
            return self.site.number(p)
        return self.site.packed(p) if self.cores[k] or not p.type.ndim else self.site.array(p)

    def numbers(self, used: Sequence[int]) -> list[Given | int]:
        """Return some parameters that are numbers, and zeros in the places of those that are missing."""
        return [*(self.values[k] for k in used), *[0] * (MOST_OPERANDS - len(used))]

    def pointers(self, used: Sequence[int], other: Given) -> list[Given]:
        """Return pointers to some parameters, and to something else in the places of those that are missing."""
        return [*(self.values[k].pointer for k in used), *[other] * (MOST_OPERANDS - len(used))]

    def broadcast(self, used: Sequence[int], lengths: Sequence[Length] | None) -> tuple[Given, int]:
        """Return the table that says how some parameters are broadcast, to a batch or to each other, and its rank."""
        rank = max(1, *(self.ranks[k] for k in used)) if lengths is None else max(len(lengths), 1)
        table = self.site.room("int64", TABLE_ROW * rank)
        self.site.run(begin_batch, table, rank)
        for d, n in enumerate(lengths or ()):
            self.site.run(set_length, table, d, n)
        for at, k in enumerate(used):
            x, first = self.values[k], rank - self.ranks[k]
            for d in range(self.ranks[k]):
                self.site.run(add_operand, table, first + d, at, x.shape[d], x.strides[d], grows=lengths is None)
        return table, rank

    def check(self, holds: Kernel, used: Sequence[int], count: Length, other: Given) -> None:
        """Write that a condition holds of some parameters, unless nothing is drawn."""
        if self.alike:
            self.site.run(check_numbers, count, *self.numbers(used), used=len(used), holds=holds)
            return
        table, rank = self.broadcast(used, None)
        self.site.run(
            check_parameters, count, table, rank, *self.pointers(used, other), self.length, used=len(used),
            vectors=self.vectors, holds=holds,
        )  # fmt: skip


@TABLE.register(GeneratorDraws)
def generator_draws(op: GeneratorDraws, node: TensorNode, site: Site) -> None:
    """Copy the state into a block, check the parameters, draw in C order, copy the state back."""
    words, sizes, _ = op.parts(node.inputs)
    lengths = [site.integer(n) for n in sizes]
    count = Length("1")
    for n in lengths:
        site.stop_if(n < 0, VALUE)
        count = count * n
    state = site.packed(words)
    g = site.room("uint64", BLOCK)
    site.run(open_generator, state.pointer, state.shape[0], g)
    parameters = _Parameters(op, node, site)
    for holds, used in conditions_of(op.sampler):
        # NumPy does not look at the bounds of integers where nothing is drawn.
        parameters.check(holds, used, count if op.sampler == "integers" else Length("1"), g)
    core = [parameters.length] if parameters.draw_core else []
    out = site.output(node.outputs[1], [*lengths, *core]).pointer
    how = {"parameters": len(parameters.variables), "draw": draw_of(op.sampler, op.dtype)}
    if op.sampler in FILLS:
        site.run(fill_numbers, g, count, out, fill=fill_of(op.sampler, op.dtype))
    elif op.sampler == "integers" and parameters.alike:
        # Bounds that are arrays, even of one element, are handled draw by draw.
        site.run(fill_integers, g, count, *parameters.values, out)
    elif parameters.alike:
        site.run(draw_alike, g, count, *parameters.numbers(parameters.positions), out, **how)
    else:
        table, rank = parameters.broadcast(parameters.positions, lengths)
        pointers = parameters.pointers(parameters.positions, g)
        site.run(draw_each, g, count, table, rank, *pointers, out, parameters.length, vectors=parameters.vectors, **how)
    after = site.output(node.outputs[0], [state.shape[0]]).pointer
    site.run(close_generator, g, state.pointer, after, state.shape[0])
