"""Has the kernel show a child's own arguments and environment, in /proc/self/cmdline and
/proc/self/environ, where it would show those of the parent.

Where they lie in memory is the process's own business: it is told with prctl(2), which
needs no right for that. It is called by way of ctypes, where that is imported anyway.
"""

import os
import sys

PR_SET_MM, PR_SET_MM_MAP = 35, 14
READ, WRITE, PRIVATE, ANONYMOUS = 1, 2, 2, 0x20
FAILED = (1 << 64) - 1


def telling():
    """For children to use, from `ctypes`; None where that is not there."""
    ctypes = sys.modules.get("ctypes")
    if ctypes is None:
        return None
    try:
        library = ctypes.CDLL(None)
        library.sbrk.restype = ctypes.c_void_p
        library.sbrk.argtypes = [ctypes.c_ssize_t]
        library.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
        library.mmap.restype = ctypes.c_void_p
        library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3
        library.mmap.argtypes += [ctypes.c_long]
    except (OSError, AttributeError):
        return None

    def tell(arguments, environment):
        texts = b"".join(text + b"\0" for text in arguments + environment)
        split = sum(len(text) + 1 for text in arguments)
        # Memory of its own, which nobody lets go of: the kernel shows what is there.
        at = library.mmap(None, len(texts), READ | WRITE, PRIVATE | ANONYMOUS, -1, 0)
        if at == FAILED:
            return
        ctypes.memmove(at, texts, len(texts))
        with open("/proc/self/stat", "rb") as file:
            stat = file.read().rpartition(b")")[2].split()
        # Counted from the state, which is the third of all.
        code, stack, data = stat[23:25], stat[25:26], stat[42:45]
        known = [int(number) for number in code + data]
        map_ = known + [library.sbrk(0), int(stack[0]), at, at + split]
        map_ += [at + split, at + len(texts), 0, 0xFFFFFFFF << 32]
        words = (ctypes.c_uint64 * len(map_))(*map_)
        library.prctl(
            PR_SET_MM, PR_SET_MM_MAP, ctypes.addressof(words), ctypes.sizeof(words), 0
        )

    return tell
