import time
import gymnasium
from stable_baselines3 import PPO

model = PPO("MlpPolicy", gymnasium.make("CartPole-v1"), n_steps=128, seed=1, device="cpu")
for number in range(5):
    began = time.perf_counter()
    model.learn(128, reset_num_timesteps=False)
    print(f"learn {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
