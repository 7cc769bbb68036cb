"""Its solver, CBC, is a child process."""
import time
import pulp

for number in range(8):
    began = time.perf_counter()
    problem = pulp.LpProblem("knapsack", pulp.LpMaximize)
    items = [pulp.LpVariable(f"x{i}", cat="Binary") for i in range(60)]
    problem += pulp.lpSum((i * 7919 % 97 + 1) * item for i, item in enumerate(items))
    problem += pulp.lpSum((i * 104729 % 89 + 1) * item for i, item in enumerate(items)) <= 900
    problem.solve(pulp.PULP_CBC_CMD(msg=False))
    assert pulp.LpStatus[problem.status] == "Optimal"
    print(f"solve {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
