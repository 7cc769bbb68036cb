import os
import time
import numpy as np
from numba import njit

WARM_UP = int(os.environ.get("WARM_UP", 0))

@njit
def pairwise(points):
    total = 0.0
    for i in range(len(points)):
        for j in range(i):
            total += abs(points[i] - points[j])
    return total

points = np.random.default_rng(0).random(3000)
for number in range(-WARM_UP, 30):
    began = time.perf_counter()
    value = pairwise(points)
    print(f"call {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
