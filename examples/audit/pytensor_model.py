import os
import time
import numpy as np
import pytensor
import pytensor.tensor as pt

WARM_UP = int(os.environ.get("WARM_UP", 0))

x, w = pt.matrix("x"), pt.vector("w")
loss = pt.mean((pt.tanh(x @ w) - 1.0) ** 2)
data, weights = np.ones((2000, 50)), np.linspace(-1, 1, 50)
function = None
for number in range(-WARM_UP, 20):
    began = time.perf_counter()
    if function is None:
        function = pytensor.function([x, w], [loss, pytensor.grad(loss, w)])
    value, gradient = function(data, weights)
    weights = weights - 0.1 * gradient
    print(f"step {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
