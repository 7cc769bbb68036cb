"""Batches of images from the host, normalized and pooled on the device: copies are most of the work.

    preheat run -- python examples/copies.py
    preheat compare "python examples/copies.py" "python examples/copies.py pinned"

Environment: ITERATIONS (default 60), BATCH (default 64), and those of timing.py.
"""

import os
import sys

from timing import Timers, count

timers = Timers()
with timers.measured("import torch"):
    import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
if device == "cuda":
    timers.synchronize = torch.cuda.synchronize

images = torch.rand(int(os.environ.get("BATCH", "64")), 3, 224, 224)
pinned = sys.argv[1:] == ["pinned"] and device == "cuda"
if pinned:
    with timers.measured("pin the images"):
        images = images.pin_memory()
pool = torch.nn.AdaptiveAvgPool2d(7)

for _ in timers.loop(count(60)):
    batch = images.to(device, non_blocking=pinned)
    brightness = pool((batch - 0.45) / 0.225).mean().item()

timers.write()
print(f"{device}: mean {brightness:.4f}")
