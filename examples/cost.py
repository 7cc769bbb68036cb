"""What `preheat run` costs: plain, recorded and profiled starts, in one random series.

    python examples/cost.py --preheat target/release/preheat linear.py
    python examples/cost.py --starts 8 --json cost.json resnet50.py train

Prints medians over the starts and their ratios to the plain ones: the time to the end of the
first iteration, the first iteration, and the steady one (the median, and the fastest tenth, of
the later half), with 95 % intervals of the ratios from resampled starts. On a shared machine
starts differ by more than recording costs, mostly because a neighbour slows some of the cores:
--cores gives each start the few that are fastest at that moment, and many starts help.

    python examples/cost.py --within --starts 5 --rounds 6 resnet50.py infer

--within compares blocks of iterations of one and the same start: what a neighbour does then hits
neighbouring blocks alike. One block of each round is recorded as it ever is in a steady program (in
detail in windows), one is not recorded, and one is all in detail; timing.py says how long they are.
What a user pays is the mean: so the ratio of the means of neighbouring blocks is taken, without the
iterations that took half as long again as the median and were interrupted, and the median of that over
all rounds and starts, with a 95 % interval from resampled starts and rounds. That calls
pass through the recorder at all costs some nanoseconds more for each, in all blocks alike
(`cargo bench -p preheat-shim --bench intercept`), and so do the marks that Python sets.
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

import timing

HERE = Path(__file__).resolve().parent


# An iteration that takes so many times the median of its round was interrupted by others: no
# record costs that much.
INTERRUPTED = 1.5


def fastest_cores(count, cores):
    """Those that a short loop takes the least time on, just now."""
    measured = []
    for core in cores:
        os.sched_setaffinity(0, [core])
        least = float("inf")
        for _ in range(3):
            began = time.perf_counter()
            for _ in range(50_000):
                pass
            least = min(least, time.perf_counter() - began)
        measured.append((least, core))
    return [core for _, core in sorted(measured)[:count]]


def ratio(values, plain, rng, resamples=4000):
    """The ratio of medians and its 95 % interval."""

    def resampled(of):
        return statistics.median(rng.choices(of, k=len(of)))

    ratios = sorted(resampled(values) / resampled(plain) for _ in range(resamples))
    middle = statistics.median(values) / statistics.median(plain)
    return middle, ratios[resamples // 40], ratios[-resamples // 40]


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


def blocks(iterations):
    """The means of the blocks of each round, by how they are recorded."""
    rounds = []
    for begin in range(timing.LEAD_IN, len(iterations) - 3 * timing.BLOCK + 1, 3 * timing.BLOCK):
        most = INTERRUPTED * statistics.median(iterations[begin : begin + 3 * timing.BLOCK])
        found = {}
        for place in range(begin, begin + 3 * timing.BLOCK, timing.BLOCK):
            # The first ones find caches as another kind of block has left them.
            block = iterations[place + 2 : place + timing.BLOCK]
            found[timing.how(place)] = statistics.mean(time for time in block if time <= most)
        rounds.append(found)
    return rounds


def typical(starts, rng, resamples=4000):
    """The median over the rounds of all starts, and its 95 % interval."""

    def resampled():
        chosen = rng.choices(starts, k=len(starts))
        return statistics.median([value for start in chosen for value in rng.choices(start, k=len(start))])

    values = sorted(resampled() for _ in range(resamples))
    middle = statistics.median([value for start in starts for value in start])
    return middle, values[resamples // 40], values[-resamples // 40]


def within(arguments):
    """What recording costs within each start: as it is when steady, and all in detail."""
    os.environ["ALTERNATE"] = "1"
    os.environ["ITERATIONS"] = str(timing.LEAD_IN + arguments.rounds * 3 * timing.BLOCK)
    kinds = {"recorded": timing.RECORDED, "in detail": timing.DETAILED}
    ratios = {name: [] for name in kinds}
    more = {name: [] for name in kinds}
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(arguments.starts):
            rounds = blocks(start("recorded", arguments, Path(scratch), number)["iterations"])
            plain = [found[timing.PAUSED] for found in rounds]
            line = f"{1e3 * statistics.median(plain):.3f} ms"
            for name, kind in kinds.items():
                ratios[name].append([found[kind] / found[timing.PAUSED] for found in rounds])
                more[name].append([1e6 * (found[kind] - found[timing.PAUSED]) for found in rounds])
                line += f", {name} {statistics.median(ratios[name][-1]):.4f}×"
            print(line, flush=True)
    rng = random.Random(arguments.seed)
    command = " ".join([arguments.script, *arguments.arguments])
    print(f"{command}, {arguments.starts} starts of {arguments.rounds} rounds of {timing.BLOCK} iterations of each kind")
    for name in kinds:
        (middle, low, high), (longer, _, _) = typical(ratios[name], rng), typical(more[name], rng)
        print(f"{name:9} {middle:.4f}× ({low:.4f}–{high:.4f}), {longer:.1f} µs more")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"ratios": ratios, "microseconds": more}, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preheat", default="preheat", help="the program to measure")
    parser.add_argument("--starts", type=int, default=6, help="starts of each kind")
    parser.add_argument("--seed", type=int, default=1, help="seeds the order")
    parser.add_argument("--no-profiler", action="store_true", help="leave torch.profiler out")
    parser.add_argument("--cores", type=int, help="run each start on so many cores, the fastest")
    parser.add_argument("--within", action="store_true", help="compare blocks of the same starts")
    parser.add_argument("--rounds", type=int, default=6, help="rounds of blocks in a start, with --within")
    parser.add_argument("--json", help="write all numbers to this file")
    parser.add_argument("script", help="an example beside this file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    arguments = parser.parse_args()

    if arguments.within:
        return within(arguments)
    cores = sorted(os.sched_getaffinity(0))
    kinds = ["plain", "recorded"] + ([] if arguments.no_profiler else ["profiled"])
    order = kinds * arguments.starts
    random.Random(arguments.seed).shuffle(order)
    names = ["time to first", "first", "steady", "fastest"]
    measured = {kind: {name: [] for name in names} for kind in kinds}
    with tempfile.TemporaryDirectory() as scratch:
        # One that is not counted: whoever comes first finds colder disks.
        start("plain", arguments, Path(scratch), "warm")
        for number, kind in enumerate(order):
            if arguments.cores:
                os.sched_setaffinity(0, fastest_cores(arguments.cores, cores))
            timers = start(kind, arguments, Path(scratch), number)
            iterations = timers["iterations"]
            measured[kind]["time to first"].append(timers["time to first"])
            measured[kind]["first"].append(iterations[0])
            late = sorted(iterations[len(iterations) // 2 :])
            measured[kind]["steady"].append(statistics.median(late))
            measured[kind]["fastest"].append(late[len(late) // 10])

    print(f"{' '.join([arguments.script, *arguments.arguments])}, {arguments.starts} starts of each kind")
    print(f"{'':9}" + "".join(f"{name:>34}" for name in names))
    rng = random.Random(arguments.seed)
    for kind in kinds:
        cells = []
        for name in names:
            value = statistics.median(measured[kind][name])
            cell = f"{1e3 * value:.3f} ms"
            if kind != "plain":
                middle, low, high = ratio(measured[kind][name], measured["plain"][name], rng)
                cell += f" {middle:.3f}× ({low:.3f}–{high:.3f})"
            cells.append(cell)
        print(f"{kind:9}" + "".join(f"{cell:>34}" for cell in cells))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(measured, indent=1) + "\n")


if __name__ == "__main__":
    main()
