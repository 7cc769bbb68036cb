"""Gives a child that waits pages of its own.

What a child writes to, the kernel copies for it first: page by page, in the middle of the
program, and at its end for nearly all of its memory, when Python lets go of every object.
A child that nobody has asked for yet has the time to have that done before.
"""

import os
import sys

POPULATE_WRITE = 23
PAGE = 4096
# So many pages at a time; between them a client may come.
SLICE = 512
# A child may take this part of the memory that there is.
PART = 32

PRESENT, OF_ITS_OWN = 1 << 63, 1 << 56


def copying():
    """The kernel's function that does it, for children to use; if it can be called without
    importing what the program may not have."""
    ctypes = sys.modules.get("ctypes")
    if ctypes is None or os.sysconf("SC_PAGESIZE") != PAGE:
        return None
    try:
        madvise = ctypes.CDLL(None).madvise
        madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    except (OSError, AttributeError):
        return None
    return madvise


def copy(madvise, available):
    """In a child: a generator that gets on a little with every step."""
    with open("/proc/self/statm", "rb") as file:
        resident = int(file.read().split()[1]) * PAGE
    if resident * PART > available:
        return
    with open("/proc/self/maps", "rb") as file:
        maps = [line.split()[:2] for line in file]
    with open("/proc/self/pagemap", "rb", 0) as pages:
        for where, how in maps:
            if how != b"rw-p":
                continue
            begin, end = (int(address, 16) for address in where.split(b"-"))
            for at in range(begin, end, SLICE * PAGE):
                count = min(SLICE, (end - at) // PAGE)
                known = os.pread(pages.fileno(), count * 8, at // PAGE * 8)
                for first, after in shared(memoryview(known).cast("Q")):
                    if madvise(at + first * PAGE, (after - first) * PAGE, POPULATE_WRITE):
                        return  # A kernel that does not know it.
                yield


def shared(pages):
    """Runs of pages that are there, and also others'."""
    first = None
    for at, page in enumerate(pages):
        if page & PRESENT and not page & OF_ITS_OWN:
            first = at if first is None else first
        elif first is not None:
            yield first, at
            first = None
    if first is not None:
        yield first, len(pages)
