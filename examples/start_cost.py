"""The time of a program from its start to its first line, plainly and warm.

    python3 examples/start_cost.py [--preheat PATH] [--python PATH] [--starts N]

Plain and warm starts are interleaved, so that drift on the machine affects both alike. The
time is from before the process is created until the program reports its first line; for
PyTorch, until its first training iteration has ended.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAMS = {
    "nothing": "",
    "numpy": "import numpy",
    "torch, first iteration": """
import torch
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.randn(16, 64)).square().mean().backward()
optimizer.step()
""",
}
SAYS = "\nimport os\nos.write(1, b'here')\n"


def seconds(command, environment):
    """From before the start to the first byte, and to the end."""
    began = time.perf_counter()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, **pipes) as child:
        first = child.stdout.read(4)
        there = time.perf_counter() - began
        said = child.stderr.read()
    ended = time.perf_counter() - began
    if first != b"here":
        raise SystemExit("the program failed: %s" % said.decode())
    return there, ended, b"started warm" in said


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--preheat", default="target/release/preheat")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--starts", type=int, default=15)
    arguments = parser.parse_args()
    preheat = [os.path.abspath(arguments.preheat), "start", "-v", "--"]
    with tempfile.TemporaryDirectory() as directory:
        environment = dict(os.environ, XDG_RUNTIME_DIR=directory, XDG_CACHE_HOME=directory)
        head = ("", "plain", "warm", "ratio", "plain, end", "warm, end")
        print("%-24s %10s %10s %7s %12s %12s" % head)
        for number, (name, text) in enumerate(PROGRAMS.items()):
            # Not by that name, which would hide what it imports.
            path = os.path.join(directory, "program_%d.py" % number)
            with open(path, "w") as file:
                file.write(text + SAYS)
            program = [arguments.python, path]
            # Until there is a parent.
            while not seconds(preheat + program, environment)[2]:
                pass
            plain, warm, missed = [], [], 0
            while len(warm) < arguments.starts:
                plain.append(seconds(program, environment))
                there = seconds(preheat + program, environment)
                missed += not there[2]
                if there[2]:
                    warm.append(there)
            times = [
                statistics.median(start[at] for start in starts) * 1e3
                for at in (0, 1)
                for starts in (plain, warm)
            ]
            note = "  (%d started plainly)" % missed if missed else ""
            times.insert(2, times[0] / times[1])
            line = "%-24s %7.1f ms %7.1f ms %6.1fx %9.1f ms %9.1f ms"
            print(line % (name, *times) + note)
        subprocess.run(preheat[:2] + ["--stop", "all"], env=environment, check=True)


if __name__ == "__main__":
    main()
