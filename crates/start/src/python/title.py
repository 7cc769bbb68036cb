"""Stores the arguments and the environment of a child the way a fresh process has them: one
after the other in memory, where the kernel (/proc/self/cmdline, /proc/self/environ), the C
library and modules that change the process title (setproctitle) expect them.

A process may choose their address: prctl(2) passes it to the kernel, without privileges. It
is called through ctypes, if the program imports that anyway, changes its title or uses psutil.
"""

import os
import sys

PR_SET_MM, PR_SET_MM_MAP = 35, 14
READ, WRITE, PRIVATE, ANONYMOUS = 1, 2, 2, 0x20
FAILED = (1 << 64) - 1
WORD = 8

# The module that overwrites the arguments of its process.
CHANGES_TITLE = "setproctitle"

# The module that shows arguments and environments of processes.
SHOWS = "psutil"


def telling(modules):
    """The object for children; None without ctypes."""
    ctypes, changes_title = sys.modules.get("ctypes"), CHANGES_TITLE in modules
    if ctypes is None and (changes_title or SHOWS in modules):
        ctypes = hidden_ctypes()
    if ctypes is None or ctypes.sizeof(ctypes.c_void_p) != WORD:
        return None
    try:
        return Telling(ctypes, changes_title)
    except (OSError, AttributeError, ValueError):
        return None


def hidden_ctypes():
    """Imports ctypes without leaving it in sys.modules, where the program would see it."""
    known = set(sys.modules)
    try:
        import ctypes
    except ImportError:
        ctypes = None
    for name in set(sys.modules) - known:
        del sys.modules[name]
    return ctypes


def data_around(function):
    """The addresses of the variables of the library with this function: its writable mappings,
    and the anonymous mappings that follow them."""
    with open("/proc/self/maps", "rb") as file:
        lines = [line.split(None, 5) for line in file]
    maps = []
    for fields in lines:
        begin, end = (int(address, 16) for address in fields[0].split(b"-"))
        maps.append((begin, end, fields[1], fields[5].strip() if len(fields) > 5 else b""))
    of = [path for begin, end, _, path in maps if begin <= function < end]
    found = []
    for begin, end, how, path in maps:
        follows = bool(found) and not path and found[-1][1] == begin
        if how == b"rw-p" and (follows or path and path in of):
            found.append((begin, end))
    return found


class Telling:
    def __init__(self, ctypes, changes_title):
        self.ctypes = ctypes
        self.library = library = ctypes.CDLL(None)
        library.sbrk.restype = ctypes.c_void_p
        library.sbrk.argtypes = [ctypes.c_ssize_t]
        library.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
        library.mmap.restype = ctypes.c_void_p
        library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3
        library.mmap.argtypes += [ctypes.c_long]
        self.environ = ctypes.c_void_p.in_dll(library, "environ")
        # Only setproctitle asks the interpreter for them.
        self.argv = self.find_arguments() if changes_title else None

    def find_arguments(self):
        """The address where the interpreter stores argc and argv; None if unknown."""
        ctypes = self.ctypes
        python = ctypes.PyDLL(None)
        self.library.malloc.restype = ctypes.c_void_p
        self.library.malloc.argtypes = [ctypes.c_size_t]
        count, values = ctypes.c_int(), ctypes.c_void_p()
        python.Py_GetArgcArgv(ctypes.byref(count), ctypes.byref(values))
        if not values.value or hasattr(sys, "gettotalrefcount"):
            return None  # A debug build has another allocator.
        # Two adjacent words in the interpreter's data, without a symbol.
        pair = count.value.to_bytes(WORD, sys.byteorder)
        pair += values.value.to_bytes(WORD, sys.byteorder)
        function = ctypes.cast(python.Py_GetArgcArgv, ctypes.c_void_p).value
        found = []
        for begin, end in data_around(function):
            memory = ctypes.string_at(begin, end - begin)
            at = memory.find(pair)
            while at >= 0:
                found.append(begin + at)
                at = memory.find(pair, at + 1)
        if len(found) != 1 or found[0] % WORD:
            return None
        return (ctypes.c_uint64 * 2).from_address(found[0])

    def takes_any_arguments(self):
        """Returns True if the arguments in the interpreter can be replaced."""
        return self.argv is not None

    def place(self, arguments, environment):
        """In a child: stores them; returns True if the environment was replaced."""
        ctypes, library = self.ctypes, self.library
        texts = b"".join(text + b"\0" for text in arguments + environment)
        split = sum(len(text) + 1 for text in arguments)
        # Separate memory that is never freed, since the kernel reads it.
        size = len(texts) + WORD + WORD * (len(environment) + 1)
        at = library.mmap(None, size, READ | WRITE, PRIVATE | ANONYMOUS, -1, 0)
        if at == FAILED:
            return False
        ctypes.memmove(at, texts, len(texts))
        array = (at + len(texts) + WORD) // WORD * WORD
        pointers = (ctypes.c_uint64 * (len(environment) + 1)).from_address(array)
        next_one = at + split
        for index, text in enumerate(environment):
            pointers[index] = next_one
            next_one += len(text) + 1
        self.environ.value = array
        self.tell_kernel(at, at + split, at + len(texts))
        self.tell_interpreter(arguments)
        return True

    def tell_kernel(self, at, split, end):
        ctypes = self.ctypes
        with open("/proc/self/stat", "rb") as file:
            stat = file.read().rpartition(b")")[2].split()
        # Counted from the state, the third field.
        code, stack, data = stat[23:25], stat[25:26], stat[42:45]
        known = [int(number) for number in code + data]
        map_ = known + [self.library.sbrk(0), int(stack[0]), at, split]
        map_ += [split, end, 0, 0xFFFFFFFF << 32]
        words = (ctypes.c_uint64 * len(map_))(*map_)
        size = ctypes.sizeof(words)
        self.library.prctl(PR_SET_MM, PR_SET_MM_MAP, ctypes.addressof(words), size, 0)

    def tell_interpreter(self, arguments):
        """Sets argc and argv; Python frees them with `free` when it exits."""
        if self.argv is None:
            return
        texts = map(self.ctypes.create_unicode_buffer, map(os.fsdecode, arguments))
        made = [self.allocated(text) for text in texts]
        self.argv[:] = [len(made), self.allocated((self.ctypes.c_uint64 * len(made))(*made))]

    def allocated(self, memory):
        size = self.ctypes.sizeof(memory)
        at = self.library.malloc(size)
        if not at:
            raise MemoryError
        self.ctypes.memmove(at, memory, size)
        return at
