import time
import numpy as np
import umap

rng = np.random.default_rng(1)
data = rng.random((300, 16)).astype(np.float32)
for number in range(3):
    began = time.perf_counter()
    umap.UMAP(n_neighbors=10, n_epochs=50).fit_transform(data)
    print(f"embed {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
