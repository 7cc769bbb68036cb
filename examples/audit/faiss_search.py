import time
import numpy as np
import faiss

rng = np.random.default_rng(1)
vectors = rng.random((20_000, 64), dtype=np.float32)
index = faiss.IndexIVFFlat(faiss.IndexFlatL2(64), 64, 64)
index.train(vectors)
index.add(vectors)
for number in range(40):
    began = time.perf_counter()
    distances, found = index.search(vectors[number * 100 : number * 100 + 100], 10)
    print(f"search {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
