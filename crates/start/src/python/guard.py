"""Checks that a client has the privileges of this process, so that a program started for it may
do what it could do itself, and no more.

The client makes the same checks (`warm_parent/sandbox.rs`), but a client in a sandbox may be
another program that makes none. Each connection has a random token, in a pipe of this process:
the kernel lets only a client that may inspect this process read it, so one that is in a
separate Landlock domain cannot send it back. The kernel names the process that sends a request,
and the directory of that process in /proc was opened before the token was written, so another
process that has the same number later is not mistaken for it.
"""

import os
import sys

# Files that the client and this process must read the same in /proc/PID.
FILES = "mountinfo", "attr/current", "limits"
# Names of these files in a message.
WORDS = {"mountinfo": "mounts", "attr/current": "security labels", "cgroup": "control groups"}
# Bytes of the token, of the credentials of a sender (a process, a user and a group), and of one
# read.
TOKEN, CREDENTIALS, AT_ONCE = 16, 12, 65536
# The owner of files whose owner does not exist in this user namespace; elsewhere a real user.
OVERFLOW = 65534


class Guard:
    """The checks of one connection with a process."""

    def __init__(self, process, plan):
        self.process, self.plan = process, plan
        self.theirs = self.pipe = -1
        self.token = os.urandom(TOKEN).hex().encode()

    def open(self):
        self.theirs = directory(self.process)
        self.pipe, end = os.pipe()
        os.write(end, self.token)
        os.close(end)

    def close(self):
        for fd in (self.theirs, self.pipe):
            if fd >= 0:
                os.close(fd)

    def refusal(self, token, sender, starts):
        """The reason not to serve a request; None if there is none. For a start, the client has
        moved this process to its control groups."""
        if sender != self.process or token != self.token:
            return "the client did not show that it may inspect the warm parent"
        try:
            ours = directory(os.getpid())
            try:
                return difference(self.theirs, ours, self.plan, starts)
            finally:
                os.close(ours)
        except OSError as error:
            return "the client cannot be inspected (%s)" % error


def directory(process):
    return os.open("/proc/%d" % process, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def difference(theirs, ours, plan, starts):
    """The first difference between the privileges of two processes, as a clause."""
    roots = [os.stat("root", dir_fd=fd) for fd in (theirs, ours)]
    if len({(root.st_dev, root.st_ino) for root in roots}) > 1:
        return "the client has another root directory"
    for name in plan.namespaces:
        if link(theirs, name) != link(ours, name):
            return "the client has another %s" % name
    for name in FILES + (("cgroup",) if starts else ()):
        if content(theirs, name) != content(ours, name):
            return "the client has other %s" % WORDS.get(name, name)
    one, other = status(theirs), status(ours)
    for name in plan.status:
        if one.get(name) != other.get(name):
            return "the client has another value of %s" % name
    if one.get("TracerPid") != "0":
        return "the client is traced"
    return None


def link(fd, name):
    """Returns the target of a link; None if the kernel does not have the link."""
    try:
        return os.readlink(name, dir_fd=fd)
    except FileNotFoundError:
        return None


def content(fd, name):
    """The content of a file; None for the label of a process if the kernel has no labels."""
    try:
        file = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=fd)
        try:
            parts = [os.read(file, AT_ONCE)]
            while parts[-1]:
                parts.append(os.read(file, AT_ONCE))
            return b"".join(parts)
        finally:
            os.close(file)
    except OSError:
        if name.startswith("attr/"):
            return None
        raise


def status(fd):
    lines = content(fd, "status").decode("utf-8", "replace").split("\n")
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def sender_of(value):
    """The process in the credentials that the kernel has attached to a message."""
    return int.from_bytes(value[:4], sys.byteorder)


def is_driver(path):
    """Returns True for a driver library that only its owner can write: root, which has another
    number within a user namespace, or the user."""
    if not os.path.basename(path).startswith("libcuda.so"):
        return False
    found = os.stat(path)
    owners = {0, os.geteuid()}
    if not is_mapped(OVERFLOW):
        owners.add(OVERFLOW)
    return found.st_uid in owners and not found.st_mode & 0o022


def is_mapped(user):
    """Returns True if a user exists in this user namespace."""
    with open("/proc/self/uid_map") as file:
        ranges = [list(map(int, line.split())) for line in file]
    return any(first <= user < first + count for first, _, count in ranges)
