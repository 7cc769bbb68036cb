"""Calls a small PyTorch model twice, and times both calls.

    preheat run -- python examples/first/infer.py
"""

import time

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(16 * 62 * 62, 10)
).to(device)
inputs = torch.randn(1, 3, 64, 64).to(device)

with torch.no_grad():
    start = time.time()
    model(inputs)
    end = time.time()
    print(f"first inference: {end - start:.4f} s")

    start = time.time()
    model(inputs)
    end = time.time()
    print(f"second inference: {end - start:.4f} s")
