"""Serves starts from the warm parent.

Three generations. The parent keeps one spare pair: a supervisor, and below it a child that
waits for a client. When one has come, the parent makes the next pair; the child becomes
the program; the supervisor tells the client how it ends, and ends it when the client is
gone. So the parent may be killed at any time, and no running program is harmed.

A pair whose parent has gone leaves, unless a client has come.
"""

import os
import sys

PAIRS_THAT_FAILED = 5
# A child that waits for a parent that has gone is given so long to leave, in milliseconds.
LEAVES_WITHIN = 2000
# Between looks at the clock, the memory and the session, in milliseconds.
LOOK_EVERY = 5000
# After a pair that could not be made, in seconds.
TRY_AGAIN = 0.2


class Tools:
    """Modules that serving needs and the program may not have; it is not to see them."""

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
    """Returns in a child that is to become the program, with the function that does it."""
    known = set(sys.modules)
    tools = Tools(base)
    for name in set(sys.modules) - known:
        del sys.modules[name]
    state = load("state.py")
    become = load("child.py")["become"]
    add, end = load("learn.py")["add"], load("end.py")["End"]
    seen = base.modules | set(plan.modules) | set(sys.modules)
    if not found.end:
        tools.gc.collect()
    end = end(tools.gc, plan)

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
        parent.madvise = parent.pages["copying"]()
        parent.telling, parent.state = telling, ours[1]
        parent.renew, parent.load = renew, load
        parent.learn = lambda use: learn(
            lambda: add(plan.one["learned"], seen, end.prepare, plan.last), use, plan, load
        )
        state["write"](ours[1], path, plan, base, found)
        discard(plan.path(".plain"))  # It says that there is no parent.
        for replaced in plan.replaces:
            discard(replaced)  # Without its socket a parent leaves.
        for kept in ("lock", "progress"):
            if kept in plan.one:
                os.close(int(plan.one[kept]))
        os.chdir("/")
        end.freeze()
        while parent.goes_on(path):
            if pair is None:
                pair = parent.make_pair()
                if pair and pair.go_on:
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
    """By its time others tell how long nobody has used this parent."""
    try:
        os.utime(path)
    except OSError:
        pass


class Pair:
    """A supervisor, seen from its parent; or, in the child, what it goes on with."""

    def __init__(self, control=None, process=0, go_on=None):
        self.control, self.process, self.go_on = control, process, go_on


class Parent:
    """The parent's own part."""

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

    def goes_on(self, path):
        """Whether there is still a reason to be here."""
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
        return not self.leader or os.path.exists("/proc/%d" % self.leader)

    def is_memory_short(self):
        return self.memory["is_short"](self.memory["available"]())

    def copy_pages(self):
        """In a child that waits: what it may do meanwhile, step by step."""
        if not self.madvise:
            return iter(())
        return self.pages["copy"](self.madvise, self.memory["available"]()[1])

    def make_pair(self):
        tools = self.tools
        try:
            ours, theirs = tools.socket.socketpair(tools.socket.AF_UNIX, tools.socket.SOCK_STREAM)
            process = os.fork()
        except OSError:
            # No process or no memory can be had just now; who comes is not kept waiting.
            self.failed += 1
            tools.time.sleep(TRY_AGAIN)
            return None
        if process:
            theirs.close()
            return Pair(ours, process)
        ours.close()
        # Only this parent's end may tell their supervisors that it has gone.
        for each in self.standbys:
            each.control.close()
        return Pair(go_on=supervise(self, theirs))

    def is_taken(self, pair):
        """Waits a while; whether another pair is needed."""
        poll = self.tools.select.poll()
        for each in [pair] + self.standbys:
            poll.register(each.control.fileno(), self.tools.select.POLLIN)
        ready = dict(poll.poll(min(LOOK_EVERY, self.idle * 1000 + 1)))
        self.ready = [each for each in self.standbys if each.control.fileno() in ready]
        if pair.control.fileno() not in ready:
            return False
        said = pair.control.recv(1)
        if said == b"s":
            # Its supervisor leaves when this end is closed.
            self.standbys.append(pair)
            return True
        pair.control.close()
        if said == b"t":
            self.count()
        else:
            self.failed += 1
        return True

    def see_standbys(self):
        """Those that a start has taken, and those that have exited."""
        for each in self.ready:
            if each.control.recv(1) == b"t":
                self.count()
            each.control.close()
            self.standbys.remove(each)
        self.ready = []

    def count(self):
        """A start was served."""
        self.failed = 0
        self.served += 1
        self.last = self.tools.time.monotonic()
        touch(self.state)


def supervise(parent, control):
    """In the supervisor: makes the child, and stays behind it. Returns in the child."""
    tools = parent.tools
    ours, theirs = tools.socket.socketpair(tools.socket.AF_UNIX, tools.socket.SOCK_STREAM)
    # The child is alone in a group that it does not lead: like a program that a script has
    # started, it may then begin a session. Who leads it leaves again.
    group = os.getpgrp()
    os.setpgid(0, 0)
    process = os.fork()
    if process == 0:
        # The child sees through its end when the supervisor, and so the parent, has gone.
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
    """Stays behind a child; knows its end."""

    def __init__(self, tools, control, child, process, load):
        self.tools, self.control, self.child, self.process = tools, control, child, process
        self.load, self.is_standby = load, False
        self.client = None
        self.is_alone = False

    def run(self):
        tools = self.tools
        signals, wake = os.pipe()
        os.set_blocking(signals, False)
        os.set_blocking(wake, False)
        tools.signal.set_wakeup_fd(wake)
        tools.signal.signal(tools.signal.SIGCHLD, lambda *_: None)
        for number in (1, 2, 3, 15):  # A hang-up and its like are for the program.
            tools.signal.signal(number, tools.signal.SIG_IGN)
        control, child = self.control.fileno(), self.child.fileno()
        poll = tools.select.poll()
        for fd in (signals, control, child):
            poll.register(fd, tools.select.POLLIN)
        while not self.is_over():
            ready = poll.poll(LEAVES_WITHIN if self.is_alone else None)
            if not ready:
                os.kill(self.process, 9)  # It is stopped, or hangs.
            for fd, _ in ready:
                if fd == signals:
                    os.read(signals, 512)
                    continue
                poll.unregister(fd)
                if fd == control:
                    # The parent has gone, or knows. A child that still waits is told,
                    # and leaves.
                    if not self.client:
                        self.is_alone = True
                        self.child.shutdown(tools.socket.SHUT_WR)
                elif fd != child:
                    # The client is gone, and so is what it stands for.
                    os.kill(self.process, 9)
                elif not self.take_client():
                    if self.is_standby:
                        poll.register(child, tools.select.POLLIN)
                        self.is_standby = False
                else:
                    self.is_alone = False
                    poll.register(self.client.fileno(), 0)

    def take_client(self):
        """From the child: the client that has come."""
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
            pass  # The parent is gone; the program is not.
        return True

    def make_helper(self, fd, driver):
        """Forks the process that parks a standby; the child has its commands."""
        self.control.send(b"s")
        socket = self.tools.socket.socket(fileno=fd)
        if os.fork() == 0:
            try:
                self.control.close()
                self.child.close()
                self.load("parking.py")["help"](socket, self.process, driver)
            finally:
                os._exit(0)
        socket.close()

    def is_over(self):
        """Tells of what happened to the child; whether it has ended."""
        while True:
            options = os.WNOHANG | os.WUNTRACED | os.WCONTINUED
            process, status = os.waitpid(self.process, options)
            if process == 0:
                return False
            is_over = os.WIFEXITED(status) or os.WIFSIGNALED(status)
            if is_over and not self.client:
                self.take_client()  # It has come and gone before we looked.
            self.say("status %d\n" % status)
            if is_over:
                return True

    def say(self, line):
        try:
            if self.client:
                self.client.send(line.encode())
        except OSError:
            pass
