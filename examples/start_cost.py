"""The time of a program from its start to its first line and to its end, plainly and warm.

    python3 examples/start_cost.py [--preheat PATH] [--python PATH] [--starts N] [PROGRAM …]

Plain and warm starts are interleaved, so that drift on the machine affects both alike. The
first start of a program is not measured: it reads the files from the disk and writes missing
bytecode. The time is from before the process is created until the program reports its first
line; for PyTorch, until its first training iteration has ended. `check` is the part of a warm
start in which preheat verifies the inputs and forks, as `-v` reports it: median and maximum.
Programs whose modules are not installed are left out.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

TRAINING = """
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(16, 64)).square().mean().backward()
optimizer.step()
"""
PROGRAMS = {
    "nothing": "",
    "numpy": "import numpy",
    "torch": "import torch\n" + TRAINING,
    "torch-parser": """
import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1)
arguments = parser.parse_args()
print("training", arguments.steps, flush=True)
"""
    + TRAINING,
    "pandas-matplotlib": """
import pandas
import matplotlib.pyplot as plt
figure, axes = plt.subplots()
""",
}
FIRST_LINE = "\nimport os\nos.write(1, b'here')\n"
CHECK = re.compile(rb"started warm .* in ([0-9.]+) ms")


class Start:
    """Times of one start in milliseconds: to the first line, to the end, and of the check."""

    def __init__(self, command, environment):
        began = time.perf_counter()
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, env=environment, **pipes) as child:
            output = b""
            while not output.endswith(b"here"):
                more = os.read(child.stdout.fileno(), 4096)
                if not more:
                    raise SystemExit("the program failed: %s" % child.stderr.read().decode())
                output += more
            self.first = (time.perf_counter() - began) * 1e3
            messages = child.stderr.read()
        self.end = (time.perf_counter() - began) * 1e3
        found = CHECK.search(messages)
        self.check = float(found.group(1)) if found else None


def is_installed(python, text):
    imports = "\n".join(line for line in text.splitlines() if line.startswith("import "))
    return subprocess.run([python, "-c", imports], stderr=subprocess.DEVNULL).returncode == 0


def measure(preheat, program, starts, environment):
    """Interleaved plain and warm starts, and the number of starts that were not warm."""
    Start(preheat + program, environment)
    subprocess.run(preheat[:2] + ["--prepare", "--"] + program, env=environment, check=True)
    Start(preheat + program, environment)
    plain, warm, missed = [], [], 0
    while len(warm) < starts:
        if missed > starts:
            raise SystemExit("too few starts are warm: %s" % " ".join(preheat + program))
        plain.append(Start(program, environment))
        start = Start(preheat + program, environment)
        if start.check is None:
            missed += 1
        else:
            warm.append(start)
    return plain, warm, missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("--preheat", default="target/release/preheat")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--starts", type=int, default=15)
    arguments = parser.parse_args()
    unknown = set(arguments.programs) - set(PROGRAMS)
    if unknown:
        parser.error("unknown program %s" % ", ".join(sorted(unknown)))
    preheat = [os.path.abspath(arguments.preheat), "start", "-v", "--"]
    with tempfile.TemporaryDirectory() as directory:
        environment = dict(os.environ, XDG_RUNTIME_DIR=directory, XDG_CACHE_HOME=directory)
        version = subprocess.run(preheat[:1] + ["--version"], capture_output=True, text=True)
        load = os.getloadavg()[0]
        print("%s, load average %.1f" % (version.stdout.strip(), load))
        head = ("", "plain", "warm", "ratio", "plain, end", "warm, end", "ratio", "check")
        print("%-18s %10s %10s %7s %11s %11s %7s %14s" % head)
        for number, (name, text) in enumerate(PROGRAMS.items()):
            chosen = not arguments.programs or name in arguments.programs
            if not chosen or not is_installed(arguments.python, text):
                continue
            # Not by that name, which would hide what it imports.
            path = os.path.join(directory, "program_%d.py" % number)
            with open(path, "w") as file:
                file.write(text + FIRST_LINE)
            program = [arguments.python, path]
            plain, warm, missed = measure(preheat, program, arguments.starts, environment)
            row = [name]
            for time_to in ("first", "end"):
                of_plain, of_warm = (
                    statistics.median(getattr(start, time_to) for start in starts)
                    for starts in (plain, warm)
                )
                row += [of_plain, of_warm, of_plain / of_warm]
            checks = [start.check for start in warm]
            row += [statistics.median(checks), max(checks)]
            line = "%-18s %7.1f ms %7.1f ms %6.1fx %8.1f ms %8.1f ms %6.1fx %5.1f (%.1f) ms"
            note = "  (%d started plainly)" % missed if missed else ""
            print(line % tuple(row) + note, flush=True)
        subprocess.run(preheat[:2] + ["--stop", "all"], env=environment, check=True)


if __name__ == "__main__":
    main()
