import time
import numpy as np
from catboost import CatBoostClassifier

rng = np.random.default_rng(0)
x = rng.normal(size=(4000, 20))
y = (x[:, 0] * x[:, 1] > 0).astype(int)
for number in range(12):
    began = time.perf_counter()
    model = CatBoostClassifier(iterations=30, depth=4, verbose=False, allow_writing_files=False)
    model.fit(x, y)
    print(f"fit {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
