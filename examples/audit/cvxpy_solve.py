import os
import time
import cvxpy as cp
import numpy as np

WARM_UP = int(os.environ.get("WARM_UP", 0))

rng = np.random.default_rng(1)
target = cp.Parameter(60)
matrix = rng.standard_normal((60, 30))
x = cp.Variable(30)
problem = cp.Problem(cp.Minimize(cp.sum_squares(matrix @ x - target) + cp.norm1(x)), [x >= -1, x <= 1])
for number in range(-WARM_UP, 15):
    target.value = rng.standard_normal(60)
    began = time.perf_counter()
    problem.solve(solver=cp.CLARABEL)
    print(f"solve {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
