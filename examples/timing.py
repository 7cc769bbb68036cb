"""Timers for the examples, so that a report can be compared with the program's own times.

TIMERS names a file for the result, in seconds; %p in it is the process. BEGAN is `time.monotonic()` just before
the example was started; with it, the time to the end of the first iteration is measured too.
PROFILER=1 runs the iterations under torch.profiler, to measure its overhead. ALTERNATE=1, under
`preheat run`, switches recording after a lead-in: every other iteration is not recorded; those
between are recorded alternately without and with detail.
"""

import contextlib
import ctypes
import json
import os
import time


# The modes of recording an iteration, as numbers for the recorder.
RECORDED, PAUSED, DETAILED, SPARSE = 0, 1, 2, 3
# In windows, WINDOW of every PERIOD iterations are recorded in detail.
PERIOD, WINDOW = 128, 8
# Before that: 64 iterations in detail, then 24 + 8 and 56 + 8.
LEAD_IN = 64 + 32 + 64


def how(number):
    """Returns the mode in which an iteration is recorded."""
    if number < LEAD_IN:
        return RECORDED
    return (PAUSED, SPARSE, PAUSED, DETAILED)[number % 4]


class Timers:
    """Named times, and a list of iterations."""

    def __init__(self, synchronize=lambda: None):
        self.seconds = {}
        self.iterations = []
        self.synchronize = synchronize

    @contextlib.contextmanager
    def measured(self, name):
        """Times the block, until the device has finished its work."""
        began = time.perf_counter()
        yield
        self.synchronize()
        self.seconds[name] = time.perf_counter() - began

    def loop(self, count):
        """Yields iterations, and times each until the device has finished its work."""
        pause = pausing()
        with profiler():
            for number in range(count):
                pause(number)
                self.synchronize()
                began = time.perf_counter()
                yield
                self.synchronize()
                self.iterations.append(time.perf_counter() - began)
                if len(self.iterations) == 1 and "BEGAN" in os.environ:
                    self.seconds["time to first"] = time.monotonic() - float(os.environ["BEGAN"])

    def write(self):
        """Writes the times to the file TIMERS."""
        if "TIMERS" in os.environ:
            with open(os.environ["TIMERS"].replace("%p", str(os.getpid())), "w") as file:
                json.dump({**self.seconds, "iterations": self.iterations}, file)


def profiler():
    """Returns torch.profiler if PROFILER=1."""
    if os.environ.get("PROFILER") != "1":
        return contextlib.nullcontext()
    import torch

    return torch.profiler.profile()


def pausing():
    """Returns a function that sets the mode of the recorder if ALTERNATE=1."""
    if os.environ.get("ALTERNATE") != "1":
        return lambda number: None
    pause = ctypes.CDLL(None).preheat_pause
    return lambda number: pause(how(number))


def count(default):
    """Returns the number of iterations: ITERATIONS, or the default."""
    return int(os.environ.get("ITERATIONS", default))
