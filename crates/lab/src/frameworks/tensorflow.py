# The TensorFlow and Keras experiments. Each runs in a fresh process.
start = clock()
import os

if DEVICE == "cpu":
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf

keras = tf.keras  # loaded lazily: part of the import cost
stage("import", clock() - start)

recordings = 0


class Counted(keras.layers.Layer):
    """Passes its input through; its Python code runs only while a graph is recorded."""

    def call(self, inputs):
        global recordings
        recordings += 1
        return inputs


def unet():
    """A functional model: a sequential one cannot have skip connections."""
    a, b, c = UNET_CHANNELS

    def twice(x, channels):
        for _ in range(2):
            x = keras.layers.Conv2D(channels, 3, padding="same", activation="relu")(x)
        return x

    x = start = keras.layers.Input((UNET_SIZE, UNET_SIZE, 3))
    x = Counted()(x)
    skipped = []
    for channels in (a, b):
        x = twice(x, channels)
        skipped.append(x)
        x = keras.layers.MaxPooling2D(2)(x)
    x = twice(x, c)
    for channels in (b, a):
        x = keras.layers.Conv2DTranspose(channels, 2, 2)(x)
        x = twice(keras.layers.Concatenate()([x, skipped.pop()]), channels)
    return keras.Model(start, keras.layers.Conv2D(1, 1)(x))


def network():
    if MODEL == "unet":
        return unet(), (1, UNET_SIZE, UNET_SIZE, 3)
    if MODEL == "conv":
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
    """Times and graph recordings of n calls."""
    times, counts = [], []
    for index in range(n):
        before = recordings
        start = clock()
        work(index)
        times.append(clock() - start)
        counts.append(recordings - before)
    return times, counts


def train():
    def build():
        return keras.Sequential([keras.layers.Input((10,)), Counted(), keras.layers.Dense(10)])

    def compile_model():
        model.compile(optimizer=keras.optimizers.SGD(0.01), loss="mse")

    inputs = [np.random.randn(1, 10).astype("float32") for _ in range(16)]
    target = np.zeros((1, 10), "float32")
    # Building the model initializes the device, since its variables live there: it is part
    # of the first iteration from nothing.
    building, model = timed(build)
    compiling, _ = timed(compile_model)
    built = building + compiling
    if ON_DEVICE:
        stage("build the model", building)
        stage("build the optimizer", compiling)
        inputs, target = [tf.constant(value) for value in inputs], tf.constant(target)
        built = 0.0
    times, counts = counted(
        lambda index: model.train_on_batch(inputs[index % 16], target), pick(60, 30)
    )
    iterations("iteration", [built + times[0]] + times[1:])
    count("graph recordings", counts)


def infer():
    readings = None if ON_DEVICE else MemoryReadings()
    built, (model, shape) = timed(network)
    n = pick(20, 10) if MODEL == "unet" else pick(40, 20)
    inputs = [np.random.randn(*shape).astype("float32") for _ in range(8)]
    if ON_DEVICE:
        stage("build the model", built)
        inputs = [tf.constant(inputs[0])] * 8
        built = 0.0
        readings = MemoryReadings()
    times, counts = [], []
    for index in range(n):
        (seconds,), (recorded,) = counted(
            lambda _: model.predict(inputs[index % 8], verbose=0), 1
        )
        times.append(seconds)
        counts.append(recorded)
        readings.keep()
    # Building the model initializes the device, since its variables live there: it is part
    # of the first inference from nothing.
    if ON_DEVICE:
        iterations("inference, resident input", times)
    else:
        stage("first inference: build the model", built)
        stage("first inference: trace, compile and run", times[0])
        iterations("inference, fresh input", [built + times[0]] + times[1:])
    count("graph recordings", counts)
    readings.write()
    # The same computation with new weights, in a process where everything else is set up:
    # shows what then remains of a first inference.
    if MODEL == "mlp" and not ON_DEVICE:
        weights = [np.random.randn(*w.shape).astype("float32") for w in model.get_weights()]

        def again():
            model.set_weights(weights)
            model.predict(inputs[0], verbose=0)

        iterations("inference, new weights", [timed(again)[0] for _ in range(6)])


if EXPERIMENT == "train":
    train()
elif EXPERIMENT == "infer":
    infer()
else:
    fail("the script for tensorflow has no experiment " + EXPERIMENT)
# Checked last: the query initializes the device, which is part of the measurement. A
# framework that fell back to the CPU measured something else.
if DEVICE == "cuda" and not tf.config.list_physical_devices("GPU"):
    void("this TensorFlow does not find a GPU; install a build with CUDA, or use --device cpu")
write(line="end")
