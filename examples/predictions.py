"""Predicted against measured: records programs, applies each remedy that `preheat run`
advises, and compares what it saves with what was predicted.

    python examples/predictions.py PREHEAT PROGRAMS.json [ROUNDS] > table.md

PROGRAMS.json is a list of objects: `name`, `command` (a list), `environment` (added to this
one), `remedies` (only these ids), and `caches` (variables with the directories of filled caches, for
kept-caches). Packages that avoidable-imports names are blocked, as if they were uninstalled. For
warm-up, a program prints the number and the seconds of each iteration (`step 0 0.123456`), and runs
WARM_UP iterations before number 0. For prefetch, each start finds a cold disk: the files that the program
opens (according to strace) are evicted from the page cache. They are read again before it starts
(`prefetch, before`), or by `preheat start` while it runs (`prefetch, beside`).

The method keeps other programs on the machine from deciding the result. A round starts every variant
once, and records the program once (three starts). The prediction is the median, over the rounds, of
the predicted share of the start; for avoidable-imports it is the least CPU time that a report names.
Remedies that save CPU work (kept-bytecode, avoidable-imports) are measured by user and system CPU time,
the others by the wall clock; the minimum of all rounds counts. These times do not include recording. A
program that ends with `os._exit` after its first result leaves out its end, which no prediction covers.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

SAVE_CPU_TIME = {"kept-bytecode", "avoidable-imports"}
# The baseline of avoidable-imports: the same finders, which block nothing.
UNBLOCKED = "unblocked"

# Runs a script as if some packages were not installed: neither their modules nor their metadata
# are found.
BLOCK = """
import runpy, sys
blocked, distributions = (set(sys.argv.pop(1).split(",")) for _ in range(2))
class Without:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in blocked:
            return self.finder.find_spec(name, path, target)
    def find_distributions(self, *context):
        for each in getattr(self.finder, "find_distributions", lambda *_: ())(*context):
            if each.name not in distributions:
                yield each
    def invalidate_caches(self):
        getattr(self.finder, "invalidate_caches", lambda: None)()
sys.meta_path[:] = map(Without, sys.meta_path)
sys.argv.pop(0)
sys.path[0] = sys.argv[0].rpartition("/")[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def predicted(preheat, program, environment, directory):
    """The remedies of a recording, by id: the share of the start (the CPU time of imports, the seconds
    of later iterations), and the packages to avoid or the number of iterations."""
    path = os.path.join(directory, "run.json")
    flags = ["--temperature", "process,disk"] if "prefetch" in program.get("remedies", []) else []
    with tempfile.TemporaryDirectory(dir=directory) as recording:
        subprocess.run(
            [preheat, "run", "--starts", "3", "--json", path, "-o", os.path.join(recording, "rec")]
            + flags + ["--"] + program["command"],
            env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
    with open(path) as file:
        report = json.load(file)
    total = report["time_to_first"]["estimate"]
    found = {}
    for remedy in report["remedies"]:
        if remedy["helps"] and remedy.get("later"):
            found[remedy["id"]] = remedy["later"]["seconds"], remedy["later"]["after"]
        elif remedy["helps"] and remedy["id"] == "prefetch":
            found["prefetch"] = remedy["saving"], None
        elif remedy["helps"]:
            imports = re.findall(r"([\w.]+) \(.*?, ([\d.]+) (m?s) of CPU time\) is imported by", remedy["what"])
            value = remedy["saving"] / total
            if imports:
                value = sum(float(time) * (1e-3 if unit == "ms" else 1) for _, time, unit in imports)
            found[remedy["id"]] = value, {name.split(".")[0] for name, _, _ in imports}
    return found


def distributions(python, packages, environment):
    """The names under which packages are installed."""
    code = "import importlib.metadata, json; print(json.dumps(importlib.metadata.packages_distributions()))"
    done = subprocess.run([python, "-c", code], env=environment, check=True, stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    return sorted({name for each in packages for name in found.get(each, [])})


def times(command, environment):
    """The wall-clock and CPU seconds of a process and its children."""
    began = time.perf_counter()
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime


def opened(command, environment):
    """The files that a program opens."""
    with tempfile.NamedTemporaryFile("r") as file:
        trace = ["strace", "-f", "-qq", "-e", "trace=openat,execve", "-o", file.name]
        subprocess.run(trace + command, env=environment, check=True, stdout=subprocess.DEVNULL)
        paths = set(re.findall(r'"(/[^"]+)"[^"]*= \d+$', file.read(), re.M))
    return [path for path in sorted(paths) if os.path.isfile(path) and not path.startswith(("/proc/", "/sys/"))]


def evict(paths):
    for path in paths:
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read(paths):
    for path in paths:
        with open(path, "rb") as file:
            while file.read(1 << 20):
                pass


def first_iteration(command, environment):
    """The seconds that the program prints for its iteration number 0."""
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return float(re.search(r"^[a-z]+ 0 (\d+\.\d+)$", done.stdout, re.M)[1])


def later(program, rounds, environment, found, again):
    """The saving of a warm-up in the first iteration: medians of interleaved starts."""
    warm = dict(environment, WARM_UP=str(found[1]))
    both = [], []
    expected = [found[0]]
    for number in range(rounds + 1):
        for times, its in zip(both, (environment, warm)):
            times.append(first_iteration(program["command"], its))
        if number > 1:
            expected.append(again()["warm-up"][0])
    plain, warmed = (statistics.median(times[1:]) for times in both)
    return plain, statistics.median(expected), plain - warmed


def cold(preheat, program, rounds, environment, found):
    """The saving of reading files ahead on a cold disk, before the start and beside it: medians of
    interleaved starts."""
    paths = opened(program["command"], environment)
    plain = program["command"]
    beside = [preheat, "start", "--only", "prefetch", "--"] + plain
    subprocess.run(beside, env=environment, check=True, stdout=subprocess.DEVNULL)
    taken = {"plain": [], "before": [], "beside": []}
    for number in range(rounds + 1):
        for way, times_of in taken.items():
            evict(paths)
            if way == "before":
                read(paths)
            times_of.append(times(beside if way == "beside" else plain, environment)[0])
    median = {way: statistics.median(all_of[1:]) for way, all_of in taken.items()}
    for way in ("before", "beside"):
        yield way, median["plain"], found[0], median["plain"] - median[way]


def commands(preheat, program, environment, remedies):
    """The command and the environment that apply each remedy, by id."""
    plain = program["command"]
    start = lambda only: [preheat, "start", "--only", only, "--strictly", "--patience", "5", "--"]  # noqa: E731
    found = {"plain": (plain, environment)}
    if "warm-parent" in remedies:
        subprocess.run([preheat, "start", "--"] + plain, env=environment, check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run([preheat, "start", "--prepare", "--"] + plain, env=environment, check=True)
        found["warm-parent"] = (start("warm-parent") + plain, environment)
    if "kept-bytecode" in remedies:
        kept = dict(environment, PREHEAT_CACHES=os.path.join(environment["HOME"], "kept"))
        found["kept-bytecode"] = (start("kept-bytecode") + plain, kept)
    if "kept-caches" in remedies and program.get("caches"):
        found["kept-caches"] = (plain, dict(environment, **program["caches"]))
    if "avoidable-imports" in remedies:
        blocked = remedies["avoidable-imports"][1]
        names = distributions(plain[0], blocked, environment)
        block = lambda *words: ([plain[0], "-c", BLOCK, *words] + plain[1:], environment)  # noqa: E731
        found["avoidable-imports"] = block(",".join(blocked), ",".join(names))
        # The finders take time themselves.
        found[UNBLOCKED] = block("", "")
    return found


def measure(preheat, program, rounds):
    environment = dict(os.environ, **program.get("environment", {}))
    only = program.get("remedies")
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o700)
        environment["HOME"] = environment["XDG_RUNTIME_DIR"] = directory
        remedies = predicted(preheat, program, environment, directory)
        if only:
            remedies = {way: value for way, value in remedies.items() if way in only}
        again = lambda: predicted(preheat, program, environment, directory)  # noqa: E731
        if "warm-up" in remedies and only:
            plain, expected, saved = later(program, rounds, environment, remedies["warm-up"], again)
            yield program["name"], "warm-up", plain, expected, saved, abs(expected - saved) / abs(saved)
        if "prefetch" in remedies and only:
            for way, plain, expected, saved in cold(preheat, program, rounds, environment, remedies["prefetch"]):
                yield program["name"], "prefetch, " + way, plain, expected, saved, abs(expected - saved) / abs(saved)
        remedies = {way: value for way, value in remedies.items() if way not in ("warm-up", "prefetch")}
        if not remedies:
            return
        ways = commands(preheat, program, environment, remedies)
        shares = {way: [remedies[way][0]] for way in ways if way in remedies}
        taken = {way: [] for way in ways}
        for number in range(rounds + 1):
            for way, (command, its) in ways.items():
                found = times(command, its)
                if number:  # The first fills what is kept.
                    taken[way].append(found)
            if number > 1:
                values_again = again()
                for way, values in shares.items():
                    values.append(values_again.get(way, (0.0,))[0])
        subprocess.run([preheat, "start", "--stop"], env=environment, stderr=subprocess.DEVNULL)
    for way, values in shares.items():
        clock = 1 if way in SAVE_CPU_TIME else 0
        least = lambda way: min(found[clock] for found in taken[way])  # noqa: E731
        plain = least(UNBLOCKED if way == "avoidable-imports" else "plain")
        saved = plain - least(way)
        expected = min(values) if way == "avoidable-imports" else statistics.median(values) * plain
        what = way if way != "avoidable-imports" else "%s: %s" % (way, ", ".join(sorted(remedies[way][1])))
        yield program["name"], what, plain, expected, saved, abs(expected - saved) / abs(saved)


def main():
    preheat, path = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    with open(path) as file:
        programs = json.load(file)
    print("| program | remedy | plain | predicted | measured | error |\n|---|---|---|---|---|---|")
    errors = []
    for program in programs:
        for name, what, plain, expected, saved, error in measure(preheat, program, rounds):
            errors.append(error)
            unit, scale, digits = ("s", 1, 2) if plain >= 0.1 else ("ms", 1e3, 2)
            numbers = ["%.*f %s" % (digits, number * scale, unit) for number in (plain, -expected, -saved)]
            print("| %s | %s | %s | %.0f %% |" % (name, what, " | ".join(numbers).replace("-", "−"), 100 * error), flush=True)
    if errors:
        print("\nMedian error: %.0f %%." % (100 * statistics.median(errors)))


main()
