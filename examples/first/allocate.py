"""Allocates a 1024 x 1024 tensor twice, and times both.

    preheat run -- python examples/first/allocate.py
"""

import time

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"

start = time.time()
first = torch.randn(1024, 1024, device=device)
print(f"first allocation: {time.time() - start:.4f} s")

start = time.time()
second = torch.randn(1024, 1024, device=device)
print(f"second allocation: {time.time() - start:.4f} s")

del first, second
if device == "cuda":
    torch.cuda.empty_cache()
