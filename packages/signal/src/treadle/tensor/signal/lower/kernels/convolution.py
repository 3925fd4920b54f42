"""Convolutions and their gradients: outputs from packed images by vectors, without copies of windows.

An image is packed with its padding, and each row is split by the stride, so that the elements that one weight is
multiplied by are contiguous. Four results by three vectors are then kept in registers in a loop over all weights. The
gradient by the input is such a sum for each remainder by the stride; that by the filter is a sum of products of rows.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from treadle.kernels import TABLE, Given, Length, Site, kernel
from treadle.kernels.blocks import cleared
from treadle.kernels.language import (
    OK,
    Array5,
    Number,
    Pointer,
    filled,
    first,
    fused,
    independent,
    int64,
    lanes,
    local,
    quotient,
    remainder,
    shared,
    total,
    unrolled,
    vector,
    vectors,
)
from treadle.tensor.signal.convolution import ConvND
from treadle.tensor.signal.lower.kernels.geometry import (
    AT,
    AXIS,
    BEGIN,
    BLOCK,
    BLOCKS,
    BY,
    COUNT,
    IMAGE,
    INNER,
    LENGTH,
    MOST,
    ORIGIN,
    OUTER,
    PARTS,
    PHASES,
    PLANE,
    ROW,
    SLACK,
    STEP,
    TABLE_WORDS,
    TAPS,
    VOLUME,
    WIDTH,
    WORDS,
    P,
    S,
    conv_dimension,
    conv_geometry,
    conv_group,
    conv_left,
    conv_length,
    conv_offsets,
    conv_phase,
    conv_room,
    conv_share,
    conv_team,
    conv_weights,
)  # fmt: skip

if TYPE_CHECKING:
    from treadle.tensor import TensorNode

# The rules take no complex numbers.
REAL_ONLY = True
T = TypeVar("T", bound=Number)
W = TypeVar("W", bound=Number)


@kernel
def conv_pack(
    x: Array5[T],
    image: int,
    channel: int,
    channels: int,
    origin: Pointer[int64],
    length: Pointer[int64],
    phases: int,
    row: int,
    to: Pointer[W],
) -> int:
    """Pack channels of an image: positions from origin on, zero where there are none; each row split by its phases."""
    cleared(to, channels * length[0] * length[1] * row)
    part = conv_share(row, phases)
    low = max(-origin[2], 0)
    high = min(x.shape[4] - origin[2], length[2])
    step = x.strides[4]
    for c in range(channels):
        for u in range(max(-origin[0], 0), min(x.shape[2] - origin[0], length[0])):
            for v in range(max(-origin[1], 0), min(x.shape[3] - origin[1], length[1])):
                line = image * x.strides[0] + (channel + c) * x.strides[1] + (u + origin[0]) * x.strides[2]
                p = x.pointer + (line + (v + origin[1]) * x.strides[3] + origin[2] * step)
                q = to + ((c * length[0] + u) * length[1] + v) * row
                if phases == 1 and step == 1:
                    for i in independent(range(low, high)):
                        q[i] = p[i]
                else:
                    for r in range(phases):
                        start = quotient(low - r + phases - 1, phases)
                        for j in range(start, quotient(high - r + phases - 1, phases)):
                            q[r * part + j] = p[(j * phases + r) * step]
    return OK


@kernel
def conv_block(
    taps: int,
    off: Pointer[int64],
    w: Pointer[W],
    b: Pointer[W],
    o: Pointer[W],
    o_stride: int,
    *,
    results: int,
    several: int,
) -> int:
    """Write some vectors of some results: sums over the weights, in registers."""
    width = lanes(W)
    a = vectors(W, results * several)
    x = vectors(W, several)
    for t in range(taps):
        q = b + off[t]
        for k in unrolled(range(several)):
            x[k] = vector(q + k * width)
        for j in unrolled(range(results)):
            factor = filled(W, w[t * results + j])
            for k in unrolled(range(several)):
                a[j * several + k] = fused(x[k], factor, a[j * several + k])
    for j in unrolled(range(results)):
        for k in unrolled(range(several)):
            o[j * o_stride + k * width] = a[j * several + k]
    return OK


@kernel
def conv_rows(
    taps: int, off: Pointer[int64], w: Pointer[W], b: Pointer[W], n: int, o: Pointer[W], o_stride: int, *, results: int
) -> int:
    """Write rows of some results, and what vectors reach behind them."""
    width = lanes(W)
    i = 0
    if results == 1:
        while n - i > width:
            conv_block(taps, off, w, b + i, o + i, o_stride, results=1, several=4)
            i += 4 * width
        if n > i:
            conv_block(taps, off, w, b + i, o + i, o_stride, results=1, several=1)
        return OK
    while n - i > 2 * width:
        conv_block(taps, off, w, b + i, o + i, o_stride, results=4, several=3)
        i += 3 * width
    if n - i > width:
        conv_block(taps, off, w, b + i, o + i, o_stride, results=4, several=2)
    elif n > i:
        conv_block(taps, off, w, b + i, o + i, o_stride, results=4, several=1)
    return OK


@kernel
def conv_put(run: Pointer[W], row: int, rows: int, n: int, o: Pointer[T], o_row: int, by: int) -> int:
    """Copy rows of results to where they belong."""
    for m in range(rows):
        source = run + m * row
        to = o + m * o_row
        if by == 1:
            for q in independent(range(n)):
                to[q] = source[q]
        else:
            for z in range(n):
                to[z * by] = source[z]
    return OK


@kernel
def conv_images_part(
    x: Array5[T],
    o: Array5[T],
    t: Pointer[int64],
    off: Pointer[int64],
    start: Pointer[int64],
    weights: Pointer[W],
    packed: Pointer[W],
    run: Pointer[W],
    group: int,
    low: int,
    high: int,
    *,
    back: bool,
) -> int:
    """Write the results of some images in a group."""
    width = lanes(W)
    axes = local(int64, 15)
    middle = axes + AXIS
    last = axes + 2 * AXIS
    row = t[ROW]
    block = t[BLOCK]
    most = t[MOST]
    cleared(packed + t[INNER] * t[VOLUME], t[SLACK])
    for image in range(low, high):
        conv_pack(x, image, group * t[INNER], t[INNER], t + ORIGIN, t + LENGTH, t[PHASES], row, packed)
        for bl in range(t[BLOCKS]):
            for f in range(t[PARTS]):
                conv_phase(t, f, axes, back=back)
                n = last[COUNT]
                if axes[COUNT] <= 0 or middle[COUNT] <= 0 or n <= 0:
                    continue
                # Short rows that lie one after another are one run, with what is between them.
                whole = quotient(n + width - 1, width) * width
                short = row <= whole or (n < 3 * width and row <= 2 * n)
                joined = middle[STEP] == 1 and t[PHASES] == 1 and short
                within = middle[COUNT] if joined else 1
                long = (within - 1) * row + n
                own = weights + (bl * t[TAPS] + start[f]) * block
                taps = start[f + 1] - start[f]
                for i in range(axes[COUNT]):
                    for h in range(1 if joined else middle[COUNT]):
                        place = (axes[AT] + i * axes[STEP]) * t[PLANE] + (middle[AT] + h * middle[STEP]) * row
                        b = packed + (place + last[AT])
                        if block == 4:
                            conv_rows(taps, off + start[f], own, b, long, run, most, results=4)
                        else:
                            conv_rows(taps, off + start[f], own, b, long, run, most, results=1)
                        to = image * o.strides[0] + (group * t[OUTER] + bl * block) * o.strides[1]
                        to += (axes[BEGIN] + i * axes[BY]) * o.strides[2]
                        to += (middle[BEGIN] + h * middle[BY]) * o.strides[3] + last[BEGIN] * o.strides[4]
                        for j in range(min(block, t[OUTER] - bl * block)):
                            conv_put(
                                run + j * most, row, within, n, o.pointer + (to + j * o.strides[1]),
                                middle[BY] * o.strides[3], last[BY],
                            )  # fmt: skip
    return OK


@kernel
def conv_images(
    x: Array5[T],
    w: Array5[T],
    o: Array5[T],
    t: Pointer[int64],
    groups: int,
    members: int,
    weights: Pointer[W],
    *,
    back: bool,
) -> int:
    """Write the outputs of images x, or the gradient by the images of outputs x; threads share the images."""
    if x.shape[0] * x.shape[1] * x.shape[2] * x.shape[3] * x.shape[4] == 0 or t[TAPS] == 0:
        cleared(o.pointer, o.shape[0] * o.shape[1] * o.shape[2] * o.shape[3] * o.shape[4])
        return OK
    images = o.shape[0]
    off = t + TABLE_WORDS
    start = off + t[TAPS]
    # Behind the weights, what each thread packs, and the rows that it writes.
    packed = weights + t[BLOCKS] * t[TAPS] * t[BLOCK]
    each = t[INNER] * t[VOLUME] + t[SLACK] + t[BLOCK] * t[MOST]
    bad = OK
    for group in range(groups):
        conv_weights(w, t, off, start, weights, group, back=back)
        for m in shared(range(members)):
            low = conv_share(images * m, members)
            high = conv_share(images * (m + 1), members)
            bad = max(
                bad,
                conv_images_part(
                    x, o, t, off, start, weights, packed + m * each,
                    packed + (m * each + t[INNER] * t[VOLUME] + t[SLACK]), group, low, high, back=back,
                ),
            )  # fmt: skip
    return bad


@kernel
def conv_dots(
    rows: int,
    n: int,
    b: Pointer[W],
    b_stride: int,
    off: Pointer[int64],
    y: Pointer[W],
    y_row: int,
    y_stride: int,
    o: Pointer[W],
) -> int:
    """Add the sums of products of four rows with those at three offsets."""
    a = vectors(W, 12)
    x = vectors(W, 3)
    for r in range(rows):
        p = b + r * b_stride
        q = y + r * y_row
        i = 0
        while i + lanes(W) <= n:
            for k in unrolled(range(3)):
                x[k] = vector(p + (off[k] + i))
            for j in unrolled(range(4)):
                v = vector(q + (j * y_stride + i))
                for k in unrolled(range(3)):
                    a[3 * j + k] = fused(v, x[k], a[3 * j + k])
            i += lanes(W)
        if i < n:
            # What is behind a row may be no number.
            for k in unrolled(range(3)):
                x[k] = first(vector(p + (off[k] + i)), n - i)
            for j in unrolled(range(4)):
                v = vector(q + (j * y_stride + i))
                for k in unrolled(range(3)):
                    a[3 * j + k] = fused(v, x[k], a[3 * j + k])
    for k in unrolled(range(3)):
        for j in unrolled(range(4)):
            o[4 * k + j] += total(a[3 * j + k])
    return OK


@kernel
def conv_filters_part(
    x: Array5[T],
    y: Array5[T],
    o: Array5[T],
    t: Pointer[int64],
    off: Pointer[int64],
    packed: Pointer[W],
    outer: Pointer[W],
    sums: Pointer[W],
    low: int,
    high: int,
) -> int:
    """Write the gradient by some blocks of four filters."""
    place = local(int64, 6)
    none = place
    sized = place + 3
    for e in range(3):
        none[e] = 0
        sized[e] = t[WORDS * e + P]
    taps = t[TAPS]
    row = t[ROW]
    n = t[2 * WORDS + P]
    lines = t[WORDS + P]
    each = 4 * (taps + 3)
    cleared(packed + t[INNER] * t[VOLUME], t[SLACK])
    cleared(outer, 4 * t[IMAGE])
    cleared(sums, (high - low) * each)
    # So many rows of four outputs fit the first cache.
    tall = max(quotient(2048, t[WIDTH]), 4)
    for image in range(x.shape[0]):
        for at in range(low, high):
            group = quotient(at, t[BLOCKS])
            bl = remainder(at, t[BLOCKS])
            if at == low or bl == 0:
                conv_pack(x, image, group * t[INNER], t[INNER], t + ORIGIN, t + LENGTH, t[PHASES], row, packed)
            channels = min(t[OUTER] - 4 * bl, 4)
            conv_pack(y, image, group * t[OUTER] + 4 * bl, channels, none, sized, 1, t[WIDTH], outer)
            for i in range(t[P]):
                h = 0
                while h < lines:
                    b = packed + (i * t[S] * t[PLANE] + h * t[WORDS + S] * row)
                    v = outer + (i * lines + h) * t[WIDTH]
                    for k in range(0, taps, 3):
                        conv_dots(
                            min(lines - h, tall), n, b, t[WORDS + S] * row, off + k, v, t[WIDTH], t[IMAGE],
                            sums + ((at - low) * each + 4 * k),
                        )  # fmt: skip
                    h += tall
    for own in range(low, high):
        for j in range(min(t[OUTER] - 4 * remainder(own, t[BLOCKS]), 4)):
            number = quotient(own, t[BLOCKS]) * t[OUTER] + 4 * remainder(own, t[BLOCKS]) + j
            for z in range(taps):
                o.pointer[number * taps + z] = sums[(own - low) * each + 4 * z + j]
    return OK


@kernel
def conv_filters(
    x: Array5[T],
    y: Array5[T],
    o: Array5[T],
    t: Pointer[int64],
    groups: int,
    members: int,
    sums: Pointer[W],
) -> int:
    """Write the gradient by the filters: sums over images and outputs y of their products with what they were made of.

    Threads share the filters.
    """
    inputs = x.shape[0] * x.shape[1] * x.shape[2] * x.shape[3] * x.shape[4]
    if inputs == 0 or y.shape[0] * y.shape[1] * y.shape[2] * y.shape[3] * y.shape[4] == 0:
        cleared(o.pointer, o.shape[0] * o.shape[1] * o.shape[2] * o.shape[3] * o.shape[4])
        return OK
    off = t + TABLE_WORDS
    conv_offsets(t, off)
    blocks = groups * t[BLOCKS]
    # Behind the sums, the images and outputs that each thread packs.
    packed = sums + blocks * 4 * (t[TAPS] + 3)
    image = t[INNER] * t[VOLUME] + t[SLACK]
    each = image + 4 * t[IMAGE]
    bad = OK
    for m in shared(range(members)):
        low = conv_share(blocks * m, members)
        high = conv_share(blocks * (m + 1), members)
        bad = max(
            bad,
            conv_filters_part(
                x, y, o, t, off, packed + m * each, packed + (m * each + image), sums + low * 4 * (t[TAPS] + 3), low,
                high,
            ),
        )  # fmt: skip
    return bad


# The rule


def with_dims(given: Given) -> Given:
    """Return images or filters as arrays with three spatial dimensions."""
    more = [Length("1")] * (5 - len(given.shape))
    shape, strides = given.shape, given.strides
    return replace(given, rank=5, shape=(*shape[:2], *more, *shape[2:]), strides=(*strides[:2], *more, *strides[2:]))


@TABLE.register(ConvND)
def convolution(op: ConvND, node: TensorNode, site: Site) -> None:
    """Write checks of the lengths, and the call of the convolution; float16 is computed in float32."""
    left, right, *wanted = node.inputs
    a, b = site.array(left), site.array(right)
    sizes = [site.integer(n) for n in wanted]
    for n in sizes:
        site.stop_if(n < 0)
    groups, (out,) = op.groups, node.outputs
    if op.part == "output":
        images, filters = a.shape, b.shape
        outputs = (images[0], filters[0], *_outputs(op, site, images[2:], filters[2:]))
        site.same(images[1], filters[1] * groups)
    elif op.part == "input":
        outputs, filters = a.shape, b.shape
        images = (outputs[0], filters[1] * groups, *sizes)
        site.same(outputs[1], filters[0])
    else:
        images, outputs = a.shape, b.shape
        filters = (outputs[1], _shared(site, images[1], groups), *sizes)
        site.same(images[0], outputs[0])
        site.same(images[1], filters[1] * groups)
    if groups > 1:
        site.stop_if(site.compute(conv_left, filters[0], groups) > 0)
    if op.part != "output":
        for n, m in zip(outputs[2:], _outputs(op, site, images[2:], filters[2:]), strict=True):
            site.same(n, m)
    result = {"output": outputs, "input": images, "filter": filters}[op.part]
    made = with_dims(site.output(out, result))
    each = _shared(site, filters[0], groups)
    inner, outer = (each, filters[1]) if op.part == "input" else (filters[1], each)
    # Behind the table, places of elements by weights, and where those of each phase begin.
    parts = math.prod(op.stride) if op.part == "input" else 1
    table = site.room("int64", _product(inner, *filters[2:]) + (TABLE_WORDS + max(parts + 1, 3)))
    for e in range(3 - op.ndim):
        site.run(conv_dimension, table, e, 1, 1, 1, 1, 1, 0)
    for e, (n, k, p) in enumerate(zip(images[2:], filters[2:], outputs[2:], strict=True), 3 - op.ndim):
        d = e - 3 + op.ndim
        site.run(conv_dimension, table, e, n, k, p, op.stride[d], op.dilation[d], op.padding[d][0])
    work = np.dtype("float32" if out.type.dtype == "float16" else out.type.dtype)
    site.run(conv_geometry, table, inner, outer, part=op.part, size=work.itemsize)
    count = _product(*(outputs if op.part == "filter" else result))
    members = site.compute(conv_team, table, count, images[0], groups, part=op.part)
    room = site.room(work.name, site.compute(conv_room, table, groups, members, part=op.part))
    arguments = (with_dims(a), with_dims(b), made, table, groups, members, room)
    if op.part == "filter":
        site.run(conv_filters, *arguments)
    else:
        site.run(conv_images, *arguments, back=op.part == "input")


def _shared(site: Site, channels: Length, groups: int) -> Length:
    """Return the channels of a group."""
    return channels if groups == 1 else site.compute(conv_group, channels, groups)


def _product(*lengths: Length) -> Length:
    """Return the product of lengths."""
    result, *more = lengths
    for n in more:
        result = result * n
    return result


def _outputs(op: ConvND, site: Site, images: tuple[Length, ...], filters: tuple[Length, ...]) -> list[Length]:
    """Return the lengths of the outputs; write that the program stops where a filter does not fit."""
    result = []
    for n, k, s, d, (low, high) in zip(images, filters, op.stride, op.dilation, op.padding, strict=True):
        length = site.compute(conv_length, n, k, s, d, low, high)
        site.stop_if(length < 0)
        result.append(length)
    return result
