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
    host, fresh, kept_times, counts = [resident()], [], [], []

    def infer_on(value):
        return timed(lambda: np.asarray(model(on_device, value)))[0]

    # The first inference moves the weights, and so brings the device up.
    start = clock()
    on_device = [jax.device_put(w) for w in weights]
    infer_on(inputs[0])
    fresh.append(clock() - start)
    counts.append(recordings)
    kept = jax.device_put(inputs[0])
    for value in inputs[1:]:
        # In turns, each after the same reading of memory.
        before = recordings
        host.append(resident())
        fresh.append(infer_on(value))
        resident()
        kept_times.append(infer_on(kept))
        counts.append(recordings - before)
    host.append(resident())
    iterations("inference, fresh input", fresh)
    iterations("inference, resident input", kept_times)
    count("graph recordings", counts)
    memory("host memory", host)


if EXPERIMENT == "infer":
    infer()
else:
    fail("the script for jax has no experiment " + EXPERIMENT)
# Asked last: asking brings the device up, which is part of what was measured. A
# framework that fell back to the CPU measured something else.
if DEVICE == "cuda" and jax.default_backend() != "gpu":
    void("this JAX finds no GPU; install jax[cuda13], or use --device cpu")
write(line="end")
