"""Runs Linear(10, 10) forward and backward twice, without an optimizer, and times both.

    preheat run -- python examples/first/backward.py
"""

import time

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Linear(10, 10).to(device)
inputs = torch.randn(1, 10).to(device)
loss_of = torch.nn.MSELoss()

for iteration in range(2):
    start = time.time()
    output = model(inputs)
    loss = loss_of(output, torch.zeros_like(output))
    loss.backward()
    print(f"iteration {iteration + 1}: {time.time() - start:.4f} s")
