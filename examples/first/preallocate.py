"""Times an allocation after a large block was allocated, and while it is held.

    preheat run -- python examples/first/preallocate.py

Environment: ELEMENTS (default 2 ** 28, which is 1 GiB of float32).
"""

import os
import time

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
if device == "cuda":
    torch.cuda.empty_cache()
block = torch.zeros(int(os.environ.get("ELEMENTS", 2**28)), device=device)

start = time.time()
tensor = torch.randn(1024, 1024, device=device)
print(f"allocation after the block: {time.time() - start:.4f} s")
