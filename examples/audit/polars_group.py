import time
import polars as pl

frame = pl.DataFrame({"k": [i % 997 for i in range(400_000)], "v": [float(i % 1013) for i in range(400_000)]})
for number in range(25):
    began = time.perf_counter()
    out = frame.lazy().group_by("k").agg(pl.col("v").mean(), pl.len()).sort("v").head(5).collect()
    print(f"query {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
