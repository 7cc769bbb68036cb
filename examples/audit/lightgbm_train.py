import time
import numpy as np
import lightgbm as lgb

rng = np.random.default_rng(0)
x = rng.normal(size=(5000, 20)); y = (x[:, 0] * x[:, 1] > 0).astype(int)
for number in range(12):
    began = time.perf_counter()
    booster = lgb.train({"objective": "binary", "verbose": -1, "num_threads": 2}, lgb.Dataset(x, y), num_boost_round=20)
    print(f"train {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
