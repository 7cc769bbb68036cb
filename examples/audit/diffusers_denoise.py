import time
import torch
from diffusers import DDIMScheduler, UNet2DModel

torch.manual_seed(1)
unet = UNet2DModel(
    sample_size=16, in_channels=1, out_channels=1, block_out_channels=(16, 32),
    norm_num_groups=8, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
).eval()
scheduler = DDIMScheduler()
scheduler.set_timesteps(10)
for number in range(6):
    began = time.perf_counter()
    sample = torch.randn(1, 1, 16, 16)
    with torch.no_grad():
        for step in scheduler.timesteps:
            sample = scheduler.step(unet(sample, step).sample, step, sample).prev_sample
    print(f"image {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
