"""A training step of a small network with JAX: the first call compiles it.

    preheat run -- python examples/jax_mlp.py

Environment: ITERATIONS (default 100), and those of timing.py.
"""

from timing import Timers, count

timers = Timers()
with timers.measured("import jax"):
    import jax
    import jax.numpy as jnp
with timers.measured("devices"):
    device = jax.devices()[0].platform


def loss(weights, x, y):
    for weight in weights[:-1]:
        x = jax.nn.relu(x @ weight)
    return jnp.mean((x @ weights[-1] - y) ** 2)


@jax.jit
def step(weights, x, y):
    gradients = jax.grad(loss)(weights, x, y)
    return [weight - 0.01 * gradient for weight, gradient in zip(weights, gradients)]


with timers.measured("weights"):
    keys = jax.random.split(jax.random.key(0), 3)
    weights = [0.05 * jax.random.normal(key, (512, 512)) for key in keys]
    x, y = jnp.ones((64, 512)), jnp.zeros((64, 512))
    jax.block_until_ready((weights, x, y))

for _ in timers.loop(count(100)):
    weights = jax.block_until_ready(step(weights, x, y))

timers.write()
print(f"{device}: {float(weights[0][0, 0]):.5f}")
