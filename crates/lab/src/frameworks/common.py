# Prepended to each framework's script: the job, the clock and the output lines.
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
    """Invalidates everything measured so far."""
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


def nvml_device():
    """NVML and its handle for the first visible GPU, or None. NVML needs no context."""
    import ctypes
    import os

    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    device = ctypes.c_void_p()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
    if nvml.nvmlInit_v2() != 0:
        return None
    if visible.isdigit():
        code = nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(int(visible)), ctypes.byref(device))
    else:
        code = nvml.nvmlDeviceGetHandleByUUID(visible.encode(), ctypes.byref(device))
    return (nvml, device) if code == 0 else None


NVML = []  # initialized once, after the first inference


def device_memory():
    """Bytes in use on the GPU by all processes, for frameworks that do not report it."""
    import ctypes

    class Memory(ctypes.Structure):
        _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]

    if not NVML:
        NVML.append(nvml_device())
    if NVML[0] is None:
        return None
    nvml, device = NVML[0]
    found = Memory()
    code = nvml.nvmlDeviceGetMemoryInfo(device, ctypes.byref(found))
    return float(found.used) if code == 0 else None


class MemoryReadings:
    """Memory before the first inference and after each. On a GPU, memory in use before the
    first counts as 0: querying it would need a context, which itself uses most of it."""

    def __init__(self, of_device=device_memory, of_arrays=lambda: None):
        self.of = {"device memory": of_device, "device memory, arrays": of_arrays}
        if DEVICE != "cuda":
            self.of = {}
        self.host = [resident()]
        self.device = {name: [read() if ON_DEVICE else 0.0] for name, read in self.of.items()}

    def read(self):
        """Reads and discards, so that a timed inference always follows a reading."""
        resident()
        for read in self.of.values():
            read()

    def keep(self):
        self.host.append(resident())
        for name, read in self.of.items():
            self.device[name].append(read())

    def write(self):
        memory("host memory", self.host)
        for name, values in self.device.items():
            if None not in values:
                memory(name, values)


def sizes(largest):
    size = 4 << 10
    while size <= largest:
        yield size
        size *= 4


def timed(work):
    start = clock()
    value = work()
    return clock() - start, value


# True if model and input are on the device before the timer starts.
ON_DEVICE = "model on the device" in VARIANT
# The network of `infer`.
MODEL = VARIANT.replace(", model on the device", "")
# The MLPs: batch, inputs, width.
MLP_SHAPE = (16, 512, 512) if MODEL == "mlp, large" else (1, 64, 128)
# The U-Net, whose activations are far larger than its weights: the channels of its levels,
# and the width and height of its input.
UNET_CHANNELS = (16, 32, 64)
UNET_SIZE = 256


