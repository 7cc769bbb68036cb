import os
import time
from mypy import api

for number in range(4):
    began = time.perf_counter()
    output, errors, code = api.run(["--no-incremental", "--cache-dir", os.devnull, "--config-file=", "-c", f"x: int = {number}"])
    assert code == 0, output + errors
    print(f"check {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
