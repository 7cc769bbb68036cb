"""A child of the warm parent that prepares the GPU before a start asks for it.

It brings up the context of the GPUs that the program was seen to use, rehearses the
program's operations, cleans up and waits. Then it becomes the program as any other child
does. It serves one start. Every failure ends it: the next start is an ordinary warm one.

The state file beside its socket has records of three fields, each ended by a NUL.
"""

import os
import sys

# Descriptors below this number are left to the program: the driver's are above.
LOWEST_DESCRIPTOR = 256
# The interval for checking the memory of the GPU, and the longest wait, in milliseconds.
CHECK_EVERY, LONGEST_WAIT = 5000, 3600 * 1000
# The time in which a helper must answer, in seconds.
PATIENCE = 400
# The time in which the helper must report how much memory is free, in seconds.
CHECKED_WITHIN = 5
COMPUTE_MODE = 20
# The page that the shim reads: its size, and the state while the GPU is being restored.
PAGE_BYTES, RESTORING = 4096, 1


class Unsuitable(Exception):
    """The reason why no standby can be prepared; a sentence."""


class Wanted:
    """The request for a standby."""

    def __init__(self, fields):
        texts = map(os.fsdecode, fields[:5])
        (self.form, self.key, devices, self.driver, self.learned) = texts
        self.devices = [int(each) for each in devices.split()]
        self.environment = fields[6 : 6 + int(fields[5])]
        if self.form not in ("hot", "parked") or not self.devices:
            raise ValueError


class Standby:
    """The part of a child that belongs to the GPU."""

    def __init__(self, child, wanted, load):
        self.child, self.wanted, self.load = child, wanted, load
        self.plan, self.tools = child.parent.plan, child.tools
        self.path = self.plan.path("-%d.standby" % os.getpid())
        self.file = self.plan.path("-%d.waits" % os.getpid())
        self.held, self.helper, self.query = 0, None, None
        # The time at which it leaves if no start has come.
        self.until = 0.0
        # Answers of the helper that were received, and not read yet.
        self.answers = b""
        # The shared page that shows whether the GPU is being restored.
        self.page = None

    def recorder(self):
        """The path of the recorder's library, which the parent was created with."""
        path = self.plan.one.get("recorder")
        if path is None:
            raise Unsuitable("the library that waits for the GPU is not installed")
        return path

    def prepare(self):
        """Until it can serve a start."""
        if not self.child.parent.guard["is_driver"](self.wanted.driver):
            raise Unsuitable("%s is not a driver library of this user" % self.wanted.driver)
        filled = fill_descriptors()
        try:
            self.make_helper()
            self.write("preparing")
            self.adopt_environment()
            mask = self.tools.signal.pthread_sigmask
            # The driver's and autograd's threads inherit this: signals are for the program.
            before = mask(self.tools.signal.SIG_SETMASK, self.tools.signal.valid_signals())
            self.bring_up()
            mask(self.tools.signal.SIG_SETMASK, before)
            if self.wanted.form == "parked":
                self.share_page()
                self.ask("park")
            self.listen()
        finally:
            for fd in filled:
                os.close(fd)
        self.ask("ready", False)
        self.until = self.tools.time.monotonic() + self.child.parent.idle
        self.write(self.wanted.form)

    def make_helper(self):
        """Has the supervisor fork the helper, and keep the parent from waiting for us."""
        socket = self.tools.socket
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        fd = theirs.fileno().to_bytes(4, sys.byteorder)
        word = b"s" + os.fsencode(self.wanted.driver)
        self.child.link.sendmsg([word], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fd)])
        theirs.close()
        ours.settimeout(PATIENCE)
        self.helper = ours

    def share_page(self):
        """Has fork, exec and the end of the program wait for the restore, and a recording
        show it."""
        if object.__basicsize__ != 2 * tuple.__itemsize__:
            return  # Objects have another layout than the shim expects.
        socket, posix = self.tools.socket, sys.modules["posix"]
        self.page = os.memfd_create("preheat")
        os.ftruncate(self.page, PAGE_BYTES)
        recorder = self.load("child.py")["load"](self.recorder())
        recorder.watch_restore(self.page, posix.execv, posix.execve)
        fd = self.page.to_bytes(4, sys.byteorder)
        self.helper.sendmsg([b"page\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fd)])
        self.hear()

    def ask(self, line, answers=True):
        self.helper.send(line.encode() + b"\n")
        if answers:
            return self.hear()

    def hear(self):
        while b"\n" not in self.answers:
            more = self.helper.recv(512)
            if not more:
                raise Unsuitable("the helper process has exited")
            self.answers += more
        answer, _, self.answers = self.answers.partition(b"\n")
        word, _, rest = answer.decode().partition(" ")
        if word != "ok":
            raise Unsuitable(rest)
        return int(rest)

    def adopt_environment(self):
        for name in list(os.environ):
            del os.environ[name]
        for entry in self.wanted.environment:
            name, _, value = entry.partition(b"=")
            # A recording is one of the program.
            if not name.startswith(b"PREHEAT_"):
                os.environ[os.fsdecode(name)] = os.fsdecode(value)
        for name, value in self.child.parent.base.changes.items():
            if value is not None:
                os.environ[os.fsdecode(name)] = os.fsdecode(value)

    def bring_up(self):
        """Context and rehearsal, by the frameworks that are there."""
        hide_again = self.plan.hidden.show_for_now()
        known = set(sys.modules)
        driver = Driver(self.wanted)
        self.ask("bus " + driver.bus.decode())
        before = self.ask("measure")
        driver.make_contexts()
        torch = sys.modules.get("torch")
        if torch is not None:
            self.rehearse(torch)
        self.bring_up_frameworks()
        self.query = driver.free
        self.held = self.ask("held")
        if self.held < 0:
            # In a container NVML does not know this process by its number.
            self.held = max(before - self.ask("measure"), 0)
        for name in set(sys.modules) - known:
            # The program may import these itself, and then they are the same.
            if name in self.plan.modules:
                self.plan.hidden.adopt(name)
            else:
                del sys.modules[name]
        hide_again()
        self.tools.gc.collect()

    def bring_up_frameworks(self):
        """JAX and CuPy, as far as the program used them."""
        import json

        learned = {
            kind: json.loads(text)
            for kind, text, _ in read(self.wanted.learned)
            if kind in ("jax", "cupy") and kind in sys.modules
        }
        frameworks = self.load("frameworks.py") if learned else None
        if "cuda" in learned.get("jax", {}).get("backends", ()):
            why = frameworks["why_no_jax"](learned["jax"], os.environ)
            if why:
                raise Unsuitable(why)
            # A thread of its backend calls the driver every few seconds, and crashes while the
            # GPU is parked. The context alone was no faster than a warm start.
            if self.wanted.form == "parked":
                raise Unsuitable("JAX cannot be parked; use --standby=hot")
            try:
                frameworks["bring_up_jax"](sys.modules["jax"], learned["jax"])
            except Exception as error:
                raise Unsuitable("JAX cannot use the GPU: %s" % error)
        if "cupy" in learned:
            devices = self.wanted.devices
            try:
                frameworks["bring_up_cupy"](sys.modules["cupy"], learned["cupy"], devices)
            except Exception as error:
                raise Unsuitable("CuPy cannot use the GPU: %s" % error)

    def rehearse(self, torch):
        operations = self.load("operations.py")
        records = read(self.wanted.learned)
        lines = [name for kind, name, _ in records if kind == "operation"]
        denied = {name for kind, name, _ in records if kind == "denied"}
        try:
            torch.cuda.init()
            for device in self.wanted.devices:
                torch.zeros(1, device="cuda:%d" % device)
            restore = operations["shield"](torch)
            rehearsal = operations["Rehearsal"](torch, lambda: torch.cuda.mem_get_info()[0])
            rehearsal.run(lines, denied)
            if any(kind == "backward" for kind, _, _ in records):
                for device in self.wanted.devices:
                    again = operations["call_in_backward"]
                    again(torch, "cuda:%d" % device, lambda: rehearsal.run(lines, denied))
            restore()
            operations["clean"](torch)
        except operations["Broken"] as broken:
            operator, error = broken.args
            with open(self.wanted.learned, "ab") as file:
                file.write(b"denied\0" + operator.encode() + b"\0\0")
            raise Unsuitable("%s failed in the rehearsal: %s" % (operator, error))
        except Exception as error:
            raise Unsuitable("PyTorch cannot use the GPU: %s" % error)

    def listen(self):
        """For clients of the standby, in place of the parent's own."""
        socket = self.tools.socket
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.setblocking(False)
        discard(self.path)
        listener.bind(self.path)
        listener.listen(16)
        self.child.parent.listener.close()
        # This process has its own copy of the parent's object.
        self.child.parent.listener = listener

    def write(self, state):
        device = self.held if state == "hot" else 0
        records = [
            ("parent", str(self.plan.process), ""),
            ("process", str(os.getpid()), ""),
            ("key", self.wanted.key, ""),
            ("state", state, ""),
            ("device-memory", str(device), ""),
            ("needs", str(self.held), ""),
            ("socket", self.path, ""),
        ]
        self.load("learn.py")["write"](self.file, records)

    def leave(self, why=None):
        """Removes the files; the reason is for the next start."""
        discard(self.path)
        discard(self.file)
        if why is not None:
            try:
                with open(self.plan.path(".nostandby"), "w", errors="replace") as file:
                    file.write("%s\n%s" % (self.wanted.key, why))
            except OSError:
                pass

    def stay(self):
        """Leaves if no start has come within the idle limit of its parent, which other starts
        prolong, or if less than a twentieth of the GPU memory is free while this standby holds some. Returns
        the time until the next check, in milliseconds."""
        left = self.until - self.tools.time.monotonic()
        if left <= 0:
            self.leave("no start used it within the idle limit")
            os._exit(0)
        left = min(int(left * 1000) + 1, LONGEST_WAIT)
        if self.wanted.form == "parked":
            return left
        free, total = self.query()
        if free * 20 < total:
            self.leave("the GPU has little free memory")
            os._exit(0)
        return min(left, CHECK_EVERY)

    def wake(self):
        """A client has come."""
        self.leave()
        if self.wanted.form == "parked":
            if self.page is not None:
                # Before the program can run; the helper may be slow.
                os.pwrite(self.page, RESTORING.to_bytes(4, sys.byteorder), 0)
                os.close(self.page)
            self.helper.send(b"wake %d\n" % self.held)

    def check(self):
        """Before the client hears that this child is ready; `Unsuitable` if too little memory is
        free, or if the restore has failed. It may still be under way."""
        if self.wanted.form != "parked":
            return
        self.helper.settimeout(CHECKED_WITHIN)
        try:
            self.hear()
        except OSError:
            raise Unsuitable("it is not known how much memory of the GPU is free")
        self.helper.setblocking(False)
        try:
            self.hear()
        except BlockingIOError:
            pass  # It takes longer, as a restore does.

    def go(self):
        """The program runs from here on: failures are reported to its standard error."""
        socket = self.tools.socket
        try:
            self.helper.setblocking(True)
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, (2).to_bytes(4, sys.byteorder))]
            self.helper.sendmsg([b"go\n"], rights)
        except OSError:
            pass  # Standard error may be closed.
        self.helper.close()
        if self.page is not None and "PREHEAT_DIRECTORY" not in os.environ:
            self.child.parent.end.has_restore(self.recorder())


class Driver:
    """The driver library."""

    def __init__(self, wanted):
        self.ctypes = __import__("ctypes")
        self.wanted = wanted
        try:
            self.library = self.ctypes.CDLL(wanted.driver)
        except OSError as error:
            raise Unsuitable("the driver library cannot be loaded: %s" % error)
        self.call("cuInit", 0)
        self.devices = [self.find(number) for number in wanted.devices]
        text = self.ctypes.create_string_buffer(64)
        try:
            self.call("cuDeviceGetPCIBusId", text, 64, self.devices[0])
        except (AttributeError, Unsuitable):
            pass
        self.bus = text.value

    def find(self, number):
        device, mode = self.ctypes.c_int(0), self.ctypes.c_int(0)
        self.call("cuDeviceGet", self.ctypes.byref(device), number)
        self.call("cuDeviceGetAttribute", self.ctypes.byref(mode), COMPUTE_MODE, device)
        if mode.value != 0:
            raise Unsuitable("the GPU is in an exclusive mode, which a standby would occupy")
        return device

    def make_contexts(self):
        for device in self.devices:
            context = self.ctypes.c_void_p()
            self.call("cuDevicePrimaryCtxRetain", self.ctypes.byref(context), device)

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            raise Unsuitable("%s failed with CUDA error %d" % (name, code))

    def free(self):
        """Free bytes and all bytes of the first GPU."""
        ctypes = self.ctypes
        free, total, context = ctypes.c_size_t(1), ctypes.c_size_t(1), ctypes.c_void_p()
        self.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), self.devices[0])
        self.library.cuCtxPushCurrent_v2(context)
        self.library.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        self.library.cuCtxPopCurrent_v2(ctypes.byref(context))
        self.library.cuDevicePrimaryCtxRelease_v2(self.devices[0])
        return free.value, total.value


def become(child, fields):
    """Makes the child a standby; ends the process if that cannot be."""
    standby = None
    try:
        standby = Standby(child, Wanted(fields), child.parent.load)
        standby.prepare()
    except BaseException as error:
        known = isinstance(error, (Unsuitable, OSError))
        if standby is not None:
            standby.leave(str(error) if known else "it failed: %r" % error)
        os._exit(1)
    return standby


def fill_descriptors():
    """Opens all low numbers, so that the driver gets others."""
    filled = []
    try:
        filled.append(os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC))
        while filled[-1] < LOWEST_DESCRIPTOR:
            filled.append(os.dup(filled[0]))
    except OSError:
        pass  # Fewer are allowed.
    return filled


def read(path):
    with open(path, "rb") as file:
        fields = os.fsdecode(file.read()).split("\0")
    return list(zip(*[iter(fields)] * 3))


def discard(path):
    try:
        os.unlink(path)
    except OSError:
        pass
