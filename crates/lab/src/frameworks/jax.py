# The JAX experiments. Each runs in a fresh process.
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


def convolve(x, w):
    return jax.lax.conv(x, w, (1, 1), "SAME")


def unet_shapes():
    """The weights in order of use; without biases."""
    a, b, c = UNET_CHANNELS
    twice = lambda inputs, outputs: [(outputs, inputs, 3, 3), (outputs, outputs, 3, 3)]
    up = lambda inputs, outputs: [(inputs, outputs, 2, 2)]
    down = twice(3, a) + twice(a, b) + twice(b, c)
    return down + up(c, b) + twice(2 * b, b) + up(b, a) + twice(2 * a, a) + [(1, a, 1, 1)]


def unet(weights, x):
    global recordings
    recordings += 1
    weights = iter(weights)

    def twice(x):
        x = jnp.maximum(convolve(x, next(weights)), 0)
        return jnp.maximum(convolve(x, next(weights)), 0)

    skipped = []
    for _ in range(2):
        x = twice(x)
        skipped.append(x)
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    x = twice(x)
    for _ in range(2):
        layout = ("NCHW", "IOHW", "NCHW")
        x = jax.lax.conv_transpose(x, next(weights), (2, 2), "SAME", dimension_numbers=layout)
        x = twice(jnp.concatenate([x, skipped.pop()], axis=1))
    return convolve(x, next(weights))


def network():
    if MODEL == "unet":
        return unet, unet_shapes(), (1, 3, UNET_SIZE, UNET_SIZE)
    if MODEL == "conv":
        return conv, [(8, 1, 3, 3), (16, 8, 3, 3), (16, 10), (10,)], (1, 1, 28, 28)
    batch, inputs, width = MLP_SHAPE
    shapes = [(inputs, width), (width,), (width, width), (width,), (width, 10), (10,)]
    return mlp, shapes, (batch, inputs)


def on_device(values):
    return jax.block_until_ready([jax.device_put(value) for value in values])


def of_arrays():
    """Bytes in JAX arrays; JAX reserves far more device memory than that."""
    found = jax.local_devices()[0].memory_stats() or {}
    return float(found["bytes_in_use"]) if "bytes_in_use" in found else None


def infer():
    start = clock()
    function, shapes, shape = network()
    weights = weights_of(shapes)
    model = jax.jit(function)
    stage("build the model", clock() - start)
    n = pick(20, 10) if MODEL == "unet" else pick(100, 40)
    inputs = [np.random.randn(*shape).astype("float32") for _ in range(n)]
    if ON_DEVICE:
        infer_on_device(model, weights, inputs[0], n)
    else:
        infer_from_nothing(model, weights, shapes, inputs)


def infer_on_device(model, weights, value, n):
    seconds, (*placed, kept) = timed(lambda: on_device(weights + [value]))
    stage("move the model to the device", seconds)
    readings = MemoryReadings(of_arrays=of_arrays)
    times, counts = [], []
    for _ in range(n):
        before = recordings
        times.append(timed(lambda: np.asarray(model(placed, kept)))[0])
        counts.append(recordings - before)
        readings.keep()
    iterations("inference, resident input", times)
    count("graph recordings", counts)
    readings.write()


def infer_from_nothing(model, weights, shapes, inputs):
    readings = MemoryReadings(of_arrays=of_arrays)
    fresh, kept_times, counts = [], [], []

    def infer_on(value):
        return timed(lambda: np.asarray(model(placed, value)))[0]

    # The first inference initializes the device and moves the weights, in separately timed
    # steps.
    began = clock()
    jax.local_devices()
    up = clock()
    placed = on_device(weights)
    there = clock()
    infer_on(inputs[0])
    fresh.append(clock() - began)
    counts.append(recordings)
    stage("first inference: initialize the device", up - began)
    stage("first inference: allocate and copy", there - up)
    stage("first inference: trace, compile and run", began + fresh[0] - there)
    kept = jax.device_put(inputs[0])
    for value in inputs[1:]:
        # Interleaved, each after the same memory reading.
        before = recordings
        readings.keep()
        fresh.append(infer_on(value))
        readings.read()
        kept_times.append(infer_on(kept))
        counts.append(recordings - before)
    readings.keep()
    iterations("inference, fresh input", fresh)
    iterations("inference, resident input", kept_times)
    count("graph recordings", counts)
    readings.write()
    # The same computation with weights that are new to the device, in a process where
    # everything else is set up: shows what then remains of a first inference.
    if MODEL == "mlp":
        others = [weights_of(shapes) for _ in range(6)]
        again = lambda other: np.asarray(model(on_device(other), inputs[0]))
        iterations("inference, new weights", [timed(lambda: again(other))[0] for other in others])


if EXPERIMENT == "infer":
    infer()
else:
    fail("the script for jax has no experiment " + EXPERIMENT)
# Checked last: the query initializes the device, which is part of the measurement. A
# framework that fell back to the CPU measured something else.
if DEVICE == "cuda" and jax.default_backend() != "gpu":
    void("this JAX does not find a GPU; install jax[cuda13], or use --device cpu")
write(line="end")
