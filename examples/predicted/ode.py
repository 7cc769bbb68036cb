import os, torch, torchdiffeq
print(torchdiffeq.odeint(lambda t, y: -y, torch.tensor([1.0]), torch.linspace(0, 1, 5)).shape, flush=True)
os._exit(0)
