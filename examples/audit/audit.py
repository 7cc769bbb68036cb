"""Compares the timers of programs with what `preheat run` reports about the same starts.

    python -m venv venv && venv/bin/pip install numba statsmodels scikit-image duckdb polars \
        django spacy openvino lightgbm
    npm install prettier && javac Words.java
    PATH=$PWD/venv/bin:$PATH python audit.py preheat [NAME...] > table.md

The third audit, `python audit.py preheat third`, needs other packages:

    venv/bin/pip install catboost gensim optuna pulp flax optax keras tokenizers torch
    apt install octave ruby perl golang-go php-cli ffmpeg python3-opencv
    CGO_ENABLED=0 go build primes.go

The fourth audit, `python audit.py preheat fourth`:

    venv/bin/pip install warp-lang tinygrad pytensor faiss-cpu cvxpy rdkit mypy datasette ray
    apt install gnuplot-nox

The fifth audit, `python audit.py preheat fifth`:

    venv/bin/pip install librosa shap umap-learn qiskit qiskit-aer pyscf pyspark torch diffusers \
        stable-baselines3
    apt install swi-prolog-nox sbcl

Each program is recorded twice. In the first run its own timers are compared with the first and
the steady iteration. In the second it runs behind `/usr/bin/time -v`, Python with `-X importtime`,
and prints the time of its first result: for the imports, the time to first and the peak memory.
"""

import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

PYTHON = [
    "numba_sum", "statsmodels_fit", "skimage_segment", "duckdb_query", "polars_group",
    "django_request", "spacy_pipe", "openvino_infer", "lightgbm_train",
]
PROGRAMS = {name: (["python", name + ".py"], []) for name in PYTHON}
PROGRAMS["model.R"] = (["Rscript", "model.R"], ["--iterations", "lines:^begin=>^fit"])
PROGRAMS["Words.java"] = (["java", "-cp", ".", "Words"], ["--iterations", "lines:^begin=>^count"])
PROGRAMS["prettier"] = (["node", "prettier_format.mjs"], ["--iterations", "lines:^begin=>^format"])

THIRD = [
    "catboost_fit", "gensim_words", "optuna_study", "pulp_solve", "flax_train", "keras_jax",
    "tokenizers_train", "ddp_gloo",
]
PROGRAMS |= {name: (["python", name + ".py"], []) for name in THIRD}
PROGRAMS["opencv_frames"] = (["/usr/bin/python3", "opencv_frames.py"], [])
for command, step in [
    (["octave-cli", "fit.m"], "fit"), (["ruby", "parse.rb"], "parse"), (["perl", "words.pl"], "count"),
    (["php", "index.php"], "page"), (["./primes"], "sieve"),
]:
    PROGRAMS[command[-1].removeprefix("./")] = (command, ["--iterations", f"lines:^begin=>^{step}"])
PROGRAMS["transcode.sh"] = (["./transcode.sh"], ["--iterations", "lines:^clip"])
AUDITS = {"third": list(PROGRAMS)[len(PYTHON) + 3 :]}
FOURTH = [
    "warp_particles", "tinygrad_step", "pytensor_model", "faiss_search", "cvxpy_solve",
    "rdkit_molecules", "mypy_check", "datasette_query", "ray_tasks",
]
PROGRAMS |= {name: (["python", name + ".py"], []) for name in FOURTH}
PROGRAMS["plot.gp"] = (["gnuplot", "plot.gp"], ["--iterations", "lines:^begin=>^plot"])
AUDITS["fourth"] = [*FOURTH, "plot.gp"]
FIFTH = [
    "librosa_mel", "shap_values", "umap_embed", "qiskit_circuit", "pyscf_energy", "spark_count",
    "sb3_ppo", "diffusers_denoise",
]
PROGRAMS |= {name: (["python", name + ".py"], []) for name in FIFTH}
PROGRAMS["queens.pl"] = (["swipl", "queens.pl"], ["--iterations", "lines:^begin=>^solve"])
PROGRAMS["primes.lisp"] = (["sbcl", "--script", "primes.lisp"], ["--iterations", "lines:^begin=>^sieve"])
AUDITS["fifth"] = [*FIFTH, "queens.pl", "primes.lisp"]

IMPORTS = ("Python imports", "bytecode compilation", "library loading")


def mean(values):
    """The geometric mean; none without values."""
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def timed(output):
    """The iterations that each start has printed, in seconds."""
    starts = []
    for number, seconds in re.findall(r"^[a-z]+ (\d+) (\d+\.\d+)$", output, re.M):
        if number == "0":
            starts.append([])
        starts[-1].append(float(seconds))
    return starts


def recorded(preheat, flags, command, environment):
    """A run of four starts: its report, its output and its errors."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "run.json")
        run = [preheat, "run", "--starts", "4", "--all-output", "--json", path]
        run += ["-o", os.path.join(directory, "recording"), *flags, "--", *command]
        done = subprocess.run(run, env=environment, capture_output=True, text=True)
        with open(path) as file:
            return json.load(file), done.stdout, done.stderr


def estimate(value):
    return value["estimate"] if isinstance(value, dict) else value


def audit(preheat, name):
    """One row: pairs of the program's own number and the one of the report."""
    command, flags = PROGRAMS[name]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, env=environment, check=True, capture_output=True)  # Writes bytecode.
    report, output, errors = recorded(preheat, flags, command, environment)
    starts = (timed(output) or timed(errors))[1:]
    first = mean([start[0] for start in starts])
    steady = mean([statistics.median(start[len(start) // 2 :]) for start in starts])
    causes = sum(cause["seconds"] for cause in report["causes"])
    behind = command[:1] + ["-X", "importtime"] + command[1:] if command[0] == "python" else command
    words = " ".join(f"'{word}'" for word in behind)
    script = f"echo T0 $(date +%s.%N); exec /usr/bin/time -v {words}"
    second, output, errors = recorded(preheat, flags, ["sh", "-c", script], environment)
    began = [float(time) for time in re.findall(r"^T0 (\S+)", output, re.M)]
    ended = [float(time) for time in re.findall(r"^first_at (\S+)", output, re.M)]
    peaks = re.findall(r"Maximum resident set size \(kbytes\): (\d+)", errors)
    imports = None
    if command[0] == "python":
        tables = re.split(r"import time: self \[us\].*\n", errors)[2:]
        sums = [sum(map(int, re.findall(r"import time:\s+(\d+) \|", table))) for table in tables]
        # Several processes print tables, and none names its process.
        imports = mean([total / 1e6 for total in sums]) if len(sums) == 3 else None
    found = {cause["cause"]: cause["seconds"] for cause in second["causes"]}
    return {
        "first": (first, estimate(report["first"])),
        "steady": (steady, estimate(report["steady"])),
        "sum": (estimate(report["time_to_first"]), causes),
        "time to first": (
            mean([end - begin for begin, end in zip(began, ended)][1:]),
            estimate(second["time_to_first"]),
        ),
        "imports": (imports, sum(found.get(cause, 0.0) for cause in IMPORTS)),
        "peak": (max(map(int, peaks)) / 1024, second["memory"]["resident_peak"] / 2**20),
    }


def cell(pair, unit):
    own, reported = pair
    if own is None or reported is None:
        return "–"
    if unit == "MiB":
        return f"{own:.0f}, {reported:.0f} MiB"
    return f"{1e3 * own:.4g}, {1e3 * reported:.4g} ms"


def main():
    preheat, names = sys.argv[1], sys.argv[2:] or list(PROGRAMS)
    names = [name for given in names for name in AUDITS.get(given, [given])]
    columns = ["first", "steady", "time to first", "imports", "peak"]
    print("| program | " + " | ".join(columns) + " | causes − time to first |")
    print("|---" * (len(columns) + 2) + "|")
    for name in names:
        row = audit(preheat, name)
        cells = [cell(row[column], "MiB" if column == "peak" else "s") for column in columns]
        whole, causes = row["sum"]
        print(f"| {name} | " + " | ".join(cells) + f" | {1e9 * abs(causes - whole):.0f} ns |", flush=True)


main()
