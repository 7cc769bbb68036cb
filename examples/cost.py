"""The cost of `preheat run`: plain, recorded and profiled starts, in one random series.

    python examples/cost.py --preheat target/release/preheat linear.py
    python examples/cost.py --starts 8 --json cost.json resnet50.py train

Prints medians over the starts and their ratios to the plain ones: the time to the end of the
first iteration, the first iteration, and the steady one (the median, and the fastest tenth, of
the later half), with 95 % intervals of the ratios from resampled starts. On a shared machine
starts differ by more than the cost of recording, mostly because other programs slow down some of the
cores: --cores gives each start the few that are fastest at that moment, and many starts help.

    python examples/cost.py --within --starts 5 resnet50.py infer

--within compares iterations of the same start, so that a busy neighbor affects all of them alike. Every
other iteration is not recorded; those between are recorded alternately without and with detail. Each is
divided by both of its neighbors. A steady program is recorded in detail in windows (timing.py has their
lengths), so its overhead is the weighted mean of both. Prints medians over all iterations and starts,
with 95 % intervals from resampled starts and iterations. In all iterations, hooked calls and the marks
that Python sets take some nanoseconds longer; that is not included
(`cargo bench -p preheat-shim --bench intercept` measures it).
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
    if kind in ("recorded", "other"):
        recording = scratch / f"recording-{number}"
        program = arguments.preheat if kind == "recorded" else arguments.other
        command = [program, "run", "--starts", "1", "--output", str(recording), "--", *command]
    environment["BEGAN"] = repr(time.monotonic())
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return json.loads(timers.read_text())


def pairs(iterations, kind):
    """Iterations of a kind, each as a ratio to each of its neighbors, which are not recorded. A
    ratio to the mean of both would be less than 1 more often than not, since long ones are rare."""
    found = []
    for place in range(timing.LEAD_IN + 1, len(iterations) - 1):
        if timing.how(place) == kind:
            found += [iterations[place] / iterations[beside] for beside in (place - 1, place + 1)]
    return found


def within(arguments):
    """The cost of recording within each start: without detail, with it, and on the usual schedule."""
    os.environ["ALTERNATE"] = "1"
    os.environ["ITERATIONS"] = str(timing.LEAD_IN + arguments.iterations)
    kinds = {"sparse": timing.SPARSE, "detailed": timing.DETAILED}
    ratios = {name: [] for name in kinds}
    plain = []
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(arguments.starts):
            iterations = start("recorded", arguments, Path(scratch), number)["iterations"]
            others = [time for place, time in enumerate(iterations) if timing.how(place) == timing.PAUSED]
            plain.append(statistics.median(others))
            line = f"{1e3 * plain[-1]:.3f} ms"
            for name, kind in kinds.items():
                ratios[name].append(pairs(iterations, kind))
                line += f", {name} {statistics.median(ratios[name][-1]):.4f}×"
            print(line, flush=True)
    rng = random.Random(arguments.seed)

    def medians(chosen, resample):
        """Of each kind, over all starts that are chosen; and as windows mix them."""
        found = {}
        for name in kinds:
            values = [rng.choices(ratios[name][at], k=len(ratios[name][at])) if resample else ratios[name][at] for at in chosen]
            found[name] = statistics.median([value for start in values for value in start])
        share = timing.WINDOW / timing.PERIOD
        found["recorded"] = share * found["detailed"] + (1 - share) * found["sparse"]
        return found

    every = range(arguments.starts)
    middle = medians(every, False)
    resampled = [medians(rng.choices(every, k=arguments.starts), True) for _ in range(1000)]
    command = " ".join([arguments.script, *arguments.arguments])
    print(f"{command}, {arguments.starts} starts, {arguments.iterations} iterations of each that alternate")
    result = {}
    for name in ("sparse", "detailed", "recorded"):
        values = sorted(found[name] for found in resampled)
        low, high = values[25], values[-26]
        more = 1e6 * (middle[name] - 1) * statistics.median(plain)
        print(f"{name:9} {middle[name]:.4f}× ({low:.4f}–{high:.4f}), {more:.1f} µs more")
        result[name] = {"ratio": middle[name], "low": low, "high": high, "microseconds": more}
    if arguments.json:
        result["iteration"] = plain
        Path(arguments.json).write_text(json.dumps(result, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preheat", default="preheat", help="the program to measure")
    parser.add_argument("--other", help="another build of preheat, measured alongside")
    parser.add_argument("--starts", type=int, default=6, help="starts per configuration")
    parser.add_argument("--seed", type=int, default=1, help="seeds the order")
    parser.add_argument("--no-profiler", action="store_true", help="skip the starts under torch.profiler")
    parser.add_argument("--cores", type=int, help="run each start on this many cores, the fastest")
    parser.add_argument("--within", action="store_true", help="compare iterations of the same starts")
    parser.add_argument("--iterations", type=int, default=600, help="iterations that alternate, with --within")
    parser.add_argument("--json", help="write all numbers to this file")
    parser.add_argument("script", help="an example beside this file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    arguments = parser.parse_args()

    if arguments.within:
        return within(arguments)
    cores = sorted(os.sched_getaffinity(0))
    kinds = ["plain", "recorded"] + ([] if arguments.no_profiler else ["profiled"])
    kinds += ["other"] if arguments.other else []
    order = kinds * arguments.starts
    random.Random(arguments.seed).shuffle(order)
    names = ["time to first", "first", "steady", "fastest"]
    measured = {kind: {name: [] for name in names} for kind in kinds}
    with tempfile.TemporaryDirectory() as scratch:
        # A first start that is not counted: it may find colder disks.
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
