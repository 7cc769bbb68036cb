import time
import ray

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)

@ray.remote
def work(number):
    return sum(n * n for n in range(50_000 + number))

for number in range(15):
    began = time.perf_counter()
    ray.get([work.remote(n) for n in range(4)])
    print(f"round {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
