# The experiments with TensorFlow and Keras. Each runs in a fresh process.
start = clock()
import os

if DEVICE == "cpu":
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf

keras = tf.keras  # loaded lazily: part of what an import costs
stage("import", clock() - start)

recordings = 0


class Counted(keras.layers.Layer):
    """Passes its input on; its Python code runs only while a graph is recorded."""

    def call(self, inputs):
        global recordings
        recordings += 1
        return inputs


def network():
    if VARIANT == "conv":
        shape = (1, 28, 28, 1)
        layers = [
            keras.layers.Conv2D(8, 3, activation="relu"),
            keras.layers.Conv2D(16, 3, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10),
        ]
    else:
        batch, inputs, width = MLP_SHAPE
        shape = (batch, inputs)
        layers = [
            keras.layers.Dense(width, activation="relu"),
            keras.layers.Dense(width, activation="relu"),
            keras.layers.Dense(10),
        ]
    return keras.Sequential([keras.layers.Input(shape[1:]), Counted()] + layers), shape


def counted(work, n):
    """Times and recordings of each of n calls."""
    times, counts = [], []
    for index in range(n):
        before = recordings
        start = clock()
        work(index)
        times.append(clock() - start)
        counts.append(recordings - before)
    return times, counts


def train():
    start = clock()
    model = keras.Sequential([keras.layers.Input((10,)), Counted(), keras.layers.Dense(10)])
    stage("build the model", clock() - start)
    start = clock()
    model.compile(optimizer=keras.optimizers.SGD(0.01), loss="mse")
    stage("build the optimizer", clock() - start)
    target = np.zeros((1, 10), "float32")
    inputs = [np.random.randn(1, 10).astype("float32") for _ in range(16)]
    times, counts = counted(
        lambda index: model.train_on_batch(inputs[index % 16], target), pick(60, 30)
    )
    iterations("iteration", times)
    count("graph recordings", counts)


def infer():
    seconds, (model, shape) = timed(network)
    stage("build the model", seconds)
    n = pick(40, 20)
    inputs = [np.random.randn(*shape).astype("float32") for _ in range(8)]
    host = [resident()]

    def predict(index):
        model.predict(inputs[index % 8], verbose=0)

    times, counts = [], []
    for index in range(n):
        (seconds,), (recorded,) = counted(lambda _: predict(index), 1)
        times.append(seconds)
        counts.append(recorded)
        host.append(resident())
    iterations("inference, fresh input", times)
    count("graph recordings", counts)
    memory("host memory", host)


if EXPERIMENT == "train":
    train()
elif EXPERIMENT == "infer":
    infer()
else:
    fail("the script for tensorflow has no experiment " + EXPERIMENT)
# Asked last: asking brings the device up, which is part of what was measured. A
# framework that fell back to the CPU measured something else.
if DEVICE == "cuda" and not tf.config.list_physical_devices("GPU"):
    void("this TensorFlow finds no GPU; install a build with CUDA, or use --device cpu")
write(line="end")
