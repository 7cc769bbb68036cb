"""Records, in a learning start, which GPUs a program uses and which operations it executes
there. A standby for the next start is prepared from that.

The file has records of three fields, each ended by a NUL: `program` (the stamp of the script
that was observed), `driver` (the file of the driver library), `device` (the number of a GPU
whose primary context exists), `backward`, `operation` (a line of JSON), and `denied` (an
operator that a rehearsal must not execute), `jax` and `cupy` (JSON of `frameworks.py`). A
second file, with the ending `.forks`, exists
if a forked process has executed an operation on a GPU.
"""

import os
import sys

DEVICE_TYPE = "cuda"


class Learning:
    """A learning start."""

    def __init__(self, request, load):
        self.path, self.stamp = request.split("\n")
        self.load, self.process = load, os.getpid()
        self.recorder, self.jax = None, None

    def see_imports(self):
        """Called after imports: starts to record when PyTorch or JAX is loaded."""
        try:
            if "jax" in sys.modules:
                if self.jax is None:
                    at_exit = self.load("learn.py")["at_exit"]
                    self.jax = self.load("frameworks.py")["JaxUse"](at_exit)
                self.jax.see_imports()
        except Exception:
            self.jax = None
        torch = sys.modules.get("torch")
        if self.recorder is None and getattr(torch, "nn", None) is not None:
            try:
                self.record(torch)
            except Exception:
                self.recorder = False

    def record(self, torch):
        import _thread

        operations = self.load("operations.py")
        self.recorder = operations["Recorder"](torch, DEVICE_TYPE, self.write)
        self.recorder.in_fork = self.see_fork
        ctypes = hidden("ctypes")
        operations["mode"](torch, self.recorder, os, sys, _thread, ctypes).__enter__()

    def see_fork(self, args):
        """In a process that the program has forked, at each operation."""
        if any(getattr(each, "is_cuda", False) for each in args):
            self.recorder.is_active = False
            os.close(os.open(self.path + ".forks", os.O_WRONLY | os.O_CREAT, 0o600))

    def end(self):
        if os.getpid() == self.process and (not self.recorder or self.recorder.is_active):
            self.write()

    def write(self):
        """Replaces the file."""
        try:
            driver, devices = used()
            records = [("program", self.stamp, "")]
            records += [("driver", driver, "")] if driver else []
            records += [("device", str(each), "") for each in devices]
            if self.recorder:
                self.recorder.is_active = False
                records += [("backward", "", "")] if self.recorder.runs_backward else []
                records += [("operation", line, "") for line in self.recorder.lines()]
            records += self.frameworks()
            self.load("learn.py")["write"](self.path, records)
        except Exception:
            pass


    def frameworks(self):
        found = {"jax": self.jax and self.jax.record()}
        if "cupy" in sys.modules:
            found["cupy"] = self.load("frameworks.py")["record_cupy"]()
        found = {name: value for name, value in found.items() if value}
        if not found:
            return []
        json = hidden("json")
        return [(name, json.dumps(value), "") for name, value in found.items()]


def used():
    """The driver library that this process has loaded, and the GPUs that it uses."""
    with open("/proc/self/maps", "rb") as file:
        paths = [line.split(None, 5)[-1].rstrip(b"\n") for line in file if b"/libcuda.so" in line]
    if not paths:
        return None, []
    driver = os.fsdecode(paths[0])
    ctypes = hidden("ctypes")
    library = ctypes.CDLL(driver)
    count, device = ctypes.c_int(0), ctypes.c_int(0)
    flags, active = ctypes.c_uint(0), ctypes.c_int(0)
    if library.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return driver, []
    devices = []
    for number in range(count.value):
        if library.cuDeviceGet(ctypes.byref(device), number) == 0:
            library.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active))
            if active.value:
                devices.append(number)
    return driver, devices


def hidden(name):
    """A module that the program may not have imported."""
    known = set(sys.modules)
    module = __import__(name)
    for each in set(sys.modules) - known:
        del sys.modules[each]
    return module
