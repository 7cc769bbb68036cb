"""Times a copy from pinned memory to the device, then an allocation on the device.

    preheat run -- python examples/first/pinned.py
"""

import time

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
pinned = torch.zeros(1024, 1024, pin_memory=device == "cuda")

start = time.time()
copied = pinned.to(device, copy=True)
print(f"copy from pinned memory: {time.time() - start:.4f} s")

start = time.time()
allocated = torch.randn(1024, 1024, device=device)
print(f"allocation: {time.time() - start:.4f} s")
