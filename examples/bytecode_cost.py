"""The cost of compiling modules, and the saving by bytecode: predicted against measured.

    python examples/bytecode_cost.py MODULE...

Imports each module with and without bytecode, three times each, and compares CPU times, so
that a busy machine does not matter. Predicted is what `kept-bytecode` predicts: 95 % of
the time in `compile`.
"""

import os
import statistics
import subprocess
import sys
import tempfile

STARTS = 3

CHILD = """
import sys, time
import _frozen_importlib_external as external
real, now, compiling = compile, time.process_time, [0.0, 0]
def hook(*args, **kwargs):
    began = now()
    try:
        return real(*args, **kwargs)
    finally:
        compiling[0] += now() - began
        compiling[1] += 1
external.compile = hook
began = now()
__import__(sys.argv[1])
print(now() - began, *compiling)
"""


def imported(module, directory, write):
    environment = dict(os.environ, PYTHONPYCACHEPREFIX=directory)
    environment["PYTHONDONTWRITEBYTECODE"] = "" if write else "1"
    command = [sys.executable, "-c", CHILD, module]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    return [float(word) for word in done.stdout.split()[-3:]]


def main():
    print("| module | modules | without | predicted | measured | error |\n|---|---|---|---|---|---|")
    for module in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as kept, tempfile.TemporaryDirectory() as empty:
            imported(module, kept, True)
            pairs = [(imported(module, empty, False), imported(module, kept, True))
                     for _ in range(STARTS)]
        without = statistics.median(pair[0][0] for pair in pairs)
        expected = 0.95 * statistics.median(pair[0][1] for pair in pairs)
        saved = without - statistics.median(pair[1][0] for pair in pairs)
        print("| %s | %d | %.2f s | −%.2f s | −%.2f s | %.0f %% |"
              % (module, pairs[0][0][2], without, expected, saved, 100 * abs(expected - saved) / saved),
              flush=True)


main()
