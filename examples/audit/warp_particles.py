import os
import time
import numpy as np
import warp as wp

WARM_UP = int(os.environ.get("WARM_UP", 0))

wp.config.quiet = True

@wp.kernel
def step(positions: wp.array(dtype=wp.vec3), velocities: wp.array(dtype=wp.vec3), dt: float):
    i = wp.tid()
    velocity = velocities[i] + wp.vec3(0.0, -9.81, 0.0) * dt
    position = positions[i] + velocity * dt
    if position[1] < 0.0:
        position = wp.vec3(position[0], -position[1], position[2])
        velocity = wp.vec3(velocity[0], -0.5 * velocity[1], velocity[2])
    positions[i] = position
    velocities[i] = velocity

rng = np.random.default_rng(1)
positions = wp.array(rng.random((200_000, 3)), dtype=wp.vec3, device="cpu")
velocities = wp.zeros(200_000, dtype=wp.vec3, device="cpu")
for number in range(-WARM_UP, 30):
    began = time.perf_counter()
    wp.launch(step, dim=200_000, inputs=[positions, velocities, 0.01], device="cpu")
    wp.synchronize()
    print(f"step {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
