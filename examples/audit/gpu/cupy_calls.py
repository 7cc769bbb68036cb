from time import perf_counter
import cupy as cp

x = cp.random.rand(1_000_000)
def work():
    y = cp.sqrt(x) * 2 + cp.sin(x)
    return float(y.sum())
for i in range(2):
    t = perf_counter()
    work()
    print(f"call {i}: {perf_counter() - t:.4f} s")
