"""What `preheat run` costs: plain, recorded and profiled starts, in one random series.

    python examples/cost.py --preheat target/release/preheat linear.py
    python examples/cost.py --starts 8 --json cost.json resnet50.py train

Prints medians over the starts and their ratios to the plain ones: the time to the end of the
first iteration, the first iteration, and the steady one (the median, and the fastest tenth, of
the later half). Starts differ by more than recording costs: --cores keeps all of them on the
same few cores, and many starts help.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def start(kind, arguments, scratch, number):
    """One start; its own timers."""
    timers = scratch / f"{kind}-{number}.json"
    command = [sys.executable, str(HERE / arguments.script), *arguments.arguments]
    environment = {**os.environ, "TIMERS": str(timers)}
    if kind == "profiled":
        environment["PROFILER"] = "1"
    if kind == "recorded":
        recording = scratch / f"recording-{number}"
        command = [arguments.preheat, "run", "--starts", "1", "--output", str(recording), "--", *command]
    environment["BEGAN"] = repr(time.monotonic())
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return json.loads(timers.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preheat", default="preheat", help="the program to measure")
    parser.add_argument("--starts", type=int, default=6, help="starts of each kind")
    parser.add_argument("--seed", type=int, default=1, help="seeds the order")
    parser.add_argument("--no-profiler", action="store_true", help="leave torch.profiler out")
    parser.add_argument("--cores", type=int, help="run on so many cores, always the same")
    parser.add_argument("--json", help="write all numbers to this file")
    parser.add_argument("script", help="an example beside this file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    arguments = parser.parse_args()

    if arguments.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.cores])
    kinds = ["plain", "recorded"] + ([] if arguments.no_profiler else ["profiled"])
    order = kinds * arguments.starts
    random.Random(arguments.seed).shuffle(order)
    names = ["time to first", "first", "steady", "fastest"]
    measured = {kind: {name: [] for name in names} for kind in kinds}
    with tempfile.TemporaryDirectory() as scratch:
        # One that is not counted: whoever comes first finds colder disks.
        start("plain", arguments, Path(scratch), "warm")
        for number, kind in enumerate(order):
            timers = start(kind, arguments, Path(scratch), number)
            iterations = timers["iterations"]
            measured[kind]["time to first"].append(timers["time to first"])
            measured[kind]["first"].append(iterations[0])
            late = sorted(iterations[len(iterations) // 2 :])
            measured[kind]["steady"].append(statistics.median(late))
            measured[kind]["fastest"].append(late[len(late) // 10])

    print(f"{' '.join([arguments.script, *arguments.arguments])}, {arguments.starts} starts of each kind")
    print(f"{'':9}" + "".join(f"{name:>22}" for name in names))
    for kind in kinds:
        cells = []
        for name in names:
            value = statistics.median(measured[kind][name])
            plain = statistics.median(measured["plain"][name])
            cells.append(f"{1e3 * value:.3f} ms {value / plain:.3f}×")
        print(f"{kind:9}" + "".join(f"{cell:>22}" for cell in cells))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(measured, indent=1) + "\n")


if __name__ == "__main__":
    main()
