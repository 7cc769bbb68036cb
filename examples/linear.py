"""Trains Linear(10, 10) with PyTorch: the smallest training loop.

    preheat run -- python examples/linear.py

Environment: ITERATIONS (default 100), and those of timing.py.
"""

from timing import Timers, count

timers = Timers()
with timers.measured("import torch"):
    import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
if device == "cuda":
    timers.synchronize = torch.cuda.synchronize

with timers.measured("model to device"):
    model = torch.nn.Linear(10, 10).to(device)
with timers.measured("optimizer"):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

loss_of = torch.nn.MSELoss()
target = torch.zeros(1, 10, device=device)
for _ in timers.loop(count(100)):
    optimizer.zero_grad()
    loss = loss_of(model(torch.randn(1, 10, device=device)), target)
    loss.backward()
    optimizer.step()

timers.write()
print(f"{device}: loss {loss.item():.4f}")
