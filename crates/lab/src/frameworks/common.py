# Put before each framework's script: the orders, the clock and the lines to write.
import json
import sys
import time

JOB = json.loads(sys.argv[1])
EXPERIMENT = JOB["experiment"]
VARIANT = JOB["variant"]
DEVICE = JOB["device"]
QUICK = JOB["quick"]
OUTPUT = open(JOB["output"], "w", encoding="utf-8")
clock = time.perf_counter

TENSOR = 1024  # a 1024 x 1024 float32 tensor, 4 MiB


def write(**line):
    OUTPUT.write(json.dumps(line) + "\n")
    OUTPUT.flush()


def iterations(name, values, size=None):
    write(line="sample", name=name, kind="iterations", size=size, values=values)


def stage(name, seconds):
    write(line="sample", name=name, kind="stage", values=[seconds])


def memory(name, values):
    write(line="sample", name=name, kind="memory", values=values)


def count(name, values):
    write(line="sample", name=name, kind="count", values=values)


def skip(what, why):
    write(line="skipped", what=what, why=why)


def fail(why):
    write(line="failed", why=why)
    sys.exit(1)


def void(why):
    """Nothing that was measured counts."""
    write(line="void", why=why)
    sys.exit(1)


def pick(full, quick):
    return quick if QUICK else full


def resident():
    """Resident memory of this process in bytes."""
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return float(line.split()[1]) * 1024
    return 0.0


def sizes(largest):
    size = 4 << 10
    while size <= largest:
        yield size
        size *= 4


def timed(work):
    start = clock()
    value = work()
    return clock() - start, value


# The networks of `infer`: batch, inputs, width.
MLP_SHAPE = (16, 512, 512) if VARIANT == "mlp, large" else (1, 64, 128)


