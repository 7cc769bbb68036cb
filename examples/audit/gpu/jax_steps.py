import time
import jax, jax.numpy as jnp

@jax.jit
def step(w, x):
    return jnp.tanh(x @ w).sum()

w = jnp.ones((512, 512)); x = jnp.ones((64, 512))
for i in range(2):
    t = time.time()
    step(w, x).block_until_ready()
    print(f"step {i}: {time.time() - t:.4f} s")
