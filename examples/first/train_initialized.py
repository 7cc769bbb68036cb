"""Trains Linear(10, 10) for two iterations, after a small tensor has initialized the device.

    preheat run -- python examples/first/train_initialized.py
"""

import time

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
if device == "cuda":
    torch.cuda.empty_cache()
    dummy = torch.zeros(1).to(device)
    time.sleep(0.2)
    del dummy

model = torch.nn.Linear(10, 10).to(device)
inputs = torch.randn(1, 10).to(device)
loss_of = torch.nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

for iteration in range(2):
    start = time.time()
    optimizer.zero_grad()
    output = model(inputs)
    loss = loss_of(output, torch.zeros_like(output))
    loss.backward()
    optimizer.step()
    print(f"iteration {iteration + 1}: {time.time() - start:.4f} s")
