"""Changes the privileges or the state of this process, as the first argument selects, and executes
the command that follows it. Exits with 77 where the kernel does not have the facility."""

import ctypes
import errno
import os
import platform
import struct
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
MISSING = 77


def landlock():
    """A Landlock domain in which no directory can be made."""
    create, restrict, make_dir = 444, 446, 1 << 7
    ruleset = ctypes.create_string_buffer(struct.pack("=Q", make_dir))
    fd = LIBC.syscall(create, ruleset, 8, 0)
    if fd < 0:
        sys.exit(MISSING)
    if LIBC.syscall(restrict, fd, 0):
        sys.exit("landlock_restrict_self: " + os.strerror(ctypes.get_errno()))
    os.close(fd)


def seccomp(numbers):
    """A filter that denies these system calls."""
    load, equal, result = 0x20, 0x15, 0x06
    allow, deny = 0x7FFF0000, 0x00050000 | errno.EPERM
    code = [struct.pack("=HBBI", load, 0, 0, 0)]
    for at, number in enumerate(numbers):
        code.append(struct.pack("=HBBI", equal, len(numbers) - at, 0, number))
    code.append(struct.pack("=HBBI", result, 0, 0, allow))
    code.append(struct.pack("=HBBI", result, 0, 0, deny))
    text = ctypes.create_string_buffer(b"".join(code))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(code), ctypes.addressof(text)))
    if LIBC.prctl(22, 2, program, 0, 0):
        sys.exit(MISSING)


def lenient():
    seccomp([])


def strict():
    numbers = {"x86_64": [83, 258], "aarch64": [34]}.get(platform.machine())
    if numbers is None:
        sys.exit(MISSING)
    seccomp(numbers)


def untraceable():
    numbers = {"x86_64": [101], "aarch64": [117]}.get(platform.machine())
    if numbers is None:
        sys.exit(MISSING)
    seccomp(numbers)


def no_new_privs():
    if LIBC.prctl(38, 1, 0, 0, 0):
        sys.exit(MISSING)


def limited():
    """A limit that a warm parent made outside does not have."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NPROC, (5000, 5000))


def sealed():
    """Memory cannot be made executable, nor can any child's."""
    if LIBC.prctl(65, 1, 0, 0, 0):
        sys.exit(MISSING)


def keyring():
    """Another session keyring, with a key."""
    join, add = {"x86_64": (250, 248), "aarch64": (219, 217)}[platform.machine()]
    if LIBC.syscall(join, 1, None) < 0:
        sys.exit(MISSING)
    if LIBC.syscall(add, b"user", b"preheat-test", b"x", 1, -3) < 0:
        sys.exit(MISSING)


def reaper():
    """Orphaned processes below this one become its children."""
    if LIBC.prctl(36, 1, 0, 0, 0):
        sys.exit(MISSING)


def unshare():
    """Children are in another PID namespace."""
    if LIBC.unshare(0x20000000):
        sys.exit(MISSING)


def child():
    """A child that has ended, and that nobody has waited for."""
    if os.fork() == 0:
        os._exit(5)


def unreaped():
    """Children that have ended leave no status. A start that waited for one forever would be
    killed by the limit."""
    import resource
    import signal

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))


def traced():
    """A process that this one traces becomes the command, and this one reports its end."""
    process = os.fork()
    if process == 0:
        LIBC.ptrace(0, 0, None, None)
        return
    while True:
        _, status = os.waitpid(process, 0)
        if not os.WIFSTOPPED(status):
            os._exit(os.waitstatus_to_exitcode(status))
        number = os.WSTOPSIG(status)
        if LIBC.ptrace(7, process, None, number if number != 5 else 0):
            os._exit(MISSING)


def lock():
    """A POSIX lock on the file `locked`."""
    import fcntl

    fd = os.open("locked", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.lockf(fd, fcntl.LOCK_EX)
    os.set_inheritable(fd, True)


def listen():
    """A listening socket, as a service manager passes it; its port is in the file `port`."""
    import socket

    server = socket.create_server(("127.0.0.1", 0))
    with open("port", "w") as file:
        file.write(str(server.getsockname()[1]))
    if server.fileno() != 3:
        os.dup2(server.fileno(), 3)
    os.set_inheritable(3, True)
    server.detach()
    os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))


def notify():
    os.environ["NOTIFY_SOCKET"] = "@nobody-listens"


globals()[sys.argv[1]]()
os.execvp(sys.argv[2], sys.argv[2:])
