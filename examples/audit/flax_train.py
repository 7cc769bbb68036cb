import time
import jax
import jax.numpy as jnp
import optax
from flax import nnx

class Net(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(64, 128, rngs=rngs)
        self.second = nnx.Linear(128, 10, rngs=rngs)

    def __call__(self, x):
        return self.second(nnx.relu(self.first(x)))

@nnx.jit
def step(model, optimizer, x, y):
    def loss_of(model):
        return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()
    loss, gradients = nnx.value_and_grad(loss_of)(model)
    optimizer.update(model, gradients)
    return loss

model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
x = jax.random.normal(jax.random.key(1), (256, 64))
y = jnp.arange(256) % 10
for number in range(30):
    began = time.perf_counter()
    loss = float(step(model, optimizer, x, y))
    print(f"step {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
