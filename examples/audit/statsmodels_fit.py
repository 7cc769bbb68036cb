import time
import numpy as np
import statsmodels.api as sm

rng = np.random.default_rng(0)
x = sm.add_constant(rng.normal(size=(4000, 12)))
y = (x @ rng.normal(size=13) + rng.logistic(size=4000) > 0).astype(float)
for number in range(20):
    began = time.perf_counter()
    result = sm.Logit(y, x).fit(disp=0)
    print(f"fit {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
