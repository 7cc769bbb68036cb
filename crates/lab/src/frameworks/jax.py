# The experiments with JAX. Each runs in a fresh process.
start = clock()
import os

if DEVICE == "cpu":
    os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np

stage("import", clock() - start)

recordings = 0


def weights_of(shapes):
    generator = np.random.default_rng(1)
    return [generator.standard_normal(shape).astype("float32") * 0.1 for shape in shapes]


def mlp(weights, x):
    global recordings
    recordings += 1  # runs only while JAX traces this function
    w1, b1, w2, b2, w3, b3 = weights
    x = jnp.maximum(x @ w1 + b1, 0)
    x = jnp.maximum(x @ w2 + b2, 0)
    return x @ w3 + b3


def conv(weights, x):
    global recordings
    recordings += 1
    w1, w2, w3, b3 = weights
    x = jnp.maximum(jax.lax.conv(x, w1, (1, 1), "VALID"), 0)
    x = jnp.maximum(jax.lax.conv(x, w2, (1, 1), "VALID"), 0)
    return x.mean(axis=(2, 3)) @ w3 + b3


def infer():
    start = clock()
    if VARIANT == "conv":
        shape, function = (1, 1, 28, 28), conv
        weights = weights_of([(8, 1, 3, 3), (16, 8, 3, 3), (16, 10), (10,)])
    else:
        batch, inputs, width = MLP_SHAPE
        shape, function = (batch, inputs), mlp
        weights = weights_of([(inputs, width), (width,), (width, width), (width,), (width, 10), (10,)])
    model = jax.jit(function)
    stage("build the model", clock() - start)
    n = pick(100, 40)
    inputs = [np.random.randn(*shape).astype("float32") for _ in range(n)]
    host, device, times, counts = [resident()], [0.0], [], []
    on_device = None
    for value in inputs:
        before = recordings
        start = clock()
        if on_device is None:
            on_device = [jax.device_put(w) for w in weights]
        np.asarray(model(on_device, value))
        times.append(clock() - start)
        counts.append(recordings - before)
        host.append(resident())
        stats = jax.devices()[0].memory_stats() or {}
        if "bytes_in_use" in stats:
            device.append(float(stats["bytes_in_use"]))
    iterations("inference, fresh input", times)
    count("graph recordings", counts)
    memory("host memory", host)
    if len(device) == len(host):
        memory("device memory", device)
    kept = jax.device_put(inputs[0])
    iterations(
        "inference, resident input",
        [timed(lambda: np.asarray(model(on_device, kept)))[0] for _ in range(n)],
    )


if DEVICE == "cuda" and jax.default_backend() != "gpu":
    fail("this JAX finds no GPU; install jax[cuda13], or use --device cpu")
if EXPERIMENT == "infer":
    infer()
else:
    fail("the script for jax has no experiment " + EXPERIMENT)
write(line="end")
