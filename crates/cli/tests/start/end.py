"""Programs that do something when they end; the first argument chooses how."""

import atexit
import colorsys
import gc
import io
import logging
import os
import sys
import weakref

import numpy

# No other module imports it, so only the garbage collector frees it at the end.
library = colorsys


class Kept:
    def __init__(self, name):
        self.name = name

    def __del__(self, write=os.write):
        write(1, ("deleted %s\n" % self.name).encode())


class Handler(logging.Handler):
    def __del__(self, write=os.write):
        write(1, b"deleted a handler\n")


def nothing():
    print("nothing special")


def stored_in_library():
    library.kept = Kept("in a library")
    numpy.core_of_mine = [Kept("in numpy")]
    logging.getLogger("mine").addHandler(Handler())


def in_main():
    globals()["kept"] = Kept("in the program")


def cycle():
    one = Kept("a cycle")
    one.me = one
    library.cycle = Kept("a cycle in a library")
    library.cycle.module = library


def file_in_library():
    # The buffer is written when the file is freed.
    library.file = open("left.txt", "w")
    library.file.write("written at the end")


def generator_in_library():
    def generate():
        try:
            yield 1
        finally:
            os.write(1, b"the generator ends\n")

    library.generator = generate()
    next(library.generator)


def weak():
    class Local:
        pass

    library.local = Local()
    library.weak = weakref.ref(library.local, lambda _, write=os.write: write(1, b"gone\n"))
    library.final = weakref.finalize(library.local, print, "finalized")


def database():
    import sqlite3

    library.connection = sqlite3.connect("data.db")
    library.connection.execute("PRAGMA journal_mode=WAL")
    library.connection.execute("CREATE TABLE IF NOT EXISTS t (x)")
    library.connection.commit()


def threads():
    import threading

    thread = threading.Thread(target=lambda: (threading.main_thread().join(), print("late")))
    thread.start()
    atexit.register(print, "at exit")


def forks():
    sys.stdout.flush()
    if os.fork() == 0:
        library.kept = Kept("in a child")
        sys.exit(4)
    print(os.waitstatus_to_exitcode(os.wait()[1]))


def fails_in_finalizer():
    class Bad:
        def __del__(self):
            raise OSError("at the end")

    library.bad = Bad()
    sys.exit(3)


def broken_output():
    os.close(1)
    print("nobody reads this")


def in_memory():
    library.text = io.StringIO("x")
    raise ValueError("an end")


def empty_slots():
    # The garbage collector does not know objects of such a class.
    class Unseen:
        __slots__ = ()

        def __del__(self, write=os.write):
            write(1, b"deleted an unseen object\n")

    library.unseen = Unseen()


def own_stream():
    class Stream:
        def write(self, text):
            return len(text)

        def flush(self):
            import logging as found

            os.write(1, b"flushed, %s\n" % str(found is logging).encode())

    sys.stdout = Stream()
    print("nobody reads this")


def daemon():
    import threading

    threading.Thread(target=threading.Event().wait, daemon=True).start()
    print("one thread is left")


def native_library():
    import ctypes

    library.native = ctypes.CDLL("./libutil.so")


def native_buffer():
    # The C library writes its own buffer at the end.
    import ctypes

    ctypes.CDLL(None).printf(b"from C\n")
    sys.exit(5)


def native_handler():
    # By a name that is not in this file: else it would be called.
    import ctypes

    handler = ctypes.cast(ctypes.CDLL(None).puts, ctypes.c_void_p)
    ctypes.CDLL(None)["__cxa_" + "atexit"](handler, b"called by the C library", None)


def closed_socket():
    import socket

    globals()["kept"] = socket.socket()
    kept.close()
    native_handler()


def open_socket():
    import socket

    globals()["kept"] = socket.socket()
    native_handler()


def exempt():
    # By a name that is not in this file: else nothing would be exempt.
    print(getattr(gc, "_".join(["get", "freeze", "count"]))() > 0)


globals()[sys.argv[1]]()
