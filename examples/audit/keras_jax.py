import os
os.environ["KERAS_BACKEND"] = "jax"
import time
import keras
import numpy as np

model = keras.Sequential([keras.layers.Input((32,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
rng = np.random.default_rng(0)
x, y = rng.normal(size=(128, 32)), rng.normal(size=(128, 1))
for number in range(25):
    began = time.perf_counter()
    loss = model.train_on_batch(x, y)
    print(f"batch {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
