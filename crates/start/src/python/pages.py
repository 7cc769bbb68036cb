"""Gives a waiting child private memory pages.

When a child writes to a shared page, the kernel first copies it: page by page while the
program runs, and nearly all pages when it exits and Python frees every object. A waiting
child has time to copy its pages in advance.
"""

import os
import sys

POPULATE_WRITE = 23
PAGE = 4096
# The number of pages per step; the child checks for clients between steps.
SLICE = 512
# A child may use the available memory divided by this number.
PART = 32

PRESENT, OF_ITS_OWN = 1 << 63, 1 << 56


def copying():
    """The function `madvise`, for children; None if calling it would need a module that the
    program may not have."""
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
    """In a child: a generator that copies some pages with every step."""
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
                        return  # The kernel does not support it.
                yield


def shared(pages):
    """Ranges of pages that are present and shared with other processes."""
    first = None
    for at, page in enumerate(pages):
        if page & PRESENT and not page & OF_ITS_OWN:
            first = at if first is None else first
        elif first is not None:
            yield first, at
            first = None
    if first is not None:
        yield first, len(pages)
