"""Trains Linear(10, 10) as train.py does, after a warm-up iteration that is not timed.

    preheat compare "python examples/first/train.py" "python examples/first/train_warm.py"
"""

import time

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Linear(10, 10).to(device)
inputs = torch.randn(1, 10).to(device)
loss_of = torch.nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

output = model(inputs)
loss_of(output, torch.zeros_like(output)).backward()
optimizer.step()

for iteration in range(2):
    start = time.time()
    optimizer.zero_grad()
    output = model(inputs)
    loss = loss_of(output, torch.zeros_like(output))
    loss.backward()
    optimizer.step()
    print(f"iteration {iteration + 1}: {time.time() - start:.4f} s")
