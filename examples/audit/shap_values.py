import time
import numpy as np
import shap
from sklearn.ensemble import RandomForestRegressor

rng = np.random.default_rng(1)
data = rng.random((500, 8))
model = RandomForestRegressor(20, random_state=1).fit(data, data.sum(axis=1))
explainer = shap.TreeExplainer(model)
for number in range(20):
    began = time.perf_counter()
    explainer.shap_values(data[number * 20 : number * 20 + 20])
    print(f"explain {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
