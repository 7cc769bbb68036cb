import time
import numpy as np
import openvino as ov
from openvino import opset13 as ops

rng = np.random.default_rng(0)
data = ops.parameter([1, 3, 96, 96], np.float32, name="image")
node = data
channels = 3
for out in (16, 32, 64):
    weights = ops.constant(rng.normal(scale=0.1, size=(out, channels, 3, 3)).astype(np.float32))
    node = ops.relu(ops.convolution(node, weights, [2, 2], [1, 1], [1, 1], [1, 1]))
    channels = out
model = ov.Model([node], [data], "net")
compiled = ov.Core().compile_model(model, "CPU")
image = rng.random((1, 3, 96, 96), dtype=np.float32)
for number in range(60):
    began = time.perf_counter()
    result = compiled([image])
    print(f"inference {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
