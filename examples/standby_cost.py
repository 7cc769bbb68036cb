"""The time that a standby saves: plain, warm, hot and parked starts of GPU programs, interleaved.

    python3 examples/standby_cost.py --starts 5 linear resnet transformer

Needs PyTorch, a GPU and `preheat` (PREHEAT names another binary). Prints a line for each
configuration and writes standby.json. Every start prints a hash of its parameters or results:
it must be the same in all configurations. Programs: linear, resnet, transformer, loader, bert
(needs transformers), compiled (torch.compile), jax and cupy. JAX has a compilation cache, except
with `--no-cache`, which adds a configuration without one.

All programs are prepared first, at the same time. Then each round has one start of each program in
each configuration, in random order; with `--alternate`, plain and warm ones only in every second
round. `--seconds` begins no more rounds after that time.

`--beside` measures instead what preparing costs another program that uses the GPU: a ResNet-50
training runs while standbys of the programs are prepared, one after the other.

`--at-once N` measures instead N standbys of each form: prepared in one call, used at the same time.
"""

import argparse
import concurrent.futures
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

PREHEAT = os.environ.get("PREHEAT", "preheat")

# Each program ends its first iteration with `first_end`, and reports times and a hash. `own` is the
# CPU time of its main thread until then, without imports at the top, and with time that it spins
# in calls of the driver.
COMMON = """
import hashlib, json, time
import torch
torch.manual_seed(0)
times, ends, cpu = [], [], [time.thread_time()]
def timed(step, count):
    for _ in range(count):
        began = time.perf_counter()
        result = step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
        ends.append(time.clock_gettime(time.CLOCK_MONOTONIC))
        cpu.append(time.thread_time())
    return result
def report(tensors):
    data = b"".join(each.detach().cpu().numpy().tobytes() for each in tensors)
    steady = sorted(times[5:])
    print(json.dumps({"first_end": ends[0], "first": times[0], "steady": steady[len(steady) // 2],
                      "own": cpu[1] - cpu[0], "hash": hashlib.sha256(data).hexdigest()[:16]}))
"""

# The same without PyTorch.
OTHERS = """
import hashlib, json, time
times, ends, cpu = [], [], [time.thread_time()]
def timed(step, count):
    for _ in range(count):
        began = time.perf_counter()
        result = step()
        times.append(time.perf_counter() - began)
        ends.append(time.clock_gettime(time.CLOCK_MONOTONIC))
        cpu.append(time.thread_time())
    return result
def report(data):
    steady = sorted(times[5:])
    print(json.dumps({"first_end": ends[0], "first": times[0], "steady": steady[len(steady) // 2],
                      "own": cpu[1] - cpu[0], "hash": hashlib.sha256(data).hexdigest()[:16]}))
"""

PROGRAMS = {
    "linear": """
model = torch.nn.Linear(10, 10).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step():
    data = torch.randn(10, 10, device="cuda")
    optimizer.zero_grad()
    model(data).sum().backward()
    optimizer.step()
timed(step, 20)
report(model.parameters())
""",
    "resnet": """
import torchvision
torch.backends.cudnn.deterministic = True
model = torchvision.models.resnet50().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
def step():
    data = torch.randn(8, 3, 224, 224, device="cuda")
    labels = torch.randint(0, 1000, (8,), device="cuda")
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(data), labels).backward()
    optimizer.step()
timed(step, 12)
report(model.parameters())
""",
    "transformer": """
layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
model = torch.nn.TransformerEncoder(layer, 8).half().cuda().eval()
data = torch.randn(4, 128, 512, device="cuda").half()
with torch.inference_mode():
    result = timed(lambda: model(data), 20)
report([result])
""",
    "loader": """
import torchvision
from torch.utils.data import DataLoader, TensorDataset
model = torchvision.models.mobilenet_v3_small(num_classes=10).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
images = TensorDataset(torch.rand(96, 3, 96, 96), torch.arange(96) % 10)
batches = iter(DataLoader(images, batch_size=8, num_workers=2, pin_memory=True))
def step():
    data, labels = (each.cuda(non_blocking=True) for each in next(batches))
    optimizer.zero_grad()
    with torch.autocast("cuda"):
        loss = torch.nn.functional.cross_entropy(model(data), labels)
    loss.backward()
    optimizer.step()
    return loss
report([timed(step, 12)])
""",
    "bert": """
from transformers import BertConfig, BertModel
model = BertModel(BertConfig(num_hidden_layers=6)).cuda().eval()
words = torch.arange(256, device="cuda").reshape(2, 128)
with torch.inference_mode():
    result = timed(lambda: model(input_ids=words).last_hidden_state, 20)
report([result])
""",
    "compiled": """
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.Linear(256, 64))
model = model.cuda()
compiled = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def step():
    optimizer.zero_grad()
    compiled(torch.randn(64, 256, device="cuda")).square().mean().backward()
    optimizer.step()
timed(step, 20)
report(model.parameters())
""",
    "jax": """
import jax, jax.numpy as jnp
def loss(weights, x, y):
    for weight in weights[:-1]:
        x = jax.nn.relu(x @ weight)
    return jnp.mean((x @ weights[-1] - y) ** 2)
@jax.jit
def train(weights, x, y):
    gradients = jax.grad(loss)(weights, x, y)
    return [weight - 0.01 * gradient for weight, gradient in zip(weights, gradients)]
keys = jax.random.split(jax.random.key(0), 3)
weights = [0.05 * jax.random.normal(key, (512, 512)) for key in keys]
x, y = jnp.ones((64, 512)), jnp.zeros((64, 512))
def step():
    global weights
    weights = jax.block_until_ready(train(weights, x, y))
timed(step, 20)
report(b"".join(jax.device_get(weight).tobytes() for weight in weights))
""",
    "cupy": """
import cupy
a = cupy.arange(512 * 512, dtype="float32").reshape(512, 512) / 1e6
def step():
    global a
    a = cupy.tanh(a @ a)
    cupy.cuda.runtime.deviceSynchronize()
timed(step, 20)
report(cupy.asnumpy(a).tobytes())
""",
}
WITHOUT_TORCH = ("jax", "cupy")
CACHE = "JAX_COMPILATION_CACHE_DIR"


def environment(name, directory):
    """The variables of a program."""
    if name != "jax":
        return dict(os.environ)
    return {
        **os.environ,
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        CACHE: os.path.join(directory, "jax-cache"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


# Prints the end and the duration of each step, until it is killed.
BESIDE = """
import time
import torch, torchvision
model = torchvision.models.resnet50().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
data = torch.randn(32, 3, 224, 224, device="cuda")
while True:
    began = time.perf_counter()
    optimizer.zero_grad()
    model(data).sum().backward()
    optimizer.step()
    torch.cuda.synchronize()
    print(time.clock_gettime(time.CLOCK_MONOTONIC), time.perf_counter() - began, flush=True)
"""

VERBOSE = [PREHEAT, "start", "-v", "--patience", "5"]
FORMS = ("hot", "parked")
CONFIGURATIONS = {
    "plain": [],
    "warm": [*VERBOSE, "--"],
    "hot": [*VERBOSE, "--standby=hot", "--"],
    "parked": [*VERBOSE, "--standby=parked", "--"],
}


class Program:
    def __init__(self, name, directory, with_no_cache):
        self.name, self.path = name, os.path.join(directory, f"train_{name}.py")
        with open(self.path, "w") as file:
            file.write((OTHERS if name in WITHOUT_TORCH else COMMON) + PROGRAMS[name])
        self.environment = environment(name, directory)
        # JAX cannot be parked.
        self.forms = FORMS[:1] if name == "jax" else FORMS
        skipped = set(FORMS) - set(self.forms)
        self.configurations = {
            key: words for key, words in CONFIGURATIONS.items() if key not in skipped
        }
        if with_no_cache and CACHE in self.environment:
            self.configurations["no-cache"] = []
        self.starts = {configuration: [] for configuration in self.configurations}
        self.learning, self.prepared, self.failed = None, {}, None

    def start(self, configuration):
        variables = dict(self.environment)
        if configuration == "no-cache":
            del variables[CACHE]
        words = [*self.configurations[configuration], sys.executable, self.path]
        began = time.clock_gettime(time.CLOCK_MONOTONIC)
        done = subprocess.run(words, capture_output=True, text=True, env=variables)
        ended = time.clock_gettime(time.CLOCK_MONOTONIC)
        if done.returncode != 0:
            raise OSError(f"exit code {done.returncode}: {done.stderr}")
        result = json.loads(done.stdout.splitlines()[-1])
        result["time_to_first"] = result.pop("first_end") - began
        result["wall"] = ended - began
        result["said"] = [line for line in done.stderr.splitlines() if line.startswith("preheat")]
        return result

    def prepare(self, form, count=1):
        words = [PREHEAT, "start", "--prepare", f"--standby={form}"]
        words += ["--standby-count", str(count), "--", sys.executable]
        began = time.monotonic()
        done = subprocess.run(
            [*words, self.path], capture_output=True, text=True, env=self.environment
        )
        if done.returncode != 0:
            raise OSError(f"--prepare: exit code {done.returncode}: {done.stderr}")
        return time.monotonic() - began

    def learn(self):
        """A plain start that fills caches and writes bytecode, one that learns, and the
        preparation."""
        try:
            self.start("plain")
            self.learning = self.start("hot")
            self.prepared = {form: self.prepare(form) for form in self.forms}
        except (OSError, ValueError, IndexError) as error:
            self.failed = str(error)

    def round(self, number, alternates):
        """One start of each configuration, in an order that is the same each time. The next
        standby is ready before the next start begins."""
        order = list(self.forms if alternates and number % 2 else self.configurations)
        random.Random(number).shuffle(order)
        try:
            for name in order:
                self.starts[name].append(self.start(name))
                if name in self.forms:
                    self.prepare(name)
        except (OSError, ValueError, IndexError) as error:
            self.failed = str(error)

    def result(self):
        kept = ("learning", "prepared", "starts", "failed")
        return {name: getattr(self, name) for name in kept if getattr(self, name)}

    def report(self):
        if self.failed:
            print(self.name, "failed:", self.failed)
        for configuration, starts in self.starts.items():
            if starts:
                medians = [
                    f"{key} {statistics.median(each[key] for each in starts):.4f} s"
                    for key in ("time_to_first", "first", "steady", "own", "wall")
                ]
                print(self.name, configuration, *medians, {each["hash"] for each in starts})


def measure_beside(programs):
    """The steps of another program alone, and while standbys are prepared."""
    for program in programs:
        program.start("plain")
        program.start("hot")
        for form in program.forms:
            program.prepare(form)
    path = os.path.join(os.path.dirname(programs[0].path), "beside.py")
    with open(path, "w") as file:
        file.write(BESIDE)
    other = subprocess.Popen([sys.executable, path], stdout=subprocess.PIPE, text=True)
    steps = []

    def read():
        for line in other.stdout:
            steps.append(tuple(map(float, line.split())))

    threading.Thread(target=read, daemon=True).start()
    while len(steps) < 50:
        if other.poll() is not None:
            raise SystemExit("the other program has ended")
        time.sleep(0.1)
    phases = []

    def phase(name, action):
        began = time.clock_gettime(time.CLOCK_MONOTONIC)
        action()
        phases.append((name, began, time.clock_gettime(time.CLOCK_MONOTONIC)))

    for program in programs:
        for form in program.forms:
            phase("alone", lambda: time.sleep(3))
            # The next one is prepared when this program has ended.
            program.start(form)
            phase(f"{program.name}, {form}", lambda: program.prepare(form))
    other.kill()
    other.wait()
    result = []
    for name, began, end in phases:
        during = sorted(lasted for at, lasted in steps if began < at - lasted and at < end)
        if during:
            median = during[len(during) // 2]
            most = {"median": median, "longest": during[-1], "steps": len(during)}
            result.append({"phase": name, "seconds": end - began, **most})
            print(f"{name}: {end - began:.2f} s, {len(during)} steps,", end=" ")
            print(f"median {median * 1e3:.1f} ms, longest {during[-1] * 1e3:.1f} ms")
    return result


def device_memory():
    """MiB in use on each GPU, by all processes."""
    asked = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    return [int(line) for line in done.stdout.split()]


def listed(directory):
    done = subprocess.run([PREHEAT, "start", "--list", "-v"], capture_output=True, text=True)
    return done.stdout.replace(directory, "")


def measure_at_once(program, count):
    """`count` standbys of each form: the preparation, the memory they hold, and their starts."""
    directory = os.path.dirname(program.path)
    result = {"memory_before": device_memory(), "plain": program.start("plain")}
    program.start("hot")
    program.prepare("hot")
    for form in program.forms:
        # The standbys of the previous form would hold memory too.
        subprocess.run([PREHEAT, "start", "--stop"], check=True)
        took = program.prepare(form, count)
        held = {"memory": device_memory(), "listed": listed(directory)}
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            starts = list(pool.map(lambda _: program.start(form), range(count)))
        served = sum(f"the {form} standby" in " ".join(each["said"]) for each in starts)
        hashes = {each["hash"] for each in (result["plain"], *starts)}
        result[form] = {"prepared_after": took, **held, "served": served, "starts": starts}
        slowest = max(each["time_to_first"] for each in starts)
        print(f"{program.name}, {form}: {count} prepared in {took:.1f} s, {served} used at once,")
        print(f"  the slowest after {slowest:.3f} s, MiB on the GPUs {held['memory']}, {hashes}")
    return result


def save(result, path):
    with open(path, "w") as file:
        json.dump(result, file, indent=1)


def main():
    began = time.monotonic()
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*", default=["linear"], choices=PROGRAMS)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--alternate", action="store_true")
    parser.add_argument("--no-cache", action="store_true")
    parser.add_argument("--beside", action="store_true")
    parser.add_argument("--at-once", type=int, metavar="N")
    parser.add_argument("--output", default="standby.json")
    asked = parser.parse_args()
    result = {"command": " ".join(["python3", *sys.argv]), "programs": {}}
    with tempfile.TemporaryDirectory() as directory:
        programs = [Program(name, directory, asked.no_cache) for name in asked.programs]
        if asked.beside:
            result["beside"] = measure_beside(programs)
            subprocess.run([PREHEAT, "start", "--stop"], check=True)
            return save(result, asked.output)
        if asked.at_once:
            for program in programs:
                result["programs"][program.name] = measure_at_once(program, asked.at_once)
                save(result, asked.output)
            subprocess.run([PREHEAT, "start", "--stop"], check=True)
            result["memory_after"] = device_memory()
            return save(result, asked.output)
        threads = [threading.Thread(target=program.learn) for program in programs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        result["prepared_after"] = time.monotonic() - began
        result["listed"] = listed(directory)
        for number in range(asked.starts):
            for program in programs:
                if not program.failed and time.monotonic() - began < asked.seconds:
                    program.round(number, asked.alternate)
            # After each round, in case there is no time for the next.
            result["programs"] = {program.name: program.result() for program in programs}
            save(result, asked.output)
        for program in programs:
            program.report()
    subprocess.run([PREHEAT, "start", "--stop"], check=True)


if __name__ == "__main__":
    main()
