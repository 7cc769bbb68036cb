"""The helper of a standby: a process that parks it and wakes it with the driver's checkpoint
functions, and kills it if it hangs.

It never initializes the driver, so it holds nothing on the GPU. Its parent is the
supervisor, so the program does not find it among its children. Commands come from the
standby, one line each:

    bus ADDRESS     the GPU, by which NVML finds it
    measure         answers with the free memory of the GPU
    held            answers with the memory that the standby holds there
    page            comes with the page that shows whether a restore is under way
    park            locks and checkpoints
    ready           the standby waits; no deadline until the next command
    wake BYTES      answers with the free memory of the GPU; if that is enough for so many bytes,
                    restores and unlocks, and answers again
    go              the program runs; from here on failures are reported to it

An answer is `ok NUMBER` or `no SENTENCE`. Where NVML has no answer, the number is -1.
"""

import os
import sys

# In seconds: from one command to the next while the standby is prepared, and for one call.
PREPARED_WITHIN = 300
CALL_WITHIN = 60
LOCK_MILLISECONDS = 10000
# The state in the shared page after a restore; the system calls that wake its readers.
RESTORED, FUTEX_WAKE = 2, 1
FUTEX = {"x86_64": 202, "aarch64": 98}
# More than a standby held: the driver needs some for the restore itself, and others may allocate
# while it is under way.
MARGIN = 512 << 20

ERRORS = {
    1: "invalid value",
    2: "out of memory",
    3: "not initialized",
    46: "device unavailable",
    100: "no device",
    101: "invalid device",
    304: "operating system call failed",
    401: "illegal state",
    600: "timeout",
    719: "launch failed",
    800: "not permitted",
    801: "not supported",
    999: "unknown",
}


class Failed(Exception):
    """A call of the driver; a sentence."""


def help(socket, process, driver, under_way):
    """Serves the standby with this process number until it has no more commands. `under_way` is
    memory that the supervisor shares: 1 from the begin of a restore until it has succeeded."""
    import ctypes
    import threading

    helper = Helper(ctypes, socket, process, driver, under_way)
    # A call into a driver that hangs cannot be interrupted, so the clock is a thread.
    clock = threading.Thread(target=helper.watch, daemon=True)
    clock.start()
    try:
        helper.serve()
    finally:
        os._exit(0)


def end(process, error, why):
    """Kills a standby; with the standard error of its program, if that runs already."""
    if error is not None:
        text = "preheat: the GPU could not be restored: %s\n" % why
        try:
            os.write(error, text.encode())
        except OSError:
            pass
    try:
        os.kill(process, 9)
    except OSError:
        pass


class Helper:
    def __init__(self, ctypes, socket, process, driver, under_way):
        import time

        self.ctypes, self.socket, self.process = ctypes, socket, process
        self.driver, self.address = driver, b""
        self.time, self.library, self.nvml, self.memory = time, None, None, None
        self.until = time.monotonic() + PREPARED_WITHIN
        self.error, self.runs = None, False
        # The reason for a failed restore: the standby may have stopped waiting for the answer.
        self.refused = None
        # The descriptor that came with a command, and the pages shared with the standby and with
        # the supervisor.
        self.passed, self.shared, self.under_way = None, None, under_way

    def watch(self):
        """Kills a standby that takes too long."""
        while True:
            until = self.until
            left = 1.0 if until is None else until - self.time.monotonic()
            if left <= 0:
                self.give_up("no answer from the driver")
            self.time.sleep(min(left, 1.0) if left > 0 else 1.0)

    def serve(self):
        rest = b""
        while True:
            data = self.receive()
            if not data:
                return
            rest += data
            while b"\n" in rest:
                line, _, rest = rest.partition(b"\n")
                word, _, value = line.partition(b" ")
                word = word.decode()
                self.until = self.time.monotonic() + (
                    CALL_WITHIN if word in ("park", "wake") else PREPARED_WITHIN
                )
                self.answer(word, value)

    def receive(self):
        """The next bytes, and the descriptor that comes with them."""
        data, extra, _, _ = self.socket.recvmsg(512, 64)
        for _, _, value in extra:
            self.passed = int.from_bytes(value[:4], sys.byteorder)
        return data

    def answer(self, word, value):
        if word == "go":
            self.runs, self.error = True, self.passed
            if self.refused:
                self.give_up(self.refused)
            return
        if word == "ready":
            self.until = None
            return
        try:
            result = getattr(self, word)(value)
        except (Failed, OSError, ValueError) as error:
            self.say("no %s" % error)
            return
        self.say("ok %d" % result)

    def say(self, line):
        try:
            self.socket.send(line.encode() + b"\n")
        except OSError:
            pass  # The program does not listen any more.

    def give_up(self, why):
        """The standby cannot be used any more; the program cannot go on."""
        # `go` is in the socket before the program runs, and may not have been read yet.
        try:
            self.socket.setblocking(False)
            if not self.runs and b"go" in self.receive():
                self.answer("go", b"")
        except OSError:
            pass
        # Otherwise the supervisor would report it again.
        self.under_way[0] = 0
        end(self.process, self.error if self.runs else None, why)
        os._exit(0)

    def bus(self, address):
        self.address = address
        return 0

    def measure(self, _):
        return self.free()

    def held(self, _):
        """Of this process alone; others may be prepared at the same time."""
        ctypes = self.ctypes

        class Process(ctypes.Structure):
            _fields_ = [
                ("process", ctypes.c_uint),
                ("memory", ctypes.c_ulonglong),
                ("instances", ctypes.c_uint * 2),
            ]

        if self.free() < 0:
            return -1
        found, count = (Process * 256)(), ctypes.c_uint(256)
        try:
            query = self.nvml.nvmlDeviceGetComputeRunningProcesses_v3
        except AttributeError:
            return -1
        if query(self.memory[1], ctypes.byref(count), found) != 0:
            return -1
        for each in found[: count.value]:
            # All bits are set where the driver does not know.
            if each.process == self.process and each.memory < 1 << 60:
                return each.memory
        return -1

    def page(self, _):
        import mmap

        self.shared = mmap.mmap(self.passed, mmap.PAGESIZE)
        os.close(self.passed)
        self.passed = None
        return 0

    def note_restored(self):
        """Lets those continue that wait for the restore."""
        if self.shared is None:
            return
        ctypes, order = self.ctypes, sys.byteorder
        self.shared[8:16] = self.time.monotonic_ns().to_bytes(8, order)
        self.shared[:4] = RESTORED.to_bytes(4, order)
        number = FUTEX.get(os.uname().machine)
        if number:
            word = ctypes.byref(ctypes.c_uint32.from_buffer(self.shared))
            ctypes.CDLL(None).syscall(number, word, FUTEX_WAKE, 0x7FFFFFFF, None, None, 0)

    def park(self, _):
        self.call("Lock", LOCK_MILLISECONDS)
        try:
            self.call("Checkpoint")
        except Failed:
            self.call("Unlock")
            raise
        return 0

    def wake(self, needed):
        free = self.free()
        if 0 <= free < int(needed) + MARGIN:
            self.refused = "only %d MiB of device memory are free" % (free >> 20)
            raise Failed(self.refused)
        self.under_way[0] = 1
        self.say("ok %d" % free)
        try:
            self.call("Restore")
            self.call("Unlock")
        except Failed as error:
            # The calls of a program that already runs would block forever.
            self.refused = str(error)
            raise
        self.under_way[0] = 0
        self.note_restored()
        return 0

    def call(self, name, first=0):
        """Calls one of the driver's checkpoint functions."""
        ctypes = self.ctypes
        if self.library is None:
            self.library = ctypes.CDLL(self.driver)
        try:
            function = getattr(self.library, "cuCheckpointProcess" + name)
        except AttributeError:
            raise Failed("the driver has no checkpoint functions (570 and later do)")
        arguments = (ctypes.c_uint * 16)()
        arguments[0] = first
        code = function(self.process, arguments)
        if code != 0:
            known = ERRORS.get(code, "CUDA error")
            raise Failed("cuCheckpointProcess%s failed: %s (%d)" % (name, known, code))

    def free(self):
        """Bytes of the GPU that are free; -1 where NVML does not answer."""
        ctypes = self.ctypes
        try:
            if self.memory is None:
                library = ctypes.CDLL("libnvidia-ml.so.1")
                device = ctypes.c_void_p()
                if library.nvmlInit_v2() != 0:
                    return -1
                find = library.nvmlDeviceGetHandleByPciBusId_v2
                if find(self.address, ctypes.byref(device)) != 0:
                    return -1
                self.memory = library.nvmlDeviceGetMemoryInfo, device
                self.nvml = library
            query, device = self.memory
            numbers = (ctypes.c_ulonglong * 3)()
            return numbers[1] if query(device, numbers) == 0 else -1
        except (OSError, AttributeError):
            return -1
