"""A child of the warm parent that becomes the program.

It waits for a client, takes over everything that a process inherits, reports that it is
ready, and continues only after `go`: a client that has waited too long starts the program
plainly, and this child then exits without a trace.
"""

import os
import sys

# The most bytes of a request, and the most descriptors in it.
MAX_BYTES = 1 << 24
MAX_DESCRIPTORS = 253


# The times after which a waiting child has a few pages copied, and begins to copy all, in
# milliseconds.
AT_FIRST, IDLE_AFTER, FOR_EVER = 10, 1000, -1


class Refused(Exception):
    """The reason why this child cannot become the program."""


def become(parent, link):
    """Waits until a client requests a start; returns the last step. Exits the process when it
    is no longer needed."""
    try:
        return Child(parent, link).wait()
    except BaseException:
        os._exit(1)


class Child:
    def __init__(self, parent, link):
        self.parent, self.tools, self.link = parent, parent.tools, link
        self.standby = self.wanted = None

    def wait(self):
        """Until a client wants a start; the last step."""
        while True:
            done = self.wait_for_client()
            if done:
                return done

    def wait_for_client(self):
        select = self.tools.select
        poll = select.poll()
        poll.register(self.link.fileno(), select.POLLIN)
        poll.register(self.parent.listener.fileno(), select.POLLIN)
        # Not at once: that would slow down the program that was just started.
        meanwhile, patience = None, AT_FIRST
        while True:
            ready = dict(poll.poll(patience))
            if not ready and patience == AT_FIRST:
                self.parent.plan.hidden.touch()
                patience = IDLE_AFTER
                continue
            if not ready:
                meanwhile = meanwhile or self.parent.copy_pages()
                patience = next(meanwhile, FOR_EVER) or 0
                if self.standby and patience == FOR_EVER:
                    patience = self.standby.stay()
                continue
            if self.link.fileno() in ready:
                if self.standby:
                    self.standby.leave()
                os._exit(0)  # The supervisor or the parent has exited.
            try:
                client = self.tools.socket.socket(fileno=self.parent.listener._accept()[0])
            except OSError:
                continue
            go_on = self.hear(client)
            if go_on:
                return go_on
            client.close()
            if self.wanted:
                self.standby = self.parent.load("standby.py")["become"](self, self.wanted)
                self.wanted = None
                return None  # It listens elsewhere now.

    def hear(self, client):
        """Handles a request; returns the last step if it is a start."""
        socket = self.tools.socket
        client.settimeout(1)
        guard, received = None, []
        request = None
        try:
            who = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            if int.from_bytes(who[4:8], sys.byteorder) != os.geteuid():
                return None
            process = int.from_bytes(who[:4], sys.byteorder)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            guard = self.parent.guard["Guard"](process, self.parent.plan)
            guard.open()
            # The client sends descriptors only after this: in a connection that is never
            # accepted, they would stay open.
            hello = os.getpid(), self.parent.served, guard.pipe
            client.send(b"hello %d %d %d\n" % hello)
            fields, received, sender = self.read(client)
            word, rest = fields[:1], fields[2:]
            if word == [b"served"]:
                client.send(b"served %d\n" % self.parent.served)
            elif word in ([b"start"], [b"standby"]):
                why = guard.refusal(fields[1], sender, word == [b"start"])
                if why:
                    client.send(b"no %s\n" % why.encode("utf-8", "replace"))
                elif word == [b"start"]:
                    request = Request(rest)
                elif not self.standby:
                    client.send(b"standby\n")
                    self.wanted = rest
        except (OSError, ValueError, IndexError, StopIteration):
            pass  # It has exited, or is not a preheat client.
        finally:
            if guard:
                guard.close()
        if request:
            request.name_process(process)
            return self.start(client, request, received)
        for fd in received:
            os.close(fd)
        return None

    def read(self, client):
        """The fields of a request, the descriptors that came with it, and its sender."""
        socket = self.tools.socket
        room = socket.CMSG_SPACE(4 * MAX_DESCRIPTORS)
        room += socket.CMSG_SPACE(self.parent.guard["CREDENTIALS"])
        data, extra, flags, _ = client.recvmsg(65536, room, socket.MSG_CMSG_CLOEXEC)
        received, sender = [], 0
        for level, kind, value in extra:
            if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
                sender = self.parent.guard["sender_of"](value)
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                for at in range(0, len(value) - 3, 4):
                    received.append(int.from_bytes(value[at : at + 4], sys.byteorder))
        length = int.from_bytes(data[:4], "little")
        parts, have = [data[4:]], len(data) - 4
        while have < length <= MAX_BYTES:
            try:
                more = client.recv(min(1 << 20, length - have))
            except OSError:  # The client has exited, or is stopped.
                more = b""
            if not more:
                break
            parts.append(more)
            have += len(more)
        if have != length or flags & socket.MSG_CTRUNC:
            for fd in received:
                os.close(fd)
            return [], [], 0
        return b"".join(parts).split(b"\0"), received, sender

    def start(self, client, request, received):
        socket = self.tools.socket
        # The supervisor needs the connection too.
        fd = client.fileno().to_bytes(4, sys.byteorder)
        self.link.sendmsg([b"t"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fd)])
        signals = self.tools.signal
        signals.pthread_sigmask(signals.SIG_SETMASK, signals.valid_signals())
        os.set_blocking(client.fileno(), True)
        self.client = client.detach()
        try:
            if self.standby:
                self.standby.wake()
            self.take_descriptors(request, received)
            self.take_process(request)
            take_environment(request, self.parent.base, self.parent.telling)
            take_arguments(request)
            take_streams()
            self.parent.renew.before()
            self.parent.learn(request.learning)
            if self.standby:
                self.standby.check()
        except Exception as error:
            os.write(self.client, ("no %s\n" % error).encode("utf-8", "replace"))
            os._exit(0)
        os.write(self.client, b"ready\n")
        if os.read(self.client, 1) != b"g":
            os._exit(0)
        os.close(self.client)
        if self.standby:
            self.standby.go()
        self.parent.renew.after()
        if request.ahead and not self.standby:
            initialize_ahead(request.ahead, self.parent)

        def go_on():
            # Last, so that signals that arrived meanwhile reach the program.
            signals.pthread_sigmask(signals.SIG_SETMASK, request.blocked)

        return go_on

    def take_descriptors(self, request, received):
        """Moves the received descriptors to the numbers that the client had, and closes ours.
        If this fails at any point, `self.client` is still the connection: its original number
        may be a file of the program by then."""
        if len(received) != len(request.numbers) + 1:
            raise Refused("its descriptors did not arrive")
        ours = {self.link.fileno(), self.parent.listener.fileno(), self.client, 0, 1, 2}
        ours.update(received)
        # Without the one that the list is read from.
        theirs = set(filter(is_open, map(int, os.listdir("/proc/self/fd")))) - ours
        for number in request.numbers:
            if number in theirs:
                raise Refused("a library uses descriptor %d" % number)
        top = max(ours | theirs | set(request.numbers)) + 1
        os.fchdir(received[0])
        os.close(received[0])
        self.link.close()
        self.parent.listener.close()
        self.client = moved(self.client, top)
        above = [moved(fd, top + 1 + at) for at, fd in enumerate(received[1:])]
        for fd in {0, 1, 2} - set(request.numbers):
            os.close(fd)
        for fd, number in zip(above, request.numbers):
            os.dup2(fd, number)
            os.close(fd)

    def take_process(self, request):
        if request.group > 0:
            os.setpgid(0, request.group)
        elif request.group < 0:
            os.setpgid(0, 0)  # Otherwise it is a member of a group, like the client.
        os.umask(request.umask)
        signals = self.tools.signal
        for number in request.ignored:
            signals.signal(number, signals.SIG_IGN)


def moved(fd, to):
    os.dup2(fd, to, False)
    os.close(fd)
    return to


def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


class Request:
    """The state of a client, which is a process of the same user."""

    def __init__(self, fields):
        fields = iter(fields)

        def numbers():
            return [int(number) for number in next(fields).split()]

        def texts():
            return [next(fields) for _ in range(int(next(fields)))]

        (self.group, self.umask, self.leading) = numbers()
        self.blocked = numbers()
        self.ignored = numbers()
        self.numbers = numbers()
        self.arguments = texts()
        self.environment = texts()
        # These variables are for this child, not for the program.
        self.ahead = self.remove(b"PREHEAT_AHEAD=")
        self.learning = self.remove(b"PREHEAT_STANDBY=")

    def remove(self, name):
        """Removes a variable from the environment, and returns its value."""
        found = [entry for entry in self.environment if entry.startswith(name)]
        self.environment = [entry for entry in self.environment if entry not in found]
        return found[0][len(name) :] if found else None

    def name_process(self, client):
        """Updates variables with which service managers name the process of the program."""
        names = {
            b"%s=%d" % (name, client): b"%s=%d" % (name, os.getpid())
            for name in (b"LISTEN_PID", b"WATCHDOG_PID")
        }
        changed = [names.get(entry, entry) for entry in self.environment]
        if changed != self.environment:
            # This one identifies the client too, and is optional.
            changed = [it for it in changed if not it.startswith(b"LISTEN_PIDFDID=")]
        self.environment = changed


def initialize_ahead(asked, parent):
    """Has the shim initialize the driver in the background. This is the earliest moment: a
    parent that has used a GPU cannot fork usable children. The shim is the one that this parent
    was made with, whichever the client names."""
    try:
        if object.__basicsize__ != 2 * tuple.__itemsize__:
            return  # Objects have another layout.
        device, _, driver = map(os.fsdecode, asked.split(b"\n")[:3])
        if not parent.guard["is_driver"](driver):
            return
        recorder = load(parent.plan.one["recorder"])
        directory = os.environ.get("PREHEAT_DIRECTORY")
        if directory:
            # Begin to record first, so that the recording is complete.
            settings = ("LIMIT", "ITERATIONS")
            rest = (os.environ.get("PREHEAT_" + name, "") for name in settings)
            recorder.begin(directory, *rest)
        recorder.ahead(int(device), driver)
    except Exception:
        pass  # The program initializes the driver itself.


def load(shim):
    """Loads the shim as a module that the program does not see."""
    import _imp
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import ExtensionFileLoader

    spec = ModuleSpec("_preheat", ExtensionFileLoader("_preheat", shim), origin=shim)
    module = _imp.create_dynamic(spec)
    sys.modules.pop("_preheat", None)
    return module


def take_environment(request, base, telling):
    """Sets the client's environment, with the changes that Python and the imports made."""
    data = os.environ._data
    entries = [entry.partition(b"=")[::2] for entry in request.environment]
    changes = list(base.added.items()) + list(base.changes.items())
    if telling and telling.place(request.arguments, request.environment):
        data.clear()
        data.update(entries)
    else:
        for name in list(data):
            os.unsetenv(name)
        data.clear()
        changes = entries + changes
    for name, value in changes:
        if value is not None:
            data[name] = value
            os.putenv(name, value)
        elif data.pop(name, None) is not None:
            os.unsetenv(name)


def take_arguments(request):
    arguments = [os.fsdecode(argument) for argument in request.arguments]
    sys.argv[1:] = arguments[request.leading :]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = arguments


def take_streams():
    """Initializes the standard streams again, as Python does at its start. The objects stay, and
    so do their buffers: a module that has kept one writes to where the program does. The files
    below are new, as they remember whether they can seek."""
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, "__%s__" % name)
        if not is_open(fd):
            setattr(sys, name, None)
            setattr(sys, "__%s__" % name, None)
            continue
        try:
            buffer = stream.buffer
        except ValueError:
            raise Refused("a module has detached sys.%s" % name)
        writes, unbuffered = fd > 0, stream.write_through
        opened = open(fd, "wb" if writes else "rb", 0, closefd=False)
        opened.name = "<%s>" % name
        if writes and unbuffered:
            buffer = opened
        else:
            buffer.__init__(opened, buffer_size(opened))
        # Since 3.9 standard error is always line-buffered; the parent's is not a terminal.
        by_line = not unbuffered and (opened.isatty() or fd == 2 and stream.line_buffering)
        mode = stream.mode
        encoding, errors = stream.encoding, stream.errors
        stream.__init__(buffer, encoding, errors, "\n", by_line, unbuffered)
        stream.mode = mode


# Python 3.14 and later: the default and the largest size of a buffer.
BUFFER_SIZES = 131072, 8192 * 1024


def buffer_size(file):
    """The size that `open` gives the buffer of a file."""
    if sys.version_info < (3, 14):
        return file._blksize
    default, largest = BUFFER_SIZES
    return max(min(file._blksize, largest), default)
