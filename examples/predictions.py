"""Predicted against measured: records programs, applies each remedy that `preheat run`
advises, and compares what it saves with what was predicted.

    python examples/predictions.py PREHEAT PROGRAMS.json [STARTS] > table.md

PROGRAMS.json is a list of objects: `name`, `command` (a list), `environment` (added to this
one), and `blocked` (a module to block, for avoidable-imports). Times are medians of
interleaved starts, measured from outside to the end of the program, so that recording is
no part of them; predictions are those of `preheat run`, without iterations.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

def predicted(preheat, program, environment, directory):
    """The remedies of a recording, by id."""
    path = os.path.join(directory, "run.json")
    subprocess.run(
        [preheat, "run", "--starts", "3", "--json", path, "-o", os.path.join(directory, "rec")]
        + ["--"] + program["command"],
        env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    with open(path) as file:
        report = json.load(file)
    return report["time_to_first"]["estimate"], {
        remedy["id"]: remedy["saving"] for remedy in report["remedies"] if remedy["helps"]
    }


def seconds(command, environment):
    began = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def commands(preheat, program, environment, remedies):
    """How each remedy is applied: by id, a command and its environment."""
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
    if "avoidable-imports" in remedies and program.get("blocked"):
        code = "import sys, runpy; sys.modules[%r] = None; sys.argv.pop(0); " \
               "sys.path[0] = sys.argv[0].rpartition('/')[0]; " \
               "runpy.run_path(sys.argv[0], run_name='__main__')" % program["blocked"]
        found["avoidable-imports"] = ([plain[0], "-c", code] + plain[1:], environment)
    return found


def measure(preheat, program, starts):
    environment = dict(os.environ, **program.get("environment", {}))
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o700)
        environment["HOME"] = environment["XDG_RUNTIME_DIR"] = directory
        total, remedies = predicted(preheat, program, environment, directory)
        ways = commands(preheat, program, environment, remedies)
        times = {way: [] for way in ways}
        for number in range(starts + 1):
            for way, (command, its) in ways.items():
                taken = seconds(command, its)
                if number:  # The first fills what is kept.
                    times[way].append(taken)
        subprocess.run([preheat, "start", "--stop"], env=environment, stderr=subprocess.DEVNULL)
    plain = statistics.median(times.pop("plain"))
    for way, taken in times.items():
        saved = plain - statistics.median(taken)
        # What a busy machine adds to all starts alike is no error of the prediction.
        said = remedies[way] * plain / total
        yield program["name"], way, plain, said, saved, abs(said - saved) / abs(saved)


def main():
    preheat, path = sys.argv[1:3]
    starts = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    with open(path) as file:
        programs = json.load(file)
    print("| program | remedy | plain | predicted | measured | error |\n|---|---|---|---|---|---|")
    errors = []
    for program in programs:
        for name, way, plain, said, saved, error in measure(preheat, program, starts):
            errors.append(error)
            print("| %s | `%s` | %.2f s | −%.2f s | −%.2f s | %.0f %% |"
                  % (name, way, plain, said, saved, 100 * error), flush=True)
    if errors:
        print("\nMedian error: %.0f %%." % (100 * statistics.median(errors)))


main()
