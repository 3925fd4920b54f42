"""Functions of generated code for buffers: a frame has a slot for each, which holds a block of Numba's runtime or 0.

Before the slots a frame has words: the address of the pool of large blocks, and the values that functions of one
program hand on to each other.
"""

from __future__ import annotations

# Bytes: a line of the cache.
ALIGNMENT = 64

# Buffers are reference-counted blocks of Numba's runtime, as integers, so that an array can own one; 0 is none. Each
# begins with words: the number of references, the function that ends it and a word for that, its memory's address and
# size.
BUFFERS = f"""
def buffer_new(nbytes):  # i8
    # Returns a buffer, 0 if memory runs out.
    return library_NRT_MemInfo_alloc_aligned_wi(nbytes, {ALIGNMENT})

def buffer_data(buffer):  # i8
    return as_i8(buffer)[3]

def buffer_around(data, nbytes, release, word):  # i8 i8 i8 i8
    # Returns a buffer of memory that a function of the memory's address, its size and a word releases; 0 if memory runs
    # out. Numba's own buffers of other allocators are filled with a pattern when they are made and when they end, which
    # costs as much as a cheap loop over them.
    made = library_NRT_MemInfo_alloc_w(0)
    if made != 0:
        words = as_i8(made)
        words[1] = release
        words[2] = word
        words[3] = data
        words[4] = nbytes
    return made

def new(frame, slot, nbytes):  # i8 i8 i8
    # Returns the buffer of this slot, replaced by a larger one if it is too small; 0 if memory runs out.
    table = as_i8(frame)
    if nbytes < 0:
        return 0
    made = table[slot]
    if made != 0:
        if as_i8(made)[4] >= nbytes:
            return buffer_data(made)
        buffer_free(made)
        table[slot] = 0
    made = block_new(frame, nbytes)
    if made == 0:
        return 0
    table[slot] = made
    return buffer_data(made)

def drop(frame, slot):  # i8 i8
    table = as_i8(frame)
    buffer_free(table[slot])
    table[slot] = 0
    return 0

def grow(frame, slot, used, nbytes):  # i8 i8 i8 i8
    # Replaces the buffer of the slot by a larger one and copies the used part; returns 0 if memory runs out.
    made = 0
    if nbytes >= used:
        made = block_new(frame, nbytes)
    if made == 0:
        return 0
    table = as_i8(frame)
    copied(buffer_data(made), buffer_data(table[slot]), used)
    buffer_free(table[slot])
    table[slot] = made
    return buffer_data(made)

def move(frame, target, source):  # i8 i8 i8
    # Swaps the buffers of two slots, so that the target's old buffer can be used again.
    table = as_i8(frame)
    made = table[source]
    table[source] = table[target]
    table[target] = made
    return 0

def take(frame, slot):  # i8 i8
    # Returns the buffer of a slot, to be owned by an array; an empty one if the program stopped before allocating it.
    table = as_i8(frame)
    made = table[slot]
    table[slot] = 0
    if made == 0:
        made = buffer_new(8)
    return made

def open_frame(count, words, pool, room):  # i8 i8 i8 i8
    # The words come first, so that the frame's address is that of the slots; next to it stands the pool's address.
    # Without room, it lies in a buffer, which its first slot holds.
    made = 0
    if room == 0:
        made = buffer_new(8 * (words + count) + 8)
        if made == 0:
            return 0
        room = buffer_data(made)
    frame = room + 8 * words
    table = as_i8(frame)
    table[0] = made
    table[-1] = pool
    for slot in range(1, count + 1):
        table[slot] = 0
    return frame

def close_frame(frame, count):  # i8 i8
    table = as_i8(frame)
    for slot in range(1, count + 1):
        buffer_free(table[slot])
    buffer_free(table[0])
    return 0
"""
