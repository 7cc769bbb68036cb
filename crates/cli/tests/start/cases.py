"""Programs that show what they can observe of the process they run in; the tests run each
plainly and warm, and compare. The first argument chooses one."""

import atexit
import os
import subprocess
import sys
import warnings

import numpy


def facts():
    """The state that a process inherits, and the values that Python derives from it."""
    import gc
    import locale
    import resource
    import signal
    import threading
    import time

    show = lambda name, value: print(name, "=", value)  # noqa: E731
    show("argv", sys.argv)
    show("orig_argv", getattr(sys, "orig_argv", None))
    show("path", sys.path)
    show("flags", sys.flags)
    show("xoptions", sys._xoptions)
    show("warnoptions", sys.warnoptions)
    show("filters", warnings.filters)
    show("environ", list(os.environ.items()))
    show("environb", list(os.environb.items()))
    show("cwd", os.getcwd())
    show("umask", oct(os.umask(0o22)))
    for name in sorted(name for name in dir(resource) if name.startswith("RLIMIT_")):
        show(name, resource.getrlimit(getattr(resource, name)))
    show("nice", os.nice(0))
    show("affinity", sorted(os.sched_getaffinity(0)))
    show("blocked", sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
    for number in sorted(signal.valid_signals()):
        show(number, signal.getsignal(number))
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(("Sig", "Shd", "Cap", "Seccomp", "NoNew", "Threads", "Umask")):
                if not line.startswith("SigQ"):
                    print(line.rstrip())
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        show(name, stream)
        if stream is not None:
            names = "encoding errors line_buffering write_through newlines name mode".split()
            show(name, [getattr(stream, each) for each in names])
            show(name, [type(stream.buffer), stream.buffer, stream.fileno(), stream.isatty()])
            show(name, stream is getattr(sys, "__%s__" % name))
    show("locale", [locale.setlocale(locale.LC_ALL), locale.getlocale()])
    show("encodings", [sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()])
    show("preferred", locale.getpreferredencoding())
    show("tz", time.tzname)
    main = sys.modules["__main__"]
    show("main", sorted(vars(main)))
    show("file", [main.__file__, main.__package__, main.__cached__])
    show("spec", getattr(main.__spec__, "name", None))
    show("loader", type(main.__loader__))
    show("meta_path", [getattr(each, "__name__", type(each)) for each in sys.meta_path])
    show("path_hooks", sys.path_hooks[:1])
    show("builtins", sorted(dir(__builtins__)))
    thread = threading.main_thread()
    show("thread", [thread.name, thread.native_id == os.getpid(), threading.active_count()])
    show("gc", [gc.get_threshold(), gc.isenabled(), gc.get_freeze_count(), gc.garbage])
    show("limits", [sys.getrecursionlimit(), sys.getswitchinterval(), sys.getdlopenflags()])
    show("hooks", [sys.excepthook, sys.displayhook, sys.gettrace(), sys.getprofile()])
    show("prefixes", [sys.prefix, sys.base_prefix, sys.executable, sys.platlibdir])
    show("bytecode", [sys.dont_write_bytecode, sys.pycache_prefix])
    show("sitecustomize", "sitecustomize" in sys.modules)
    show("ours", sorted(name for name in sys.modules if "preheat" in name))
    show("depth", len(traceback_of_here()))


def kernel():
    """The files in /proc that describe the process."""
    for name in ("cmdline", "environ", "comm"):
        with open("/proc/self/" + name, "rb") as file:
            print(name, file.read())
    with open("/proc/self/stat") as file:
        stat = file.read().rpartition(")")[2].split()
    print("priority", stat[15:17], "terminal", stat[4])


def traceback_of_here():
    import traceback

    return traceback.extract_stack()


def descriptors():
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink("/proc/self/fd/" + name)
        except OSError:
            continue
        flags = os.get_inheritable(int(name))
        found.append((int(name), target.partition(":")[0], flags))
    print(sorted(found))
    sys.stdout.flush()
    subprocess.run(["ls", "/proc/self/fd"])


def children_see_the_environment():
    subprocess.run(["env"])
    subprocess.run([sys.executable, "-c", "import sys, os; print(sys.path, list(os.environ))"])


def echo():
    for line in sys.stdin:
        print("read", line.rstrip())
    print(repr(sys.stdin.buffer.read()))


def interleaved():
    print("out 1")
    print("err 1", file=sys.stderr)
    sys.stdout.write("no end of line")
    sys.stderr.write("nor here")
    os.write(1, b"direct\n")


def code():
    sys.exit(int(sys.argv[2]))


def exit_text():
    sys.exit("a last word")


def exit_none():
    sys.exit(None)


def exit_object():
    sys.exit([1, 2])


def exit_at_once():
    print("lost if it is buffered")
    atexit.register(print, "never")
    os._exit(7)


def killed():
    print("before", flush=True)
    os.kill(os.getpid(), int(sys.argv[2]))


def interrupted():
    raise KeyboardInterrupt


def chained():
    try:
        try:
            numpy.zeros(-1)
        except ValueError:
            {}["missing"]
    except KeyError as error:
        raise RuntimeError("at last") from error


def failed_import():
    import numpy.no_such_module  # noqa: F401


def broken_import():
    # A module of the program's own that appears before a start would make it a plain one.
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "broken.py")
    with open(path, "w") as file:
        file.write("def f(:\n")
    try:
        import broken  # noqa: F401
    finally:
        os.remove(path)


def imports_own():
    import own

    print(own.__file__, own.__spec__.origin)
    own.fail()


def asynchronous():
    import asyncio

    async def main():
        process = await asyncio.create_subprocess_exec("echo", "from a subprocess", stdout=-1)
        out, _ = await process.communicate()
        await asyncio.sleep(0)
        return out, process.returncode, await asyncio.to_thread(square, 4)

    print(asyncio.run(main()))


def pools():
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

    for kind in (ThreadPoolExecutor, ProcessPoolExecutor):
        with kind(2) as pool:
            print(list(pool.map(square, range(4))))


def pickled():
    import pickle

    print(pickle.dumps(square), pickle.loads(pickle.dumps(square)) is square)


def dumped():
    import faulthandler
    import signal

    faulthandler.register(signal.SIGUSR1)
    os.kill(os.getpid(), signal.SIGUSR1)
    faulthandler.dump_traceback()


def in_a_thread():
    import threading

    thread = threading.Thread(target=lambda: {}["missing"], name="one")
    thread.start()
    thread.join()
    threading.Thread(target=sys.exit, args=(9,)).start()


def children_end():
    """Children are this process's own, and it has none but those."""
    import signal

    seen = []
    signal.signal(signal.SIGCHLD, lambda number, _: seen.append(number))
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        print("none")
    process = os.fork()
    if process == 0:
        os._exit(4)
    print(os.waitpid(process, 0)[1], seen)
    print(os.system("exit 5"), subprocess.call(["sh", "-c", "kill -9 $$"]))


def warned():
    warnings.warn("a warning")
    warnings.warn("old", DeprecationWarning)
    numpy.int_(3) / numpy.int_(0)


def threads():
    import threading

    found = []
    all_of_them = [threading.Thread(target=found.append, args=(n,)) for n in range(8)]
    for thread in all_of_them:
        thread.start()
    for thread in all_of_them:
        thread.join()
    print(sorted(found), threading.main_thread() is threading.current_thread())
    print(numpy.dot(numpy.ones((300, 300)), numpy.ones((300, 300))).sum())


def square(value):
    return value * value


def processes():
    import multiprocessing

    context = multiprocessing.get_context(sys.argv[2])
    with context.Pool(2) as pool:
        print(pool.map(square, range(5)))
    process = context.Process(target=print, args=("from a process",))
    process.start()
    process.join()
    print(process.exitcode, multiprocessing.current_process().name)


def seeded():
    import random

    random.seed(3)
    numpy.random.seed(3)
    print(random.random(), numpy.random.rand())


def chance():
    """Not to be compared: it must differ from start to start."""
    import multiprocessing
    import random
    import tempfile
    import uuid

    print(random.random())
    print(numpy.random.rand())
    print(numpy.random.default_rng().random())
    print(uuid.uuid4(), uuid.uuid1())
    print(next(tempfile._get_candidate_names()))
    print(bytes(multiprocessing.current_process().authkey).hex())


def logged():
    import logging

    logging.basicConfig(format="%(levelname)s %(message)s")
    logging.warning("to %s", "standard error")
    record = logging.LogRecord("x", 10, "y", 1, "z", (), None)
    print(0 <= record.relativeCreated < 5000)


def more():
    """Imports what nothing else here does."""
    import email.mime.multipart  # noqa: F401
    import http.cookiejar  # noqa: F401
    import sqlite3  # noqa: F401
    import unittest.mock  # noqa: F401
    import xml.dom.minidom  # noqa: F401


def terminal():
    import fcntl
    import struct
    import termios

    size = struct.unpack("HHHH", fcntl.ioctl(0, termios.TIOCGWINSZ, b"\0" * 8))
    print([os.isatty(fd) for fd in range(3)], os.ttyname(0) == os.ctermid() or "a terminal")
    print(os.tcgetpgrp(0) == os.getpgrp(), size, os.get_terminal_size())
    with open("/dev/tty", "w") as tty:
        tty.write("to the terminal\n")


def waits():
    """Until it is interrupted."""
    import signal
    import time

    if "--handle" in sys.argv:
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(40 + number))
        signal.signal(signal.SIGUSR1, lambda number, _: print("got", number, flush=True))
    try:
        print("waits", flush=True)
        while True:
            time.sleep(10)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        raise


if __name__ == "__main__":
    globals()[sys.argv[1]]()
