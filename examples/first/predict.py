"""Calls predict of a small Keras model twice, and times both calls.

    preheat run -- python examples/first/predict.py
"""

import time

import keras
import numpy

model = keras.Sequential(
    [
        keras.layers.Input((32,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(10),
    ]
)
inputs = numpy.random.rand(1, 32).astype("float32")

start = time.time()
model.predict(inputs, verbose=0)
print(f"first prediction: {time.time() - start:.4f} s")

start = time.time()
model.predict(inputs, verbose=0)
print(f"second prediction: {time.time() - start:.4f} s")
