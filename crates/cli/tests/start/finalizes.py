"""Programs with finalizers; the first argument chooses one."""

import atexit
import os
import sys

import numpy  # noqa: F401


def at_exit():
    atexit.register(print, "first")
    atexit.register(print, "second")

    class Last:
        def __del__(self):
            print("del")

    global last
    last = Last()
    atexit.register(int, "no number")


def finalized():
    """All that happens when Python ends, in its order."""
    import gc
    import threading
    import weakref

    class Last:
        def __init__(self, name):
            self.name = name

        def __del__(self):
            os.write(1, b"del %s\n" % self.name)

    def generator():
        try:
            yield
        finally:
            os.write(1, b"generator\n")

    global last, held, suspended
    last, suspended = Last(b"global"), generator()
    next(suspended)
    cycle = Last(b"cycle")
    cycle.itself = cycle
    held = type("Held", (), {"of_class": Last(b"class")})
    weakref.finalize(last, os.write, 1, b"finalize\n")
    # The main thread counts as ended once Python waits for others, after it has flushed its output.
    ended = threading.main_thread().join
    threading.Thread(target=lambda: (ended(), os.write(1, b"thread\n"))).start()
    atexit.register(os.write, 1, b"atexit\n")
    sys.stdout.write("buffered\n")
    print(gc.isenabled(), gc.get_threshold(), gc.callbacks)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
