"""Lets a process exit without the exit functions of native libraries.

Exit functions and static destructors of large libraries take long: PyTorch removes each of its
operators from a table. The kernel frees everything that they free. They are skipped only if
every native library in the process is known not to act when it is unloaded, and if no setting
has one of them write a log or a profile.
"""

import os
import sys

# Packages with native code that only frees memory, and ends threads, when the process exits.
PACKAGES = {
    "PIL",
    "charset_normalizer",
    "contourpy",
    "functorch",
    "kiwisolver",
    "markupsafe",
    "matplotlib",
    "ml_dtypes",
    "numpy",
    "nvidia",
    "optree",
    "pandas",
    "pillow",
    "psutil",
    "regex",
    "safetensors",
    "scipy",
    "sklearn",
    "tokenizers",
    "torch",
    "torchgen",
    "torchvision",
    "triton",
    "yaml",
}

# The directories of system libraries: one of the same name elsewhere may be the program's own.
SYSTEM = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/local/cuda", "/usr/local/nvidia/")

# Libraries of the system, by the beginning of their names up to the first period or hyphen.
LIBRARIES = {
    "ld",
    "libblas",
    "libbz2",
    "libc",
    "libc10",
    "libcpuinfo",
    "libcrypto",
    "libcuda",
    "libdl",
    "libdnnl",
    "libexpat",
    "libffi",
    "libfmt",
    "libgcc_s",
    "libgfortran",
    "libgloo",
    "libgomp",
    "liblapack",
    "liblzma",
    "libm",
    "libnuma",
    "libnvidia",
    "libonnx",
    "libopenblas",
    "libopenblasp",
    "libprotobuf",
    "libpthread",
    "libpython3",
    "libquadmath",
    "librt",
    "libshm",
    "libsleef",
    "libssl",
    "libstdc++",
    "libtensorpipe",
    "libtorch",
    "libtorch_cpu",
    "libtorch_python",
    "libutil",
    "libuuid",
    "libuv",
    "libyaml",
    "libz",
    "libzstd",
}

# Variables that may have a library write a file: how they begin, and words in them.
OF_LIBRARIES = ("CU", "DNNL", "GLOG", "KINETO", "MKL", "NCCL", "NV", "ONEDNN", "TORCH")
WRITES = ("DEBUG_FILE", "DUMP", "LOG", "PROF", "TRACE")

# Shared memory without a file, in /proc/self/maps.
ANONYMOUS = b"/dev/zero (deleted)"

# The page that shows the shim whether the GPU is being restored.
RESTORE_PAGE = b"/memfd:preheat (deleted)"

# Functions of the C library that the program's files would have to name.
REGISTERS = (b"__cxa_atexit", b"on_exit", b".atexit(", b"at_quick_exit")


class Native:
    """The native libraries of a parent and its children."""

    def __init__(self, plan, texts):
        self.functions = None
        self.roots = plan.roots
        self.known = {os.fsencode(os.path.realpath("/proc/self/exe"))}
        if any(name in text for name in REGISTERS for text in texts):
            return
        if self.are_harmless():
            self.functions = exit_functions()

    def know(self, shim):
        """Has the shim and the page that it shares with the helper of a standby count as known."""
        self.known |= {os.fsencode(os.path.realpath(shim)), RESTORE_PAGE}

    def skip(self):
        """In a child that exits: skips exit functions if nothing of them can be observed."""
        if not self.functions or is_logging(os.environ) or not self.are_harmless():
            return False
        on_exit, exit_now, at_exit, flush = self.functions
        # The last function that is registered is called first.
        return on_exit(exit_now, None) == 0 and at_exit(flush, None, None) == 0

    def are_harmless(self):
        """Returns True if all native libraries of this process are known, and it shares no
        memory with others."""
        try:
            with open("/proc/self/maps", "rb") as file:
                lines = file.read().split(b"\n")
        except OSError:
            return False
        uses_gpu = any(b" /dev/nvidia" in line for line in lines)
        return all(self.is_harmless(line, uses_gpu) for line in lines)

    def is_harmless(self, line, uses_gpu):
        fields = line.split(None, 5)
        if len(fields) < 6:
            return True
        may, path = fields[1], fields[5]
        if may.endswith(b"s"):
            # The driver of a GPU has such memory too, without a file.
            is_driver = path.startswith(b"/dev/nvidia") or uses_gpu and path == ANONYMOUS
            return b"w" not in may or is_driver or path in self.known
        if b"x" not in may or not path.startswith(b"/") or path in self.known:
            return True
        if not is_known(os.fsdecode(path), self.roots):
            return False
        self.known.add(path)
        return True


def is_known(path, roots):
    """Returns True for a library that does not act when the process exits. The roots end with a
    slash."""
    directory, _, file = path.rpartition("/")
    if directory.endswith("/lib-dynload") and path.startswith(roots):
        return True
    for root in roots:
        if root.endswith(("/site-packages/", "/dist-packages/")) and path.startswith(root):
            package = path[len(root) :].partition("/")[0]
            return package.partition(".")[0] in PACKAGES
    is_system = path.startswith((*SYSTEM, sys.base_prefix + "/lib/"))
    return is_system and file.partition(".")[0].partition("-")[0] in LIBRARIES


def is_logging(environment):
    """Returns True if a variable may have a library write something when it is unloaded."""
    return any(
        name.startswith(OF_LIBRARIES) and any(word in name for word in WRITES)
        for name in environment
    )


def exit_functions():
    """Functions of the C library, or None if calling them would need a module that the program
    may not have."""
    ctypes = sys.modules.get("ctypes")
    if ctypes is None:
        return None
    try:
        library = ctypes.CDLL(None)
        pointer = ctypes.c_void_p
        on_exit, at_exit = library.on_exit, library["__cxa_atexit"]
        on_exit.argtypes, at_exit.argtypes = [pointer] * 2, [pointer] * 3
        exit_now, flush = (ctypes.cast(library[name], pointer) for name in ("_exit", "fflush"))
    except (OSError, AttributeError):
        return None
    return on_exit, exit_now, at_exit, flush
