"""Serves starts from the warm parent.

There are three generations. The parent keeps one spare pair: a supervisor, and its child,
which waits for a client. When a client connects, the parent forks the next pair, the child
becomes the program, and the supervisor reports the exit status to the client, and kills the
program when the client has exited. The parent can thus be killed at any time without harming
a running program.

A pair without a client exits when its parent does.
"""

import os
import sys

PAIRS_THAT_FAILED = 5
# The time that a waiting child has to exit after its parent has, in milliseconds.
LEAVES_WITHIN = 2000
# The interval for checking the idle time, the memory and the session, in milliseconds.
CHECK_EVERY = 5000
# The pause after a failed fork, in seconds.
TRY_AGAIN = 0.2


class Tools:
    """Modules needed for serving, which must stay hidden from the program."""

    def __init__(self, base):
        import _signal
        import _socket
        import gc
        import select
        import time

        self.signal, self.socket, self.select, self.time, self.gc = (
            _signal,
            _socket,
            select,
            time,
            gc,
        )


def serve(plan, base, found, load, renew, telling):
    """Returns in a child that becomes the program, with its last step."""
    known = set(sys.modules)
    tools = Tools(base)
    for name in set(sys.modules) - known:
        del sys.modules[name]
    # The program's first lines, or a module, may have set one. Sockets of this file must wait.
    timeout = tools.socket.getdefaulttimeout()
    tools.socket.setdefaulttimeout(None)
    state = load("state.py")
    become = load("child.py")["become"]
    learning, end = load("learn.py"), load("end.py")["End"]
    seen = base.modules | set(plan.modules) | set(sys.modules)
    if not found.end:
        tools.gc.collect()
    end = end(tools.gc, plan, load)

    path = plan.path("-%d.socket" % os.getpid())
    listener = tools.socket.socket(tools.socket.AF_UNIX, tools.socket.SOCK_STREAM)
    listener.setblocking(False)
    listener.bind(path)
    listener.listen(128)
    ours = [path, plan.path("-%d.parent" % os.getpid())]
    pair = None
    try:
        parent = Parent(plan, tools, listener, become, base)
        parent.memory, parent.pages = load("memory.py"), load("pages.py")
        parent.guard = load("guard.py")
        parent.madvise = parent.pages["copying"]()
        parent.telling, parent.state = telling, ours[1]
        parent.renew, parent.load, parent.end = renew, load, end
        hidden = plan.hidden
        hidden.fail = lambda name: learning["stop"](plan.one["learned"], path, name)
        parent.learn = lambda use: learn(
            lambda: learning["add"](plan.one["learned"], seen, hidden, end.prepare, plan.last),
            use,
            plan,
            load,
        )
        state["write"](ours[1], path, plan, base, found)
        discard(plan.path(".plain"))  # The reason why there is no parent.
        for replaced in plan.replaces:
            discard(replaced)  # A parent without its socket exits.
        for kept in ("lock", "progress"):
            if kept in plan.one:
                os.close(int(plan.one[kept]))
        os.chdir("/")
        plan.hidden.hide(plan.modules)
        base.see_changes()
        end.freeze()
        while parent.goes_on(path):
            if pair is None:
                pair = parent.make_pair()
                if pair and pair.go_on:
                    tools.socket.setdefaulttimeout(timeout)
                    return pair.go_on
            if pair and parent.is_taken(pair):
                pair = None
            parent.see_standbys()
    except BaseException:
        if pair is None or not pair.go_on:
            remove(ours)
        raise
    remove(ours)
    os._exit(0)


def learn(imports, use, plan, load):
    """In a child that becomes the program: has its imports learned, and its use of GPUs."""
    if use:
        learning = load("device_use.py")["Learning"](os.fsdecode(use), load)
        learning.see_imports()
        plan.hidden.after.append(learning.see_imports)
        plan.last.append(learning.end)
    imports()


def remove(paths):
    if os.getpid() != int(paths[1].rpartition("-")[2].partition(".")[0]):
        return
    for path in paths:
        discard(path)


def discard(path):
    try:
        os.unlink(path)
    except OSError:
        pass


def touch(path):
    """Updates the mtime, which shows when this parent was last used."""
    try:
        os.utime(path)
    except OSError:
        pass


class Pair:
    """In the parent, a supervisor; in the child, its last step."""

    def __init__(self, control=None, process=0, go_on=None):
        self.control, self.process, self.go_on = control, process, go_on


class Parent:
    """The parent process."""

    def __init__(self, plan, tools, listener, become, base):
        self.plan, self.tools, self.listener, self.become, self.base = (
            plan,
            tools,
            listener,
            become,
            base,
        )
        self.failed = 0
        self.served = 0
        # Pairs whose child has become a standby.
        self.standbys, self.ready = [], []
        self.last = tools.time.monotonic()
        self.idle = float(plan.one["idle"])
        self.leader = os.getsid(0) if plan.one["terminal"] == "yes" else 0
        # The beginning of its line in /proc/keys.
        keyring = plan.one["keyring"]
        self.keyring = b"%08x " % int(keyring) if keyring.isdigit() else None

    def goes_on(self, path):
        """Returns False when the parent should exit."""
        while True:
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    break
            except ChildProcessError:
                break
        if self.failed > PAIRS_THAT_FAILED or not os.path.exists(path):
            return False
        if self.tools.time.monotonic() - self.last > self.idle or self.is_memory_short():
            return False
        if self.keyring and self.is_keyring_revoked():
            if self.served == 0:
                self.note_unused()
            return False
        return not self.leader or os.path.exists("/proc/%d" % self.leader)

    def is_keyring_revoked(self):
        """Returns True if the login or job that has the session keyring of this process has revoked
        it. Containers often hide the list of keys."""
        try:
            with open("/proc/keys", "rb", 0) as file:
                lines = file.readall().split(b"\n")
        except OSError:
            return False
        fields = [line.split(None, 4) for line in lines if line.startswith(self.keyring)]
        return any(b"R" in each[1] or b"D" in each[1] or each[3] == b"expd" for each in fields)

    def note_unused(self):
        """The next login should not get another parent that no start can use (need.rs)."""
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            fd = os.open(self.plan.path(".unused"), flags, 0o600)
            os.write(fd, b"x")
            os.close(fd)
        except OSError:
            pass

    def is_memory_short(self):
        return self.memory["is_short"](self.memory["available"]())

    def copy_pages(self):
        """In a waiting child: a generator that copies pages step by step."""
        if not self.madvise:
            return iter(())
        return self.pages["copy"](self.madvise, self.memory["available"]()[1])

    def make_pair(self):
        tools = self.tools
        try:
            ours, theirs = tools.socket.socketpair(tools.socket.AF_UNIX, tools.socket.SOCK_STREAM)
            process = os.fork()
        except OSError:
            # No process or no memory is available now; clients are not kept waiting.
            self.failed += 1
            tools.time.sleep(TRY_AGAIN)
            return None
        if process:
            theirs.close()
            return Pair(ours, process)
        ours.close()
        # Their supervisors must notice only the end of this parent.
        for each in self.standbys:
            each.control.close()
        return Pair(go_on=supervise(self, theirs))

    def is_taken(self, pair):
        """Waits a while; returns True if another pair is needed."""
        poll = self.tools.select.poll()
        for each in [pair] + self.standbys:
            poll.register(each.control.fileno(), self.tools.select.POLLIN)
        ready = dict(poll.poll(min(CHECK_EVERY, self.idle * 1000 + 1)))
        self.ready = [each for each in self.standbys if each.control.fileno() in ready]
        if pair.control.fileno() not in ready:
            return False
        said = pair.control.recv(1)
        if said == b"s":
            # Its supervisor exits when this end is closed.
            self.standbys.append(pair)
            return True
        pair.control.close()
        if said == b"t":
            self.count()
        else:
            self.failed += 1
        return True

    def see_standbys(self):
        """Removes standbys that a start uses, and those that have exited."""
        for each in self.ready:
            if each.control.recv(1) == b"t":
                self.count()
            each.control.close()
            self.standbys.remove(each)
        self.ready = []

    def count(self):
        """Counts a start that was served."""
        self.failed = 0
        self.served += 1
        self.last = self.tools.time.monotonic()
        touch(self.state)


def supervise(parent, control):
    """In the supervisor: forks the child, and supervises it. Returns in the child."""
    tools = parent.tools
    ours, theirs = tools.socket.socketpair(tools.socket.AF_UNIX, tools.socket.SOCK_STREAM)
    # The child is alone in a process group that it does not lead: like a program started by a
    # script, it may then create a session. The supervisor leaves the group again.
    group = os.getpgrp()
    os.setpgid(0, 0)
    process = os.fork()
    if process == 0:
        # The child sees on its end when the supervisor, and so the parent, has exited.
        ours.close()
        control.close()
        if not theirs.recv(1):
            os._exit(0)
        return parent.become(parent, theirs)
    try:
        os.setpgid(0, group)
        ours.send(b"g")
        theirs.close()
        parent.listener.close()
        Supervisor(tools, control, ours, process, parent.load).run()
    finally:
        os._exit(0)


class Supervisor:
    """Supervises a child, and reports its exit status."""

    def __init__(self, tools, control, child, process, load):
        self.tools, self.control, self.child, self.process = tools, control, child, process
        self.load, self.is_standby = load, False
        # The process that parks and wakes a standby, and whether it is restoring the GPU.
        self.helper, self.under_way = 0, None
        self.client = None
        self.is_alone = False

    def run(self):
        tools = self.tools
        signals, wake = os.pipe()
        os.set_blocking(signals, False)
        os.set_blocking(wake, False)
        tools.signal.set_wakeup_fd(wake)
        tools.signal.signal(tools.signal.SIGCHLD, lambda *_: None)
        for number in (1, 2, 3, 15):  # SIGHUP and the like are meant for the program.
            tools.signal.signal(number, tools.signal.SIG_IGN)
        control, child = self.control.fileno(), self.child.fileno()
        poll = tools.select.poll()
        for fd in (signals, control, child):
            poll.register(fd, tools.select.POLLIN)
        while not self.is_over():
            ready = poll.poll(LEAVES_WITHIN if self.is_alone else None)
            if not ready:
                os.kill(self.process, 9)  # It is suspended, or hangs.
            for fd, _ in ready:
                if fd == signals:
                    os.read(signals, 512)
                    continue
                poll.unregister(fd)
                if fd == control:
                    # The parent has exited, or knows. A child that still waits is notified,
                    # and exits.
                    if not self.client:
                        self.is_alone = True
                        self.child.shutdown(tools.socket.SHUT_WR)
                elif fd != child:
                    # The client has exited, so the program must too.
                    os.kill(self.process, 9)
                elif not self.take_client():
                    if self.is_standby:
                        poll.register(child, tools.select.POLLIN)
                        self.is_standby = False
                else:
                    self.is_alone = False
                    poll.register(self.client.fileno(), 0)
            self.see_helper()  # After a client that came at the same time.

    def take_client(self):
        """Receives the connection of a client from the child."""
        tools = self.tools
        said, extra, _, _ = self.child.recvmsg(4096, tools.socket.CMSG_SPACE(4))
        if said[:1] not in (b"t", b"s") or not extra:
            return False
        fd = int.from_bytes(extra[0][2][:4], sys.byteorder)
        if said[:1] == b"s":
            self.is_standby = True
            self.make_helper(fd, os.fsdecode(said[1:]))
            return False
        self.client = tools.socket.socket(fileno=fd)
        try:
            self.control.send(b"t")
        except OSError:
            pass  # The parent has exited; the program continues.
        return True

    def make_helper(self, fd, driver):
        """Forks the process that parks a standby; the child has its commands."""
        import mmap

        self.control.send(b"s")
        socket = self.tools.socket.socket(fileno=fd)
        self.under_way = mmap.mmap(-1, mmap.PAGESIZE)
        self.helper = os.fork()
        if self.helper == 0:
            try:
                self.control.close()
                self.child.close()
                self.load("parking.py")["help"](socket, self.process, driver, self.under_way)
            finally:
                os._exit(0)
        socket.close()

    def see_helper(self):
        """Ends a program whose GPU nobody restores any more: its CUDA calls would block forever."""
        if not self.helper or not os.waitpid(self.helper, os.WNOHANG)[0]:
            return
        self.helper = 0
        if self.under_way[0]:
            error = None
            try:
                if self.client:
                    error = os.open("/proc/%d/fd/2" % self.process, os.O_WRONLY | os.O_APPEND)
            except OSError:
                pass  # It is closed, or a socket.
            self.load("parking.py")["end"](self.process, error, "the helper process has exited")

    def is_over(self):
        """Reports status changes of the child; returns True if it has exited."""
        while True:
            options = os.WNOHANG | os.WUNTRACED | os.WCONTINUED
            process, status = os.waitpid(self.process, options)
            if process == 0:
                return False
            is_over = os.WIFEXITED(status) or os.WIFSIGNALED(status)
            if is_over and not self.client:
                self.take_client()  # It connected just before the child exited.
            self.say("status %d\n" % status)
            if is_over:
                return True

    def say(self, line):
        try:
            if self.client:
                self.client.send(line.encode())
        except OSError:
            pass
