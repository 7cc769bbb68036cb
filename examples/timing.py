"""What an example measures of itself, so that a report can be compared with it.

TIMERS names a file for the result, in seconds; %p in it is the process. BEGAN is `time.monotonic()` of whoever
started the example, just before; with it the time to the end of the first iteration is
known too. PROFILER=1 runs the iterations under torch.profiler, to compare what that costs.
ALTERNATE=1, under `preheat run`, alternates after a lead-in: every other iteration is not recorded,
and those between are in turn recorded without and with detail.
"""

import contextlib
import ctypes
import json
import os
import time


# How an iteration is recorded, as the recorder is told.
RECORDED, PAUSED, DETAILED, SPARSE = 0, 1, 2, 3
# Recording in windows repeats itself after so many iterations: so many of them in detail.
PERIOD, WINDOW = 128, 8
# Until it does so there are 64 in detail, 24 + 8 and 56 + 8.
LEAD_IN = 64 + 32 + 64


def how(number):
    """How an iteration is recorded."""
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
        """Everything within, until the device is done with it."""
        began = time.perf_counter()
        yield
        self.synchronize()
        self.seconds[name] = time.perf_counter() - began

    def loop(self, count):
        """Iterations that are timed one by one, each until the device is done with it."""
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
        """To where TIMERS says."""
        if "TIMERS" in os.environ:
            with open(os.environ["TIMERS"].replace("%p", str(os.getpid())), "w") as file:
                json.dump({**self.seconds, "iterations": self.iterations}, file)


def profiler():
    """torch.profiler, if it is asked for."""
    if os.environ.get("PROFILER") != "1":
        return contextlib.nullcontext()
    import torch

    return torch.profiler.profile()


def pausing():
    """What tells the recorder how an iteration is recorded, if that is asked for."""
    if os.environ.get("ALTERNATE") != "1":
        return lambda number: None
    tell = ctypes.CDLL(None).preheat_pause
    return lambda number: tell(how(number))


def count(default):
    """How many iterations: ITERATIONS, or the default."""
    return int(os.environ.get("ITERATIONS", default))
